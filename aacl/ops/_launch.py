"""Launches: which kernel runs, and how it is cut into blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

import attrs

from aacl._number import whole
from aacl.errors import InvalidArgument

__all__ = ("BLOCKS_MOST", "Block", "Launch")

BLOCKS_MOST = 65535
"""Blocks of one launch: what ``blockDim`` of an AscendCL launch holds."""


@final
@attrs.frozen
class Block:
    """Which block of a launch a call of a kernel is.

    Attributes:
        index: from 0.
        count: how many there are.
    """

    index: int
    count: int


def _name(kernel: Any) -> str:
    if not isinstance(kernel, str) or not kernel:
        raise InvalidArgument(f"a launch names a kernel, such as 'scaled_add'; {kernel!r} was given")
    return kernel


def _bytes(tiling: Any) -> bytes:
    try:
        view = memoryview(tiling)
        if "O" in view.format:
            raise TypeError(view.format)
        return bytes(view)
    except (TypeError, ValueError, BufferError):
        raise InvalidArgument(f"a launch's tiling is bytes, such as struct.pack gives; {tiling!r} was given") from None


def _blocks(blocks: Any) -> int:
    number = whole(blocks, "a launch's number of blocks")
    if not 1 <= number <= BLOCKS_MOST:
        raise InvalidArgument(f"a launch has 1 to {BLOCKS_MOST} blocks; {number} were given")
    return number


def _sizes(workspaces: Any) -> tuple[int, ...]:
    if isinstance(workspaces, (str, bytes)) or not isinstance(workspaces, Iterable):
        raise InvalidArgument(f"a launch's workspaces are a list of sizes in bytes; {workspaces!r} was given")
    sizes = tuple([whole(each, "the size of a workspace") for each in workspaces])
    for index, nbytes in enumerate(sizes):
        if nbytes < 0:
            raise InvalidArgument(f"workspace {index} of a launch cannot have {nbytes} bytes; give 0 or more")
    return sizes


@final
@attrs.frozen
class Launch:
    """What a selector chooses for one signature.

    Raises:
        InvalidArgument: a part is of another type, blocks are below 1 or above 65,535, or a workspace's size is
            negative.

    Attributes:
        kernel: the name of one of the operator's kernels.
        tiling: bytes that every block gets as they are.
        blocks: how many blocks the work is cut into.
        workspaces: bytes of each piece of device memory that the blocks of a run share; its contents are arbitrary.
    """

    kernel: str = attrs.field(converter=_name)
    tiling: bytes = attrs.field(default=b"", converter=_bytes, kw_only=True)
    blocks: int = attrs.field(default=1, converter=_blocks, kw_only=True)
    workspaces: tuple[int, ...] = attrs.field(default=(), converter=_sizes, kw_only=True)
