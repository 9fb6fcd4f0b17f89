"""Operators that resize pictures, and their gradients, axis by axis.

ResizeNearestNeighborV2 and its like follow TensorFlow's operators, whose pictures have the channels
last unless the tensor's format is NCHW; Resize follows ONNX's, Upsample... torch's. Positions are
worked out in float64, those of neighbours in whole numbers, so that no rounding picks a wrong one.
Integer results of smooth methods are rounded, half to even, and saturate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels import _resampling as resampling
from aacl.backends.cpu.kernels._channels import channel_axis
from aacl.backends.cpu.kernels._precision import REALS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import (
    elements,
    given,
    kernel,
    prepared,
    refuse_dtype,
    require_shape,
    with_integers,
)
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body
    from aacl.backends.cpu.kernels._resampling import Taps

    Maker = Callable[[int, int], Taps]
    """Returns the taps of an axis from its length and the number of results."""

__all__ = ()


@kernel("ResizeNearestNeighborV2", "ResizeNearestNeighbor", "ResizeBilinearV2", "ResizeBicubic", "ResizeArea")
def _resize(request: KernelRequest) -> Kernel:
    """As TensorFlow's resize operators; the bicubic weights are exact, not taken from a table of 1024 steps."""
    return _resized_by_input(request)


@kernel("ResizeBilinear")
def _resize_bilinear_old(request: KernelRequest) -> Kernel:
    """As ResizeBilinearV2, in the dtype of the pictures."""
    return _resized_by_input(request)


def _resized_by_input(request: KernelRequest) -> Kernel:
    maker, axes = _tensorflow(request), _spatial(request)

    def make(size: tuple[int, ...]) -> Body:
        inner = _resizing(request, _tables(request, axes, size, maker))
        return lambda x, _, y: inner(x, y)

    return _kernel(request, with_integers(request, (1,), make))


@kernel("ResizeNearestNeighborV2D", "ResizeNearestNeighborD", "ResizeBilinearD", "ResizeBilinearV2D")
def _resize_attribute(request: KernelRequest) -> Kernel:
    size = tuple(request.attributes["size"])
    return _kernel(request, _resizing(request, _tables(request, _spatial(request), size, _tensorflow(request))))


@kernel("ResizeNearestNeighborV2Grad", "ResizeNearestNeighborGrad")
def _nearest_gradient(request: KernelRequest) -> Kernel:
    """Each element gets the sum of the results that took it."""
    maker, axes = _tensorflow(request), _spatial(request)

    def make(size: tuple[int, ...]) -> Body:
        inner = _spreading(request, _gradient_tables(request, axes, size, maker))
        return lambda slope, _, y: inner(slope, y)

    return _kernel(request, with_integers(request, (1,), make))


@kernel("ResizeNearestNeighborV2GradD")
def _nearest_gradient_attribute(request: KernelRequest) -> Kernel:
    tables = _gradient_tables(request, _spatial(request), tuple(request.attributes["size"]), _tensorflow(request))
    return _kernel(request, _spreading(request, tables))


@kernel("ResizeBilinearV2Grad", "ResizeBilinearGrad", "ResizeBicubicGrad")
def _smooth_gradient(request: KernelRequest) -> Kernel:
    """Of the original image only the shape is used."""
    axes, original = _spatial(request), given(request, 1).shape
    size = tuple(original[axis] for axis in axes)
    inner = _spreading(request, _gradient_tables(request, axes, size, _tensorflow(request)))
    return _kernel(request, lambda slope, _, y: inner(slope, y))


def _spatial(request: KernelRequest) -> tuple[int, int]:
    return (2, 3) if channel_axis(given(request, 0), -1) == 1 else (1, 2)


def _tables(request: KernelRequest, axes: Sequence[int], size: tuple[int, ...], maker: Maker) -> dict[int, Taps]:
    """Return the taps of each axis that changes."""
    shape = given(request, 0).shape
    if len(size) != len(axes) or min(size, default=1) < 1:
        raise InvalidArgument(f"operator {request.op_type}: size {size} must be {len(axes)} sizes of at least 1")
    if any(not shape[axis] for axis in axes):
        raise InvalidArgument(f"operator {request.op_type}: pictures of shape {shape} have nothing to resize")
    return {axis: maker(shape[axis], count) for axis, count in zip(axes, size, strict=True) if shape[axis] != count}


