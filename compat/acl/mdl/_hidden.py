"""Inputs that AscendCL adds to what a model takes, which natively do not exist. Pure."""

from __future__ import annotations

import aacl

__all__ = ("GEARS_NAME", "hidden_inputs")

GEARS_NAME = "ascend_mbatch_shape_data"
"""ACL_DYNAMIC_TENSOR_NAME: the input that holds the numbers of the gear of the run."""


def hidden_inputs(signature: aacl.models.ModelSignature) -> tuple[aacl.models.TensorSpec, ...]:
    """Return the inputs that come behind a model's own ones, in order."""
    gears = signature.gears
    if gears is None:
        return ()
    return (aacl.models.TensorSpec(GEARS_NAME, aacl.DataType.INT32, (len(gears.values[0]),)),)
