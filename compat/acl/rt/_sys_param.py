"""System parameters, of a context and of the process."""

from __future__ import annotations

import os
from operator import index

from aacl.errors import InvalidArgument
from acl._devices import current
from acl._state import at_finalize, require_init
from acl._status import RT_NOT_SUPPORTED, Refused, code_alone, with_code

__all__ = ("ctx_get_sys_param_opt", "ctx_set_sys_param_opt", "get_sys_param_opt", "set_sys_param_opt")

# aclSysParamOpt
_DETERMINISTIC, _DEBUG_KERNEL, _STRONG_CONSISTENCY = 0, 1, 2
_process: dict[int, int] = {}


@with_code(0)
def ctx_get_sys_param_opt(opt: int, /) -> tuple[int, int]:
    """Return a system parameter of this thread's context.

    Args:
        opt: as `ctx_set_sys_param_opt`.

    Returns:
        (value, 0): what was set for the context, else for the process, else 0; (0, 100000) for another parameter; (0,
        107002) without a context.

    Source: aclrtCtxGetSysParamOpt.
    """
    opt = _known(opt)
    return current().parameters.get(opt, _process.get(opt, 0)), 0


@code_alone
def ctx_set_sys_param_opt(opt: int, value: int, /) -> int:
    """Set a system parameter of this thread's context; it holds as long as the context.

    Args:
        opt: repeatable results (0) and strong consistency of memory (2), both of which the software device has in any
            case, so that they are kept and change nothing; kernels that check what they write (1).
        value: 0, off, or 1, on.

    Returns:
        0; 207000 for 1 with value 1 unless ``AACL_CHECK_KERNELS=1`` is in the environment, which is how kernels are
        checked here; 100000 for another parameter or value; 107002 without a context.

    Source: aclrtCtxSetSysParamOpt.
    """
    opt, value = _checked(opt, value)
    current().parameters[opt] = value
    return 0


@with_code(0)
def get_sys_param_opt(opt: int, /) -> tuple[int, int]:
    """Return a system parameter of the process.

    Args:
        opt: as `ctx_set_sys_param_opt`.

    Returns:
        (value, 0), 0 if it was not set; (0, 100000) for another parameter; (0, 100001) before ``acl.init``.

    Source: aclrtGetSysParamOpt.
    """
    opt = _known(opt)
    require_init()
    return _process.get(opt, 0), 0


@code_alone
def set_sys_param_opt(opt: int, value: int, /) -> int:
    """Set a system parameter for every context that has no value of its own, until ``acl.finalize``.

    Args:
        opt: as `ctx_set_sys_param_opt`.
        value: 0, off, or 1, on.

    Returns:
        0; 207000 and 100000 as `ctx_set_sys_param_opt`; 100001 before ``acl.init``.

    Source: aclrtSetSysParamOpt.
    """
    opt, value = _checked(opt, value)
    require_init()
    _process[opt] = value
    return 0


def _known(opt: int) -> int:
    opt = index(opt)
    if opt not in (_DETERMINISTIC, _DEBUG_KERNEL, _STRONG_CONSISTENCY):
        raise InvalidArgument(f"system parameter {opt} is not known; 0, 1 and 2 are")
    return opt


def _checked(opt: int, value: int) -> tuple[int, int]:
    """Return a parameter and a value that it can have."""
    opt, value = _known(opt), index(value)
    if value not in (0, 1):
        raise InvalidArgument(f"system parameter {opt} cannot be {value}; it is 0 or 1")
    if opt == _DEBUG_KERNEL and value and os.environ.get("AACL_CHECK_KERNELS", "").strip() != "1":
        raise Refused(
            RT_NOT_SUPPORTED,
            "the software device checks what kernels write if AACL_CHECK_KERNELS=1 is in the environment when the "
            "program starts; it cannot begin in the middle",
        )
    return opt, value


at_finalize(_process.clear)
