"""Tensors and their descriptions."""

from aacl.tensors._desc import UNKNOWN_RANK as UNKNOWN_RANK
from aacl.tensors._desc import TensorDesc as TensorDesc
from aacl.tensors._tensor import Tensor as Tensor

__all__ = ("UNKNOWN_RANK", "Tensor", "TensorDesc")
