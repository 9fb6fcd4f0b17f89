"""The ONNX node tests, converted into models and run through both faces.

The `onnx` package makes one small model a test case, with its inputs and the outputs that the
specification asks for. Each is converted as ``atc`` does, without any option, loaded, and run
by ``await model.infer`` and by ``acl.mdl.execute``. What the converter or the runtime cannot take
is refused, and counted apart.
"""

from tests.helpers.onnx_models._cases import Case as Case
from tests.helpers.onnx_models._cases import collect as collect
from tests.helpers.onnx_models._legacy import run_by_acl as run_by_acl
from tests.helpers.onnx_models._outcome import Outcome as Outcome
from tests.helpers.onnx_models._outcome import Status as Status
from tests.helpers.onnx_models._outcome import run_case as run_case
from tests.helpers.onnx_models._outcome import run_cases as run_cases
from tests.helpers.onnx_models._report import report as report

__all__ = ("Case", "Outcome", "Status", "collect", "report", "run_by_acl", "run_case", "run_cases")
