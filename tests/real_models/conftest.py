"""A runtime of the drop-in, and both ways to run a model file once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import aacl
import acl
from aacl.abc import Array
from tests.helpers.onnx_models import run_by_acl

RunBoth = Callable[[Path, Mapping[str, Array]], dict[str, Sequence[Array]]]


@pytest.fixture
def runtime() -> Iterator[None]:
    """Device 0 of the drop-in."""
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield
    assert acl.finalize() == 0


@pytest.fixture
def run_both(runtime: None) -> RunBoth:
    """Return a function that gives a model's outputs through each face."""

    def run(path: Path, inputs: Mapping[str, Array]) -> dict[str, Sequence[Array]]:
        return {"native": asyncio.run(_infer(path, inputs)), "acl": run_by_acl(path, inputs)}

    return run


async def _infer(path: Path, inputs: Mapping[str, Any]) -> Sequence[Array]:
    async with aacl.Device(0), aacl.Stream(), aacl.Model(path) as model:
        found = await model.infer(*[inputs[spec.name] for spec in model.inputs])
    return found if isinstance(found, tuple) else (found,)
