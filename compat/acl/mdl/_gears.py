"""Gears: the sizes that a model was converted for, and which of them the next run has.

The models that are converted so far have fixed shapes. So programs are told
that there are no gears, and setting one is refused.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from aacl.errors import InvalidArgument
from acl._status import MODEL_NOT_DYNAMIC, Refused, code_alone, with_code
from acl.mdl._datasets import datasets
from acl.mdl._descs import check_desc
from acl.mdl._models import model_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

__all__ = (
    "get_dynamic_batch",
    "get_dynamic_hw",
    "get_input_dynamic_dims",
    "get_input_dynamic_gear_count",
    "set_dynamic_batch_size",
    "set_dynamic_hw_size",
    "set_input_dynamic_dims",
)


@with_code({})
def get_dynamic_batch(model_desc: int) -> tuple[dict[str, Any], int]:
    """Return ({"batchCount", "batch"}, 0): no gears; ({}, 100000) if it is no description."""
    check_desc(model_desc)
    return {"batchCount": 0, "batch": []}, 0


@with_code({})
def get_dynamic_hw(model_desc: int, index: int) -> tuple[dict[str, Any], int]:
    """Return ({"hwCount", "hw"}, 0): no gears; ({}, 100000) if it is no description. The index is of no use."""
    _check(model_desc, index)
    return {"hwCount": 0, "hw": []}, 0


@with_code(0)
def get_input_dynamic_gear_count(model_desc: int, index: int) -> tuple[int, int]:
    """Return (gears, 0): none; (0, 100000) if it is no description. The index is of no use."""
    _check(model_desc, index)
    return 0, 0


@with_code([])
def get_input_dynamic_dims(model_desc: int, index: int, gear_count: int) -> tuple[list[dict[str, Any]], int]:
    """Return ([dims of all inputs, gear by gear], 0): none; ([], 100000) if it is no description."""
    _check(model_desc, index)
    _check(model_desc, gear_count)
    return [], 0


def _check(model_desc: int, number: int) -> None:
    check_desc(model_desc)
    index(number)


@code_alone
def set_dynamic_batch_size(model_id: int, dataset: int, index: int, batch_size: int) -> int:
    """Choose the batch gear of the next run. Returns 100019: the model has none; 100000 for a batch of 0."""
    _require_positive(batch_size)
    _refuse(model_id, dataset, "batch gears (atc --dynamic_batch_size)")


@code_alone
def set_dynamic_hw_size(model_id: int, dataset: int, index: int, height: int, width: int) -> int:
    """Choose the image size gear of the next run. Returns 100019: the model has none; 100000 for a size of 0."""
    _require_positive(height, width)
    _refuse(model_id, dataset, "image size gears (atc --dynamic_image_size)")


@code_alone
def set_input_dynamic_dims(model_id: int, dataset: int, index: int, dims: Mapping[str, Any]) -> int:
    """Choose the dims gear of the next run. Returns 100019: the model has none."""
    if not isinstance(dims, dict):
        raise TypeError(f"argument 4 must be dict, not {type(dims).__name__}")
    _refuse(model_id, dataset, "dims gears (atc --dynamic_dims)")


def _require_positive(*sizes: int) -> None:
    if any(index(size) < 1 for size in sizes):
        raise InvalidArgument(f"a gear is at least 1; {', '.join(map(str, sizes))} was asked for")


def _refuse(model_id: int, dataset: int, gears: str) -> NoReturn:
    loaded = model_at(model_id)
    datasets.get(dataset)
    raise Refused(MODEL_NOT_DYNAMIC, f"model {loaded.model.name!r} has fixed shapes; it was not converted with {gears}")
