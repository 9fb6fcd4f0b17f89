"""Datasets: the data buffers of one run, in the model's order."""

from __future__ import annotations

from operator import index as whole
from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._data_buffers import data_buffers
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain, with_first
from acl._tensor_descs import forget, tensor_descs

if TYPE_CHECKING:
    import aacl

__all__ = (
    "Dataset",
    "add_dataset_buffer",
    "create_dataset",
    "datasets",
    "destroy_dataset",
    "get_dataset_buffer",
    "get_dataset_num_buffers",
    "get_dataset_tensor_desc",
    "put_desc",
    "set_dataset_tensor_desc",
    "spans_of",
)


class Dataset:
    """Data buffers by handle, and descriptions of some.

    Attributes:
        buffers: the handles; buffers and their memory are the program's.
        descs: descriptions by position, copied from the program's.
        desc_handles: the handles that were given out for these.
        gears: the gear chosen for its next runs, by model.
        given: the memory that runs gave to its null buffers, by position.
    """

    __slots__ = ("buffers", "desc_handles", "descs", "gears", "given")

    def __init__(self) -> None:
        self.buffers: list[int] = []
        self.descs: dict[int, aacl.TensorDesc] = {}
        self.desc_handles: dict[int, int] = {}
        self.gears: dict[int, int] = {}
        self.given: dict[int, aacl.Buffer] = {}


datasets: Handles[Dataset] = Handles("dataset", INVALID_PARAM)


@plain(0)
def create_dataset() -> int:
    """Make an empty dataset.

    Returns:
        The handle.

    Source: aclmdlCreateDataset.
    """
    return datasets.add(Dataset())


@code_alone
def destroy_dataset(dataset: int, /) -> int:
    """Destroy a dataset, neither its data buffers nor their memory.

    Args:
        dataset: the dataset.

    Returns:
        0; 100000 if it is none.

    Source: aclmdlDestroyDataset.
    """
    for handle in datasets.take(dataset).desc_handles.values():
        forget(handle)
    return 0


@with_first
def add_dataset_buffer(dataset: int, data_buffer: int, /) -> int:
    """Put a data buffer behind the others of a dataset.

    Args:
        dataset: the dataset.
        data_buffer: the data buffer.

    Returns:
        (dataset, 0); (dataset, 100000) if one of them is none.

    Source: aclmdlAddDatasetBuffer.
    """
    target = datasets.get(dataset)
    data_buffers.get(data_buffer)
    target.buffers.append(whole(data_buffer))
    return 0


@plain(0)
def get_dataset_num_buffers(dataset: int, /) -> int:
    """Return how many data buffers a dataset has.

    Args:
        dataset: the dataset.

    Returns:
        The number; 0 if it is no dataset.

    Source: aclmdlGetDatasetNumBuffers.
    """
    return len(datasets.get(dataset).buffers)


@plain(0)
def get_dataset_buffer(dataset: int, index: int, /) -> int:
    """Return a data buffer of a dataset by its position.

    Args:
        dataset: the dataset.
        index: the position.

    Returns:
        The data buffer's handle; 0 if there is no such position or dataset.

    Source: aclmdlGetDatasetBuffer.
    """
    buffers = datasets.get(dataset).buffers
    return buffers[_place(buffers, index)]


def _place(buffers: list[int], position: int) -> int:
    place = whole(position)
    if not 0 <= place < len(buffers):
        raise InvalidArgument(f"position {place} is not in the dataset, which has {len(buffers)} buffers")
    return place


@with_first
def set_dataset_tensor_desc(dataset: int, tensor_desc: int, index: int, /) -> int:
    """Say what shape a data buffer's contents have in the next runs; the description is copied.

    Args:
        dataset: the dataset.
        tensor_desc: the description, of which only the dims matter; 0 takes an earlier one back.
        index: the buffer's position.

    Returns:
        (dataset, 0); (dataset, 100000) if there is no such dataset, description or position.

    Source: aclmdlSetDatasetTensorDesc.
    """
    target = datasets.get(dataset)
    place = _place(target.buffers, index)
    if whole(tensor_desc):
        put_desc(target, place, tensor_descs.get(tensor_desc))
    else:
        target.descs.pop(place, None)
        forget(target.desc_handles.pop(place, 0))
    return 0


@plain(0)
def get_dataset_tensor_desc(dataset: int, index: int, /) -> int:
    """Return the description that a dataset holds at a position, which ends with the dataset.

    Args:
        dataset: the dataset.
        index: the position.

    Returns:
        The description's handle; 0 if it holds none there, or there is no such position or dataset.

    Source: aclmdlGetDatasetTensorDesc.
    """
    target = datasets.get(dataset)
    place = _place(target.buffers, index)
    desc = target.descs.get(place)
    if desc is None:
        return 0
    if target.desc_handles.get(place) not in tensor_descs.objects:  # none yet, or the program destroyed it
        target.desc_handles[place] = tensor_descs.add(desc)
    return target.desc_handles[place]


def put_desc(dataset: Dataset, place: int, desc: aacl.TensorDesc) -> None:
    """Let a dataset hold a description, also under the handle that was given out for the one before."""
    dataset.descs[place] = desc
    handle = dataset.desc_handles.get(place)
    if handle in tensor_descs.objects:
        tensor_descs.objects[handle] = desc


def spans_of(dataset: Dataset) -> tuple[tuple[int, int], ...]:
    """Return the memory of a dataset's buffers; raises `Refused` for one that was destroyed."""
    try:
        return tuple(map(data_buffers.objects.__getitem__, dataset.buffers))
    except KeyError:
        return tuple([data_buffers.get(handle) for handle in dataset.buffers])
