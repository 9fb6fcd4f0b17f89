"""Features to add, change or delete: where they belong, and where they lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from acl import _blocks
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain
from acl.fv._library import Place
from acl.fv._limits import FEATURE_NBYTES, UINT32_MOST, address_of, room_for, within

if TYPE_CHECKING:
    import aacl

__all__ = ("FeatureInfo", "create_feature_info", "destroy_feature_info", "feature_infos")


class FeatureInfo(NamedTuple):
    """Features.

    Attributes:
        place: their repository and offsets.
        address: where they lie, one after another.
    """

    place: Place
    address: int

    def read(self) -> aacl.abc.Array:
        """Return a copy of what lies there now, a row for each; raises `InvalidMemoryRange` if nothing can."""
        data = _blocks.read(self.address, self.place.size * FEATURE_NBYTES)
        return np.frombuffer(data, np.uint8).reshape(-1, FEATURE_NBYTES)


feature_infos: Handles[FeatureInfo] = Handles("feature info", INVALID_PARAM)


@plain(0)
def create_feature_info(
    id0: int,
    id1: int,
    offset: int,
    feature_len: int,
    feature_count: int,
    feature_data: int,
    feature_data_len: int,
    /,
) -> int:
    """Describe features that follow one another in a repository, for `repo_add`, `modify` and `delete`.

    Args:
        id0: the repository's first id.
        id1: its second one.
        offset: of the first feature in the repository; results name features by it.
        feature_len: bytes of one feature: 36, of which the first 32 count in searches.
        feature_count: how many there are, 1 or more.
        feature_data: address of the first, in memory of the device or the host. It is read when they are added or
            changed, not before.
        feature_data_len: bytes there, at least ``feature_len * feature_count``.

    Returns:
        The handle; 0 for another length, no feature, ids or offsets beyond 32 bits, a null address, or too few bytes.

    Source: aclfvCreateFeatureInfo.
    """
    place = Place(
        within("id0", id0, 0, UINT32_MOST),
        within("id1", id1, 0, UINT32_MOST),
        within("the offset", offset, 0, UINT32_MOST),
        within("the number of features", feature_count, 1, UINT32_MOST),
    )
    within("the length of a feature in bytes", feature_len, FEATURE_NBYTES, FEATURE_NBYTES)
    within("the offset of the last feature", place.offset + place.size - 1, 0, UINT32_MOST)
    room_for("the memory of the features", feature_data_len, place.size * FEATURE_NBYTES)
    return feature_infos.add(FeatureInfo(place, address_of("the features", feature_data)))


@code_alone
def destroy_feature_info(feature_info: int, /) -> int:
    """Destroy what `create_feature_info` made, not the features in a repository, nor the memory.

    Args:
        feature_info: the handle.

    Returns:
        0; 100000 if it is none.

    Source: aclfvDestroyFeatureInfo.
    """
    feature_infos.take(feature_info)
    return 0
