"""Attributes of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl
from acl.op._attributes import attributes_at
from tests.compat._programs import ok

SETTERS: list[tuple[Callable[..., int], Any, Any]] = [
    (acl.op.set_attr_bool, 1, True),
    (acl.op.set_attr_bool, np.bool_(False), False),
    (acl.op.set_attr_int, np.int64(-3), -3),
    (acl.op.set_attr_float, 2, 2.0),
    (acl.op.set_attr_float, np.float32(0.5), 0.5),
    (acl.op.set_attr_string, "zrh", "zrh"),
    (acl.op.set_attr_data_type, 1, 1),
    (acl.op.set_attr_list_bool, [1, 0], (True, False)),
    (acl.op.set_attr_list_int, np.array([1, 2]), (1, 2)),
    (acl.op.set_attr_list_float, [1, 0.5], (1.0, 0.5)),
    (acl.op.set_attr_list_float, np.array([0.25]), (0.25,)),
    (acl.op.set_attr_list_string, ["a", "b"], ("a", "b")),
    (acl.op.set_attr_list_data_type, [0, 1], (0, 1)),
    (acl.op.set_attr_list_list_int, [[1, 2], np.array([3])], ((1, 2), (3,))),
]


@pytest.mark.parametrize(("setter", "value", "kept"), SETTERS)
def test_setters_keep_values(setter: Callable[..., int], value: Any, kept: Any) -> None:
    """Each kind is kept as Python's own; lists and arrays as tuples."""
    attr = acl.op.create_attr()
    ok(setter(attr, "name", value))

    assert attributes_at(attr).values == {"name": kept}
    assert setter(attr, "", value) == setter(0, "name", value) == setter(99, "name", value) == 100000
    with pytest.raises(TypeError):
        setter(attr, 5, value)


def test_keys_of_numbers_are_exact() -> None:
    """0.0 and -0.0 have different keys, also in lists; NaN has the same one each time."""

    def key(setter: Callable[..., int], value: Any) -> object:
        attr = acl.op.create_attr()
        ok(setter(attr, "value", value))
        return attributes_at(attr).key

    for setter, wrap in ((acl.op.set_attr_float, float), (acl.op.set_attr_list_float, lambda value: [1.0, value])):
        assert key(setter, wrap(0.0)) != key(setter, wrap(-0.0))
        assert key(setter, wrap(float("nan"))) == key(setter, wrap(float("nan")))
        assert key(setter, wrap(0.1)) == key(setter, wrap(0.1))


@pytest.mark.parametrize(
    ("setter", "value"),
    [
        (acl.op.set_attr_int, 1.0),
        (acl.op.set_attr_int, "1"),
        (acl.op.set_attr_bool, "yes"),
        (acl.op.set_attr_float, "1"),
        (acl.op.set_attr_string, b"x"),
        (acl.op.set_attr_list_int, 5),
        (acl.op.set_attr_list_int, "12"),
        (acl.op.set_attr_list_int, [1.5]),
        (acl.op.set_attr_list_string, [1]),
        (acl.op.set_attr_list_list_int, [1]),
    ],
)
def test_values_of_another_kind(setter: Callable[..., int], value: Any) -> None:
    """A value of another kind is a TypeError, and nothing is set."""
    attr = acl.op.create_attr()
    with pytest.raises(TypeError):
        setter(attr, "name", value)

    assert attributes_at(attr).values == {}


def test_a_boolean_is_0_or_1() -> None:
    """Other numbers are 100000."""
    assert acl.op.set_attr_bool(acl.op.create_attr(), "name", 2) == 100000


def test_keys_are_equal_for_equal_attributes_only() -> None:
    """Two collections with equal names, kinds and values have one key, whatever the order; 1, 1.0 and True differ."""

    def key(*steps: tuple[Callable[..., int], str, Any]) -> object:
        attr = acl.op.create_attr()
        for setter, name, value in steps:
            ok(setter(attr, name, value))
        return attributes_at(attr).key

    one, two = (acl.op.set_attr_int, "a", 1), (acl.op.set_attr_string, "b", "x")
    assert key(one, two) == key(two, one) == key((acl.op.set_attr_int, "a", 7), one, two)
    different = {key(), key(one), key((acl.op.set_attr_float, "a", 1)), key((acl.op.set_attr_bool, "a", 1))}
    assert len(different) == 4


def test_destroyed_and_null_attributes() -> None:
    """Handle 0 stands for none; a destroyed one is no attributes any more."""
    attr = acl.op.create_attr()

    assert attributes_at(0).values == {}
    assert acl.op.destroy_attr(attr) is None
    assert acl.op.set_attr_int(attr, "a", 1) == 100000
