"""Operators as functions of the module `aacl.ops`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import aacl
from aacl import InvalidArgument, Operation, OperatorNotFound, ops
from aacl.ops import Operator


@pytest.fixture
def stream() -> Iterator[aacl.blocking.Stream]:
    """A stream without a loop."""
    with aacl.blocking.Device(0), aacl.blocking.Stream() as opened:
        yield opened


def test_every_type_is_an_attribute() -> None:
    """Looked up once, listed by dir(); others are AttributeErrors, so that hasattr() tells the truth."""
    assert isinstance(ops.Add, Operator)
    assert ops.Add is ops.Add
    assert set(ops.operator_types()) <= set(dir(ops))
    assert not hasattr(ops, "Nonsense")
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = ops.Nonsense


def test_unknown_types_are_not_found() -> None:
    """By class as well."""
    with pytest.raises(OperatorNotFound, match="Nonsense"):
        Operator("Nonsense")


def test_the_schema_is_the_catalogues() -> None:
    """Inputs, outputs, and the signature in the repr."""
    assert [each.name for each in ops.Add.schema.inputs] == ["x1", "x2"]
    assert repr(ops.Add).startswith("<Operator Add(")


def test_calling_makes_an_operation(stream: aacl.blocking.Stream) -> None:
    """Inputs by place or by name, attributes by name."""
    a, b = stream.to_device(np.array([5.0, 7.0])), stream.to_device(np.array([1.0, 2.0]))
    for operation in (ops.Sub(a, b), ops.Sub(a, x2=b), ops.Sub(x1=a, x2=b), ops.Sub(x2=b, x1=a)):
        assert isinstance(operation, Operation)
        assert stream.to_host(stream.execute(operation)).tolist() == [4, 5]
    assert ops.Muls(stream.to_device(np.ones(2, np.float32)), value=2.0).attributes == {"value": 2.0}


def test_an_input_given_twice_is_refused(stream: aacl.blocking.Stream) -> None:
    """By place and by name is one too many."""
    a = stream.to_device(np.ones(2))
    with pytest.raises(InvalidArgument, match="x1 was given by place and by name"):
        ops.Sub(a, x1=a)


def test_a_missing_input_is_refused(stream: aacl.blocking.Stream) -> None:
    """Naming only the second input leaves the first absent, which Sub does not allow."""
    a = stream.to_device(np.ones(2))
    with pytest.raises(InvalidArgument, match="x1"):
        stream.execute(ops.Sub(x2=a))


def test_dynamic_inputs_are_lists(stream: aacl.blocking.Stream) -> None:
    """A list of tensors is spread over the places of a dynamic input."""
    parts = [stream.to_device(np.full(2, number, np.float32)) for number in range(3)]
    joined = stream.execute(ops.ConcatD(parts, concat_dim=0))

    assert stream.to_host(joined).tolist() == [0, 0, 1, 1, 2, 2]
