"""The converter: ONNX models and single operators into ``.om`` files, from Python or by the ``atc`` command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._lazy import lazy_names

if TYPE_CHECKING:
    from aacl.converter._convert import convert as convert
    from aacl.converter._information import OmInformation as OmInformation
    from aacl.converter._information import inspect_om as inspect_om
    from aacl.converter._om_document import write_json as write_json
    from aacl.converter._operators import convert_operators as convert_operators
    from aacl.converter._precheck import check_model as check_model
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
    "OmInformation",
    "OperatorFileInvalid",
    "OutputNotWritable",
    "Report",
    "Unconvertible",
    "check_model",
    "convert",
    "convert_operators",
    "inspect_om",
    "write_json",
)

if not TYPE_CHECKING:
    # ``atc --help`` comes through here, and must not wait for NumPy.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "check_model": "aacl.converter._precheck",
            "convert": "aacl.converter._convert",
            "inspect_om": "aacl.converter._information",
            "OmInformation": "aacl.converter._information",
            "write_json": "aacl.converter._om_document",
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
