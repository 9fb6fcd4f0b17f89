"""The converter: ONNX models and single operators into ``.om`` files, from Python or by the ``atc`` command."""

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
