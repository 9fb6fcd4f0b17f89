"""Operators: ``ops.Add(a, b)`` applies one to tensors, for ``stream.execute``.

Every type of the catalogue is an attribute of this module; what a device has
no kernel for is refused by name when it is executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from aacl._lazy import lazy_names
from aacl.errors import OperatorNotFound
from aacl.ops._catalogue import operator_types as operator_types
from aacl.ops._catalogue import schema_of as schema_of
from aacl.ops._operation import Operation as Operation
from aacl.ops._operator import Operator as Operator
from aacl.ops._plan import infer as infer
from aacl.ops._schema import OperatorSchema as OperatorSchema

if TYPE_CHECKING:
    from aacl.ops._binary import KernelBinary as KernelBinary
    from aacl.ops._binary import KernelFunction as KernelFunction
    from aacl.ops._kernel_call import KernelCall as KernelCall
    from aacl.ops._launch import Block as Block
    from aacl.ops._launch import Launch as Launch
    from aacl.ops._registration import Registration as Registration
    from aacl.ops._registration import register_operator as register_operator
    from aacl.ops._shared_object import SharedKernel as SharedKernel
    from aacl.ops._shared_object import kernel_include_dir as kernel_include_dir

__all__ = (
    "Block",
    "KernelBinary",
    "KernelCall",
    "KernelFunction",
    "Launch",
    "Operation",
    "Operator",
    "OperatorSchema",
    "Registration",
    "SharedKernel",
    "infer",
    "kernel_include_dir",
    "operator_types",
    "register_operator",
    "schema_of",
)


# What only programs with kernels of their own need is loaded with its first use.
_load_own, _ = lazy_names(
    __name__,
    {
        "Block": "aacl.ops._launch",
        "KernelBinary": "aacl.ops._binary",
        "KernelCall": "aacl.ops._kernel_call",
        "KernelFunction": "aacl.ops._binary",
        "Launch": "aacl.ops._launch",
        "Registration": "aacl.ops._registration",
        "SharedKernel": "aacl.ops._shared_object",
        "kernel_include_dir": "aacl.ops._shared_object",
        "register_operator": "aacl.ops._registration",
    },
)


def __getattr__(name: str) -> Operator:
    if name in __all__:
        return cast("Operator", _load_own(name))  # checkers know these names, and take any other for an operator
    try:
        operator = Operator(name)
    except OperatorNotFound as error:
        raise AttributeError(f"module 'aacl.ops' has no attribute {name!r}: {error}") from None
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return sorted({*__all__, *operator_types()})
