"""Descriptions, under the name that operators' code uses."""

from aacl.tensors._desc import UNKNOWN_RANK as UNKNOWN_RANK
from aacl.tensors._desc import TensorDesc as TensorDesc

__all__ = ("UNKNOWN_RANK", "TensorDesc")
