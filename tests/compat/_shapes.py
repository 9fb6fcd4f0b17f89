"""Shapes that a program says of the buffers of a dataset, those that it is told, and buffers of no memory yet."""

from __future__ import annotations

import numpy as np

import acl
from tests.compat._programs import FLOAT, ND, Array, good


def say(dataset: int, *shapes: tuple[int, ...]) -> None:
    """Say the shapes of a dataset's buffers, and destroy the descriptions at once."""
    for position, shape in enumerate(shapes):
        desc = acl.create_tensor_desc(FLOAT, [*shape], ND)
        assert acl.mdl.set_dataset_tensor_desc(dataset, desc, position) == (dataset, 0)
        acl.destroy_tensor_desc(desc)


def told(dataset: int, position: int = 0) -> tuple[int, ...]:
    """Return the shape that a dataset says of a buffer."""
    desc = acl.mdl.get_dataset_tensor_desc(dataset, position)
    assert desc
    return tuple([good(acl.get_tensor_desc_dim_v2(desc, i)) for i in range(acl.get_tensor_desc_num_dims(desc))])


def nulls(count: int) -> tuple[int, list[int]]:
    """Return a dataset of (0, 0) buffers, and these."""
    dataset = acl.mdl.create_dataset()
    buffers = [acl.create_data_buffer(0, 0) for _ in range(count)]
    for buffer in buffers:
        assert acl.mdl.add_dataset_buffer(dataset, buffer) == (dataset, 0)
    return dataset, buffers


def contents(buffer: int, dtype: type, shape: tuple[int, ...]) -> Array:
    """Return what a data buffer holds."""
    data = acl.util.ptr_to_bytes(acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer))
    return np.frombuffer(data, dtype).reshape(shape)


def rows(count: int, start: float = 0) -> Array:
    """Return float32 [count, 4]."""
    return np.arange(start, start + count * 4, dtype=np.float32).reshape(count, 4)
