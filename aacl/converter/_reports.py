"""Conversion failures: one report each, with the real converter's code. Pure.

A report prints as the real tool's does: ``<code>: <message>``, then the
possible cause and the solution. Codes and their meanings follow the public
error table of the graph engine's error manager; the texts are our own.
"""

from __future__ import annotations

import attrs

from aacl.errors import (
    AclError,
    InvalidArgument,
    InvalidFile,
    InvalidJson,
    ModelDataError,
    ModelPathError,
    NotSupported,
)

__all__ = (
    "ConversionError",
    "InvalidOption",
    "ModelFileMissing",
    "ModelUnreadable",
    "OperatorFileInvalid",
    "OutputNotWritable",
    "Report",
    "Unconvertible",
    "report_of",
)


@attrs.frozen
class Report:
    """What the command line prints of one failure."""

    code: str
    message: str
    cause: str = ""
    solution: str = ""

    def lines(self) -> list[str]:
        """Return the report's lines."""
        detail = [("Possible Cause", self.cause), ("Solution", self.solution)]
        return [f"{self.code}: {self.message}", *(f"        {label}: {text}" for label, text in detail if text)]


# The cause and the solution that go with a code where the failure itself states none.
_ADVICE: dict[str, tuple[str, str]] = {
    "E10001": ("", "Correct the value; atc --help lists the values each option takes."),
    "E10002": ("The value does not follow name:dim,dim,...;name:dim,...", "Quote the value and correct it."),
    "E10004": ("", "Give the option a value."),
    "E10007": ("--framework is missing or is none of 0, 1, 3, 5.", "Give --framework=5 for an ONNX model."),
    "E10009": ("", "Keep one of them."),
    "E10011": ("A dim of an input must be a number above zero.", "Give the input's real dims."),
    "E10016": ("", "Use one of the names listed."),
    "E10017": ("", "Leave it out."),
    "E10022": ("--output ends in a directory.", "Give the path of a file, such as --output=models/net."),
    "E10021": ("", "Give a shorter path."),
    "E10041": ("", "Export or download the model again, and check its size."),
    "E10054": ("", "Give the option."),
    "E10055": ("", "Leave it out, or do that step outside the converter."),
    "E10056": ("", "Keep one of them."),
    "E10057": ("", "Give both, or neither."),
    "E10410": ("", "Check the path; a relative one starts from the working directory."),
    "E16002": (
        "The converter has no implementation of these operators at the opset that the model states.",
        "Export with operators of the ONNX standard, or cut the graph before them with --out_nodes.",
    ),
}


class ConversionError(AclError):
    """A model or operator could not be converted; nothing was written.

    Attributes:
        report: code, message, cause and solution, as the command line prints them.
    """

    def __init__(self, code: str, message: str, *, cause: str = "", solution: str = "") -> None:
        default_cause, default_solution = _ADVICE.get(code, ("", ""))
        self.report = Report(code, message, cause or default_cause, solution or default_solution)
        super().__init__(f"{code}: {message}")


class InvalidOption(ConversionError, InvalidArgument):
    """An option's name or value is wrong, or does not fit the model."""


class ModelFileMissing(ConversionError, ModelPathError):
    """The model to convert is not there."""


class ModelUnreadable(ConversionError, ModelDataError):
    """The model to convert is damaged, or of another kind."""


class Unconvertible(ConversionError, NotSupported):
    """The model, or an option, is understood and cannot be converted here."""


class OperatorFileInvalid(ConversionError, InvalidJson):
    """A single-operator file is not the JSON that it should be."""


class OutputNotWritable(ConversionError, InvalidFile):
    """The output file cannot be written."""


def report_of(error: AclError) -> Report:
    """Return an error's report; an error of the runtime itself is an inner error."""
    return error.report if isinstance(error, ConversionError) else Report("E19999", f"Inner Error! {error}")