def _gradient_tables(
    request: KernelRequest, axes: Sequence[int], size: tuple[int, ...], maker: Maker
) -> dict[int, Taps]:
    """Return the taps by which the pictures that the gradient comes from were resized."""
    shape = given(request, 0).shape
    if len(size) != len(axes) or min(size, default=1) < 1:
        raise InvalidArgument(f"operator {request.op_type}: size {size} must be {len(axes)} sizes of at least 1")
    return {axis: maker(length, shape[axis]) for axis, length in zip(axes, size, strict=True) if shape[axis] != length}


def _tensorflow(request: KernelRequest) -> Maker:
    aligns = bool(request.attributes["align_corners"])
    halves = bool(request.attributes.get("half_pixel_centers", False))
    if aligns and halves:
        raise InvalidArgument(
            f"operator {request.op_type}: align_corners and half_pixel_centers exclude each other; set one of them"
        )
    if "Nearest" in request.op_type:
        return lambda length, count: resampling.nearest(_neighbours(length, count, aligns, halves), length)
    if "Bicubic" in request.op_type:
        a = -0.5 if halves else -0.75
        return lambda length, count: resampling.cubic(_positions(length, count, aligns, halves), length, a, halves)
    if "Area" in request.op_type:
        return lambda length, count: resampling.area(count, length, _scale(length, count, aligns))
    return lambda length, count: resampling.linear(_positions(length, count, aligns, halves), length)


def _scale(length: int, count: int, aligns: bool) -> float:
    return (length - 1) / (count - 1) if aligns and count > 1 else length / count


def _positions(length: int, count: int, aligns: bool, halves: bool) -> Array:
    """Return where the results lie among the elements."""
    steps = np.arange(count)
    if aligns and count > 1:
        return steps * (length - 1) / (count - 1)
    return (steps + 0.5) * length / count - 0.5 if halves else steps * length / count


def _neighbours(length: int, count: int, aligns: bool, halves: bool) -> Array:
    """Return the nearest element of each result, in whole numbers."""
    steps = np.arange(count)
    if aligns and count > 1:
        return (2 * steps * (length - 1) + count - 1) // (2 * (count - 1))
    return (2 * steps + 1) * length // (2 * count) if halves else steps * length // count


@kernel("UpsampleNearest1d", "UpsampleNearest3d", "UpsampleTrilinear3d")
def _upsample(request: KernelRequest) -> Kernel:
    """As torch's interpolate on ``[N, C, ...]``; factors that are given decide the positions."""
    shape, result = given(request, 0).shape, request.outputs[0].shape
    tables = {
        axis: _torch(request, axis, shape[axis], result[axis])
        for axis in range(2, len(shape))
        if shape[axis] != result[axis] or request.attributes["scales"]
    }
    if any(not shape[axis] for axis in tables):
        raise InvalidArgument(f"operator {request.op_type}: pictures of shape {shape} have nothing to resize")
    return _kernel(request, _resizing(request, tables))


@kernel("UpsampleNearest1dGrad", "UpsampleNearest3dGrad", "UpsampleTrilinear3dGrad")
def _upsample_gradient(request: KernelRequest) -> Kernel:
    """Each element gets the sum of the results that it is in."""
    shape, original = given(request, 0).shape, request.attributes["input_size"]
    tables = {axis: _torch(request, axis, original[axis], shape[axis]) for axis in range(2, len(shape))}
    return _kernel(request, _spreading(request, tables))


