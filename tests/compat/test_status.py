"""How calls end: values, codes, texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aacl.errors import InvalidArgument, KernelError, OutOfMemory, StreamError
from acl._status import Refused, code_alone, code_of, fail, plain, recent_text, with_code, with_first
from acl._threads import here


@pytest.fixture(autouse=True)
def clean_status() -> Iterator[None]:
    """Leave no error behind."""
    yield
    here.error, here.text = 0, None


def _caused(error: BaseException) -> StreamError:
    late = StreamError("work failed")
    late.__cause__ = error
    return late


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidArgument("x"), 100000),
        (Refused(107015, "x"), 107015),
        (OutOfMemory("x"), 207001),
        (MemoryError(), 200000),
        (ValueError("x"), 500001),
        (StreamError("x"), 507000),
        (_caused(KernelError("x")), 507018),
        (_caused(ValueError("x")), 500001),
        (_caused(Refused(107012, "x")), 107012),
        (_caused(_caused(OutOfMemory("x"))), 207001),
    ],
)
def test_codes_of_errors(error: BaseException, code: int) -> None:
    """Each error has one code; what a synchronise raises has that of the command that failed."""
    assert code_of(error) == code


def test_texts_carry_notes() -> None:
    """The text names the call, the code and the error, and the notes of the command that failed."""
    cause = KernelError("Add failed")
    cause.add_note("submitted at program.py:3")
    late = _caused(cause)

    assert fail("acl.rt.synchronize_stream", late) == 507018
    text = recent_text() or ""
    assert text.startswith("acl.rt.synchronize_stream failed with 507018: work failed")
    assert "program.py:3" in text
    assert recent_text() is None


def test_forms_of_calls() -> None:
    """A code; values and a code; a value alone; the first argument and a code."""

    def body(first: int, wrong: int) -> int:
        if wrong:
            raise Refused(wrong, "asked for")
        return 0

    def pair(first: int, wrong: int) -> tuple[int, int]:
        return first, body(first, wrong)

    assert (code_alone(body)(5, 0), code_alone(body)(5, 7)) == (0, 7)
    assert (with_code(-2)(pair)(5, 0), with_code(-2)(pair)(5, 7)) == ((5, 0), (-2, 7))
    assert (plain(-1)(body)(5, 0), plain(-1)(body)(5, 7)) == (0, -1)
    assert (with_first(body)(5, 0), with_first(body)(5, 7)) == ((5, 0), (5, 7))


def test_what_is_no_failure_of_the_runtime_is_raised() -> None:
    """A TypeError is the program's fault, and other exceptions are our own: both are seen."""

    @code_alone
    def call(what: int) -> int:
        raise TypeError("a list is required") if what else LookupError("a bug")

    with pytest.raises(TypeError, match="a list"):
        call(1)
    with pytest.raises(LookupError, match="a bug"):
        call(0)
