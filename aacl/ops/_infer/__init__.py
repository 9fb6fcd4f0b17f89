"""Shape inference: what an operator's outputs are, from its inputs and attributes alone.

The rules follow the prototype headers' comments and, where those only name a
framework's operator, that operator's public documentation. One file a family;
`_rules` says how a rule is written.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from aacl.ops._infer._rules import RULES, apply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aacl.ops._schema import OperatorSchema
    from aacl.tensors._desc import TensorDesc

__all__ = ("infer_outputs", "inferable_types")

# Every module here registers its rules when it is imported.
for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def infer_outputs(
    schema: OperatorSchema, inputs: Sequence[TensorDesc | None], attributes: Mapping[str, Any]
) -> tuple[TensorDesc, ...]:
    """Return the description of every output.

    A dim that follows from nothing known is -1, bounded by ranges where something is known of it; a
    shape whose rank follows from nothing known is ``(-2,)``. The contents of an input
    (``TensorDesc.value``) are read where they decide a shape.

    Args:
        schema: the operator's prototype.
        inputs: in the schema's order, dynamic inputs spread out; None, or a dtype ``UNDEFINED``, where
            an optional input is absent. Optional inputs at the end may be left out.
        attributes: every attribute, as `OperatorSchema.complete` returns them.

    Raises:
        InvalidArgument: number, shapes or values of the inputs do not fit; the text shows the shapes.
        UnsupportedDataType: an input has a dtype that the operator does not take, or the dtypes differ
            where they must be equal.
        NotSupported: no rule is known for this operator.
    """
    return apply(schema, inputs, attributes)


def inferable_types() -> tuple[str, ...]:
    """Return the operator types whose outputs can be inferred, sorted."""
    return tuple(sorted(RULES))
