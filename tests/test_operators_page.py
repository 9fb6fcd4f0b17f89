"""The table of operators says what is true."""

from __future__ import annotations

import pytest

from aacl.backends.cpu.kernels import kernel_types
from tests.helpers.samples._record import covered
from tools.operators_page import PAGE, TESTS, page, rows


def _stated() -> dict[str, str]:
    """Return the test file that the page names for each operator type."""
    cells = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ") and "`" in line]
    return {first.removeprefix("| "): last.removesuffix(" |") for first, *_, last in cells}


@pytest.mark.timeout(120)
def test_the_page_is_what_make_docs_writes() -> None:
    """Types, prototypes and dtypes are those that run now; a stale page says: run make docs."""
    assert PAGE.read_text() == page(rows(_stated()))


def test_every_kernel_is_compared_by_the_file_that_the_page_names() -> None:
    """The file exists, and if its tests ran in this session, they ran the operator."""
    stated = _stated()

    assert sorted(stated) == sorted(kernel_types())
    assert [op_type for op_type, name in stated.items() if name == "test_samples.py"] == []
    for op_type, name in stated.items():
        assert (TESTS / name).exists()
        assert name not in covered or op_type in covered[name]
