"""What feature retrieval begins with: how many features there will be, and the most results of a query."""

from __future__ import annotations

from typing import NamedTuple

from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain
from acl.fv._limits import TOP_DEFAULTS, UINT32_MOST, UINT64_MOST, within

__all__ = ("InitPara", "create_init_para", "destroy_init_para", "init_paras", "set_1n_top_num", "set_nm_top_num")


class InitPara(NamedTuple):
    """What `acl.fv.init` is given.

    Attributes:
        features: the most features of all repositories together.
        tops: the most results of a query, 1:N and N:M.
    """

    features: int
    tops: tuple[int, int] = TOP_DEFAULTS


init_paras: Handles[InitPara] = Handles("feature retrieval parameter set", INVALID_PARAM)


@plain(0)
def create_init_para(fs_num: int, /) -> int:
    """Describe what `init` begins with.

    Args:
        fs_num: the most features of all repositories together, 1 or more. Memory is taken as they come.

    Returns:
        The handle; 0 for a number below 1, or beyond 64 bits.

    Source: aclfvCreateInitPara.
    """
    return init_paras.add(InitPara(within("the number of features", fs_num, 1, UINT64_MOST)))


@code_alone
def destroy_init_para(init_para: int, /) -> int:
    """Destroy what `create_init_para` made; what began with it goes on.

    Args:
        init_para: the handle.

    Returns:
        0; 100000 if it is none.

    Source: aclfvDestroyInitPara.
    """
    init_paras.take(init_para)
    return 0


@code_alone
def set_1n_top_num(init_para: int, max_top_num: int, /) -> int:
    """Set the most results of a query of a 1:N search (`search` with type 0); 4800 if it is not set.

    Args:
        init_para: of `create_init_para`; what began with it before is as it was.
        max_top_num: features, 1 or more.

    Returns:
        0; 100000 if the handle is none, or for another number.

    Source: aclfvSet1NTopNum.
    """
    return _set_top(init_para, 0, max_top_num)


@code_alone
def set_nm_top_num(init_para: int, max_top_num: int, /) -> int:
    """Set the most results of a query of an N:M search (`search` with type 1); 500 if it is not set.

    Args:
        init_para: of `create_init_para`.
        max_top_num: the number.

    Returns:
        0; codes as `set_1n_top_num`.

    Source: aclfvSetNMTopNum.
    """
    return _set_top(init_para, 1, max_top_num)


def _set_top(init_para: int, kind: int, number: int) -> int:
    found = init_paras.get(init_para)
    tops = [*found.tops]
    tops[kind] = within("the most results of a query", number, 1, UINT32_MOST)
    init_paras.replace(init_para, found._replace(tops=(tops[0], tops[1])))
    return 0
