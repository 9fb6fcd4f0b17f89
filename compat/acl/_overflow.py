"""Whether operators overflow: whether one makes infinities or NaN of inputs that had none.

Looked for around each operator that is submitted to a stream which detects it, and to no other: it costs a pass over
the inputs before, and one over the outputs behind. The finding is the device's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import aacl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acl._streams import Stream

__all__ = ("Overflow",)


class Overflow:
    """One operator that is watched: made before it is submitted, told of the submission behind it."""

    __slots__ = ("_is_finite", "_stream")

    def __init__(self, stream: Stream, inputs: Iterable[object]) -> None:
        """Look at the inputs in the stream, before the operator may overwrite them.

        Args:
            stream: what detects overflows.
            inputs: of the operator; what is no tensor was known before the run, and is finite.
        """
        self._stream, self._is_finite = stream, False
        stream.stream.call(self._look, [each for each in inputs if isinstance(each, aacl.Tensor)])

    def _look(self, inputs: list[aacl.Tensor]) -> None:
        self._is_finite = all(map(_is_finite, inputs))

    def submitted(self, completion: aacl.Completion[Any]) -> None:
        """Look at the outputs in the stream, behind the operator."""
        self._stream.stream.call(self._note, completion)

    def _note(self, completion: aacl.Completion[Any]) -> None:
        if self._is_finite and completion.failure is None and not all(map(_is_finite, completion.outputs)):
            self._stream.context.device.overflowed = True


def _is_finite(tensor: aacl.Tensor) -> bool:
    """Whether no element is an infinity or NaN; a tensor without contents has none."""
    try:
        return bool(np.isfinite(tensor.view()).all())
    except (aacl.AclError, TypeError):  # freed, or failed; of a type that knows neither
        return True
