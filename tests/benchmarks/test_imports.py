"""What the measurements of imports rest on."""

from __future__ import annotations

import pytest

from benchmarks.imports import environment


def test_byte_code_is_kept_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, packages would be compiled at each import, which is not what an import costs."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OTHER", "kept")

    assert "PYTHONDONTWRITEBYTECODE" not in environment()
    assert environment()["OTHER"] == "kept"
