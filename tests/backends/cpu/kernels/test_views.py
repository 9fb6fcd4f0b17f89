"""Operators that hand their input on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


def test_identities(run: Run) -> None:
    """The same elements, under the same or another shape."""
    x = _numbered(2, 1, 3)
    for op_type, attributes in (("GuaranteeConst", {}), ("PreventGradient", {"message": "no"}),
                                ("PlaceholderWithDefault", {"shape": [2, 1, 3]}), ("EnsureShape", {"shape": [2, -1, 3]})):  # fmt: skip
        assert run(op_type, [x], attributes)[0].tolist() == x.tolist()
    assert [each.tolist() for each in run("IdentityN", [x, x[0]])] == [x.tolist(), x[0].tolist()]
    assert run("TransShape", [x], {"outShape": [3, 2]})[0].tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(InvalidArgument, match=r"is not the shape \(2, 3\) that is ensured"):
        run("EnsureShape", [x], {"shape": [2, 3]})
    with pytest.raises(InvalidArgument, match="the numbers of elements differ"):
        run("TransShape", [x], {"outShape": [4, 2]})


def test_squeeze_and_unsqueeze(run: Run) -> None:
    """Axes as an attribute or an input; none squeeze all."""
    x = _numbered(2, 1, 3, 1)
    assert run("SqueezeV2", [x], {"axis": [1]})[0].shape == (2, 3, 1)
    assert run("SqueezeV3", [x, np.array([-1])], known=(1,))[0].shape == (2, 1, 3)
    assert run("SqueezeV3", [x])[0].shape == (2, 3)
    assert run("UnsqueezeV2", [x], {"axis": [0]})[0].shape == (1, 2, 1, 3, 1)
    assert run("UnsqueezeV3", [x, np.array([0, -1])], known=(1,))[0].shape == (1, 2, 1, 3, 1, 1)
    with pytest.raises(InvalidArgument, match="is not 1 and cannot be squeezed"):
        run("SqueezeV3", [x, np.array([0])], known=(1,))
    unknown = [TensorDesc.of(np.float32, (2, 1)), TensorDesc.of(np.int64, (1,))]
    assert infer_outputs(schema_of("SqueezeV3"), unknown, {})[0].shape == (-1,)
    assert infer_outputs(schema_of("UnsqueezeV3"), unknown, {})[0].shape == (-1, -1, -1)


@pytest.mark.parametrize(("source", "name", "target"), [(np.float32, "INT32", np.int32), (np.float32, "UINT8", np.uint8),
                                                        (np.int16, "DOUBLE", np.float64), (np.int8, "FLOAT16", np.float16),
                                                        (np.bool_, "INT8", np.int8)])  # fmt: skip
def test_bitcast(run: Run, source: Any, name: str, target: Any) -> None:
    """The same bytes; the last dim holds the parts of a wider element."""
    x = (np.arange(16).reshape(2, 8) % (2 if source == np.bool_ else 99)).astype(source)
    parts = np.dtype(target).itemsize // np.dtype(source).itemsize
    if parts > 1:
        x = np.ascontiguousarray(x.reshape(-1, parts))
    (found,) = run("Bitcast", [x], {"type": name})
    assert found.tobytes() == x.tobytes()
    assert found.dtype == target


def test_bitcast_refuses(run: Run) -> None:
    """Parts that make no element; elements of less than a byte."""
    with pytest.raises(InvalidArgument, match=r"the last dim .* must be 4"):
        run("Bitcast", [np.zeros((2, 3), np.uint8)], {"type": "FLOAT"})
    with pytest.raises(NotSupported, match="4-bit"):
        run("Bitcast", [np.zeros((2, 3), np.uint8)], {"type": "INT4"})
    (found,) = run("Bitcast", [np.array([0, 2, 255], np.uint8)], {"type": "BOOL"})
    assert found.view(np.uint8).tolist() == [0, 1, 1]
