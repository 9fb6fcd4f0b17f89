"""What a kernel is given: inputs, outputs, workspaces, tiling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import SharedKernel, Stream, TensorDesc
from tests.helpers.own_operators import Own


async def test_what_python_kernels_are_given(stream: Stream) -> None:
    """Inputs read-only, outputs and workspaces on device memory, writable; absent inputs None."""
    facts: list[Any] = []

    def look(_block: Any, inputs: Any, outputs: Any, workspaces: Any, tiling: Any) -> None:
        facts.append([each if each is None else (each.flags.writeable, each.dtype, each.shape) for each in inputs])
        facts.append([(each.flags.writeable, each.dtype, each.shape) for each in outputs])
        facts.append([(each.flags.writeable, each.dtype, each.shape) for each in workspaces])
        facts.append([aacl.memory.is_device_address(each.ctypes.data) for each in (*outputs, workspaces[0])])
        facts.append([each.ctypes.data % 64 for each in workspaces])
        facts.append(tiling)
        with pytest.raises(ValueError, match="read-only"):
            inputs[0][0] = 1
        outputs[0].shape = (4, 1)  # a kernel's own view

    with Own(look, [((2, 2), "bfloat16"), ((), np.bool_)], workspaces=[10, 0], tiling=b"t") as own:
        results = await stream.execute(own(await stream.to_device(np.zeros(3, np.int8)), None))
    f64 = TensorDesc.of("bfloat16", ()).dtype.numpy_dtype
    assert facts == [
        [(False, np.dtype(np.int8), (3,)), None],
        [(True, f64, (2, 2)), (True, np.dtype(np.bool_), ())],
        [(True, np.dtype(np.uint8), (10,)), (True, np.dtype(np.uint8), (0,))],
        [True, True, True],
        [0, 0],
        b"t",
    ]
    assert results[0].shape == (2, 2)
    assert (await stream.to_host(results[0])).shape == (2, 2)


async def test_what_shared_kernels_are_given(stream: Stream, library: Path) -> None:
    """NULL for an absent input, aligned tiling and workspaces, the block and the number of blocks."""
    for tiling in (b"", b"x", bytes(100)):
        launch = {"workspaces": [100, 200], "tiling": tiling}
        with Own(SharedKernel(library, "facts"), [((6,), np.int64)], **launch) as own:
            assert (await stream.to_host(await stream.execute(own(None)))).tolist() == [1, 0, 0, 1, 0, 1]
