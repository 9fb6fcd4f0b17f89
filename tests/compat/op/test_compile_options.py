"""The options of compiling operators."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import ok, untyped


@pytest.mark.parametrize(
    ("option", "good", "bad"),
    [
        (0, ["force_fp16", "must_keep_origin_dtype", "allow_mix_precision_bf16"], ["fp16", "", "FORCE_FP16"]),
        (1, ["1", "32", "24|48"], ["0", "-1", "all", ""]),
        (2, ["RL", "GA", "RL,GA", ""], ["RLGA", "XY"]),
        (3, ["high_precision", "high_performance_for_all"], ["precision"]),
        (4, ["Add", "Add,Conv2D"], ["", "Add;Sub", "Ädd"]),
        (5, ["0", "4"], ["5"]),
        (6, ["/tmp"], [""]),
        (7, ["enable", "disable", "force"], ["true"]),
        (8, ["/tmp"], [""]),
        (9, ["normal", "high"], ["low"]),
        (10, ["enable", "disable"], ["1"]),
        (11, ["0", "1"], ["true"]),
        (12, ["types.cfg", "tÿpes.cfg"], ["", "a\0b"]),
        (13, ["modes.ini"], [""]),
        (14, ["10", "00"], ["1"]),
        (15, ["fp16", "origin"], ["force_fp16"]),
        (16, ["oom"], [""]),
    ],
)
def test_names_and_values(device: int, option: int, good: list[str], bad: list[str]) -> None:
    """Every option takes its own values; others are 100000, with the option's name."""
    for value in good:
        ok(acl.op.set_compileopt(option, value))
    for value in bad:
        assert acl.op.set_compileopt(option, value) == 100000
        assert "ACL_" in (acl.get_recent_err_msg() or "")


def test_unknown_options(device: int) -> None:
    """There is no option 17; values are texts."""
    assert acl.op.set_compileopt(17, "x") == acl.op.set_compileopt(-1, "x") == 100000
    with pytest.raises(TypeError):
        untyped.op.set_compileopt(0, 1)
    with pytest.raises(TypeError):
        untyped.op.set_compileopt("ACL_PRECISION_MODE", "force_fp16")


def test_options_that_exclude_each_other(device: int) -> None:
    """The two precision modes exclude each other, until the runtime ends."""
    ok(acl.op.set_compileopt(0, "force_fp16"))
    assert acl.op.set_compileopt(15, "fp16") == 100000
    assert "ACL_PRECISION_MODE, which is set to 'force_fp16'" in (acl.get_recent_err_msg() or "")
    ok(acl.finalize())
    assert acl.op.set_compileopt(15, "fp16") == 100001
    ok(acl.init())
    ok(acl.op.set_compileopt(15, "fp16"))
