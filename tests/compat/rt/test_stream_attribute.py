"""What streams are set to."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import good, ok, untyped

NAMES = {
    1: ("failureMode", "failure_mode"),
    2: ("overflowSwitch", "overflow_switch"),
    3: ("userCustomTag", "user_custom_tag"),
    4: ("cacheOpInfoSwitch", "cache_op_info_switch"),
    5: ("priority", "priority"),
}


@pytest.mark.parametrize("number", NAMES)
@pytest.mark.parametrize("form", ["number", "C name", "name"])
def test_attributes_come_back_as_they_were_set(stream: int, number: int, form: str) -> None:
    """Each is 0 at first, and is set by number or by a dictionary with its name; other streams keep theirs."""
    c_name, name = NAMES[number]
    values: dict[str, int | dict[str, int]] = {"number": 1, "C name": {c_name: 1}, "name": {name: 1}}
    assert acl.rt.get_stream_attribute(stream, number) == ({c_name: 0, name: 0}, 0)
    ok(acl.rt.set_stream_attribute(stream, number, values[form]))

    assert acl.rt.get_stream_attribute(stream, number) == ({c_name: 1, name: 1}, 0)
    assert acl.rt.get_stream_attribute(0, number) == ({c_name: 0, name: 0}, 0)


def test_what_attributes_cannot_be(stream: int) -> None:
    """Unknown attributes, values out of range and dictionaries without the name are 107000, and nothing changes."""
    for attribute, value in ((1, 2), (2, 2), (2, -1), (3, 1 << 32), (3, -1), (4, 7), (5, -1), (0, 0), (6, 0)):
        assert acl.rt.set_stream_attribute(stream, attribute, value) == 107000
    assert acl.rt.set_stream_attribute(stream, 3, {"tag": 1}) == 107000
    assert "userCustomTag" in (acl.get_recent_err_msg() or "")
    assert acl.rt.get_stream_attribute(stream, 6) == ({}, 107000)
    assert acl.rt.get_stream_attribute(99, 1) == ({}, 107017)

    assert good(acl.rt.get_stream_attribute(stream, 3))["userCustomTag"] == 0
    for wrong in ("1", None, 1.0, {"userCustomTag": "1"}):
        with pytest.raises(TypeError):
            untyped.rt.set_stream_attribute(stream, 3, wrong)


def test_a_custom_tag_has_32_bits(stream: int) -> None:
    """The largest tag comes back whole."""
    ok(acl.rt.set_stream_attribute(stream, 3, 0xFFFFFFFF))

    assert good(acl.rt.get_stream_attribute(stream, 3))["user_custom_tag"] == 0xFFFFFFFF


def test_the_priority_of_the_configuration(device: int) -> None:
    """A priority out of range is taken for the nearest, when a stream is made and later."""
    for given, kept in ((0, 0), (3, 3), (7, 7), (99, 7), (-5, 0)):
        stream = good(acl.rt.create_stream_with_config(given, 0))
        assert good(acl.rt.get_stream_attribute(stream, 5)) == {"priority": kept}
    ok(acl.rt.set_stream_attribute(0, 5, 99))

    assert good(acl.rt.get_stream_attribute(0, 5)) == {"priority": 7}


def test_the_overflow_switch(stream: int) -> None:
    """Off at first, on and off again, for one stream alone; the attribute of the same meaning goes with it."""
    assert acl.rt.get_stream_overflow_switch(stream) == (0, 0)
    ok(acl.rt.set_stream_overflow_switch(stream, 1))
    assert acl.rt.get_stream_overflow_switch(stream) == (1, 0)
    assert good(acl.rt.get_stream_attribute(stream, 2))["overflowSwitch"] == 1
    assert acl.rt.get_stream_overflow_switch(0) == (0, 0)
    assert acl.rt.set_stream_overflow_switch(stream, 2) == 107000
    assert acl.rt.get_stream_overflow_switch(stream) == (1, 0)
    ok(acl.rt.set_stream_overflow_switch(stream, 0))

    assert acl.rt.get_stream_overflow_switch(stream) == (0, 0)
    assert acl.rt.get_stream_overflow_switch(77) == (0, 107017)
