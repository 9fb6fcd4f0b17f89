"""Files with several models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl.errors import ClosedResource, ModelDataError, ModelInputMismatch
from aacl.models import Model, ModelPackage, read_package, split_bundle
from aacl.models._om import Partition, om_pieces, read_om

Build = Callable[..., Path]


@pytest.fixture(scope="module")
def whole(add_one: Path, pick: Path) -> bytes:
    """Two models and, between them, one that holds nothing of ours."""
    first, second = (read_om(path.read_bytes()).models for path in (add_one, pick))
    return b"".join(om_pieces([*first, [Partition(0, (b"definition",))], *second], name="both"))


def test_models_one_by_one(whole: bytes, add_one: Path, pick: Path) -> None:
    """Each model is as it was in a file of its own; what is not of ours is left out."""
    parts = split_bundle(whole)

    assert len(parts) == 2
    for part, path in zip(parts, (add_one, pick), strict=True):
        given, alone = read_package(part), read_package(path.read_bytes())
        assert isinstance(given, ModelPackage)
        assert isinstance(alone, ModelPackage)
        assert given.signature == alone.signature
        assert bytes(given.graph[0]) == bytes(alone.graph[0])


def test_a_file_of_one_model(add_one: Path) -> None:
    """It is a bundle of one."""
    assert [read_package(part) for part in split_bundle(add_one.read_bytes())] == [read_package(add_one.read_bytes())]


def test_reading_a_bundle_as_a_model(whole: bytes) -> None:
    """It is refused, and the text says what takes it."""
    with pytest.raises(ModelDataError, match=r"bundle of 2 models.*split_bundle"):
        read_package(whole)


def test_files_without_a_model_of_ours() -> None:
    """They are refused as when one is read."""
    with pytest.raises(ModelDataError, match="atc"):
        split_bundle(b"".join(om_pieces([[Partition(0, (b"definition",))]])))


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_damaged_bundles(whole: bytes, data: st.DataObject) -> None:
    """A cut or changed file is taken apart or refused, and nothing else happens."""
    end = data.draw(st.integers(0, len(whole)))
    place, byte = data.draw(st.integers(0, min(len(whole) - 1, 600))), data.draw(st.integers(0, 255))
    for damaged in (whole[:end], whole[:place] + bytes([byte]) + whole[place + 1 :]):
        try:
            parts = split_bundle(damaged)
        except ModelDataError:
            continue
        assert parts


async def test_graph_and_outputs_of_an_open_model(add_one: Path, add_one_bytes: bytes) -> None:
    """The graph is the converted one; outputs are described without a run; both need the model to be open."""
    async with aacl.Device(), Model(add_one) as model:
        package = read_package(add_one_bytes)
        assert isinstance(package, ModelPackage)
        assert bytes(model.graph) == bytes(package.graph[0])
        shape = model.inputs[0].shape
        assert [desc.shape for desc in model.describe_outputs(shape)] == [model.outputs[0].shape]
        with pytest.raises(ModelInputMismatch, match="1 inputs; 2 shapes"):
            model.describe_outputs(shape, shape)
        with pytest.raises(ModelInputMismatch):
            model.describe_outputs((*shape, 1))

    with pytest.raises(ClosedResource):
        model.graph  # noqa: B018 - what is read raises
    with pytest.raises(ClosedResource):
        model.describe_outputs(shape)


async def test_runs_that_take_turns(add_one: Path) -> None:
    """With overlaps=False runs on different memory wait for one another; without they do not."""
    for overlaps in (True, False):
        async with aacl.Device(), aacl.Stream() as stream, Model(add_one, overlaps=overlaps) as model:
            x = await stream.to_device(np.zeros(model.inputs[0].shape, np.float32))
            outputs = [await stream.execute(model(x)) for _ in range(3)]
            kept = list(model._bindings._kept.values())

            assert len({id(binding._lock) for binding in kept}) == (len(kept) if overlaps else 1)
            assert len(kept) == len(outputs)
