"""What runs after a registration has come, ended or been replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aacl import InvalidArgument, Launch, Operation, OperatorNotFound, Stream, ops, register_operator
from tests.helpers import Hold
from tests.helpers.own_operators import by_k, same, scale, scaling, zero


async def test_nothing_stale_runs(stream: Stream) -> None:
    """After the registration's end neither a prepared operation nor a bound one runs; registered anew both change."""
    x, out = await stream.to_device(np.ones(3)), await stream.to_device(np.zeros(3))
    loose, bound = Operation("ScaleBy", [x], {"k": 2.0}), Operation("ScaleBy", [x], {"k": 2.0}, out=out)
    with scaling():
        for operation in (loose, bound):
            assert (await stream.to_host(await stream.execute(operation))).tolist() == [2, 2, 2]
    for operation in (loose, bound):
        with pytest.raises(OperatorNotFound):
            stream.execute(operation)
    with scaling(kernels={"scale": zero}):
        for operation in (loose, bound):
            assert (await stream.to_host(await stream.execute(operation))).tolist() == [0, 0, 0]


async def test_what_was_submitted_before_the_end_runs(stream: Stream) -> None:
    """Leaving the registration's block disturbs no queued command."""
    x = await stream.to_device(np.ones(3))
    with Hold(stream), scaling():
        queued = stream.execute(Operation("ScaleBy", [x], {"k": 4.0}))
    assert (await stream.to_host(await queued)).tolist() == [4, 4, 4]


async def test_a_catalogue_type_is_stood_in_for(stream: Stream) -> None:
    """While it is registered the program's own runs, without the catalogue's checks; then the catalogue's again."""
    x = await stream.to_device(np.ones(3))
    operation = ops.Relu(x)
    assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
    with register_operator("Relu", selector=by_k, kernels={"scale": scale}, infer=same):
        assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
        y = await stream.execute(Operation("Relu", [x, None], {"k": 7.0}))
        assert (await stream.to_host(y)).tolist() == [7, 7, 7]
    assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
    with pytest.raises(InvalidArgument):
        stream.execute(Operation("Relu", [x, None], {"k": 7.0}))


async def test_a_registration_that_ends_while_it_is_asked(stream: Stream) -> None:
    """What is being prepared runs once; nothing of it is kept."""
    registration = None

    def select(inputs: Any, outputs: Any, attributes: Any) -> Launch:
        assert registration is not None
        registration.close()
        return by_k(inputs, outputs, attributes)

    x, out = await stream.to_device(np.ones(3)), await stream.to_device(np.zeros(3))
    for operation in (Operation("ScaleBy", [x]), Operation("ScaleBy", [x], out=out)):
        registration = scaling(selector=select)
        assert (await stream.to_host(await stream.execute(operation))).tolist() == [1, 1, 1]
        with pytest.raises(OperatorNotFound):
            stream.execute(operation)


async def test_other_operators_keep_their_plans(stream: Stream) -> None:
    """Registering drops the plans of its own type alone."""
    x = await stream.to_device(np.ones(3))
    await stream.execute(ops.Relu(x))
    plans = stream._memory.plans
    kept = {key: plan for key, plan in plans.items() if isinstance(key, tuple) and key[0] == "Relu"}
    with scaling():
        await stream.execute(Operation("ScaleBy", [x]))
    assert kept
    assert all(plans[key] is plan for key, plan in kept.items())
    assert not [key for key in plans if isinstance(key, tuple) and key[0] == "ScaleBy"]
