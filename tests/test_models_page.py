"""The page "From ONNX to a running model" says what is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.models_page import PAGE, renewed


@pytest.mark.timeout(120)
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    """The programs and commands, run in order, print exactly what stands there; a stale page says: run make docs."""
    page = PAGE.read_text()

    assert renewed(page, tmp_path) == page
    assert (tmp_path / "ranged.om").exists()


def test_what_a_command_prints_is_put_in(tmp_path: Path) -> None:
    """Old output goes, new output stands behind its command, errors included; files keep their text."""
    page = "`a.py`:\n\n```python\nprint(1)\n```\n\n```console\n$ python a.py\n2\n$ echo b \\\n    c; ls x\n```\n"

    made = renewed(page, tmp_path)

    assert made.startswith(
        "`a.py`:\n\n```python\nprint(1)\n```\n\n```console\n$ python a.py\n1\n$ echo b \\\n    c; ls x\nb c\n"
    )
    assert "No such file" in made
