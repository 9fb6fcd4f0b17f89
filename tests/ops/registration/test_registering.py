"""What may be registered as an operator type of the program's own, once, and with which kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aacl import (
    AlreadyRegistered,
    ClosedResource,
    DataType,
    InvalidArgument,
    KernelNotFound,
    KernelRegistered,
    Operation,
    OperatorNotFound,
    Stream,
    register_operator,
)
from tests.helpers.own_operators import by_k, scale, scaling, zero


async def test_an_operator_of_ones_own(stream: Stream) -> None:
    """Registered it is executed by name, in every shape; after the block there is no such operator."""
    with scaling() as registration:
        for shape in ((3,), (2, 5), (), (0, 4)):
            x = np.random.default_rng(1).standard_normal(shape)
            y = await stream.execute(Operation("ScaleBy", [await stream.to_device(x)], {"k": 2.0}))
            assert y.dtype is DataType.DOUBLE
            np.testing.assert_array_equal(await stream.to_host(y), 2 * x)
        assert repr(registration) == "<Registration of ScaleBy with kernels scale>"
    assert repr(registration) == "<closed Registration of ScaleBy with kernels scale>"
    with pytest.raises(OperatorNotFound, match="'ScaleBy'"):
        await stream.execute(Operation("ScaleBy", [await stream.to_device(np.ones(3))]))


def test_registering_twice() -> None:
    """The second is refused with AscendCL's code, and the first stays; closing is harmless when repeated."""
    with scaling() as first:
        with pytest.raises(AlreadyRegistered, match="ScaleBy is registered already") as caught:
            scaling()
        assert caught.value.code == 100030
        assert not first.closed
    assert first.closed
    with scaling() as second:
        first.close()  # not the second's business
        assert not second.closed


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"selector": None}, "selector of operator ScaleBy is no function"),
        ({"selector": lambda _inputs: None}, r"called as \(inputs, outputs, attributes\)"),
        ({"infer": 3}, "rule of operator ScaleBy is no function"),
        ({"infer": lambda _inputs: []}, r"called as \(inputs, attributes\)"),
        ({"kernels": [scale]}, "kernels are a dict"),
        ({"kernels": {"": scale}}, "a kernel has a name"),
        ({"kernels": {3: scale}}, "a kernel has a name"),
        ({"kernels": {"scale": "scale"}}, "kernel 'scale' of operator ScaleBy is no function"),
        (
            {"kernels": {"scale": lambda _block, _inputs: None}},
            r"called as \(block, inputs, outputs, workspaces, tiling\)",
        ),
    ],
)
def test_what_cannot_be_registered(changes: dict[str, Any], text: str) -> None:
    """Each part is checked at once, and nothing is half-registered."""
    with pytest.raises(InvalidArgument, match=text):
        scaling(**changes)
    scaling().close()


def test_coroutine_functions_are_refused() -> None:
    """Nobody would await them."""

    async def late(*_: Any) -> None:
        """Never run."""

    for changes in ({"selector": late}, {"infer": late}, {"kernels": {"scale": late}}):
        with pytest.raises(InvalidArgument, match="coroutine function"):
            scaling(**changes)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_type_has_a_name(name: Any) -> None:
    """An empty one, or something else, is refused."""
    with pytest.raises(InvalidArgument, match="an operator type has a name"):
        register_operator(name, selector=by_k, kernels={})


async def test_kernels_may_be_added(stream: Stream) -> None:
    """A kernel that comes later is found; a name that is taken, or a closed registration, is refused."""
    x = await stream.to_device(np.ones(3))
    with scaling(kernels={}) as registration:
        with pytest.raises(KernelNotFound, match="chose kernel 'scale', which is not registered; there is none"):
            await stream.execute(Operation("ScaleBy", [x]))
        registration.add_kernel("scale", scale)
        assert registration.kernels == ("scale",)
        assert (await stream.to_host(await stream.execute(Operation("ScaleBy", [x], {"k": 3.0})))).tolist() == [3, 3, 3]
        with pytest.raises(KernelRegistered, match="has a kernel 'scale' already") as caught:
            registration.add_kernel("scale", zero)
        assert caught.value.code == 100031
        with pytest.raises(InvalidArgument, match="no function"):
            registration.add_kernel("other", 3)  # type: ignore[arg-type]
    with pytest.raises(ClosedResource, match="register the operator again"):
        registration.add_kernel("other", zero)
