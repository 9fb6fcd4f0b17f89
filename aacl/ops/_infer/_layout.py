"""Outputs of operators that rearrange or repeat their input without picking parts of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from aacl.ops._infer._dims import FREE, Dim, Shape, broadcast, fixed, product
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Transpose", "TransposeD", "Permute")
def transpose(call: Call) -> Sequence[Output]:
    """Output dim ``i`` is input dim ``perm[i]``."""
    shape = call.shape(0)
    perm = call.attributes.get("perm", call.attributes.get("order")) if len(call.inputs) == 1 else call.integers(1)
    dtype = call.result(call.desc(0).dtype)
    if shape is None or perm is None:
        return [Output(dtype, None if shape is None else (FREE,) * len(shape))]
    # An axis outside its range stays as it is, and then is none of those wanted.
    places = [axis + len(shape) if -len(shape) <= axis < 0 else axis for axis in perm]
    if sorted(places) != list(range(len(shape))):
        raise call.error(f"perm {tuple(perm)} is no order of the {len(shape)} dims of {call.titled(0)}")
    return [Output(dtype, tuple(shape[axis] for axis in places))]


@rule("Reshape")
def reshape(call: Call) -> Sequence[Output]:
    """``shape`` with at most one -1; with ``axis`` and ``num_axes`` it replaces that span of dims alone."""
    source, wanted = call.shape(0), call.integers(1)
    if wanted is None:
        count = call.length(1)
        whole = count is not None and call.attributes["axis"] == 0 and call.attributes["num_axes"] == -1
        return [call.like(0, (FREE,) * count if whole and count is not None else None)]
    head, span, tail = _span(call, source)
    middle = _filled(call, wanted, span)
    return [call.like(0, None if head is None or tail is None else (*head, *middle, *tail))]


@rule("ExpandDims")
def expand_dims(call: Call) -> Sequence[Output]:
    """A dim 1 before ``axis``, which counts in the output's rank."""
    shape, axis = call.shape(0), call.integer(1)
    if shape is None or axis is None:
        return [call.like(0, None if shape is None else (FREE,) * (len(shape) + 1))]
    return [call.like(0, _inserted(call, shape, (axis,), "axis"))]


@rule("Unsqueeze", "UnsqueezeV2")
def unsqueeze(call: Call) -> Sequence[Output]:
    """A dim 1 at each of the axes, an attribute; they count in the output's rank."""
    shape, name = call.shape(0), "axes" if "axes" in call.attributes else "axis"
    return [call.like(0, None if shape is None else _inserted(call, shape, call.attributes[name], name))]


@rule("UnsqueezeV3")
def unsqueeze_input(call: Call) -> Sequence[Output]:
    """As Unsqueeze, the axes an input."""
    shape, axes, count = call.shape(0), call.integers(1), call.length(1)
    if shape is None or axes is None:
        return [call.like(0, None if shape is None or count is None else (FREE,) * (len(shape) + count))]
    return [call.like(0, _inserted(call, shape, axes, "axes"))]


@rule("Squeeze", "SqueezeV2")
def squeeze(call: Call) -> Sequence[Output]:
    """Dims of 1 vanish: those of ``axis``, or all."""
    return [_squeezed(call, call.attributes["axis"])]


@rule("SqueezeV3")
def squeeze_input(call: Call) -> Sequence[Output]:
    """As Squeeze, the axes an input."""
    shape, axes = call.shape(0), call.integers(1) if call.has(1) else ()
    if axes is None:
        count = call.length(1)
        return [call.like(0, None if shape is None or not count else (FREE,) * max(len(shape) - count, 0))]
    return [_squeezed(call, axes)]


@rule("Flatten")
def flatten(call: Call) -> Sequence[Output]:
    """Two dims: those before ``axis`` multiplied, and the others."""
    shape, axis = call.shape(0), call.attributes["axis"]
    if shape is None:
        return [call.like(0, (FREE, FREE))]
    if not -len(shape) <= axis <= len(shape):
        raise call.error(f"axis {axis} lies outside [{-len(shape)}, {len(shape)}] for {call.titled(0)}")
    axis += len(shape) if axis < 0 else 0
    return [call.like(0, (product(shape[:axis]), product(shape[axis:])))]


@rule("FlattenV2")
def flatten_span(call: Call) -> Sequence[Output]:
    """The dims from ``axis`` to ``end_axis`` become one."""
    shape = call.shape(0)
    if not shape:
        return [call.like(0, None if shape is None else fixed(1))]
    first = call.axis(call.attributes["axis"], len(shape), "axis")
    last = call.axis(call.attributes["end_axis"], len(shape), "end_axis")
    if first > last:
        raise call.error(f"axis {first} comes after end_axis {last}")
    return [call.like(0, (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]))]


@rule("Tile")
def tile(call: Call) -> Sequence[Output]:
    """Each dim times its multiple, an input."""
    shape, multiples = call.shape(0), call.integers(1)
    if shape is None or multiples is None:
        return [call.like(0, None if shape is None else (FREE,) * len(shape))]
    return [_tiled(call, shape, multiples)]


