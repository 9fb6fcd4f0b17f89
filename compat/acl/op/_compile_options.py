"""The options of compiling operators, checked by name and value.

The numbers are those of ``aclCompileOpt``; what each may be set to is what
``atc`` takes under the same name. The software device computes in the tensors'
own types and needs no tuning, so a good value changes nothing.
"""

from __future__ import annotations

import re
from operator import index
from typing import NamedTuple

from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._state import at_finalize, require_init
from acl._status import code_alone

__all__ = ("set_compileopt",)


class _Option(NamedTuple):
    """An option: its name, what its value looks like, and that in words."""

    name: str
    pattern: str
    words: str


def _one_of(name: str, *values: str) -> _Option:
    return _Option(name, "|".join(map(re.escape, values)), f"one of {', '.join(values)}")


def _text(name: str, words: str) -> _Option:
    return _Option(name, r"[^\0]+", words)


_OPTIONS = {
    0: _one_of(
        "ACL_PRECISION_MODE",
        "force_fp16", "force_fp32", "cube_fp16in_fp32out", "allow_fp32_to_fp16", "allow_fp32_to_bf16",
        "must_keep_origin_dtype", "allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16",
    ),
    1: _Option("ACL_AICORE_NUM", r"[1-9]\d{0,3}(\|[1-9]\d{0,3})?", "a number of cores from 1 on, such as 8, or 24|48"),
    2: _Option("ACL_AUTO_TUNE_MODE", r"(RL|GA)?(,(RL|GA))?", "RL, GA, or RL,GA; empty for none"),
    3: _one_of(
        "ACL_OP_SELECT_IMPL_MODE",
        "high_performance", "high_precision", "high_performance_for_all", "high_precision_for_all",
    ),
    4: _Option("ACL_OPTYPELIST_FOR_IMPLMODE", r"\w+(,\w+)*", "operator types with commas between them"),
    5: _one_of("ACL_OP_DEBUG_LEVEL", "0", "1", "2", "3", "4"),
    6: _text("ACL_DEBUG_DIR", "the path of a folder"),
    7: _one_of("ACL_OP_COMPILER_CACHE_MODE", "enable", "disable", "force"),
    8: _text("ACL_OP_COMPILER_CACHE_DIR", "the path of a folder"),
    9: _one_of("ACL_OP_PERFORMANCE_MODE", "normal", "high"),
    10: _one_of("ACL_OP_JIT_COMPILE", "enable", "disable"),
    11: _one_of("ACL_OP_DETERMINISTIC", "0", "1"),
    12: _text("ACL_CUSTOMIZE_DTYPES", "the path of a file"),
    13: _text("ACL_OP_PRECISION_MODE", "the path of a file"),
    14: _one_of("ACL_ALLOW_HF32", "00", "01", "10", "11"),
    15: _one_of(
        "ACL_PRECISION_MODE_V2", "fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16",
    ),
    16: _text("ACL_OP_DEBUG_OPTION", "options of debugging, such as oom"),
}  # fmt: skip

_EXCLUSIVE = {0: 15, 15: 0}

_set: dict[int, str] = {}


@code_alone
def set_compileopt(opt: int, value: str, /) -> int:
    """Set an option for the operators that are compiled from now on, in all threads.

    An addition to pyACL, under the C interface's name (``aclSetCompileopt``).

    Args:
        opt: an ``aclCompileOpt``, such as 0 for ``ACL_PRECISION_MODE``.
        value: its value, as the ``atc`` option of the same name takes it.

    Returns:
        0; 100000 for an unknown option, a value that it does not take, or one that excludes another which is set;
        100001 before ``acl.init``.
    """
    require_init()
    number = index(opt)
    check_text(value, 2)
    option = _OPTIONS.get(number)
    if option is None:
        raise InvalidArgument(
            f"there is no compile option {number}; they are 0 ({_OPTIONS[0].name}) to {max(_OPTIONS)}"
        )
    if re.fullmatch(option.pattern, value, re.ASCII) is None:
        raise InvalidArgument(f"{option.name} must be {option.words}; {value!r} was given")
    other = _EXCLUSIVE.get(number)
    if other in _set:
        raise InvalidArgument(f"{option.name} excludes {_OPTIONS[other].name}, which is set to {_set[other]!r}")
    _set[number] = value
    return 0


at_finalize(_set.clear)
