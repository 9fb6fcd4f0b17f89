"""Plans: what is the same for all operations with equal descriptions and attributes, found out once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from aacl.abc import Kernel, KernelRequest
from aacl.errors import InvalidArgument, NotSupported
from aacl.ops._catalogue import operator_types, schema_of
from aacl.ops._registry import registered
from aacl.streams._budget import UNKNOWN, Cost
from aacl.tensors._desc import UNKNOWN_RANK, TensorDesc
from aacl.tensors._tensor import Maker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aacl.errors import AclError
    from aacl.memory._space import DeviceMemory
    from aacl.ops._registration import Registration
    from aacl.ops._schema import OperatorSchema

__all__ = ("Plan", "infer", "prepare")

Descs: TypeAlias = "tuple[TensorDesc, ...]"


class Plan:
    """An operator with its kernel chosen and its outputs known.

    Attributes:
        body: the kernel, called with the inputs' and then the outputs' arrays.
        is_late: whether an input is only bounded yet, so that the kernel is chosen when the operation runs.
        in_place: whether it takes outputs that lie where inputs do.
        outputs: descriptions of the outputs, all dims known; the largest ones where values decide.
        bounds: what is known of the outputs before a run, where that is not all; else None.
        makers: make new output tensors.
        only_maker: of the one output, where there is nothing else to write and all of it is known.
        updates: positions of the inputs that it writes.
        cost: what a run costs, learnt from the runs.
    """

    __slots__ = ("body", "bounds", "cost", "in_place", "is_late", "makers", "only_maker", "outputs",
                 "updates")  # fmt: skip

    def __init__(
        self, memory: DeviceMemory, kernel: Kernel | None, outputs: Descs, bounds: Descs | None = None
    ) -> None:
        self.is_late = kernel is None
        self.body: Callable[..., object] = _chosen_late if kernel is None else kernel.body
        self.in_place = kernel is not None and kernel.in_place
        self.outputs, self.bounds = outputs, bounds
        self.cost = Cost(UNKNOWN) if kernel is None else Cost.of(kernel.nbytes, kernel.operations)
        self.makers = tuple([Maker(memory, desc) for desc in outputs])
        self.updates = () if kernel is None else kernel.updates
        is_plain = len(outputs) == 1 and bounds is None and not self.updates
        self.only_maker = self.makers[0] if is_plain else None


def _chosen_late(*_: object) -> None:
    raise AssertionError("the run of a late plan makes another plan")


def prepare(
    memory: DeviceMemory,
    op_type: str,
    inputs: tuple[TensorDesc | None, ...],
    given: Mapping[str, object],
    out: Descs | None = None,
) -> Plan:
    """Check an operator's inputs and attributes, work out its outputs and choose a kernel.

    An operator of the program's own is all its registration's business.

    Args:
        memory: of the device that is to run it.
        op_type: the operator's name in the catalogue.
        inputs: in the schema's order, None where an optional input is absent.
        given: attributes by name.
        out: what the program brings to be written; it tells dims that follow from nothing else.

    Raises:
        OperatorNotFound: no such operator, or none that this device runs.
        UnsupportedDataType: an input has a data type that the operator does not take.
        InvalidArgument: inputs or attributes do not fit the operator, or each other.
        NotSupported: the shape of an output depends on values that are not known before the run.
    """
    own = registered(op_type)
    if own is not None:
        return _prepare_own(memory, own, inputs, given, out)
    from aacl.ops._infer import infer_outputs  # many rules, read with the first operation

    schema = schema_of(op_type)
    attributes = schema.complete(given, len(inputs))
    inferred = infer_outputs(schema, inputs, attributes)
    if not all(desc is None or desc.is_static for desc in inputs):
        return Plan(memory, None, _largest(schema, inferred), inferred)
    return _chosen(memory, schema, inputs, attributes, inferred, out)


def _chosen(
    memory: DeviceMemory,
    schema: OperatorSchema,
    inputs: tuple[TensorDesc | None, ...],
    attributes: Mapping[str, Any],
    inferred: Descs,
    out: Descs | None,
) -> Plan:
    """Return the plan with the kernel for known inputs, whose outputs may be bounded only."""
    choose = partial(_choose, memory, schema.op_type, inputs, attributes)
    if _are_static(inferred):
        return Plan(memory, choose(inferred), inferred)
    if all(map(_is_bounded, inferred)):
        largest = _largest(schema, inferred)
        kernel = choose(largest)
        if kernel.returns_shapes:
            return Plan(memory, kernel, largest, inferred)
    if out is not None and len(out) == len(inferred) and all(map(_may_be, inferred, out)):
        return Plan(memory, choose(out), out)
    raise _unknown_shape(schema, inferred, inputs)


def _prepare_own(
    memory: DeviceMemory,
    own: Registration,
    inputs: tuple[TensorDesc | None, ...],
    given: Mapping[str, object],
    out: Descs | None,
) -> Plan:
    outputs = own.outputs(inputs, given, out)
    launcher = own.launcher(memory, inputs, outputs, given)
    plan = Plan(memory, Kernel(launcher, 0), outputs)
    plan.cost = launcher.cost
    return plan


def _choose(
    memory: DeviceMemory,
    op_type: str,
    inputs: tuple[TensorDesc | None, ...],
    attributes: Mapping[str, Any],
    outputs: Descs,
) -> Kernel:
    backend = memory.backend
    return backend.kernel(KernelRequest(op_type, inputs, outputs, attributes, backend.parallel))


def infer(op_type: str, inputs: Sequence[TensorDesc | None], given: Mapping[str, object]) -> tuple[TensorDesc, ...]:
    """Return what is known of an operator's outputs from descriptions alone.

    Args:
        op_type: the operator's name in the catalogue.
        inputs: in the schema's order, None where an optional input is absent; free dims (-1) and
            unknown ranks are allowed.
        given: attributes by name.

    Returns:
        The outputs' descriptions: -1 for a dim that follows from nothing known, with a range where
        something is known of it, shape ``(-2,)`` for an unknown rank.

    Raises:
        OperatorNotFound: there is no such operator.
        InvalidArgument, UnsupportedDataType: inputs or attributes do not fit.
        NotSupported: the operator is the program's own, and was registered without a rule.
    """
    own = registered(op_type)
    found = None if own is None else own.infer(inputs, given)
    if found is not None:
        return found
    if own is not None and op_type not in operator_types():
        raise NotSupported(f"operator {op_type} was registered without infer=, so nothing tells its outputs")
    from aacl.ops._infer import infer_outputs  # many rules, read with the first operation

    schema = schema_of(op_type)
    return infer_outputs(schema, inputs, schema.complete(given, len(inputs)))


def _are_static(descs: Descs) -> bool:
    return all(desc.is_static for desc in descs)


def _is_bounded(desc: TensorDesc) -> bool:
    return desc.is_static or (bool(desc.ranges) and all(most >= 0 for _, most in desc.ranges))


def _largest(schema: OperatorSchema, bounds: Descs) -> Descs:
    """Return the descriptions of outputs with every dim at its largest."""
    for index, desc in enumerate(bounds):
        if not _is_bounded(desc):
            raise InvalidArgument(
                f"operator {schema.op_type}: the shape of an input is known only when the command that makes it is "
                f"over, and nothing bounds output {index}; await that command first"
            )
    return tuple(
        [
            desc if desc.is_static else TensorDesc.of(desc.dtype, [most for _, most in desc.ranges], desc.format)
            for desc in bounds
        ]
    )


def _may_be(bounds: TensorDesc, out: TensorDesc) -> bool:
    """Return whether a description is one of those that bounds allow."""
    if bounds.dtype is not out.dtype or bounds.shape == UNKNOWN_RANK:
        return bounds.dtype is out.dtype
    ranges = bounds.ranges or ((0, -1),) * len(bounds.shape)
    return len(bounds.shape) == len(out.shape) and all(
        dim == known if known >= 0 else least <= dim and (most < 0 or dim <= most)
        for dim, known, (least, most) in zip(out.shape, bounds.shape, ranges, strict=True)
    )


def _unknown_shape(schema: OperatorSchema, outputs: Descs, inputs: tuple[TensorDesc | None, ...]) -> AclError:
    """Return the error for outputs whose shapes nothing tells."""
    index, output = next((place, desc) for place, desc in enumerate(outputs) if not desc.is_static)
    values = [
        place.name
        for place, desc in zip(schema.assign(len(inputs)), inputs, strict=True)
        if desc is not None and desc.value is None and desc.dtype.name in ("INT32", "INT64") and len(desc.shape) <= 1
    ]
    if values:
        return InvalidArgument(
            f"operator {schema.op_type}: the shape of output {index} depends on the values of {', '.join(values)}; "
            "pass them as host values (numbers, a list, an array) instead of a device tensor, or pass `out`"
        )
    return NotSupported(
        f"operator {schema.op_type}: the shape of output {index} ({list(output.shape)}) follows from nothing that "
        "is known; pass a tensor of the right shape as `out`"
    )
