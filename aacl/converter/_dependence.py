"""Which tensors' shapes depend on the values of a model's inputs. Pure.

Two facts are followed through the graph, node by node: whether a tensor's
values depend on the inputs' values, and whether its shape does. A shape does
where a node's shape rule reads values (the target of Reshape, the count of
TopK) that depend on the inputs, or where an input's own shape does already.
What is not known to be safe counts as dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

from aacl.converter._walk import graphs_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

__all__ = ("dependent_outputs", "shape_deciding")

_STANDARD = ("", "ai.onnx")
_ALL = tuple(range(16))

# The inputs whose values decide a node's output shapes, by operator; others read shapes only.
_DECIDING: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,), "BlackmanWindow": (0,), "CenterCropPad": (1,), "Col2Im": (1, 2), "Compress": (1,),
    "ConstantOfShape": (0,), "DFT": (1, 2), "Expand": (1,), "HammingWindow": (0,), "HannWindow": (0,),
    "ImageDecoder": _ALL, "MaxUnpool": (2,), "MelWeightMatrix": _ALL, "NonMaxSuppression": _ALL, "NonZero": _ALL,
    "OneHot": (1,), "Pad": (1, 3), "Range": _ALL, "Reshape": (1,), "Resize": (1, 2, 3), "STFT": (1, 3),
    "SequenceAt": (1,), "SequenceErase": (1,), "SequenceInsert": (2,), "Slice": (1, 2, 3, 4), "Split": (1,),
    "SplitToSequence": (1,), "Squeeze": (1,), "StringNormalizer": _ALL, "StringSplit": _ALL, "TfIdfVectorizer": (),
    "Tile": (1, 2), "TopK": (1,), "Unique": _ALL, "Unsqueeze": (1,), "Upsample": (1,),
    **{f"Reduce{kind}": (1,) for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")},
}  # fmt: skip

# These give shapes as values: what they give depends on values only where a shape does.
_SHAPE_READERS = ("Shape", "Size")
_NESTING = ("If", "Loop", "Scan")


@attrs.define
class _Facts:
    """What is known so far of the tensors by name."""

    values: set[str] = attrs.field(factory=set)
    shapes: set[str] = attrs.field(factory=set)

    def has_value(self, names: Iterable[str]) -> bool:
        """Whether the values of any of these depend on the inputs."""
        return not self.values.isdisjoint(names)

    def has_shape(self, names: Iterable[str]) -> bool:
        """Whether the shape of any of these does."""
        return not self.shapes.isdisjoint(names)

    def add(self, names: Iterable[str], *, value: bool, shape: bool) -> None:
        """Record what a node makes."""
        made = {name for name in names if name}
        self.values |= made if value else set()
        self.shapes |= made if shape else set()


def dependent_outputs(model: ModelProto) -> list[str]:
    """Return the outputs whose shapes depend, or may depend, on the values of the inputs."""
    facts = _Facts(values={value.name for value in model.graph.input})
    _follow(model.graph.node, facts)
    return [value.name for value in model.graph.output if value.name in facts.shapes]


def shape_deciding(model: ModelProto) -> set[str]:
    """Return the tensors of the main graph whose values decide shapes, and those that they are computed from.

    What depends on the inputs' values is left out, however it is used.
    """
    facts = _Facts(values={value.name for value in model.graph.input})
    _follow(model.graph.node, facts)
    found: set[str] = set()
    for node in reversed(model.graph.node):
        places = _DECIDING.get(node.op_type, ()) if node.domain in _STANDARD else ()
        deciding = [node.input[place] for place in places if place < len(node.input)]
        found.update(deciding if found.isdisjoint(node.output) else node.input)
    return found - facts.values


def _follow(nodes: Iterable[NodeProto], facts: _Facts) -> None:
    for node in nodes:
        rule = _RULES.get(node.op_type) if node.domain in _STANDARD else _foreign
        (rule or _plain)(node, facts)


def _plain(node: NodeProto, facts: _Facts) -> None:
    deciding = [node.input[place] for place in _DECIDING.get(node.op_type, ()) if place < len(node.input)]
    is_shape = facts.has_shape(node.input) or facts.has_value(deciding)
    facts.add(node.output, value=facts.has_value(node.input) or is_shape, shape=is_shape)


def _shape_reader(node: NodeProto, facts: _Facts) -> None:
    # Where a shape is in doubt its rank may be too, and so how many dims Shape gives; Size gives one number.
    is_dependent = facts.has_shape(node.input)
    facts.add(node.output, value=is_dependent, shape=is_dependent and node.op_type == "Shape")


def _foreign(node: NodeProto, facts: _Facts) -> None:
    """Follow a node of another domain: nothing is known of its shape rule."""
    is_dependent = facts.has_value(node.input) or facts.has_shape(node.input)
    facts.add(node.output, value=is_dependent, shape=is_dependent)


def _choice(node: NodeProto, facts: _Facts) -> None:
    """Follow an If: where the condition depends on values, either branch's shape may come out."""
    values, shapes = [False] * len(node.output), [facts.has_value(node.input)] * len(node.output)
    for graph in graphs_of(node):
        inner = _inside(graph, facts, [], [])
        for place, value in enumerate(graph.output):
            values[place] |= inner.has_value([value.name])
            shapes[place] |= inner.has_shape([value.name])
    for name, is_value, is_shape in zip(node.output, values, shapes, strict=True):
        facts.add([name], value=is_value or is_shape, shape=is_shape)


