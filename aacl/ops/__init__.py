"""Operators: ``ops.Add(a, b)`` applies one to tensors, for ``stream.execute``.

Every type of the catalogue is an attribute of this module; what a device has
no kernel for is refused by name when it is executed.
"""

from __future__ import annotations

from aacl.errors import OperatorNotFound
from aacl.ops._catalogue import operator_types as operator_types
from aacl.ops._catalogue import schema_of as schema_of
from aacl.ops._operation import Operation as Operation
from aacl.ops._operator import Operator as Operator
from aacl.ops._plan import infer as infer
from aacl.ops._schema import OperatorSchema as OperatorSchema

__all__ = ("Operation", "Operator", "OperatorSchema", "infer", "operator_types", "schema_of")


def __getattr__(name: str) -> Operator:
    try:
        operator = Operator(name)
    except OperatorNotFound as error:
        raise AttributeError(f"module 'aacl.ops' has no attribute {name!r}: {error}") from None
    globals()[name] = operator
    return operator


def __dir__() -> list[str]:
    return sorted({*__all__, *operator_types()})
