"""Outputs of operators that cut their input, or put a border around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._dims import FREE, Dim, Shape
from aacl.ops._infer._requirements import require_count, require_ones
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Split")
def split(call: Call) -> Sequence[Output]:
    """``num_split`` equal parts; the axis is the first input."""
    return _equal_parts(call, 1, call.integer(0))


@rule("SplitD")
def split_attribute(call: Call) -> Sequence[Output]:
    """``num_split`` equal parts; the axis is an attribute."""
    return _equal_parts(call, 0, call.attributes["split_dim"])


@rule("SplitV")
def split_sizes(call: Call) -> Sequence[Output]:
    """Parts of given sizes; sizes and axis are inputs."""
    return _sized_parts(call, call.integers(1), call.integer(2))


@rule("SplitVD")
def split_sizes_attribute(call: Call) -> Sequence[Output]:
    """Parts of given sizes; sizes and axis are attributes."""
    return _sized_parts(call, call.attributes["size_splits"], call.attributes["split_dim"])


@rule("Unpack")
def unpack(call: Call) -> Sequence[Output]:
    """``num`` parts without the axis."""
    shape, count = call.shape(0), require_count(call, "num")
    if shape is None:
        return [call.like(0, None)] * count
    axis = call.axis(call.attributes["axis"], len(shape), "axis")
    if not shape[axis].meets(Dim(count, count)):
        raise call.error(f"axis {axis} of {call.titled(0)} is not num, {count}")
    return [call.like(0, shape[:axis] + shape[axis + 1 :])] * count


@rule("Slice")
def slice_(call: Call) -> Sequence[Output]:
    """``size`` elements from ``offsets``; -1 means to the end."""
    return [_sliced(call, call.integers(1), call.integers(2))]


@rule("SliceD")
def slice_attribute(call: Call) -> Sequence[Output]:
    """As Slice, with attributes."""
    return [_sliced(call, call.attributes["offsets"], call.attributes["size"])]


@rule("StridedSlice")
def strided_slice(call: Call) -> Sequence[Output]:
    """TensorFlow's strided slice, with its five bit masks."""
    parts = tuple(call.integers(index) for index in (1, 2, 3))
    begin, end, strides = parts
    if begin is None or end is None or strides is None:
        return [call.like(0, _unknown_strided(call))]
    return [_strided(call, begin, end, strides)]


@rule("StridedSliceD")
def strided_slice_attribute(call: Call) -> Sequence[Output]:
    """As StridedSlice, with attributes."""
    return [_strided(call, *(call.attributes[name] for name in ("begin", "end", "strides")))]


@rule("Pad", "PadV2", "MirrorPad")
def pad(call: Call) -> Sequence[Output]:
    """``paddings[i]`` = elements before and after along dim ``i``."""
    require_ones(call, "constant_values")
    return [_padded(call, call.integers(1), contiguous=True)]


@rule("PadV3")
def pad_v3(call: Call) -> Sequence[Output]:
    """As Pad; with ``paddings_contiguous`` false all begins come first, then all ends."""
    require_ones(call, "constant_values")
    return [_padded(call, call.integers(1), contiguous=call.attributes["paddings_contiguous"])]


@rule("PadD", "PadV2D", "PadV3D")
def pad_attribute(call: Call) -> Sequence[Output]:
    """As Pad, with an attribute of pairs; with ``paddings_contiguous`` false begins come first, then ends."""
    require_ones(call, "constant_values")
    flat = tuple(size for pair in call.attributes["paddings"] for size in pair)
    return [_padded(call, flat, contiguous=call.attributes.get("paddings_contiguous", True))]


