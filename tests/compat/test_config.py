"""The configuration file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aacl.errors import AclError, InvalidDevice, InvalidJson
from acl._config import Config, read_config
from acl._status import Refused


def _read(folder: Path, text: str) -> Config:
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
        ('{"err_msg_mode": 1}', "shares_texts", True),
        ('{"StackSize": {"aicore_stack_size": 32768}}', "unknown", ()),
        ('{"StackSize": {}, "max_opqueue_num": 5}', "operator_models", 5),
        (
            '{"b": 1, "defaultDevice": {"default_device": "0", "x": 2}, "a": []}',
            "unknown",
            ("a", "b", "defaultDevice.x"),
        ),
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
        '{"defaultDevice": []}',
        '{"defaultDevice": {"default_device": true}}',
        '{"defaultDevice": {"default_device": 0.5}}',
        '{"defaultDevice": {"default_device": "zero"}}',
        '{"err_msg_mode": "2"}',
        '{"err_msg_mode": true}',
        '{"err_msg_mode": null}',
        '{"StackSize": 32768}',
        '{"StackSize": {"aicore_stack_size": "much"}}',
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


@pytest.mark.parametrize("number", ["2", "-1", '"7"', str(10**17)])
def test_default_devices_that_there_are_not(tmp_path: Path, number: str) -> None:
    """A default device that does not exist is told at once, with the number there are."""
    with pytest.raises(InvalidDevice, match="there are 2"):
        _read(tmp_path, f'{{"defaultDevice": {{"default_device": {number}}}}}')


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("extra", [0, 1])
def test_nesting(tmp_path: Path, opening: str, closing: str, extra: int) -> None:
    """C008: braces and brackets each nest ten levels, the outermost object included, and not eleven."""
    deep = 10 + extra - (opening != "[")
    text = f'{{"x": {opening * deep}0{closing * deep}}}'
    if extra:
        with pytest.raises(InvalidJson, match="nests 11 levels"):
            _read(tmp_path, text)
    else:
        _read(tmp_path, text)


def test_brackets_in_strings_do_not_nest(tmp_path: Path) -> None:
    """Brackets in a string are text, also behind an escaped quote."""
    text = json.dumps({"x": "\\" + '"' + "[{" * 50, "y\\": {}})

    assert _read(tmp_path, text).unknown == ("x", "y\\")


@pytest.mark.parametrize("number", ['"many"', "0", "-5", "null", "1e999", "true", "2.5", "[]"])
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