def _loop(node: NodeProto, facts: _Facts) -> None:
    """Follow a Loop: its count and conditions decide how often the body runs, and so shapes."""
    body, carried = next(graphs_of(node)), list(node.input[2:])
    inner = _settled(body, facts, ["", "", *carried], first=1)
    is_decided_by_values = facts.has_value(node.input[:2]) or inner.has_value([body.output[0].name])
    made = [value.name for value in body.output[1:]]
    for name, source in zip(node.output, made, strict=True):
        is_shape = is_decided_by_values or inner.has_shape([source])
        facts.add([name], value=is_shape or inner.has_value([source]), shape=is_shape)


def _scan(node: NodeProto, facts: _Facts) -> None:
    """Follow a Scan: its length is a dim of its inputs."""
    body = next(graphs_of(node))
    inner = _settled(body, facts, list(node.input)[-len(body.input) :], first=0)
    is_shape = facts.has_shape(node.input)
    for name, value in zip(node.output, body.output, strict=True):
        is_dependent = is_shape or inner.has_shape([value.name])
        facts.add([name], value=is_dependent or inner.has_value([value.name]), shape=is_dependent)


def _settled(body: GraphProto, outer: _Facts, given: Sequence[str], *, first: int) -> _Facts:
    """Follow a body until nothing changes; its outputs are fed back, in order, to its inputs from `first` on."""
    names = [value.name for value in body.input]
    values = [name for name, source in zip(names, given, strict=False) if outer.has_value([source])]
    shapes = [name for name, source in zip(names, given, strict=False) if outer.has_shape([source])]
    pairs = list(zip(names[first:], [value.name for value in body.output], strict=False))
    while True:
        inner = _inside(body, outer, values, shapes)
        more_values = [name for name, made in pairs if inner.has_value([made]) and name not in values]
        more_shapes = [name for name, made in pairs if inner.has_shape([made]) and name not in shapes]
        if not more_values and not more_shapes:
            return inner
        values += more_values
        shapes += more_shapes


def _inside(graph: GraphProto, outer: _Facts, values: Sequence[str], shapes: Sequence[str]) -> _Facts:
    inner = _Facts(outer.values | set(values), outer.shapes | set(shapes))
    _follow(graph.node, inner)
    return inner


_RULES: dict[str, Callable[[NodeProto, _Facts], None]] = {
    "If": _choice,
    "Loop": _loop,
    "Scan": _scan,
    **dict.fromkeys(_SHAPE_READERS, _shape_reader),
}
