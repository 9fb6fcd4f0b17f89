"""Models that tell what their nodes do, as the backend makes them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from aacl.abc import NodeValue
from aacl.backends.cpu.observed_models import observe_model
from aacl.errors import ClosedResource, ModelDataError, ModelInputMismatch, ModelOutputMismatch, ModelRunError


def _graph(name: str = "only") -> bytes:
    """Y = -x, float32 [2, n]."""
    values = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2, "n"]) for each in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"], name=name)], "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    data: bytes = model.SerializeToString()
    return data


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_times_are_taken_once() -> None:
    """Runs count on over takes; with `last` nothing more is recorded, and the model still runs."""
    model = observe_model(_graph(), times=True)
    y = np.zeros_like(X)
    run = model.bind([X], [y])
    run()
    run()
    first = model.take_times()
    run()
    second = model.take_times(last=True)
    y[:] = 0
    run()

    assert [time.run for time in first] == [0, 1]
    assert [time.run for time in second] == [2]
    assert model.take_times() == model.take_times(last=True) == []
    np.testing.assert_array_equal(y, -X)
    model.close()


@pytest.mark.parametrize("name", ['a"b', "a\\", "a\nb", "é/ü", '", "dur": 5', "x" * 400, "x_kernel_time", "\x01"])
def test_names_of_all_kinds(name: str) -> None:
    """A node's name comes back as it is, whatever it holds."""
    model = observe_model(_graph(name), times=True)
    model.bind([X], [np.zeros_like(X)])()

    assert [time.name for time in model.take_times(last=True)] == [name]
    model.close()


def test_outputs_that_the_engine_makes() -> None:
    """They are returned as by a plain model, and told."""
    told: list[NodeValue] = []
    model = observe_model(_graph(""), times=False, wants=lambda _node, _type: True, tell=told.extend)
    (made,) = model.bind([X], [None])()

    np.testing.assert_array_equal(made, -X)
    assert model.shapes([(2, 3)]) == ((2, 3),)
    assert [(value.node, value.is_input, value.name) for value in told] == [("y", True, "x"), ("y", False, "y")]
    np.testing.assert_array_equal(told[1].array, -X)
    model.close()


def test_what_the_listener_raises() -> None:
    """It is the run's error, with the reason; the output is written nevertheless."""

    def tell(_values: Sequence[NodeValue]) -> None:
        raise OSError("no room")

    model = observe_model(_graph(), times=False, wants=lambda _node, _type: True, tell=tell)
    y = np.zeros_like(X)
    with pytest.raises(ModelRunError, match="no room"):
        model.bind([X], [y])()
    np.testing.assert_array_equal(y, -X)
    model.close()


def test_what_does_not_fit() -> None:
    """Arrays that do not fit are refused when they are bound, bytes that are no graph when they are loaded."""
    model = observe_model(_graph(), times=True)
    with pytest.raises(ModelInputMismatch):
        model.bind([X.astype(np.float64)], [None])
    with pytest.raises(ModelOutputMismatch):
        model.bind([X], [np.zeros(6, np.float32)])
    model.close()
    for wants in (None, lambda _node, _type: True):
        with pytest.raises(ModelDataError):
            observe_model(b"\x0a\xff nonsense", times=True, wants=wants)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed model runs no more, and its files are gone, whether it ran or not."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for runs in (0, 1, 70):
        model = observe_model(_graph(), times=True)
        run = model.bind([X], [np.zeros_like(X)])
        for _ in range(runs):
            run()
        assert [*tmp_path.iterdir()]
        model.close()
        model.close()
        with pytest.raises(ClosedResource):
            run()
        assert [*tmp_path.iterdir()] == []
