"""The converter: ONNX models and single operators into ``.om`` files, from Python or by the ``atc`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._lazy import lazy_names

if TYPE_CHECKING:
    from aacl.converter._convert import convert as convert
    from aacl.converter._operators import convert_operators as convert_operators
    from aacl.converter._reports import ConversionError as ConversionError
    from aacl.converter._reports import InvalidOption as InvalidOption
    from aacl.converter._reports import ModelFileMissing as ModelFileMissing
    from aacl.converter._reports import ModelUnreadable as ModelUnreadable
    from aacl.converter._reports import OperatorFileInvalid as OperatorFileInvalid
    from aacl.converter._reports import OutputNotWritable as OutputNotWritable
    from aacl.converter._reports import Report as Report
    from aacl.converter._reports import Unconvertible as Unconvertible

__all__ = (
    "ConversionError",
    "InvalidOption",
    "ModelFileMissing",
    "ModelUnreadable",
    "OperatorFileInvalid",
    "OutputNotWritable",
    "Report",
    "Unconvertible",
    "convert",
    "convert_operators",
)

if not TYPE_CHECKING:
    # ``atc --help`` comes through here, and must not wait for NumPy.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "convert": "aacl.converter._convert",
            "convert_operators": "aacl.converter._operators",
            "ConversionError": "aacl.converter._reports",
            "InvalidOption": "aacl.converter._reports",
            "ModelFileMissing": "aacl.converter._reports",
            "ModelUnreadable": "aacl.converter._reports",
            "OperatorFileInvalid": "aacl.converter._reports",
            "OutputNotWritable": "aacl.converter._reports",
            "Report": "aacl.converter._reports",
            "Unconvertible": "aacl.converter._reports",
        },
    )
