"""Operators as functions of the module `aacl.ops`."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import InvalidArgument, InvalidMemoryRange, NotSupported, Operation, OperatorNotFound, OutOfMemory, ops
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


def test_a_data_type_may_be_numpys(stream: aacl.blocking.Stream) -> None:
    """A scalar type, a dtype and a name all say what to cast to."""
    a = stream.to_device(np.ones(2, np.float32))
    for given in (np.float16, np.dtype(np.float16), "float16", aacl.DataType.FLOAT16):
        assert stream.execute(ops.Cast(a, dst_type=given)).dtype is aacl.DataType.FLOAT16


def test_an_unknown_name_is_answered_with_all_names(stream: aacl.blocking.Stream) -> None:
    """Inputs go by name too, so the text has theirs beside the attributes'."""
    a = stream.to_device(np.ones(2))
    with pytest.raises(InvalidArgument, match="has no attribute 'b'; it has none, and the inputs x1, x2"):
        stream.execute(ops.Add(a, b=a))


async def test_awaiting_an_operation_says_what_to_await() -> None:
    """It runs nowhere without a stream."""
    with pytest.raises(TypeError, match=r"use 'await stream.execute\(...\)'"):
        await ops.Add(1.0, 2.0)


@pytest.mark.parametrize(("limit", "delta"), [(float("nan"), 1.0), (float("inf"), 1.0), (4.0, float("nan"))])
def test_a_range_without_an_end_is_refused(stream: aacl.blocking.Stream, limit: float, delta: float) -> None:
    """The text shows the three values."""
    with pytest.raises(InvalidArgument, match=f"range from 0.0 to {limit} by {delta} has no finite number"):
        stream.execute(ops.Range(0.0, limit, delta))


def test_an_operator_known_by_name_only_says_so(stream: aacl.blocking.Stream) -> None:
    """With and without outputs given; the stream goes on."""
    a = stream.to_device(np.ones(4, np.float32))
    for out in (None, a):
        with pytest.raises(NotSupported, match="HcomAllReduce is known by name only"):
            stream.execute(aacl.Operation("HcomAllReduce", [a], {"reduction": "sum", "group": "all"}, out=out))
    assert stream.to_host(stream.execute(ops.Add(a, a))).tolist() == [2] * 4


@pytest.mark.parametrize(("dtype", "number"), [(np.float16, 1e6), (np.float32, 1e300), ("bfloat16", 1e300)])
def test_a_number_that_would_become_infinite_is_refused(
    stream: aacl.blocking.Stream, dtype: str, number: float
) -> None:
    """A number is rounded to the tensor's type, but not cut off; an infinite one stays so."""
    a = stream.to_device(np.ones(2), dtype)
    with pytest.raises(InvalidArgument, match="does not hold them"):
        stream.execute(ops.Add(a, number))
    infinite = stream.execute(ops.Add(a, float("inf")))
    assert stream.to_host(infinite).astype(np.float64).tolist() == [np.inf] * 2


def test_an_attribute_that_is_a_set_is_refused(stream: aacl.blocking.Stream) -> None:
    """At the construction: nothing of that kind can be an attribute."""
    a = stream.to_device(np.ones(2, np.float32))
    with pytest.raises(InvalidArgument, match="cannot be an attribute"):
        aacl.Operation("Adds", [a], {"value": {1}})


def test_read_only_host_memory_is_no_output(stream: aacl.blocking.Stream) -> None:
    """Writing there would end the process."""
    a = stream.to_device(np.ones(4, np.float32))
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ) as pages:
        buffer = aacl.memory.host_memory(np.frombuffer(pages, np.uint8).ctypes.data, 16)
        out = aacl.Tensor(a.desc, buffer)
        with pytest.raises(InvalidMemoryRange, match="cannot write 16 bytes"):
            stream.execute(ops.Add(a, a, out=out))


@pytest.mark.parametrize(
    ("arguments", "named", "text"),
    [
        (("Add", 5), {}, "inputs are a list, not 5"),
        (("Add", [1, 1], 5), {}, "attributes are a dict by name, not 5"),
        (("Add", [1, 1], {5: 1}), {}, "attributes are a dict by name"),
        (("Add", [1, 1]), {"out": 3}, "out takes tensors to write, such as aacl.empty"),
        (("Add", [1, 1]), {"out": [None]}, "out takes tensors to write"),
    ],
)
def test_an_operation_of_wrong_parts_is_refused(arguments: Any, named: Any, text: str) -> None:
    """At the construction, by name."""
    with pytest.raises(InvalidArgument, match=f"operator Add: {text}"):
        aacl.Operation(*arguments, **named)


def test_an_operator_type_is_a_name(stream: aacl.blocking.Stream) -> None:
    """Anything else is not found, with the same class of error."""
    a = stream.to_device(np.ones(2))
    unnamed: Any = 5
    with pytest.raises(OperatorNotFound, match="a name such as 'Add', not 5"):
        stream.execute(aacl.Operation(unnamed, [a, a]))


