"""Arithmetic of more than one step, and of more than two tensors.

Sources: the prototype headers' comments, and the public documentation of the framework operators that
they name. Where both are silent: FusedMulAddN is ``x1 * x3 + x2`` with one element ``x3``; Inv truncates integers, 0 gives 0;
where shifts are signed, one by the width of the type or more is one by its width less 1 and a negative one none, as
in TensorFlow's kernels; where they are unsigned, nothing is left of a number that is shifted that far, as in ONNX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._extremes import maximum, minimum
from aacl.backends.cpu.kernels._precision import FLOATS, INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._ufunc import with_ufunc
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_UFUNCS: dict[str, tuple[np.ufunc, int]] = {
    "Multiply": (np.multiply, 0),
    "PtAdd": (np.add, 0),
    "PtMuls": (np.multiply, 0),
    "PtSub": (np.subtract, 0),
    "Gcd": (np.gcd, 20),
    "NextAfter": (np.nextafter, 4),
}


@kernel(*_UFUNCS)
def _plain(request: KernelRequest) -> Kernel:
    return with_ufunc(request, *_UFUNCS[request.op_type])


@kernel("Addcmul", "Addcdiv")
def _add_combined(request: KernelRequest) -> Kernel:
    """``input + value * x1 * x2``, or ``/ x2``; the value is a tensor of one element."""
    divides = request.op_type == "Addcdiv"
    if divides and given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE")
    combine = np.divide if divides else np.multiply

    def body(base: Array, x1: Array, x2: Array, value: Array, out: Array) -> None:
        scaled = np.multiply(combine(x1, x2), value.astype(out.dtype, copy=False).reshape(()))
        np.add(base, scaled, out)

    _require_one_element(request, 3)
    _require_castable(request, (0, 1, 2))
    return stepwise(request, body, 2)


def _require_castable(request: KernelRequest, places: Sequence[int]) -> None:
    """Refuse inputs whose common dtype is of another kind than the output's, an integer one."""
    dtypes, out = [given(request, place).dtype for place in places], request.outputs[0].dtype
    if out in INTEGERS and (
        any(dtype in FLOATS for dtype in dtypes)
        or not np.can_cast(np.result_type(*(dtype.numpy_dtype for dtype in dtypes)), out.numpy_dtype, "same_kind")
    ):
        raise UnsupportedDataType(
            f"operator {request.op_type}: inputs of {', '.join(dtype.name for dtype in dtypes)} do not give "
            f"{out.name}, the dtype of the first one; use Cast"
        )


@kernel("Lerp")
def _lerp(request: KernelRequest) -> Kernel:
    """``start + weight * (end - start)``, from the nearer end as torch does, so that weight 1 gives the end."""

    def body(start: Array, end: Array, weight: Array, out: Array) -> None:
        step = np.subtract(end, start)
        near = np.where(np.abs(weight) < 0.5, start + weight * step, end - step * (1 - weight))
        np.copyto(out, near)

    return stepwise(request, body, 8)


@kernel("Power")
def _power(request: KernelRequest) -> Kernel:
    """``(shift + scale * x) ** power``."""
    power, scale, shift = (float(request.attributes[name]) for name in ("power", "scale", "shift"))

    def body(x: Array, out: Array) -> None:
        np.multiply(x, scale, out)
        np.add(out, shift, out)
        if power != 1.0:
            np.power(out, power, out)

    return stepwise(request, body, 2 * TRANSCENDENTAL)


@kernel("AxpyV2", "Sxpy")
def _axpy(request: KernelRequest) -> Kernel:
    """``x1 + alpha * x2`` in the common dtype; Sxpy without alpha adds."""
    has_alpha = len(request.inputs) > 2 and request.inputs[2] is not None
    if has_alpha:
        _require_one_element(request, 2)

    def body(x1: Array, x2: Array, *rest: Array) -> None:
        out = rest[-1]
        x1, x2 = x1.astype(out.dtype, copy=False), x2.astype(out.dtype, copy=False)
        if has_alpha:
            x2 = np.multiply(x2, rest[0].astype(out.dtype, copy=False).reshape(()))
        np.add(x1, x2, out)

    return stepwise(request, body, 1)


@kernel("FusedMulAdd", "FusedMulAddAdd", "FusedMulAddN")
def _fused(request: KernelRequest) -> Kernel:
    """``x1 * x2 + x3``, then ``+ x4``; FusedMulAddN: ``x1 * x3 + x2``."""
    is_scaled = request.op_type == "FusedMulAddN"
    if is_scaled:
        _require_one_element(request, 2)

    def body(x1: Array, x2: Array, x3: Array, *rest: Array) -> None:
        left, right = (x3.reshape(()), x2) if is_scaled else (x2, x3)
        total = np.multiply(x1, left)
        for term in (right, *rest[:-1]):
            total = np.add(total, term)
        np.copyto(rest[-1], total)

    return stepwise(request, body, len(request.inputs) - 2)


