"""Sparse constants become dense ones: nothing behind the converter knows others.

Source: ``SparseTensorProto`` of the public ONNX specification: `values` [n], and
`indices` either [n] (places in the flattened tensor) or [n, rank].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aacl.converter._reports import ModelUnreadable, Unconvertible

if TYPE_CHECKING:
    from onnx import ModelProto, SparseTensorProto, TensorProto

__all__ = ("make_dense",)

_MOST_NBYTES = 2**31 - 1  # of a tensor inside an ONNX file
_EXTERNAL = 1
Array = npt.NDArray[Any]


def make_dense(model: ModelProto) -> None:
    """Replace the graph's sparse initializers by dense ones of the same name.

    Raises:
        ModelUnreadable: the indices do not fit the dims, or the values are no tensor that can be read.
        Unconvertible: the dense tensor would be larger than an ONNX file holds, or has its data outside.
    """
    graph = model.graph
    if graph.sparse_initializer:
        dense = [_dense(sparse) for sparse in graph.sparse_initializer]
        del graph.sparse_initializer[:]
        graph.initializer.extend(dense)


def _dense(sparse: SparseTensorProto) -> TensorProto:
    from onnx import numpy_helper

    name, dims = sparse.values.name, tuple(sparse.dims)
    if _EXTERNAL in (sparse.values.data_location, sparse.indices.data_location):
        raise Unconvertible("E10055", f"the sparse constant {name!r} has its data in another file")
    try:
        values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
        places = _places(indices, dims)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelUnreadable("E10041", f"the sparse constant {name!r} is damaged: {error}") from error
    size = math.prod(dims)
    if size * values.itemsize > _MOST_NBYTES:
        raise Unconvertible("E10055", f"the sparse constant {name!r} has {size} elements of {values.dtype}: too many")
    if len(places) != len(values) or (len(places) and not 0 <= places.min() <= places.max() < size):
        raise ModelUnreadable("E10041", f"the sparse constant {name!r} has indices outside its dims {list(dims)}")
    array = np.zeros(size, values.dtype)
    array[places] = values
    return numpy_helper.from_array(array.reshape(dims), name)


def _places(indices: Array, dims: tuple[int, ...]) -> Array:
    """Return the places in the flattened tensor."""
    if min(dims, default=0) < 0:
        raise ValueError(f"dims {list(dims)}")
    if indices.ndim == 1:
        return indices.astype(np.int64)
    return np.asarray(np.ravel_multi_index(tuple(indices.T), dims), np.int64)
