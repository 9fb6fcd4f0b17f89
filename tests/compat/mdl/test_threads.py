"""What threads do to models at once: nothing is lost, and nothing is left behind."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aacl
import acl
from acl.mdl import _failures, _models
from acl.mdl._datasets import datasets
from tests.compat._meanwhile import Meanwhile
from tests.compat._programs import Dataset, add1, good, ok

X = np.arange(4, dtype=np.float32).reshape(1, 4)


class _Run:
    """A run that is over, or not; whoever asks gives others the time to act."""

    def __init__(self, *, is_over: bool, asked: Callable[[], None] = lambda: None) -> None:
        self._is_over, self._asked = is_over, asked

    def done(self) -> bool:
        self._asked()
        return self._is_over

    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> bool:  # noqa: ARG002
        self._is_over = True
        return True


def test_a_run_noted_while_others_are_forgotten(device: int, tmp_path: Path) -> None:
    """More than 64 streams: forgetting the runs that are over loses none that another thread notes meanwhile."""
    loaded: Any = _models.models.get(good(acl.mdl.load_from_file(add1(tmp_path))))
    late = _Run(is_over=False)
    meanwhile = Meanwhile(lambda: loaded.note("late", late))
    for number in range(_models._MOST_STREAMS):
        loaded.note(number, _Run(is_over=True, asked=meanwhile))
    loaded.note("one more", _Run(is_over=True))
    meanwhile.finish()

    assert loaded.latest["late"] is late
    assert len(loaded.latest) == 2


def test_failures_noted_while_the_runtime_ends(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropping the oldest failures is not disturbed by a thread that forgets all of them."""
    meanwhile = Meanwhile(_failures._forget)

    class Slow(OrderedDict[Any, Any]):
        """Failures; whoever counts too many gives others the time to act."""

        def __len__(self) -> int:
            length = super().__len__()
            if length > _failures._MOST:
                meanwhile()
            return length

    failures = Slow({(0, 0, number): None for number in range(_failures._MOST)})
    monkeypatch.setattr(_failures, "_failures", failures)
    model = good(acl.mdl.load_from_file(add1(tmp_path)))
    given, wanted = (datasets.get(Dataset(array).handle) for array in (X, X))
    failing = _failures.Failing(_models.models.get(model), model, given, wanted)

    failing(0, 0, 99, RuntimeError("it failed"))
    meanwhile.finish()

    assert failures == {}


def test_a_dump_that_ends_while_a_model_is_loaded(device: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that ends all dumps ends that of a model that another thread is loading, too."""
    config = tmp_path / "dump.json"
    config.write_text(
        json.dumps({"dump": {"dump_path": str(tmp_path), "dump_list": [{"layer": []}], "dump_mode": "all"}})
    )
    ok(acl.mdl.init_dump())
    ok(acl.mdl.set_dump(str(config)))
    meanwhile = Meanwhile(acl.mdl.finalize_dump)
    start = aacl.models.TensorDump.start

    def start_slowly(self: aacl.models.TensorDump) -> aacl.models.TensorDump:
        meanwhile()
        return start(self)

    monkeypatch.setattr(aacl.models.TensorDump, "start", start_slowly)
    model = good(acl.mdl.load_from_file(add1(tmp_path)))
    meanwhile.finish()
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))

    assert [*tmp_path.rglob("*.npy")] == []
    assert acl.mdl.finalize_dump() == 100045
