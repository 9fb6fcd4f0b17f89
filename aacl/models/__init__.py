"""Models: ``.om`` files, loaded and run.

::

    async with aacl.Model("net.om") as model:
        y = await stream.execute(model(x))  # from device tensors to device tensors
        z = await model.infer(array)  # from host arrays to host arrays
        async for item, result in model.map(arrays):  # many of them, in batches
            ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._lazy import lazy_names
from aacl.models._chain import ModelChain as ModelChain
from aacl.models._model import Model as Model
from aacl.models._model import ModelStatistics as ModelStatistics
from aacl.models._run import ModelRun as ModelRun

if TYPE_CHECKING:
    from aacl.models._aipp import Aipp as Aipp
    from aacl.models._aipp import AippFrame as AippFrame
    from aacl.models._aipp import AippMode as AippMode
    from aacl.models._aipp import AippSettings as AippSettings
    from aacl.models._aipp_format import AippFormat as AippFormat
    from aacl.models._bundle import split_bundle as split_bundle
    from aacl.models._operator import OperatorModel as OperatorModel
    from aacl.models._package import ModelPackage as ModelPackage
    from aacl.models._package import OperatorPackage as OperatorPackage
    from aacl.models._package import read_package as read_package
    from aacl.models._profile import OperatorTimes as OperatorTimes
    from aacl.models._profile import Profile as Profile
    from aacl.models._profile import summarize as summarize
    from aacl.models._profile import trace_events as trace_events
    from aacl.models._signature import GearKind as GearKind
    from aacl.models._signature import Gears as Gears
    from aacl.models._signature import ModelSignature as ModelSignature
    from aacl.models._signature import TensorSpec as TensorSpec
    from aacl.models._tensor_dump import TensorDump as TensorDump
    from aacl.models._tensor_dump import save_values as save_values
    from aacl.models._tensor_dump import value_name as value_name

__all__ = (
    "Aipp",
    "AippFormat",
    "AippFrame",
    "AippMode",
    "AippSettings",
    "GearKind",
    "Gears",
    "Model",
    "ModelChain",
    "ModelPackage",
    "ModelRun",
    "ModelSignature",
    "ModelStatistics",
    "OperatorModel",
    "OperatorPackage",
    "OperatorTimes",
    "Profile",
    "TensorDump",
    "TensorSpec",
    "read_package",
    "save_values",
    "split_bundle",
    "summarize",
    "trace_events",
    "value_name",
)

if not TYPE_CHECKING:
    # These need attrs, whose import would weigh on every model.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "Aipp": "aacl.models._aipp",
            "AippFormat": "aacl.models._aipp_format",
            "AippFrame": "aacl.models._aipp",
            "AippMode": "aacl.models._aipp",
            "AippSettings": "aacl.models._aipp",
            "GearKind": "aacl.models._signature",
            "Gears": "aacl.models._signature",
            "ModelPackage": "aacl.models._package",
            "ModelSignature": "aacl.models._signature",
            "OperatorModel": "aacl.models._operator",
            "OperatorPackage": "aacl.models._package",
            "OperatorTimes": "aacl.models._profile",
            "Profile": "aacl.models._profile",
            "TensorDump": "aacl.models._tensor_dump",
            "TensorSpec": "aacl.models._signature",
            "read_package": "aacl.models._package",
            "save_values": "aacl.models._tensor_dump",
            "split_bundle": "aacl.models._bundle",
            "summarize": "aacl.models._profile",
            "trace_events": "aacl.models._profile",
            "value_name": "aacl.models._tensor_dump",
        },
    )
