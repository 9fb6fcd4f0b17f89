"""Half precision to float32 and back, quickly where there is much of it.

NumPy converts float16 in software, 3 to 7 ns an element; ONNX Runtime uses the processor's own conversion and
takes a thirtieth. Its call costs 20 us, so few elements stay with NumPy. Both round to nearest, ties to
even, and give the same bits. bfloat16 is quick as it is.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu._foreign import foreign
from aacl.backends.cpu.kernels._onnx import Node, Port, model_bytes

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("narrow", "widen")

_MANY = 8192
_HALF = np.dtype(np.float16)
_ELEMENTS = {np.dtype(np.float32): 1, _HALF: 10}
"""ONNX's numbers."""


def widen(array: Array, out: Array | None = None) -> Array:
    """Return a half-precision array as a float32 one, a new one unless ``out`` is given."""
    wide = np.empty(array.shape, np.float32) if out is None else out
    is_quick = array.size >= _MANY and array.dtype == _HALF and array.shape == wide.shape
    if is_quick and array.flags.c_contiguous and wide.flags.c_contiguous:
        _convert(array, wide)
    else:
        np.copyto(wide, array)
    return wide


def narrow(wide: Array, out: Array) -> None:
    """Round a float32 array into a half-precision one of its shape."""
    is_quick = wide.size >= _MANY and wide.dtype == np.float32 and out.dtype == _HALF
    if is_quick and wide.shape == out.shape and wide.flags.c_contiguous and out.flags.c_contiguous:
        _convert(wide, out)
    else:
        np.copyto(out, wide, casting="unsafe")


def _convert(source: Array, target: Array) -> None:
    elements = _ELEMENTS[source.dtype], _ELEMENTS[target.dtype]
    with foreign():
        _run(_session(*elements), elements, source, target)


def _run(session: Any, elements: tuple[int, int], source: Array, target: Array) -> None:
    binding, shape = session.io_binding(), (source.size,)
    binding.bind_input("x", "cpu", 0, elements[0], shape, source.ctypes.data)
    binding.bind_output("y", "cpu", 0, elements[1], shape, target.ctypes.data)
    session.run_with_iobinding(binding)


@functools.cache
def _session(source: int, target: int) -> Any:
    import onnxruntime

    cast = Node("Cast", ("x",), ("y",), (("to", target),))
    model = model_bytes([cast], [Port("x", source, (-1,))], [Port("y", target, (-1,))], (), {"": 17})
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
