"""Models: ``.om`` files, loaded and run.

::

    async with aacl.Model("net.om") as model:
        y = await stream.execute(model(x))  # from device tensors to device tensors
        z = await model.infer(array)  # from host arrays to host arrays
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from aacl.models._model import Model as Model
from aacl.models._model import ModelStatistics as ModelStatistics
from aacl.models._run import ModelRun as ModelRun

if TYPE_CHECKING:
    from aacl.models._operator import OperatorModel as OperatorModel
    from aacl.models._package import ModelPackage as ModelPackage
    from aacl.models._package import OperatorPackage as OperatorPackage
    from aacl.models._package import read_package as read_package
    from aacl.models._signature import ModelSignature as ModelSignature
    from aacl.models._signature import TensorSpec as TensorSpec

__all__ = (
    "Model",
    "ModelPackage",
    "ModelRun",
    "ModelSignature",
    "ModelStatistics",
    "OperatorModel",
    "OperatorPackage",
    "TensorSpec",
    "read_package",
)

# These need attrs, whose import would weigh on every `import aacl`; they are imported at their first use.
_LATER = {
    "ModelPackage": "_package",
    "ModelSignature": "_signature",
    "OperatorModel": "_operator",
    "OperatorPackage": "_package",
    "TensorSpec": "_signature",
    "read_package": "_package",
}


def __getattr__(name: str) -> Any:
    try:
        module = _LATER[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