def _equal_parts(call: Call, index: int, axis: int | None) -> Sequence[Output]:
    shape, count = call.shape(index), require_count(call, "num_split")
    if shape is None or axis is None:
        return [call.like(index, None if shape is None else (FREE,) * len(shape))] * count
    axis = call.axis(axis, len(shape), "split_dim", index)
    dim = shape[axis]
    if dim.is_fixed and dim.least % count:
        raise call.error(f"axis {axis} of {call.titled(index)} cannot be split into {count} equal parts")
    most = dim.most if dim.most == float("inf") else int(dim.most) // count
    part = Dim(-(-dim.least // count), most)
    return [call.like(index, (*shape[:axis], part, *shape[axis + 1 :]))] * count


def _sized_parts(call: Call, sizes: tuple[int, ...] | None, axis: int | None) -> Sequence[Output]:
    shape, count = call.shape(0), require_count(call, "num_split")
    if sizes is not None and len(sizes) != count:
        raise call.error(f"size_splits {tuple(sizes)} has not num_split, {count}, sizes")
    if shape is None or axis is None:
        return [call.like(0, None if shape is None else (FREE,) * len(shape))] * count
    axis = call.axis(axis, len(shape), "split_dim")
    parts = (FREE,) * count if sizes is None else _parts(call, shape[axis], sizes, axis)
    return [call.like(0, (*shape[:axis], part, *shape[axis + 1 :])) for part in parts]


def _parts(call: Call, dim: Dim, sizes: tuple[int, ...], axis: int) -> tuple[Dim, ...]:
    """Return the parts' dims; one -1 stands for the rest."""
    known = sum(size for size in sizes if size >= 0)
    opens = sum(size == -1 for size in sizes)
    fits = known <= dim.most if opens else dim.meets(Dim(known, known)) is not None
    if min(sizes) < -1 or opens > 1 or not fits:
        raise call.error(f"size_splits {tuple(sizes)} do not add up to axis {axis} of {call.titled(0)}")
    return tuple(dim.shifted(-known) if size == -1 else Dim(size, size) for size in sizes)


def _sliced(call: Call, offsets: tuple[int, ...] | None, sizes: tuple[int, ...] | None) -> Output:
    shape = call.shape(0)
    if shape is None or sizes is None:
        return call.like(0, None if shape is None else (FREE,) * len(shape))
    if len(sizes) != len(shape) or (offsets is not None and len(offsets) != len(shape)):
        raise call.error(f"offsets {offsets} and size {tuple(sizes)} need one number a dim of {call.titled(0)}")
    starts = offsets or (None,) * len(shape)
    return call.like(0, tuple(_cut(call, *parts) for parts in zip(shape, starts, sizes, strict=True)))


def _cut(call: Call, dim: Dim, start: int | None, size: int) -> Dim:
    first = start or 0
    if first < 0 or size < -1 or first + max(size, 0) > dim.most:
        raise call.error(f"offset {start} with size {size} lies outside dim {dim} of {call.titled(0)}")
    if size >= 0:
        return Dim(size, size)
    return Dim(0, dim.most) if start is None else dim.shifted(-start)


def _unknown_strided(call: Call) -> Shape:
    """What is known without the values: with no mask that changes the rank, the rank."""
    shape = call.shape(0)
    masks = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    is_plain = shape is not None and not any(call.attributes[mask] for mask in masks)
    return tuple(Dim(0, dim.most) for dim in shape) if is_plain and shape is not None else None


def _strided(call: Call, begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]) -> Output:
    shape = call.shape(0)
    if len({len(begin), len(end), len(strides)}) != 1 or 0 in strides:
        raise call.error(f"begin {begin}, end {end} and strides {strides} need one number each, strides not 0")
    if shape is None:
        return call.like(0, None)
    dims, axis = list[Dim](), 0
    for place, kind in enumerate(_kinds(call, len(begin), len(shape))):
        if kind == "ellipsis":
            skipped = len(shape) - axis - _consumed(call, place + 1, len(begin))
            dims += shape[axis : axis + skipped]
            axis += skipped
        elif kind == "new":
            dims.append(Dim(1, 1))
        else:
            if kind == "range":
                dims.append(_strided_dim(call, shape[axis], begin[place], end[place], strides[place], place))
            elif not -shape[axis].most <= begin[place] < shape[axis].most:
                raise call.error(f"index {begin[place]} lies outside dim {axis} of {call.titled(0)}")
            axis += 1
    return call.like(0, (*dims, *shape[axis:]))


def _kinds(call: Call, count: int, rank: int) -> list[str]:
    """What each entry is: an ellipsis, a new axis, one index, or a range."""
    ellipsis, new, shrink = (call.attributes[f"{name}_mask"] for name in ("ellipsis", "new_axis", "shrink_axis"))
    kinds = []
    for place in range(count):
        bit = 1 << place
        kinds.append("ellipsis" if ellipsis & bit else "new" if new & bit else "index" if shrink & bit else "range")
    used = sum(kind in ("index", "range") for kind in kinds)
    if used > rank or kinds.count("ellipsis") > 1:
        raise call.error(f"{used} entries and {kinds.count('ellipsis')} ellipses are too many for {call.titled(0)}")
    return kinds


def _consumed(call: Call, start: int, count: int) -> int:
    """How many axes the entries from ``start`` on take."""
    return sum(not call.attributes["new_axis_mask"] >> place & 1 for place in range(start, count))


def _strided_dim(call: Call, dim: Dim, begin: int, end: int, stride: int, place: int) -> Dim:
    if not dim.is_fixed:
        whole = call.attributes["begin_mask"] & call.attributes["end_mask"] & 1 << place and abs(stride) == 1
        return dim if whole else Dim(0, dim.most)
    first = None if call.attributes["begin_mask"] >> place & 1 else begin
    last = None if call.attributes["end_mask"] >> place & 1 else end
    size = len(range(*slice(first, last, stride).indices(dim.least)))
    return Dim(size, size)


def _padded(call: Call, flat: tuple[int, ...] | None, *, contiguous: bool) -> Output:
    shape = call.shape(0)
    if shape is not None and flat is None and call.desc(1).element_count not in (-1, 2 * len(shape)):
        raise call.error(f"{call.titled(1)} must hold {2 * len(shape)} numbers, two for each dim of {call.titled(0)}")
    if shape is None or flat is None:
        return call.like(0, None if shape is None else tuple(Dim(dim.least, FREE.most) for dim in shape))
    if len(flat) != 2 * len(shape):
        raise call.error(f"paddings hold {len(flat)} numbers; {call.titled(0)} needs {2 * len(shape)}")
    if any(size < 0 for size in flat):
        raise call.error(f"paddings {tuple(flat)} must not be negative")
    before, after = (flat[::2], flat[1::2]) if contiguous else (flat[: len(shape)], flat[len(shape) :])
    copies = call.attributes.get("mode", "constant") != "constant"
    if copies and any(not dim.most and b + a for dim, b, a in zip(shape, before, after, strict=True)):
        raise call.error(
            f"paddings {tuple(flat)} of mode {call.attributes['mode']} copy from an empty axis of {call.titled(0)}"
        )
    return call.like(0, tuple(dim.shifted(b + a) for dim, b, a in zip(shape, before, after, strict=True)))
