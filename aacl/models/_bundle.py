"""Bundles: files with several models, each complete in itself. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.errors import ModelDataError
from aacl.models._model_def import describe_compiled
from aacl.models._om import PartitionType, om_pieces, read_om

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.models._om import Partition

__all__ = ("is_complete", "split_bundle")


def split_bundle(data: bytes | memoryview) -> list[bytes]:
    """Return the models of an ``.om`` file one by one, each as the bytes of a file of its own.

    A file of one model is a bundle of one. Follows the container's own rule: the header counts the models, whose
    partition tables follow one another; models that hold nothing of ours are left out.

    Args:
        data: the contents of the file; the results are copies.

    Raises:
        ModelDataError: the bytes are no ``.om`` file, are damaged, or hold no model of ours.
    """
    file = read_om(data)
    models = [partitions for partitions in file.models if is_complete(partitions)]
    if not models:
        raise ModelDataError(describe_compiled(file))
    return [b"".join(om_pieces([each], name=file.name, is_dynamic=file.is_dynamic)) for each in models]


def is_complete(partitions: Sequence[Partition]) -> bool:
    """Whether these partitions of one model hold all that this package needs to run it."""
    return any(partition.type == PartitionType.AACL for partition in partitions)
