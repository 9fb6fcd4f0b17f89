"""What the product that the device stands for lacks."""

from __future__ import annotations

import warnings

import pytest

import aacl
import acl
from acl import _products
from acl._devices import current
from acl._products import require_feature
from acl._status import Refused
from tests.compat._programs import ok

RANGES = aacl.products.Feature.SHAPE_RANGES


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a new process does."""
    monkeypatch.setattr(_products, "_warned", set())
    monkeypatch.delenv("AACL_STRICT", raising=False)


def _on(soc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AACL_SOC", soc)
    ok(acl.init())
    ok(acl.rt.set_device(0))
    for _ in range(2):
        require_feature(current(), RANGES, "the model 'net'", 200006)


@pytest.mark.parametrize(("soc", "family"), [("Ascend310", "Atlas 200/300/500"), ("Ascend310B4", "200I/500 A2")])
def test_one_warning(soc: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a product lacks works, with one warning that names what was asked, the family and the SoC."""
    with pytest.warns(RuntimeWarning) as caught:
        _on(soc, monkeypatch)

    (warning,) = caught
    assert all(part in str(warning.message) for part in ("the model 'net'", family, soc, "ranges of shapes"))


def test_strict_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """With AACL_STRICT=1 it is the code, without a warning, every time."""
    monkeypatch.setenv("AACL_STRICT", "1")
    with pytest.raises(Refused, match="AACL_STRICT=0") as caught:
        _on("Ascend310", monkeypatch)
    assert caught.value.code == 200006
    with pytest.raises(Refused):
        require_feature(current(), RANGES, "another model", 200006)


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3", "Ascend950DT"])
def test_products_that_have_it(soc: str, strict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a product has is neither warned of nor refused."""
    monkeypatch.setenv("AACL_STRICT", strict)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _on(soc, monkeypatch)


def test_unknown_products_have_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SoC that the table has not is warned of when the device opens, and then lacks nothing."""
    monkeypatch.setenv("AACL_STRICT", "1")
    with pytest.warns(RuntimeWarning, match="Ascend9999"):
        _on("Ascend9999", monkeypatch)


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), (" 1 ", True), ("0", False), ("", False), (" ", False), (None, False)]
)
def test_what_strict_means(value: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """AACL_STRICT is on if it is 1, and off if it is 0, empty or not set."""
    if value is not None:
        monkeypatch.setenv("AACL_STRICT", value)

    assert aacl.products.is_strict() is expected


@pytest.mark.parametrize("value", ["yes", "true", "2", "-1"])
def test_what_strict_cannot_be(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another value of AACL_STRICT is told when the runtime begins, which it then does not."""
    monkeypatch.setenv("AACL_STRICT", value)

    assert acl.init() == 100000
    assert f"AACL_STRICT is {value!r}" in (acl.get_recent_err_msg() or "")
    assert acl.finalize() == 100037
    with pytest.raises(aacl.InvalidArgument, match="set it to 0 or 1"):
        aacl.products.is_strict()
