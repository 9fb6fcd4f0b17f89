"""What does not fit is refused with a typed error when an operation is prepared."""

from __future__ import annotations

import contextlib
import warnings

import pytest

from aacl.errors import AclError
from tests.helpers.samples import samples
from tests.helpers.samples._mutations import mutations, prepare


@pytest.mark.parametrize("op_type", samples())
def test_a_changed_sample_is_prepared_or_refused_by_a_typed_error(op_type: str) -> None:
    """One input, value or attribute of another kind never ends in an IndexError, a ZeroDivisionError or a warning."""
    untyped = []
    for mutation in mutations(op_type, samples()[op_type][1]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                with contextlib.suppress(AclError):
                    prepare(op_type, mutation)
            except Exception as error:
                untyped.append(f"{mutation.what}: {error!r}")

    assert untyped == []
