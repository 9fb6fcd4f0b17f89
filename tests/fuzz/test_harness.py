"""The harness of the damaged files: it notices what must not happen, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import aacl
from tests.helpers.fuzz import _child as child
from tests.helpers.fuzz import fuzz

FAULTY = "tests.helpers.fuzz._faulty"


@pytest.mark.parametrize(
    ("kind", "words"),
    [("crash", "status -11"), ("hang", "not over after 0.5 s"), ("fault", "wrong"), ("noise", "something is printed")],
)
def test_ends_are_noticed(kind: str, words: str) -> None:
    """A crash, a hang and a fault are found with the case's number, and the cases after it run."""
    (finding,) = fuzz(kind, 5, "0", child=FAULTY, seconds=0.5)

    assert (finding.kind, finding.number) == (kind, 2)
    assert words in finding.fault


def test_sound_children_give_nothing() -> None:
    """Cases that all end well are no findings."""
    assert fuzz("sound", 5, "0", child=FAULTY) == []


def _raise(error: Exception) -> Callable[[Path, Path], None]:
    def target(_path: Path, _folder: Path) -> None:
        raise error

    return target


def test_only_errors_of_ours_with_a_text_pass(tmp_path: Path) -> None:
    """AclError is an answer; any other exception, and an error that says nothing, is a fault."""
    assert child._fault(_raise(aacl.InvalidArgument("no")), tmp_path, tmp_path) == ""
    assert "without a text" in child._fault(_raise(aacl.InvalidArgument("")), tmp_path, tmp_path)
    assert child._fault(_raise(KeyError("x")), tmp_path, tmp_path).startswith("KeyError: 'x' in")


def test_files_outside_the_folder_are_noticed(tmp_path: Path) -> None:
    """What is opened elsewhere is a fault, and what is opened inside is none."""
    allowed = (str(tmp_path / "inner"),)

    def target(path: Path, _folder: Path) -> None:
        child._watch("open", (str(path), "r", 0), allowed)

    assert child._fault(target, tmp_path / "inner" / "file", tmp_path) == ""
    assert "secret" in child._fault(target, tmp_path / "inner" / ".." / "secret", tmp_path)


def test_memory_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that takes more than it may is a fault."""
    monkeypatch.setattr(child, "_MEMORY", -1)

    assert "MiB were taken" in child._fault(lambda *_: None, tmp_path, tmp_path)
