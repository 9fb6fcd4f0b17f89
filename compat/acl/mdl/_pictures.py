"""Inputs with AIPP, as AscendCL describes them. Pure."""

from __future__ import annotations

import aacl

__all__ = ("aipp_at", "as_described", "buffer_shape", "picture_dims", "shaped")


def aipp_at(signature: aacl.models.ModelSignature, position: int) -> aacl.models.Aipp | None:
    """Return the AIPP in front of an input, None if there is none."""
    return next((aipp for aipp in signature.aipp if aipp.input == position), None)


def as_described(signature: aacl.models.ModelSignature) -> aacl.models.ModelSignature:
    """Return a signature whose pictures of dynamic AIPP take the bytes of the largest: sizes say how much to allocate."""
    if signature.gears is not None or not any(aipp.settings is None for aipp in signature.aipp):
        return signature
    inputs = list(signature.inputs)
    for aipp in signature.aipp:
        spec = inputs[aipp.input]
        if aipp.settings is None and spec.shape[0] > 0:
            inputs[aipp.input] = shaped(spec, buffer_shape(aipp, spec, aipp.max_nbytes))
    return aacl.models.ModelSignature(
        signature.name,
        tuple(inputs),
        signature.outputs,
        signature.soc_version,
        signature.weight_nbytes,
        aipp=signature.aipp,
    )


def shaped(spec: aacl.models.TensorSpec, shape: tuple[int, ...]) -> aacl.models.TensorSpec:
    """Return what is described, of another shape."""
    return aacl.models.TensorSpec(spec.name, spec.dtype, shape, spec.format)


def buffer_shape(aipp: aacl.models.Aipp, spec: aacl.models.TensorSpec, nbytes: int) -> tuple[int, ...]:
    """Return the shape in which a model with dynamic AIPP takes a buffer of pictures, which may be too large."""
    batch = spec.shape[0]
    return (batch, 1, 1, max(min(nbytes, aipp.max_nbytes) // batch, 1))


def picture_dims(aipp: aacl.models.Aipp, spec: aacl.models.TensorSpec) -> tuple[int, ...]:
    """Return the dims of pictures, NHWC in pixels and channels; -1 where they are not known."""
    if aipp.settings is None:
        return (spec.shape[0], -1, -1, -1)
    layout = aipp.settings.layout
    height, width = (-1, -1) if -1 in spec.shape[1:] else layout.picture_size(spec.shape[1:])
    return (spec.shape[0], height, width, layout.channels)
