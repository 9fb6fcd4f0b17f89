"""The products behind SoC names, and what they lack."""

from __future__ import annotations

import warnings

import pytest

from aacl import blocking, open_resources
from aacl.devices import Device
from aacl.products import Feature, product_of

BOTH = set(Feature)


@pytest.mark.parametrize(
    ("soc", "family", "has"),
    [
        ("Ascend310", "Atlas 200/300/500", {Feature.COMPILE_AND_EXECUTE}),
        ("Ascend310B1", "200I/500 A2", {Feature.COMPILE_AND_EXECUTE}),
        ("Ascend310B4", "200I/500 A2", {Feature.COMPILE_AND_EXECUTE}),
        ("Ascend310P3", "Ascend 310P", BOTH),
        ("Ascend910", "Atlas training", BOTH),
        ("Ascend910A", "Atlas training", BOTH),
        ("Ascend910ProB", "Atlas training", BOTH),
        ("Ascend910B", "Atlas A2", BOTH),
        ("Ascend910B3", "Atlas A2", BOTH),
        ("Ascend910_9391", "Atlas A3", BOTH),
        ("Ascend950PR_9589", "950PR/950DT", {Feature.SHAPE_RANGES}),
        ("Ascend950DT", "950PR/950DT", {Feature.SHAPE_RANGES}),
        ("IPV350", "IPV350", {Feature.SHAPE_RANGES}),
    ],
)
def test_products(soc: str, family: str, has: set[Feature]) -> None:
    """A SoC name belongs to one family, which has the features that are documented for it."""
    product = product_of(soc)

    assert product is not None
    assert family in product.family
    assert {feature for feature in Feature if product.has(feature)} == has


@pytest.mark.parametrize("soc", ["", "ascend310p3", "Ascend310P3 ", "Ascend310X", "Ascend31", "Ascend910B3x", "CPU"])
def test_names_that_are_none(soc: str) -> None:
    """A name that the table has not is None, also one in other letters."""
    assert product_of(soc) is None


def test_an_unknown_name_is_warned_of_when_the_device_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names what was found and where it is set; the device works, and says the name."""
    monkeypatch.setenv("AACL_SOC", "ascend310p3")
    with pytest.warns(RuntimeWarning, match=r"'ascend310p3'.*Ascend310P3.*AACL_SOC"), blocking.Device(0) as device:
        assert device.properties.soc == "ascend310p3"


def test_where_warnings_are_errors_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that makes errors of warnings gets this one, and can open the device once the name is right."""
    monkeypatch.setenv("AACL_SOC", "Ascend0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="Ascend0"):
            blocking.open_resource(Device(0))
    assert open_resources() == {}
    monkeypatch.setenv("AACL_SOC", "Ascend910B3")
    with blocking.Device(0) as device:
        assert device.properties.soc == "Ascend910B3"