@kernel("Eltwise")
def _eltwise(request: KernelRequest) -> Kernel:
    """Mode 0 product, 1 sum with coefficients, 2 maximum."""
    mode, coefficients = request.attributes["mode"], request.attributes["coeff"]
    if mode not in (0, 1, 2):
        raise InvalidArgument(f"operator Eltwise: mode is {mode}; it is 0 (product), 1 (sum) or 2 (maximum)")
    combine: Body = (np.multiply, np.add, maximum)[mode]
    return stepwise(request, _folding(combine, coefficients if mode == 1 else ()), len(request.inputs))


@kernel("MaxN", "MinN")
def _extreme(request: KernelRequest) -> Kernel:
    """The greatest, or smallest, of inputs that broadcast; NaN wins."""
    return stepwise(request, _folding(maximum if request.op_type == "MaxN" else minimum, ()), len(request.inputs))


def _folding(combine: Body, coefficients: tuple[float, ...]) -> Body:
    """Return a body that combines its inputs one after another, each times its coefficient."""

    def body(*arrays: Array) -> None:
        *inputs, out = arrays
        # The result so far stays apart from the output, which may be one of the later inputs.
        total = np.empty_like(out)
        np.multiply(inputs[0], coefficients[0], total) if coefficients else np.copyto(total, inputs[0])
        for index, array in enumerate(inputs[1:], 1):
            combine(total, np.multiply(array, coefficients[index]) if coefficients else array, total)
        np.copyto(out, total)

    return body


@kernel("Bias")
def _bias(request: KernelRequest) -> Kernel:
    """Caffe's: the bias lies along the axes from ``axis`` on."""
    rank = len(given(request, 0).shape)
    axis = request.attributes["axis"] % max(rank, 1)
    shape = given(request, 1).shape
    aligned = (1,) * rank if elements(given(request, 1)) == 1 else shape + (1,) * (rank - axis - len(shape))

    def body(x: Array, bias: Array, out: Array) -> None:
        np.add(x, bias.reshape(aligned), out)

    # NumPy's own addition rounds half precision once, and looks after operands that overlap.
    return prepared(request, quiet(body, 3), in_place=True)


@kernel("Xdivy", "Xlogy", "Xlog1py")
def _zero_first(request: KernelRequest) -> Kernel:
    """``x1 / x2``, ``x1 * log(x2)``, ``x1 * log(1 + x2)``; 0 where x1 is 0 and x2 is not NaN."""
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "Xdivy": np.divide,
        "Xlogy": lambda x, y: np.multiply(x, np.log(y)),
        "Xlog1py": lambda x, y: np.multiply(x, np.log1p(y)),
    }
    function, keeps_nan = functions[request.op_type], request.op_type != "Xdivy"

    def body(x1: Array, x2: Array, out: Array) -> None:
        zero = np.equal(x1, 0) & ~np.isnan(x2) if keeps_nan else np.equal(x1, 0)
        result = np.asarray(function(x1, x2))  # an array of a 0-d input too
        np.copyto(result, 0, where=zero)
        np.copyto(out, result)

    return stepwise(request, body, TRANSCENDENTAL + 3)


@kernel("Inv")
def _inv(request: KernelRequest) -> Kernel:
    if given(request, 0).dtype != request.outputs[0].dtype:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and INT32")
    if given(request, 0).dtype in INTEGERS:
        return prepared(request, _whole_inverse, 2 * elements(request.outputs[0]), in_place=True)
    return with_ufunc(request, np.reciprocal, 3)


def _whole_inverse(x: Array, out: Array) -> None:
    np.copyto(out, np.where(np.abs(x) == 1, x, 0))


@kernel("LogAddExp")
def _log_add_exp(request: KernelRequest) -> Kernel:
    """``log_b(b^x1 + b^x2)``; base -1 means e. What scale and shift do is not documented: only 1 and 0 are taken."""
    base, scale, shift = (float(request.attributes[name]) for name in ("base", "scale", "shift"))
    if (scale, shift) != (1.0, 0.0):
        raise NotSupported(
            f"operator LogAddExp: scale {scale} and shift {shift} are not documented; leave them 1 and 0"
        )
    if base != -1.0 and (base <= 0.0 or base == 1.0):
        raise InvalidArgument(f"operator LogAddExp: base is {base}; it is -1 for e, or positive and not 1")
    factor = 1.0 if base == -1.0 else float(np.log(base))

    def body(x1: Array, x2: Array, out: Array) -> None:
        if factor == 1.0:
            np.logaddexp(x1, x2, out)
            return
        np.divide(np.logaddexp(np.multiply(x1, factor), np.multiply(x2, factor)), factor, out)

    return stepwise(request, body, 3 * TRANSCENDENTAL)