def _torch(request: KernelRequest, axis: int, length: int, count: int) -> Taps:
    scales = request.attributes["scales"]
    step = 1 / scales[axis - 2] if scales else length / max(count, 1)
    steps = np.arange(count)
    if "Nearest" in request.op_type:
        return resampling.nearest(np.floor(steps * step) if scales else steps * length // max(count, 1), length)
    if request.attributes["align_corners"]:
        return resampling.linear(steps * ((length - 1) / (count - 1) if count > 1 else 0.0), length)
    return resampling.linear(np.maximum((steps + 0.5) * step - 0.5, 0), length)


@kernel("Resize")
def _resize_onnx(request: KernelRequest) -> Kernel:
    """As ONNX's Resize; cubic too, though the prototype promises nearest and linear only."""
    shape = given(request, 0).shape

    def make(roi: Array | None, scales: Array | None, sizes: Array | None) -> Body:
        if sizes is not None and sizes.size:
            wanted = tuple(sizes.reshape(-1).tolist())
            factors: list[float] = [
                count / length if length else 1.0 for count, length in zip(wanted, shape, strict=True)
            ]
        else:
            assert scales is not None
            factors = scales.reshape(-1).tolist()
            wanted = tuple(int(length * factor) for length, factor in zip(shape, factors, strict=True))
        tables = _onnx_tables(request, shape, wanted, factors, None if roi is None else roi.reshape(-1).tolist())
        inner = _resizing(request, tables, wanted)
        return lambda *arrays: inner(arrays[0], arrays[-1])

    return _kernel(request, _with_values(request, (1, 2, 3), make))


@kernel("ResizeGrad")
def _resize_onnx_gradient(request: KernelRequest) -> Kernel:
    """The transposed of Resize; without scales they follow from the sizes."""
    counts = given(request, 0).shape

    def make(roi: Array | None, scales: Array | None, original: Array | None) -> Body:
        assert original is not None
        lengths = tuple(original.reshape(-1).tolist())
        factors = scales.reshape(-1).tolist() if scales is not None and scales.size else _ratios(counts, lengths)
        tables = _onnx_tables(request, lengths, counts, factors, None if roi is None else roi.reshape(-1).tolist())
        inner = _spreading(request, tables)
        return lambda *arrays: inner(arrays[0], arrays[-1])

    return _kernel(request, _with_values(request, (1, 2, 3), make))


@kernel("ResizeD", "ResizeGradD")
def _resize_onnx_attributes(request: KernelRequest) -> Kernel:
    """As Resize and ResizeGrad; factors other than 1 that are given for the spatial dims decide the positions."""
    is_gradient = request.op_type == "ResizeGradD"
    lengths, counts = given(request, 0).shape, request.outputs[0].shape
    if is_gradient:
        lengths, counts = counts, lengths
    factors, scales = _ratios(counts, lengths), list(request.attributes["scales"])
    if len(scales) == len(lengths):
        factors = scales
    tables = _onnx_tables(request, lengths, counts, factors, list(map(float, request.attributes["roi"])) or None)
    return _kernel(request, (_spreading if is_gradient else _resizing)(request, tables))


def _ratios(counts: Sequence[int], lengths: Sequence[int]) -> list[float]:
    return [count / length if length else 1.0 for count, length in zip(counts, lengths, strict=True)]


def _with_values(request: KernelRequest, indexes: Sequence[int], make: Callable[..., Body]) -> Body:
    """Return a body made from the contents of inputs, now where all of those present are known, else at each run."""
    infos = [request.inputs[index] if index < len(request.inputs) else None for index in indexes]
    if all(info is None or info.value is not None for info in infos):
        return make(*(None if info is None else info.value for info in infos))

    def body(*arrays: Array) -> None:
        make(*(None if info is None else arrays[index] for index, info in zip(indexes, infos, strict=True)))(*arrays)

    return body


def _onnx_tables(
    request: KernelRequest,
    lengths: Sequence[int],
    counts: Sequence[int],
    factors: Sequence[float],
    roi: Sequence[float] | None,
) -> dict[int, Taps]:
    crops = request.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    rank = len(lengths)
    if crops and (roi is None or len(roi) != 2 * rank):
        raise InvalidArgument(f"operator {request.op_type}: tf_crop_and_resize needs a roi of {2 * rank} numbers")
    if any(factor <= 0 for factor, length in zip(factors, lengths, strict=True) if length):
        raise InvalidArgument(f"operator {request.op_type}: scales {list(factors)} must be above 0")
    tables = {}
    for axis, (length, count, factor) in enumerate(zip(lengths, counts, factors, strict=True)):
        bounds = (roi[axis], roi[axis + rank]) if crops and roi is not None else None
        if (length == count and factor == 1 and bounds in (None, (0.0, 1.0))) or not count:
            continue
        if not length:
            raise InvalidArgument(f"operator {request.op_type}: dim {axis} is empty and cannot become {count}")
        tables[axis] = _onnx_taps(request, length, count, factor, bounds)
    return tables


def _onnx_taps(
    request: KernelRequest, length: int, count: int, factor: float, bounds: tuple[float, float] | None
) -> Taps:
    attributes = request.attributes
    positions = _onnx_positions(request, length, count, factor, bounds)
    if attributes["mode"] == "nearest":
        taps = resampling.nearest(_rounded(request, positions), length)
    elif attributes["mode"] == "linear":
        taps = resampling.linear(positions, length)
    elif attributes["mode"] == "cubic":
        taps = resampling.cubic(positions, length, attributes["cubic_coeff_a"], bool(attributes["exclude_outside"]))
    else:
        raise InvalidArgument(
            f"operator {request.op_type}: mode is {attributes['mode']!r}; it must be 'nearest', 'linear' or 'cubic'"
        )
    return taps if bounds is None else taps._replace(missing=(positions < 0) | (positions > length - 1))


def _onnx_positions(
    request: KernelRequest, length: int, count: int, factor: float, bounds: tuple[float, float] | None
) -> Array:
    mode, steps, width = request.attributes["coordinate_transformation_mode"], np.arange(count), length * factor
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and count > 1):
        return (steps + 0.5) / factor - 0.5
    if mode == "pytorch_half_pixel":
        return np.zeros(count)
    if mode == "align_corners":
        return steps * ((length - 1) / (width - 1) if count > 1 else 0.0)
    if mode == "asymmetric":
        return steps / factor
    if mode == "tf_half_pixel_for_nn":
        return (steps + 0.5) / factor
    if mode == "half_pixel_symmetric":
        return length / 2 * (1 - count / width) + (steps + 0.5) / factor - 0.5
    if mode == "tf_crop_and_resize" and bounds is not None:
        start, end = bounds
        if count == 1:
            return np.full(1, 0.5 * (start + end) * (length - 1))
        return start * (length - 1) + steps * (end - start) * (length - 1) / (width - 1)
    raise InvalidArgument(f"operator {request.op_type}: coordinate_transformation_mode {mode!r} is not one of ONNX's")


