"""Guard bytes: writes outside what a kernel may write are found."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aacl import InvalidArgument, KernelOverflow, SharedKernel, Stream, ops
from aacl.ops._guard import FENCE
from tests.helpers.own_operators import Own


def _stray(library: Path, what: int, offset: int, *, workspace: int = 50) -> Own:
    tiling = struct.pack("<qq", what, offset)
    return Own(SharedKernel(library, "stray"), workspaces=[workspace], tiling=tiling)


@pytest.mark.parametrize(
    ("what", "offset", "text"),
    [
        (0, 32, r"up to 1 bytes behind the end of output 0 \(32 bytes\)"),
        (0, 100, r"up to 69 bytes behind the end of output 0 \(32 bytes\)"),
        (0, -1, r"up to 1 bytes before the start of output 0"),
        (0, -FENCE, rf"up to {FENCE} bytes before the start of output 0"),
        (0, 31 + FENCE, rf"up to {FENCE} bytes behind the end of output 0"),
        (1, 50, r"up to 1 bytes behind the end of workspace 0 \(50 bytes\)"),
        (1, -8, r"up to 8 bytes before the start of workspace 0"),
        (2, 3, r"input 0, from byte 3 to byte 3"),
        (2, 24, r"up to 1 bytes behind the end of input 0 \(24 bytes\)"),
    ],
)
async def test_writes_outside_are_found(
    monkeypatch: pytest.MonkeyPatch, stream: Stream, library: Path, what: int, offset: int, text: str
) -> None:
    """With checks on the error names kernel, operator, tensor and how far; the input itself is unharmed."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "1")
    x = await stream.to_device(np.arange(3.0))
    with _stray(library, what, offset) as own:
        with pytest.raises(
            KernelOverflow, match=f"kernel 'kernel' of operator Own wrote where it may not: {text}"
        ) as e:
            await stream.execute(own(x))
        assert e.value.code == 507043
    assert (await stream.to_host(x)).tolist() == [0, 1, 2]
    assert (await stream.to_host(await stream.execute(ops.Add(x, x)))).tolist() == [0, 2, 4]


async def test_good_kernels_pass_the_checks(monkeypatch: pytest.MonkeyPatch, stream: Stream, library: Path) -> None:
    """Results are the same with checks and without, for arrays of every size, and what an output held is seen."""

    def add_to(_block: Any, inputs: Any, outputs: Any, workspaces: Any, _tiling: Any) -> None:
        workspaces[0][:] = 7
        outputs[0][...] += inputs[0]

    for checked in ("0", "1"):
        monkeypatch.setenv("AACL_CHECK_KERNELS", checked)
        for shape in ((), (0, 3), (5,), (64, 33)):
            with Own(add_to, [(shape, np.float32)], workspaces=[33]) as own:
                x = await stream.to_device(np.ones(shape, np.float32))
                out = await stream.to_device(np.full(shape, 2.0, np.float32))
                await stream.execute(own(x, None, out=out))
                assert (np.asarray(await stream.to_host(out)) == 3).all()
        with _stray(library, 0, 5) as own:
            expected = np.zeros(32, np.uint8)
            expected[5] = 0x55
            y = await stream.to_host(await stream.execute(own(await stream.to_device(np.arange(3.0)))))
            np.testing.assert_array_equal(y.view(np.uint8), expected)


async def test_a_python_kernel_that_gets_around_read_only(monkeypatch: pytest.MonkeyPatch, stream: Stream) -> None:
    """An input made writable and written is found too."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "1")

    def write(_block: Any, inputs: Any, _outputs: Any, _workspaces: Any, _tiling: Any) -> None:
        inputs[0].flags.writeable = True
        inputs[0][1:] = 9

    x = await stream.to_device(np.zeros(4, np.uint8))
    with Own(write) as own, pytest.raises(KernelOverflow, match="input 0, from byte 1 to byte 3"):
        await stream.execute(own(x))
    assert not (await stream.to_host(x)).any()


async def test_the_setting_is_0_or_1(monkeypatch: pytest.MonkeyPatch, stream: Stream) -> None:
    """Something else is refused when a launch is prepared."""
    monkeypatch.setenv("AACL_CHECK_KERNELS", "yes")
    with Own(lambda *_: None) as own, pytest.raises(InvalidArgument, match="AACL_CHECK_KERNELS is 'yes'"):
        stream.execute(own())
