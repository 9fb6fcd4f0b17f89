"""The configuration file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aacl.errors import AclError, InvalidJson
from acl._config import read_config
from acl._status import Refused


def _read(folder: Path, text: str) -> object:
    path = folder / "acl.json"
    path.write_text(text)
    return read_config(str(path))


def test_defaults() -> None:
    """No path gives the documented defaults."""
    config = read_config("")

    assert (config.default_device, config.shares_texts, config.operator_models) == (None, False, 20000)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('{"defaultDevice": {"default_device": "1"}}', "default_device", 1),
        ('{"defaultDevice": {"default_device": 0}}', "default_device", 0),
        ('{"err_msg_mode": "1"}', "shares_texts", True),
        ('{"err_msg_mode": "0"}', "shares_texts", False),
        ('{"max_opqueue_num": "30000"}', "operator_models", 30000),
        ('{"dump": {"dump_list": []}}', "document", {"dump": {"dump_list": []}}),
    ],
)
def test_keys(tmp_path: Path, text: str, field: str, value: object) -> None:
    """Each key that means something here, and one that is kept only."""
    assert getattr(_read(tmp_path, text), field) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"defaultDevice": {"default_device": 1e999}}',
        '{"defaultDevice": "0"}',
        '{"defaultDevice": {}}',
        '{"a": 1',
        "5",
        "null",
        "",
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str) -> None:
    """What is not the JSON it should be names the file and the reason."""
    with pytest.raises(InvalidJson, match=r"acl\.json"):
        _read(tmp_path, text)


@pytest.mark.parametrize("number", ['"many"', "0", "-5", "null", "1e999"])
def test_queue_lengths_that_are_none(tmp_path: Path, number: str) -> None:
    """max_opqueue_num is a number from 1 on; the code is its own."""
    with pytest.raises(Refused, match="max_opqueue_num") as refused:
        _read(tmp_path, f'{{"max_opqueue_num": {number}}}')

    assert refused.value.code == 148048
    assert not isinstance(refused.value, AclError)


@pytest.mark.parametrize(
    "section",
    [
        '"on"',
        '{"switch": "yes"}',
        '{"switch": 1}',
        '{"switch": "on", "output": 5}',
        '{"switch": "on", "output": "gone"}',
    ],
)
def test_profiler_sections_that_are_refused(tmp_path: Path, section: str) -> None:
    """Wrong values of the section ``profiler``, and a folder that is not there, are 100010."""
    with pytest.raises(Refused, match="profiler") as caught:
        _read(tmp_path, f'{{"profiler": {section}}}')

    assert caught.value.code == 100010


def test_a_profiler_that_is_off(tmp_path: Path) -> None:
    """Without the switch nothing is profiled, whatever else the section says."""
    on = json.dumps({"switch": "on", "output": str(tmp_path)})
    for section, folder in (('{"switch": "off", "output": "gone"}', None), ("{}", None), (on, tmp_path)):
        (tmp_path / "acl.json").write_text(f'{{"profiler": {section}}}')
        assert read_config(str(tmp_path / "acl.json")).profiles == folder
