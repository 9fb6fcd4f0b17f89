"""Models with AIPP: an engine that makes of pictures what the engine behind it takes.

What it makes lies in scratch memory between the two. Few runs overlap, and
pictures are large, so bindings share some scratch memory, which one run uses at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from aacl.abc import Array, ModelEngine
from aacl.dtypes import Format
from aacl.errors import ModelInputMismatch, OutOfMemory
from aacl.models._aipp import AippSettings
from aacl.models._aipp_pixels import preprocess
from aacl.models._aipp_signature import graph_shapes

if TYPE_CHECKING:
    from aacl.models._aipp import Aipp
    from aacl.models._signature import ModelSignature

__all__ = ("AippEngine",)

_MOST = 4
"""Scratch memories for inputs of the same shapes: how many runs of them overlap."""

Shape = tuple[int, ...]


class _Scratch:
    """What the graph's inputs with AIPP hold during a run.

    Attributes:
        arrays: by the input's position.
        lock: held by the run that uses them.
    """

    __slots__ = ("__weakref__", "arrays", "lock")

    def __init__(self, aipps: Sequence[Aipp], shapes: Sequence[Shape]) -> None:
        try:
            self.arrays = {aipp.input: np.empty(shapes[aipp.input], aipp.spec.dtype.numpy_dtype) for aipp in aipps}
        except (MemoryError, ValueError) as error:
            raise OutOfMemory(f"there is no memory for what AIPP makes of the pictures: {error}") from error
        self.lock = threading.Lock()


class AippEngine(ModelEngine):
    """A model that takes pictures, on the engine of its graph."""

    def __init__(self, engine: ModelEngine, signature: ModelSignature) -> None:
        """Stand in front of an engine; it is closed with this one."""
        self._engine, self._aipps = engine, signature.aipp
        self._names = [spec.name for spec in signature.inputs]
        self._scratches: WeakValueDictionary[tuple[tuple[Shape, ...], int], _Scratch] = WeakValueDictionary()
        self._turns = 0
        self._lock = threading.Lock()

    def shapes(self, inputs: Sequence[Shape]) -> tuple[Shape | None, ...]:
        return self._engine.shapes(graph_shapes(self._aipps, inputs))

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Callable[[], Sequence[Array]]:
        """Return a call that makes what the graph takes, and runs it.

        Raises:
            ModelInputMismatch: the pictures are more bytes than the model was converted for; or what
                `ModelEngine.bind` raises.
        """
        shapes = graph_shapes(self._aipps, [array.shape for array in inputs])
        scratch = self._scratch(shapes)
        steps = [self._step(aipp, inputs, scratch.arrays[aipp.input]) for aipp in self._aipps]
        run = self._engine.bind(
            [scratch.arrays.get(place, array) for place, array in enumerate(inputs[: len(shapes)])], outputs
        )

        def preprocessed() -> Sequence[Array]:
            with scratch.lock:
                for step in steps:
                    step()
                return run()

        return preprocessed

    def _scratch(self, shapes: tuple[Shape, ...]) -> _Scratch:
        with self._lock:
            self._turns += 1
            key = shapes, self._turns % _MOST
            scratch = self._scratches.get(key)
            if scratch is None:
                scratch = self._scratches[key] = _Scratch(self._aipps, shapes)
            return scratch

    def _step(self, aipp: Aipp, inputs: Sequence[Array], target: Array) -> Callable[[], None]:
        pictures, is_nchw = inputs[aipp.input], aipp.spec.format is Format.NCHW
        if aipp.settings is None:
            assert aipp.parameters is not None, "dynamic AIPP has an input for its settings"
            self._check_bytes(aipp, pictures)
            parameters = inputs[aipp.parameters]
            return lambda: _apply(AippSettings.from_bytes(parameters.tobytes()), pictures, target, is_nchw=is_nchw)
        settings = aipp.settings
        return lambda: _apply(settings, pictures, target, is_nchw=is_nchw)

    def _check_bytes(self, aipp: Aipp, pictures: Array) -> None:
        if pictures.nbytes > aipp.max_nbytes:
            raise ModelInputMismatch(
                f"input {aipp.input} ({self._names[aipp.input]!r}) takes pictures of up to {aipp.max_nbytes} bytes in "
                f"all (max_src_image_size); {pictures.nbytes} bytes were given"
            )

    def close(self) -> None:
        self._engine.close()


def _apply(settings: AippSettings, pictures: Array, target: Array, *, is_nchw: bool) -> None:
    height, width = settings.height, settings.width
    if not (height and width):
        layout = settings.layout
        if pictures.shape[3] != layout.element:
            raise ModelInputMismatch(
                f"the AIPP settings state no size of the pictures, and an array of shape {list(pictures.shape)} is none "
                f"of pictures whose last dim is {layout.element}; set width and height"
            )
        known = layout.picture_size(pictures.shape[1:])
        height, width = height or known[0], width or known[1]
    preprocess(settings, pictures, (height, width), target, is_nchw=is_nchw)
