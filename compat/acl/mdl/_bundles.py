"""Bundles: files with several models, each of which is loaded under an id of its own."""

from __future__ import annotations

from operator import index as whole
from typing import NamedTuple

import aacl
from aacl.errors import InvalidArgument
from acl._devices import current
from acl._handles import Handles
from acl._status import BUNDLE_ID_INVALID, code_alone, with_code
from acl.mdl._load import load_bytes, read_file, read_memory, unload_model
from acl.mdl._models import models, numbers

__all__ = (
    "bundle_get_model_id",
    "bundle_get_model_num",
    "bundle_load_from_file",
    "bundle_load_from_mem",
    "bundle_unload",
)


class _Bundle(NamedTuple):
    """The ids of a bundle's models, in the file's order."""

    model_ids: tuple[int, ...]


_bundles: Handles[_Bundle] = Handles("model bundle", BUNDLE_ID_INVALID, null=BUNDLE_ID_INVALID, numbers=numbers)


@with_code(0)
def bundle_load_from_file(model_path: str, /) -> tuple[int, int]:
    """Load every model of an ``.om`` file into this thread's context.

    Args:
        model_path: the ``.om`` file.

    Returns:
        (bundle id, 0), an id that is no model's; (0, code) as ``load_from_file``, and nothing is loaded.

    Source: aclmdlBundleLoadFromFile.
    """
    current()
    return _load(read_file(model_path)), 0


@with_code(0)
def bundle_load_from_mem(model_ptr: int, model_size: int, /) -> tuple[int, int]:
    """Load every model of a file in memory, which may be freed at once.

    Args:
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.

    Returns:
        (bundle id, 0); (0, code) as ``load_from_mem``, and nothing is loaded.

    Source: aclmdlBundleLoadFromMem.
    """
    current()
    return _load(read_memory(model_ptr, model_size)), 0


def _load(data: bytes) -> int:
    loaded: list[int] = []
    try:
        for each in aacl.models.split_bundle(data):
            loaded.append(load_bytes(each))  # noqa: PERF401 - what is loaded when one fails is unloaded
    except BaseException:
        for model_id in loaded:
            unload_model(model_id)
        raise
    return _bundles.add(_Bundle(tuple(loaded)))


@with_code(0)
def bundle_get_model_num(bundle_id: int, /) -> tuple[int, int]:
    """Return how many models a bundle has.

    Args:
        bundle_id: the bundle.

    Returns:
        (number of models, 0); (0, 148053) if there is no such bundle.

    Source: aclmdlBundleGetModelNum.
    """
    return len(_bundles.get(bundle_id).model_ids), 0


@with_code(0)
def bundle_get_model_id(bundle_id: int, index: int, /) -> tuple[int, int]:
    """Return a model of a bundle by position, for the calls that take models.

    Args:
        bundle_id: the bundle.
        index: the model's position in the bundle, from 0.

    Returns:
        (model id, 0); (0, code): 100000 if there is no such position, 148053 if there is no such bundle.

    Source: aclmdlBundleGetModelId.
    """
    model_ids, place = _bundles.get(bundle_id).model_ids, whole(index)
    if not 0 <= place < len(model_ids):
        raise InvalidArgument(f"there is no model {place} in the bundle, which has {len(model_ids)}")
    return model_ids[place], 0


@code_alone
def bundle_unload(bundle_id: int, /) -> int:
    """Unload the models of a bundle that were not unloaded one by one.

    Args:
        bundle_id: the bundle.

    Returns:
        0; 148053 if there is no such bundle (any more); otherwise the code of ``unload`` for the first model that
        refuses, and those that are left can be tried again.

    Source: aclmdlBundleUnload.
    """
    for model_id in _bundles.get(bundle_id).model_ids:
        if model_id in models.objects:
            unload_model(model_id)
    _bundles.take(bundle_id)
    return 0