@kernel("NanToNum")
def _nan_to_num(request: KernelRequest) -> Kernel:
    nan, posinf, neginf = (request.attributes[name] for name in ("nan", "posinf", "neginf"))

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf))

    return stepwise(request, body, 6)


@kernel("LeftShift", "RightShift")
def _shift(request: KernelRequest) -> Kernel:
    if given(request, 0).dtype not in INTEGERS:
        raise refuse_dtype(request, "integer dtypes")
    ufunc = np.left_shift if request.op_type == "LeftShift" else np.right_shift
    if given(request, 1).dtype.name.startswith("U"):
        return prepared(request, ufunc, in_place=True)
    # As TensorFlow does: numbers outside the type's width count as its ends.
    most = given(request, 0).dtype.bits - 1

    def body(x: Array, y: Array, out: Array) -> None:
        ufunc(x, minimum(maximum(y, 0, np.empty_like(y)), most, np.empty_like(y)), out)

    return prepared(request, body, 2 * elements(request.outputs[0]), in_place=True)


@kernel("PopulationCount")
def _population_count(request: KernelRequest) -> Kernel:
    """The number of bits that are 1, in two's complement."""
    unsigned = np.dtype(f"u{given(request, 0).dtype.itemsize}")

    def body(x: Array, out: Array) -> None:
        np.bitwise_count(x.view(unsigned), out)

    return prepared(request, body)


@kernel("ClipByNormNoDivSum")
def _clip_by_norm(request: KernelRequest) -> Kernel:
    """``max(x > greater_zeros ? sqrt(x > greater_zeros ? x : select_ones) : x, maximum_ones)``."""

    def body(x: Array, zeros: Array, ones: Array, least: Array, out: Array) -> None:
        above = np.greater(x, zeros)
        np.maximum(np.where(above, np.sqrt(np.where(above, x, ones)), x), least, out=out)

    return stepwise(request, body, 8)


@kernel("StrideAdd")
def _stride_add(request: KernelRequest) -> Kernel:
    """The sum of a span of the C1 axis of each."""
    length = request.attributes["c1_len"]
    first, second = (request.attributes[f"x{number}_c1_offset"] for number in (1, 2))

    def body(x1: Array, x2: Array, out: Array) -> None:
        np.add(x1[:, first : first + length], x2[:, second : second + length], out)

    return prepared(request, quiet(body, 3))


@kernel("SquareSumV2")
def _square_sum(request: KernelRequest) -> Kernel:
    """Return the kernel of the sum of the squares over ``axis``, and the squares."""
    keep = request.attributes["keep_dims"]
    axes = _axes(request.attributes["axis"], len(given(request, 0).shape))

    def body(x: Array, total: Array, squares: Array) -> None:
        wide = np.square(x, dtype=np.float32)
        np.copyto(total, summed(wide, axes, keepdims=keep), casting="same_kind")
        np.copyto(squares, wide, casting="same_kind")

    return prepared(request, quiet(body, 3), 2 * elements(given(request, 0)))


@kernel("ConfusionMulGrad")
def _confusion_mul(request: KernelRequest) -> Kernel:
    """``input0 * input1``, and the sum of ``input1 * input2`` over ``axes``."""
    keep = request.attributes["keep_dims"]
    rank = max(len(given(request, index).shape) for index in (1, 2))
    axes = _axes(request.attributes["axes"], rank)

    def body(x0: Array, x1: Array, x2: Array, product: Array, total: Array) -> None:
        found = summed(np.multiply(x1, x2, dtype=np.float32), axes, keepdims=keep)
        np.multiply(x0, x1, product)
        np.copyto(total, found, casting="same_kind")

    return prepared(request, quiet(body, 5), 3 * elements(request.outputs[0]))


def _axes(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(sorted({axis % rank for axis in axes})) if axes else tuple(range(rank))


def _require_one_element(request: KernelRequest, index: int) -> None:
    info = given(request, index)
    if elements(info) != 1:
        raise InvalidArgument(f"operator {request.op_type}: input {index} has shape {info.shape}; it holds one element")