def _rounded(request: KernelRequest, positions: Array) -> Array:
    mode = request.attributes["nearest_mode"]
    if mode == "round_prefer_floor":
        return np.ceil(positions - 0.5)
    if mode == "round_prefer_ceil":
        return np.floor(positions + 0.5)
    if mode in ("floor", "ceil"):
        return np.floor(positions) if mode == "floor" else np.ceil(positions)
    raise InvalidArgument(f"operator {request.op_type}: nearest_mode {mode!r} is not one of ONNX's")


def _resizing(request: KernelRequest, tables: dict[int, Taps], wanted: tuple[int, ...] | None = None) -> Body:
    """Return a body that resamples along each axis of the tables, the one that shrinks most first."""
    order = sorted(tables, key=lambda axis: len(tables[axis].places) / tables[axis].length)
    is_picking = all(taps.weights is None and taps.missing is None for taps in tables.values())
    outside = request.attributes.get("extrapolation_value", 0.0)

    def body(x: Array, y: Array) -> None:
        if wanted is not None:
            require_shape(request.op_type, wanted, y)
        found = x if is_picking else x.astype(_computing(x.dtype), copy=False)
        for axis in order:
            found = resampling.resampled(found, axis, tables[axis], outside)
        require_shape(request.op_type, found.shape, y)
        _store(found, y)

    return body


def _spreading(request: KernelRequest, tables: dict[int, Taps]) -> Body:
    """Return a body that sums along each axis of the tables, the one that shrinks most first."""
    order = sorted(tables, key=lambda axis: tables[axis].length / max(len(tables[axis].places), 1))

    def body(slope: Array, y: Array) -> None:
        found = slope.astype(_computing(slope.dtype), copy=False)
        for axis in order:
            found = resampling.spread(found, axis, tables[axis])
        require_shape(request.op_type, found.shape, y)
        _store(found, y)

    return body


def _computing(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float64 for itself and for integers that float32 does not hold, else float32."""
    return np.dtype(np.float64 if dtype == np.float64 or (dtype.kind in "iu" and dtype.itemsize > 2) else np.float32)


def _store(found: Array, y: Array) -> None:
    if y.dtype.kind in "iu" and found.dtype.kind == "f":
        limits = np.iinfo(y.dtype)
        found = np.clip(np.rint(found), limits.min, limits.max)
    np.copyto(y, found, casting="unsafe")


def _kernel(request: KernelRequest, body: Body) -> Kernel:
    if given(request, 0).dtype not in REALS:
        raise refuse_dtype(request, "real dtypes")
    arity = len(request.inputs) + 1
    return prepared(request, quiet(body, arity), 4 * max(elements(given(request, 0)), elements(request.outputs[0])))
