"""Subscriptions to models with gears and with free dims: the shapes that a program sets go on to hold."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import acl
from tests.compat._models import batch, ranged
from tests.compat._programs import FLOAT, ND, Dataset, good, ok

X = np.arange(16, dtype=np.float32).reshape(4, 4)


def _sent(out: int) -> list[str]:
    """Return the types of the operators that came through a pipe."""
    size = good(acl.prof.get_op_desc_size())
    data = os.read(out, 1 << 16)
    pointer = acl.util.bytes_to_ptr(data)
    return [good(acl.prof.get_op_type_v2(pointer, len(data), place)) for place in range(len(data) // size)]


def test_gears(device: int, tmp_path: Path) -> None:
    """Each gear's run is sent, and writes what the gear has, no more."""
    model = good(acl.mdl.load_from_file(batch(tmp_path)))
    out, into = os.pipe()
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, into)))
    for rows in (1, 4, 2):
        given, wanted = Dataset(X, np.zeros(1, np.int32)), Dataset(np.zeros_like(X))
        ok(acl.mdl.set_dynamic_batch_size(model, given.handle, 1, rows))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        np.testing.assert_array_equal(wanted.read(), np.where(np.arange(4)[:, None] < rows, X + 1, 0))
    ok(acl.prof.model_un_subscribe(model))

    assert _sent(out) == ["Add"] * 3
    os.close(out)
    os.close(into)


def test_ranges(device: int, stream: int, tmp_path: Path) -> None:
    """Runs of several shapes are sent, blocking and asynchronous ones."""
    model = good(acl.mdl.load_from_file(ranged(tmp_path)))
    out, into = os.pipe()
    ok(acl.prof.model_subscribe(model, acl.prof.create_subscribe_config(1, 1, into)))
    for rows in (3, 1, 4):
        given, wanted = Dataset(X), Dataset(np.zeros_like(X))
        desc = acl.create_tensor_desc(FLOAT, [rows, 4], ND)
        assert acl.mdl.set_dataset_tensor_desc(given.handle, desc, 0) == (given.handle, 0)
        acl.destroy_tensor_desc(desc)
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
        ok(acl.rt.synchronize_stream(stream))
        np.testing.assert_array_equal(wanted.read()[:rows], X[:rows] + 1)
    ok(acl.prof.model_un_subscribe(model))

    assert _sent(out) == ["Add"] * 6
    os.close(out)
    os.close(into)
