"""silero-vad's models: a state goes in and comes out, step by step over a sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import aacl
from aacl.abc import Array
from aacl.converter import convert
from tests.helpers.onnx_models import run_by_acl
from tests.helpers.real_models import assert_same, silero_file

RATE, CHUNK, CONTEXT = 16000, 512, 64
STEPS = 12
# In silero_vad both branches of an If, for 16 and for 8 kHz, stay in the graph, and fit no single fixed length.
SHAPES = {
    "silero_vad": "input:-1,-1;state:2,-1,128",
    "silero_vad_16k_op15": f"input:1,{CHUNK + CONTEXT};state:2,1,128",
    "silero_vad_half": f"input:-1,{CHUNK + CONTEXT};state:2,-1,128",
    "silero_vad_op18_ifless": "input:1~4,-1;state:2,1~4,128",
}


def _chunks() -> list[Array]:
    """Return a sound in overlapping chunks: silence, then a buzz with noise."""
    time = np.arange(STEPS * CHUNK + CONTEXT) / RATE
    sound = np.sign(np.sin(2 * np.pi * 120 * time)) * np.sin(2 * np.pi * 3 * time) * 0.3
    sound[: len(sound) // 3] = 0
    sound += np.random.default_rng(2).standard_normal(len(sound)) * 0.01
    return [sound[None, k * CHUNK : (k + 1) * CHUNK + CONTEXT].astype(np.float32) for k in range(STEPS)]


def _reference(path: Path) -> list[list[Array]]:
    """Return ONNX Runtime's outputs, step by step."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names, state, found = {node.name for node in session.get_inputs()}, _start(), []
    for chunk in _chunks():
        found.append(session.run(None, _feeds(names, chunk, state)))
        state = found[-1][1]
    return found


def _start() -> Array:
    return np.zeros((2, 1, 128), np.float32)


def _feeds(names: set[str], chunk: Array, state: Array) -> dict[str, Array]:
    every = {"input": chunk, "state": state, "sr": np.array(RATE, np.int64)}
    return {name: array for name, array in every.items() if name in names}


@pytest.mark.parametrize("name", SHAPES)
async def test_state_goes_round_on_the_host(tmp_path: Path, runtime: None, name: str) -> None:
    """Each step's probability and state are ONNX Runtime's, natively and through acl."""
    path, expected = (
        convert(silero_file(name), tmp_path / name, input_shape=SHAPES[name]),
        _reference(silero_file(name)),
    )
    assert np.ptp([step[0] for step in expected]) > 1e-3
    async with aacl.Device(0), aacl.Stream(), aacl.Model(path) as model:
        names, state = {spec.name for spec in model.inputs}, _start()
        for number, (chunk, wanted) in enumerate(zip(_chunks(), expected, strict=True)):
            feeds: dict[str, Any] = _feeds(names, chunk, state)
            found = await model.infer(**feeds)

            assert_same(found, wanted)
            if number % 4 == 0:
                assert_same(run_by_acl(path, feeds), wanted)
            state = found[1]


@pytest.mark.parametrize("name", SHAPES)
async def test_state_stays_on_the_device(tmp_path: Path, name: str) -> None:
    """The state that one step's run makes is the next one's input; only sound and probabilities are copied."""
    path, expected = (
        convert(silero_file(name), tmp_path / name, input_shape=SHAPES[name]),
        _reference(silero_file(name)),
    )
    async with aacl.Device(0), aacl.Stream() as stream, aacl.Model(path) as model:
        names, scores = {spec.name for spec in model.inputs}, []
        tensors = {key: await stream.to_device(array) for key, array in _feeds(names, _chunks()[0], _start()).items()}
        for chunk in _chunks():
            tensors["input"] = await stream.to_device(chunk)
            score, tensors["state"] = await stream.execute(model(**tensors))
            scores.append(await stream.to_host(score))

        assert_same(scores, [step[0] for step in expected])
