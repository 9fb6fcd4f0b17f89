"""Models: ``.om`` files, loaded and run.

::

    async with aacl.Model("net.om") as model:
        y = await stream.execute(model(x))  # from device tensors to device tensors
        z = await model.infer(array)  # from host arrays to host arrays
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._lazy import lazy_names
from aacl.models._model import Model as Model
from aacl.models._model import ModelStatistics as ModelStatistics
from aacl.models._run import ModelRun as ModelRun

if TYPE_CHECKING:
    from aacl.models._operator import OperatorModel as OperatorModel
    from aacl.models._package import ModelPackage as ModelPackage
    from aacl.models._package import OperatorPackage as OperatorPackage
    from aacl.models._package import read_package as read_package
    from aacl.models._signature import GearKind as GearKind
    from aacl.models._signature import Gears as Gears
    from aacl.models._signature import ModelSignature as ModelSignature
    from aacl.models._signature import TensorSpec as TensorSpec

__all__ = (
    "GearKind",
    "Gears",
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

if not TYPE_CHECKING:
    # These need attrs, whose import would weigh on every model.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "GearKind": "aacl.models._signature",
            "Gears": "aacl.models._signature",
            "ModelPackage": "aacl.models._package",
            "ModelSignature": "aacl.models._signature",
            "OperatorModel": "aacl.models._operator",
            "OperatorPackage": "aacl.models._package",
            "TensorSpec": "aacl.models._signature",
            "read_package": "aacl.models._package",
        },
    )
