"""The log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import acl
from acl import _log
from tests.compat._programs import ok, run_program

_WRITE = """
    import acl
    for level, line in enumerate(["debug", "info", "warning", "error"]):
        acl.app_log(level, line)
    """


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a new process does."""
    monkeypatch.setattr(_log, "_warned", set())


def test_app_log_writes_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    """app_log writes a line at the level given, as the program's own; an unknown level is a text, not an exception."""
    assert acl.app_log(3, "100 % done") is None
    assert acl.app_log(9, "lost") is None

    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        ("acl", "ERROR", "100 % done")
    ]
    assert caplog.records[0].filename == Path(__file__).name
    assert "log level 9" in (acl.get_recent_err_msg() or "")


@pytest.mark.parametrize(
    ("level", "lines"),
    [
        ("0", ["DEBUG", "INFO", "WARNING", "ERROR"]),
        ("1", ["INFO", "WARNING", "ERROR"]),
        (" 2 ", ["WARNING", "ERROR"]),
        ("3", ["ERROR"]),
        ("4", []),
        ("", ["WARNING", "ERROR"]),
    ],
)
def test_the_environment_says_from_which_level_on(level: str, lines: list[str]) -> None:
    """ASCEND_GLOBAL_LOG_LEVEL is the least level written; without it the program's logging decides."""
    out = run_program(_WRITE, ASCEND_GLOBAL_LOG_LEVEL=level, ASCEND_SLOG_PRINT_TO_STDOUT="1")

    assert out.splitlines() == [f"[{name}] acl: {name.lower()}" for name in lines]


def test_a_level_of_the_programs_own_stays() -> None:
    """The environment does not overrule a level that the program gave the logger before."""
    out = run_program(
        "import logging; logging.getLogger('acl').setLevel(logging.INFO)\n" + _WRITE.replace("\n    ", "\n"),
        ASCEND_GLOBAL_LOG_LEVEL="3",
        ASCEND_SLOG_PRINT_TO_STDOUT="1",
    )

    assert out.splitlines() == ["[INFO] acl: info", "[WARNING] acl: warning", "[ERROR] acl: error"]


def test_a_level_that_is_none_is_told() -> None:
    """Another value of ASCEND_GLOBAL_LOG_LEVEL is told in the log itself, once."""
    out = run_program(
        """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        import acl
        acl.app_log(3, "a")
        acl.app_log(3, "b")
        """,
        ASCEND_GLOBAL_LOG_LEVEL="loud",
    )

    assert out.splitlines() == [
        "ASCEND_GLOBAL_LOG_LEVEL is 'loud'; set it to a number from 0 (DEBUG) to 3 (ERROR), or 4",
        "a",
        "b",
    ]


def test_keys_that_mean_nothing_are_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each unknown key of a configuration is one warning in the log, also when it is given again; the rest works."""
    config = {"err_msg_mod": "1", "defaultDevice": {"default_device": "0", "x": 1}, "dump": {"dump_list": []}}
    path = tmp_path / "acl.json"
    path.write_text(json.dumps(config))

    with caplog.at_level(logging.WARNING, "acl"):
        for _ in range(2):
            _log_init(path)

    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "'defaultDevice.x'" in caplog.messages[0]
    assert "'err_msg_mod'" in caplog.messages[1]


def _log_init(path: Path) -> None:
    ok(acl.init(str(path)))
    assert acl.rt.get_device() == (0, 0)
    ok(acl.finalize())
