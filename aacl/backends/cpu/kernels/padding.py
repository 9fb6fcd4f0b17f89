"""Operators that put a border around their input, and the gradients of those that copy into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._precision import compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, require_shape, with_integers
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


@kernel("Pad", "PadV2", "MirrorPad")
def _pad(request: KernelRequest) -> Kernel:
    def make(flat: tuple[int, ...]) -> Body:
        inner = _padded(request, _pairs(request, flat))
        return lambda x, _, *others: inner(x, *others)

    return prepared(request, with_integers(request, (1,), make))


@kernel("PadV3")
def _pad_v3(request: KernelRequest) -> Kernel:
    """As Pad; ``paddings_contiguous`` false puts all begins before all ends."""

    def make(flat: tuple[int, ...]) -> Body:
        inner = _padded(request, _pairs(request, _paired(request, flat)))
        return lambda x, _, *others: inner(x, *others)

    return prepared(request, with_integers(request, (1,), make))


@kernel("PadD", "PadV2D")
def _pad_attribute(request: KernelRequest) -> Kernel:
    flat = tuple(size for pair in request.attributes["paddings"] for size in pair)
    return prepared(request, _padded(request, _pairs(request, flat)))


@kernel("PadV3D")
def _pad_v3_attribute(request: KernelRequest) -> Kernel:
    """As PadV3, with attributes."""
    flat = tuple(size for pair in request.attributes["paddings"] for size in pair)
    inner = _padded(request, _pairs(request, _paired(request, flat)))
    constant = np.asarray(request.attributes["constant_values"]).astype(request.outputs[0].dtype.numpy_dtype)
    return prepared(request, lambda x, out: inner(x, constant, out))


@kernel("PadV3Grad", "MirrorPadGrad")
def _pad_grad(request: KernelRequest) -> Kernel:
    """The gradient of a padding: what was put into the border goes back to where it was copied from."""
    mode = _mode(request)
    if mode == "constant":
        raise InvalidArgument(f"operator {request.op_type}: mode is 'constant'; it copies nothing into the border")
    dtype = compute_dtype(given(request, 0).dtype)

    def make(flat: tuple[int, ...]) -> Body:
        pairs = _cut_pairs(request, _paired(request, flat))

        def body(grad: Array, _: Array, out: Array) -> None:
            total = grad.astype(dtype, copy=False)
            for axis, pair in enumerate(pairs):
                total = _folded(total, axis, pair, mode)
            require_shape(request.op_type, total.shape, out)
            np.copyto(out, total, casting="same_kind")

        return body

    return prepared(request, quiet(with_integers(request, (1,), make), 3), elements(given(request, 0)))


def _cut_pairs(request: KernelRequest, flat: tuple[int, ...]) -> list[tuple[int, int]]:
    shape, pairs = given(request, 0).shape, list(zip(flat[::2], flat[1::2], strict=False))
    least = 1 if _mode(request) == "edge" else 0
    fits = len(flat) == 2 * len(shape) and all(
        min(pair) >= 0 and dim - sum(pair) >= (least if any(pair) else 0) and _reaches(request, dim, pair)
        for pair, dim in zip(pairs, shape, strict=True)
    )
    if not fits:
        raise InvalidArgument(f"operator {request.op_type}: paddings {flat} cannot be taken from shape {shape}")
    return pairs


def _reaches(request: KernelRequest, dim: int, pair: tuple[int, int]) -> bool:
    """Whether a mirror of what is left covers the border."""
    inner = dim - sum(pair)
    most = {"reflect": inner - 1, "symmetric": inner}.get(_mode(request), max(pair))
    return max(pair) <= most or not any(pair)


def _folded(grad: Array, axis: int, pair: tuple[int, int], mode: Any) -> Array:
    """Return the inside along an axis, with each element of the border added to its source."""
    before, after = pair
    if not before and not after:
        return grad
    rows = np.moveaxis(grad, axis, 0)
    inner = len(rows) - before - after
    total = rows[before : before + inner].copy()
    sources = np.pad(np.arange(inner), pair, mode)
    for place in (*range(before), *range(before + inner, len(rows))):
        total[sources[place]] += rows[place]
    return np.moveaxis(total, 0, axis)


def _paired(request: KernelRequest, flat: tuple[int, ...]) -> tuple[int, ...]:
    """Return paddings as a pair for each axis."""
    if request.attributes.get("paddings_contiguous", True) or len(flat) % 2:
        return flat
    half = len(flat) // 2
    return tuple(size for pair in zip(flat[:half], flat[half:], strict=True) for size in pair)


def _mode(request: KernelRequest) -> Any:
    """Return NumPy's name of the mode."""
    name = request.attributes.get("mode", "constant")
    if name not in _MODES:
        raise InvalidArgument(f"operator {request.op_type}: mode is {name!r}; it is one of {', '.join(_MODES)}")
    return _MODES[name]


def _pairs(request: KernelRequest, flat: tuple[int, ...]) -> list[tuple[int, int]]:
    shape = given(request, 0).shape
    if len(flat) != 2 * len(shape) or min(flat, default=0) < 0:
        raise InvalidArgument(f"operator {request.op_type}: paddings {flat} do not fit shape {shape}")
    return list(zip(flat[::2], flat[1::2], strict=True))


def _padded(request: KernelRequest, pairs: list[tuple[int, int]]) -> Body:
    """Return a body that takes the input, the constant if there is one, and the output."""
    mode = _mode(request)
    shape = given(request, 0).shape
    if mode != "constant" and any(not dim and sum(pair) for dim, pair in zip(shape, pairs, strict=True)):
        raise InvalidArgument(f"operator {request.op_type}: paddings {pairs} copy from an empty axis of shape {shape}")
    result = tuple(dim + before + after for dim, (before, after) in zip(shape, pairs, strict=True))
    inner = tuple(slice(before, before + dim) for dim, (before, _) in zip(shape, pairs, strict=True))

    def body(x: Array, *others: Array | None) -> None:
        out = others[-1]
        assert out is not None
        require_shape(request.op_type, result, out)
        if result == shape:  # the output may be the input
            np.copyto(out, x)
        elif mode == "constant":
            value = others[0] if len(others) > 1 else None
            out[...] = 0 if value is None else value.reshape(())
            out[inner] = x
        else:
            np.copyto(out, np.pad(x, pairs, mode))

    return body