def test_a_depth_beyond_all_memory_is_a_shortage(stream: aacl.blocking.Stream) -> None:
    """The output does not fit the device; nothing of that size is made on the host before."""
    for depth in (2**40, 2**60):
        with pytest.raises(OutOfMemory, match="cannot give"):
            stream.execute(ops.OneHot([1], depth, 1.0, 0.0))


@pytest.mark.parametrize("number", [1j, 1.5, 2**40, float("nan"), "5"])
def test_a_number_that_an_integer_type_does_not_hold_is_refused(stream: aacl.blocking.Stream, number: Any) -> None:
    """Nothing is cut off, wrapped around or parsed."""
    a = stream.to_device(np.ones(2, np.int32))
    with pytest.raises(InvalidArgument, match="input x2 is"):
        stream.execute(ops.Add(a, number))


def test_outputs_over_each_other_are_refused(stream: aacl.blocking.Stream) -> None:
    """One of them would be lost."""
    a, out = (stream.to_device(np.zeros(length, np.float32)) for length in (4, 2))
    with pytest.raises(InvalidArgument, match="two of its outputs over each other"):
        stream.execute(ops.SplitD(a, split_dim=0, num_split=2, out=[out, out]))


def test_rounding_to_absurdly_many_digits_ends(stream: aacl.blocking.Stream) -> None:
    """Every integer is nearer to 0 than to the next multiple."""
    a = stream.to_device(np.ones(2, np.int32))
    assert stream.to_host(stream.execute(ops.Round(a, decimals=-(2**40)))).tolist() == [0, 0]


def test_a_range_takes_one_number_for_each_part(stream: aacl.blocking.Stream) -> None:
    """None, or several, are refused."""
    for start in ([], [1, 2]):
        with pytest.raises(InvalidArgument, match=r"start .* must hold one element"):
            stream.execute(ops.Range(start, 1, 1))


def test_plain_numbers_of_one_operator_have_one_type(stream: aacl.blocking.Stream) -> None:
    """A fraction among them makes floats of all, where their places take floats."""
    found = stream.execute(ops.Range(0.5, 3, 1))
    assert (found.dtype, stream.to_host(found).tolist()) == (aacl.DataType.FLOAT, [0.5, 1.5, 2.5])

    filled = stream.execute(ops.Fill([2, 2], 1.5))
    assert stream.to_host(filled).tolist() == [[1.5, 1.5], [1.5, 1.5]]


@pytest.mark.parametrize("perm", [[2, 1], [2**70, 1], [-3, 0], [0, 0]])
def test_a_perm_that_names_no_axes_is_refused(stream: aacl.blocking.Stream, perm: list[int]) -> None:
    """An axis beyond the rank is not counted round."""
    a = stream.to_device(np.ones((2, 3), np.float32))
    with pytest.raises(InvalidArgument, match="is no order of the 2 dims"):
        stream.execute(ops.TransposeD(a, perm=perm))


def test_plain_numbers_follow_host_arrays_too(stream: aacl.blocking.Stream) -> None:
    """A number takes the type of the array beside it, as it takes that of a tensor."""
    found = stream.execute(ops.Add(np.ones(3, np.float16), 1))

    assert (found.dtype, stream.to_host(found).tolist()) == (aacl.DataType.FLOAT16, [2, 2, 2])


def test_fractions_beside_whole_host_arrays_stay_fractions(stream: aacl.blocking.Stream) -> None:
    """Arrays of indices and shapes do not make whole numbers of the values beside them; byte order does not matter."""
    filled = stream.execute(ops.Fill(np.array([2]), 1.5))
    hot = stream.execute(ops.OneHot(np.array([1], np.int32), 2, 0.5, 0.0))
    foreign = stream.execute(ops.Add(np.ones(2, ">f4"), 1))

    assert stream.to_host(filled).tolist() == [1.5, 1.5]
    assert stream.to_host(hot).tolist() == [[0, 0.5]]
    assert (foreign.dtype, stream.to_host(foreign).tolist()) == (aacl.DataType.FLOAT, [2, 2])
    with pytest.raises(aacl.AclError):
        ops.Add(np.array(["a"]), 1)


def test_an_operation_is_no_input(stream: aacl.blocking.Stream) -> None:
    """It has no result before it is executed; the text says what to pass."""
    a = stream.to_device(np.ones(3, np.float32))
    with pytest.raises(InvalidArgument, match=r"has no result before it is executed; pass what stream\.execute"):
        ops.Add(ops.Relu(a), a)


def test_the_layout_that_is_assumed_is_told(stream: aacl.blocking.Stream) -> None:
    """A picture of the other layout is refused with the layout that it was read in, and what sets it."""
    picture, lens = (stream.to_device(np.ones(shape, np.float32)) for shape in ((1, 1, 8, 8), (1, 1, 3, 3)))
    with pytest.raises(InvalidArgument, match="x is read as NHWC, which attribute data_format or its own format sets"):
        stream.execute(aacl.Operation("Conv2D", [picture, lens], {"strides": [1] * 4, "pads": [0] * 4}))
