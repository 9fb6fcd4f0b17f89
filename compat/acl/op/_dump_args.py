"""Dumps of what operators and kernel functions are run with."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl._args_dump import args_dump
from acl._arguments import check_text
from acl._state import require_init
from acl._status import code_alone

__all__ = ("start_dump_args", "stop_dump_args")

_ARGUMENTS = 1  # ACL_OP_DUMP_OP_AICORE_ARGS


@code_alone
def start_dump_args(dump_type: int, path: str, /) -> int:
    """Write down what operators and kernel functions are run with from now on.

    Each run is a line of JSON in the file ``op_args_<process>_<number>.jsonl``, written before it is submitted: the
    operator's type, of each tensor the address, bytes, data type, shape and format, and the attributes; or a function's
    name, its blocks, and its arguments as hexadecimal digits where they do not lie in device memory.

    Args:
        dump_type: 1.
        path: an existing folder.

    Returns:
        0; 100044 if it was started; 100003 if the folder cannot be written to; 100000 for another type; 100001 before
        ``acl.init``.

    Source: aclopStartDumpArgs.
    """
    require_init()
    _check_type(dump_type)
    check_text(path, 2)
    args_dump.start(path)
    return 0


@code_alone
def stop_dump_args(dump_type: int, /) -> int:
    """End what `start_dump_args` began; ``acl.finalize`` does too.

    Args:
        dump_type: 1.

    Returns:
        0; 100045 if it was not started; 100003 if a line could not be written, the disk being full, say; 100000 for
        another type; 100001 before ``acl.init``.

    Source: aclopStopDumpArgs.
    """
    require_init()
    _check_type(dump_type)
    args_dump.stop()
    return 0


def _check_type(dump_type: int) -> None:
    number = index(dump_type)
    if number != _ARGUMENTS:
        raise InvalidArgument(f"there is no dump of type {number}; {_ARGUMENTS} is that of arguments")
