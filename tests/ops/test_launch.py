"""What a selector returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aacl import Block, InvalidArgument, Launch


def test_a_launch_keeps_what_it_was_given() -> None:
    """Tiling becomes bytes, sizes a tuple of whole numbers; one block and nothing else is the default."""
    launch = Launch("k", tiling=bytearray(b"ab"), blocks=np.int64(3), workspaces=[np.uint8(7), 0])

    assert (launch.kernel, launch.tiling, launch.blocks, launch.workspaces) == ("k", b"ab", 3, (7, 0))
    assert Launch("k") == Launch("k", tiling=b"", blocks=1, workspaces=())
    assert Launch("k", tiling=np.array([1, 2], np.int32)).tiling == np.array([1, 2], np.int32).tobytes()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"kernel": ""}, "names a kernel"),
        ({"kernel": 3}, "names a kernel"),
        ({"tiling": "text"}, "tiling is bytes"),
        ({"tiling": 8}, "tiling is bytes"),
        ({"tiling": np.array([None])}, "tiling is bytes"),
        ({"tiling": np.array(["2020-01-01"], "M8[D]")}, "tiling is bytes"),
        ({"blocks": 0}, "1 to 65535 blocks; 0"),
        ({"blocks": -1}, "1 to 65535 blocks; -1"),
        ({"blocks": 65536}, "1 to 65535 blocks; 65536"),
        ({"blocks": 2.0}, "whole number"),
        ({"workspaces": [16, -1]}, "workspace 1 of a launch cannot have -1 bytes"),
        ({"workspaces": ["16"]}, "size of a workspace"),
        ({"workspaces": 16}, "list of sizes"),
        ({"workspaces": b"ab"}, "list of sizes"),
    ],
)
def test_a_launch_that_means_nothing(arguments: dict[str, Any], text: str) -> None:
    """Each part is checked where it is made, and the text says what it should be."""
    with pytest.raises(InvalidArgument, match=text):
        Launch(**{"kernel": "k", **arguments})


def test_a_block_is_a_value() -> None:
    """Blocks compare by index and count, and cannot be changed."""
    assert Block(1, 4) == Block(index=1, count=4)
    with pytest.raises(AttributeError):
        Block(1, 4).index = 2  # type: ignore[misc]