@rule("TileD")
def tile_attribute(call: Call) -> Sequence[Output]:
    """Each dim times its multiple, an attribute."""
    shape = call.shape(0)
    return [call.like(0, None) if shape is None else _tiled(call, shape, call.attributes["multiples"])]


@rule("BroadcastTo", "BroadcastToD")
def broadcast_to(call: Call) -> Sequence[Output]:
    """The given shape, to which the input broadcasts."""
    wanted = _wanted_shape(call)
    return [_stretched(call, wanted, both_ways=False)]


@rule("Expand")
def expand(call: Call) -> Sequence[Output]:
    """The input and the given shape broadcast to each other."""
    return [_stretched(call, _wanted_shape(call), both_ways=True)]


def _span(call: Call, source: Shape) -> tuple[Shape, Shape, Shape]:
    """Cut the input's dims into those before, in and after the reshaped span."""
    axis, count = call.attributes["axis"], call.attributes["num_axes"]
    if axis == 0 and count == -1:
        return (), source, ()
    if source is None:
        return None, None, None
    first = axis + len(source) + 1 if axis < 0 else axis
    last = len(source) if count == -1 else first + count
    if not 0 <= first <= last <= len(source):
        raise call.error(f"axis {axis} with num_axes {count} lies outside {call.titled(0)}")
    return source[:first], source[first:last], source[last:]


def _filled(call: Call, wanted: Sequence[int], span: Shape) -> tuple[Dim, ...]:
    """Return the dims asked for, with -1 filled in from the number of elements."""
    if any(size < -1 for size in wanted) or list(wanted).count(-1) > 1:
        raise call.error(f"shape {tuple(wanted)} is no shape; it may have one -1, for the rest")
    total = FREE if span is None else product(span)
    known = math.prod(size for size in wanted if size != -1)
    if -1 not in wanted:
        is_possible = total.meets(Dim(known, known)) is not None
        rest = FREE
    else:
        is_possible = not total.is_fixed or (total.least % known == 0 if known else total.least == 0)
        rest = fixed(total.least // known if known else 0)[0] if total.is_fixed else _quotient(total, known)
    if not is_possible:
        raise call.error(f"{call.titled(0)} cannot be reshaped to {tuple(wanted)}: the numbers of elements differ")
    return tuple(rest if size == -1 else Dim(size, size) for size in wanted)


def _quotient(total: Dim, known: int) -> Dim:
    if not known:
        return FREE
    return Dim(-(-total.least // known), total.most if total.most == math.inf else int(total.most) // known)


def _inserted(call: Call, shape: tuple[Dim, ...], axes: Sequence[int], name: str) -> tuple[Dim, ...]:
    rank = len(shape) + len(axes)
    if any(not -rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) != len(axes):
        raise call.error(f"{name} {tuple(axes)} are no {len(axes)} positions in {rank} dims, for {call.titled(0)}")
    places = {axis % rank for axis in axes}
    others = iter(shape)
    return tuple(Dim(1, 1) if axis in places else next(others) for axis in range(rank))


def _tiled(call: Call, shape: tuple[Dim, ...], multiples: Sequence[int]) -> Output:
    if len(multiples) != len(shape) or any(multiple < 0 for multiple in multiples):
        raise call.error(f"multiples {tuple(multiples)} need one number from 0 a dim of {call.titled(0)}")
    return call.like(0, tuple(dim.times(Dim(m, m)) for dim, m in zip(shape, multiples, strict=True)))


def _wanted_shape(call: Call) -> Shape:
    wanted = call.attributes["shape"] if "shape" in call.attributes else call.integers(1)
    if wanted is None:
        count = call.length(1)
        return None if count is None else (FREE,) * count
    if any(size < -1 for size in wanted):
        raise call.error(f"shape {tuple(wanted)} has a dim below -1")
    return tuple(FREE if size == -1 else Dim(size, size) for size in wanted)


def _stretched(call: Call, wanted: Shape, *, both_ways: bool) -> Output:
    shape = call.shape(0)
    if shape is None or wanted is None:
        return call.like(0, None if both_ways or wanted is None else wanted)
    if len(shape) > len(wanted) and not both_ways:
        raise call.error(f"{call.titled(0)} does not broadcast to {tuple(wanted)}")
    dims = broadcast(shape, wanted)
    if dims is not None and not both_ways:
        met = [dim.meets(want) for dim, want in zip(dims, wanted, strict=True)]
        dims = None if None in met else tuple(dim for dim in met if dim is not None)
    if dims is None:
        raise call.error(f"{call.titled(0)} does not broadcast to {tuple(wanted)}")
    return call.like(0, dims)


def _squeezed(call: Call, axes: Sequence[int]) -> Output:
    shape = call.shape(0)
    if shape is None:
        return call.like(0, None)
    if not axes:
        is_known = all(dim.is_fixed or dim.least > 1 for dim in shape)
        return call.like(0, tuple(dim for dim in shape if dim != (1, 1)) if is_known else None)
    gone = {call.axis(axis, len(shape), "axis") for axis in axes}
    if any(not shape[axis].meets(Dim(1, 1)) for axis in gone):
        raise call.error(f"axis {tuple(axes)} of {call.titled(0)} is not 1 and cannot be squeezed")
    return call.like(0, tuple(dim for axis, dim in enumerate(shape) if axis not in gone))
