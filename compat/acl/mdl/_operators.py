"""What a model's operators say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._status import plain
from acl.mdl._descs import descs
from acl.mdl._models import models

if TYPE_CHECKING:
    from acl.mdl._described import Described

__all__ = ("get_op_attr",)

_ORIGINS = "_datadump_original_op_names"


@plain("")
def get_op_attr(model_desc: int, op_name: str, attr: str, /) -> str:
    """Return an attribute of an operator of a loaded model.

    Args:
        model_desc: a description of `get_desc`, whose model is still loaded.
        op_name: the operator's name, as in the names of outputs (``node:index:name``).
        attr: ``_datadump_original_op_names``, the only one there is: the operators of the original model that became
            this one, ``[length]name`` each.

    Returns:
        The value; empty if there is no such attribute, operator or description, or the model is not loaded.

    Source: aclmdlGetOpAttr.
    """
    for number, text in enumerate((op_name, attr), 2):
        check_text(text, number)
    desc = descs.get(model_desc)
    if attr != _ORIGINS:
        raise InvalidArgument(f"operators have the attribute {_ORIGINS!r} alone; {attr!r} was asked for")
    if op_name not in _operator_names(desc):
        raise InvalidArgument(f"the model has no operator {op_name!r}")
    return f"[{len(op_name)}]{op_name}"  # operators are not fused in the file


def _operator_names(desc: Described) -> set[str]:
    loaded = models.objects.get(desc.model_id)
    if loaded is None:
        raise InvalidArgument("the description is of no model that is loaded now; load it, and call acl.mdl.get_desc")
    import onnx  # few programs ask

    graph = onnx.load_model_from_string(bytes(loaded.model.graph)).graph
    return {node.name for node in graph.node}
