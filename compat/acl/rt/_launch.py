"""Launches of kernel functions: every block once, in their place in a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any, NamedTuple, TypeAlias

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._args_dump import args_dump
from acl._devices import stream_at
from acl._status import PARAM_INVALID, RT_NOT_SUPPORTED, Refused, code_alone
from acl.rt._argument_list import kernel_args
from acl.rt._binary import Function, functions
from acl.rt._exception import watch
from acl.rt._fields import fields

__all__ = ("launch_kernel", "launch_kernel_with_config", "launch_kernel_with_host_args")

_BLOCKS = range(1, 65536)
_WORD = 8
_SCHEDULE, _ENGINE, _BLOCK_OFFSET, _PREFETCH, _DUMP, _TIMEOUT, _TIMEOUT_US = 1, 3, 4, 5, 6, 7, 8
_BATCH = 1  # of _SCHEDULE: the blocks run at the same time
_VALUES = {
    _SCHEDULE: range(3),
    _ENGINE: range(2),
    _BLOCK_OFFSET: range(1 << 32),
    _PREFETCH: range(2),
    _DUMP: range(2),
    _TIMEOUT: range(1 << 16),
    _TIMEOUT_US: range(1 << 64),
}
"""Of each ``aclrtLaunchKernelAttrId``: what it may be."""


class _Config(NamedTuple):
    """What the attributes of a launch come to.

    Attributes:
        timeout: seconds, or None.
        is_batch: whether all blocks must run at the same time.
        is_dumped: whether a dump of arguments has the launch.
    """

    timeout: float | None = None
    is_batch: bool = False
    is_dumped: bool = True


_Make: TypeAlias = "Callable[..., aacl.ops.KernelCall]"
"""Called with ``blocks`` and ``timeout``."""


@code_alone
def launch_kernel_with_config(
    func_handle: int, num_blocks: int, stream: int, cfg_list: Sequence[Any], args_handle: int, reserve: int | None, /
) -> int:
    """Launch a function with arguments that were put together.

    Args:
        func_handle: the function.
        num_blocks: how many blocks run it, 1 to 65,535.
        stream: 0 stands for the default one.
        cfg_list: ``{'id': ..., 'value': ...}`` or pairs; an ``aclrtLaunchKernelAttrId`` each. 7 and 8 bound the run, in
            seconds and microseconds, 0 being no bound: a run that has taken longer fails when it ends, with 507014 at
            the next synchronise. With 1, value 1 (batch) asks that all blocks run at the same time. With 6, value 0
            leaves the launch out of a dump of arguments. 3 and 5 change nothing on the host. [] for none.
        args_handle: the function's arguments, final; their values are copied now.
        reserve: 0 or None.

    Returns:
        0, which means submitted: a block that fails is 507018 at the next synchronise. 107000 for other numbers of
        blocks, arguments that are not final or another function's, an unknown attribute or value, batch with more
        blocks than the device has cores, or ``reserve``; 207000 for attribute 4, an offset of the blocks, other than 0;
        107017 for no function, arguments or stream, 107002 and 107003 as ``synchronize_stream``.

    Source: aclrtLaunchKernelWithConfig.
    """
    function = functions.get(func_handle)
    if reserve:
        raise Refused(PARAM_INVALID, f"the last argument is reserved; pass 0, not {reserve!r}")
    args = kernel_args.get(args_handle)
    if args.function is not function:
        raise Refused(
            PARAM_INVALID, f"these are arguments of function {args.function.name!r}, not of {function.name!r}"
        )
    if not args.is_final:
        raise Refused(PARAM_INVALID, "the arguments are not complete; call acl.rt.kernel_args_finalize first")
    _launch(num_blocks, stream, _config(cfg_list), args.call)
    return 0


@code_alone
def launch_kernel_with_host_args(
    func_handle: int,
    num_blocks: int,
    stream: int,
    cfg_list: Sequence[Any],
    host_args_ptr: int,
    host_args_size: int,
    place_holder_list: Sequence[Any],
    place_holder_num: int,
    /,
) -> int:
    """Launch a function with arguments that lie on the host.

    Args:
        func_handle: the function.
        num_blocks: how many blocks run it, 1 to 65,535.
        stream: 0 stands for the default one.
        cfg_list: as `launch_kernel_with_config`.
        host_args_ptr: where the arguments lie, each at a multiple of 8 bytes, and behind them what they point to. They
            are copied now.
        host_args_size: their bytes, and those of the data, together.
        place_holder_list: ``{'addrOffset': ..., 'dataOffset': ...}`` or pairs: the argument at the one offset points to
            the data at the other, both in bytes from the start. [] for none.
        place_holder_num: how many of them count.

    Returns:
        0, which means submitted. 100000 for a null address; 107000 for fewer bytes than the function takes, memory that
        is not mapped, more place holders than there are, or an offset outside the bytes; others as
        `launch_kernel_with_config`.

    Source: aclrtLaunchKernelWithHostArgs.
    """
    function = functions.get(func_handle)
    config, inner = _config(cfg_list), _inner(place_holder_list, place_holder_num)
    data = _arguments(function, host_args_ptr, host_args_size)
    for at, to in inner.items():
        if not (0 <= at <= len(data) - _WORD and 0 <= to < len(data)):
            raise Refused(PARAM_INVALID, f"a place holder at byte {at} for data at {to} is not in {len(data)} bytes")
    _launch(num_blocks, stream, config, partial(function.native.with_bytes, data, inner=inner))
    return 0


@code_alone
def launch_kernel(
    func_handle: int, num_blocks: int, args_data: int | Sequence[int], args_size: int, stream: int, /
) -> int:
    """Launch a function with arguments that lie in device memory.

    Args:
        func_handle: the function.
        num_blocks: how many blocks run it, 1 to 65,535.
        args_data: the address of device memory with the arguments, each at a multiple of 8 bytes. They are read when
            the run's turn comes; those that lie on the host are copied now. Or a list of whole numbers, 64 bits each.
        args_size: their bytes.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted. 100000 for a null address; 107000 for other numbers of blocks, fewer bytes than the
        function takes or more than the list has, or bytes outside an allocation; others as `launch_kernel_with_config`.

    Source: aclrtLaunchKernel.
    """
    function = functions.get(func_handle)
    native = function.native
    if isinstance(args_data, (list, tuple)):
        data = b"".join([(index(each) % (1 << 64)).to_bytes(_WORD, "little") for each in args_data])
        nbytes = _enough(function, args_size)
        if nbytes > len(data):
            raise Refused(PARAM_INVALID, f"a list of {len(args_data)} arguments has {len(data)} bytes, not {nbytes}")
        make: _Make = partial(native.with_bytes, data[:nbytes])
    else:
        address = index(args_data)  # type: ignore[arg-type] # a range, say, is a TypeError
        if aacl.memory.is_device_address(address):
            make = partial(native.with_memory, address, _enough(function, args_size))
        else:
            make = partial(native.with_bytes, _arguments(function, address, args_size))
    _launch(num_blocks, stream, _Config(), make)
    return 0


def _launch(num_blocks: int, stream: int, config: _Config, make: _Make) -> None:
    blocks, target = index(num_blocks), stream_at(stream)
    if blocks not in _BLOCKS:
        raise Refused(PARAM_INVALID, f"a launch has {_BLOCKS[0]} to {_BLOCKS[-1]} blocks, not {blocks}")
    cores = target.context.device.device.properties.cores
    if config.is_batch and blocks > cores:
        raise Refused(PARAM_INVALID, f"{blocks} blocks cannot run at the same time: the device has {cores} cores")
    call = make(blocks=blocks, timeout=config.timeout)
    if args_dump.is_on and config.is_dumped:
        data = call.arguments
        args_dump.add({"function": call.function.name, "blocks": blocks, "arguments": data and data.hex()}, target)
    watch(target, target.stream.execute(call))


def _config(entries: Any) -> _Config:
    timeout, is_batch, is_dumped = 0.0, False, True
    for number, value in fields(entries, "id", "value", "argument 4"):
        if value not in _VALUES.get(number, ()):
            raise Refused(PARAM_INVALID, f"a launch has no attribute {number} of value {value}")
        if number == _BLOCK_OFFSET and value:
            raise Refused(RT_NOT_SUPPORTED, "the blocks of a launch count from 0: the host has one kind of core")
        if number in (_TIMEOUT, _TIMEOUT_US):
            timeout = value / (1 if number == _TIMEOUT else 1e6)
        is_batch = value == _BATCH if number == _SCHEDULE else is_batch
        is_dumped = bool(value) if number == _DUMP else is_dumped
    return _Config(timeout or None, is_batch, is_dumped)


def _inner(entries: Any, number: int) -> dict[int, int]:
    holders, count = fields(entries, "addrOffset", "dataOffset", "argument 7"), index(number)
    if not 0 <= count <= len(holders):
        raise Refused(PARAM_INVALID, f"{count} place holders, and {len(holders)} are listed")
    return dict(holders[:count])


def _arguments(function: Function, address: int, nbytes: int) -> bytes:
    """Return a copy of arguments that lie on the host."""
    place, size = index(address), _enough(function, nbytes)
    if size and not place:
        raise InvalidArgument(f"there are no arguments of {size} bytes at address 0")
    return _blocks.read(place, size) if size else b""


def _enough(function: Function, nbytes: int) -> int:
    size, least = index(nbytes), function.native.nbytes
    if size < least:
        raise Refused(PARAM_INVALID, f"function {function.name!r} takes {least} bytes of arguments, not {size}")
    return size
