"""What the nodes of a model get and give, kept for a look at it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from aacl.abc import NodeValue
from aacl.errors import InvalidArgument
from aacl.models._observer import ModelObserver

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.models._model import Model

__all__ = ("TensorDump", "save_values", "value_name")

Keep = Callable[[int, Sequence[NodeValue]], object]
_LONGEST = 120  # characters of a node's name in a file's


@final
class TensorDump(ModelObserver):
    """The tensors of a model's nodes, run by run.

    ``async with TensorDump(model, "folder")`` writes those of the runs submitted in the block, on any
    stream: ``folder/<run>/<type>.<node>.<place>.<input or output>.<number>.npy``. The nodes are those of
    the converted graph; while it goes on, the device fuses none whose tensors it tells. Nodes inside a
    loop's or a branch's graph, and what is no tensor of numbers, are not looked at.

    Attributes:
        model: the model.
    """

    wants_values = True

    def __init__(
        self,
        model: Model,
        target: str | os.PathLike[str] | Keep,
        *,
        nodes: Collection[str] | None = None,
        inputs: bool = False,
        outputs: bool = True,
    ) -> None:
        """Prepare a dump; entering or starting it begins it.

        Args:
            model: the model.
            target: the folder, made when it is first needed; or what is called with each run's number, from 0 on,
                and its tensors, on the thread of the run. The arrays are good until it returns. What it raises fails
                the run. It must not run the model, or ask its profiles: these would wait for the run.
            nodes: the names of the nodes, by default all.
            inputs: whether what goes into them is wanted, constants included.
            outputs: whether what comes out of them is.

        Raises:
            InvalidArgument: it is no model, the names are one string, or neither inputs nor outputs are wanted.
        """
        super().__init__(model)
        if isinstance(nodes, str):
            raise InvalidArgument(f"nodes is a collection of names, not the string {nodes!r}; give [{nodes!r}]")
        if not (inputs or outputs):
            raise InvalidArgument("neither inputs nor outputs are wanted; set one of them")
        self._keep: Keep = target if callable(target) else _into(Path(target))
        self._nodes = None if nodes is None else frozenset(nodes)
        self._inputs, self._outputs, self._runs = inputs, outputs, 0

    def wants(self, node: str, op_type: str) -> bool:  # noqa: ARG002 - names decide
        """Whether it is told what a node gets and gives."""
        return self._nodes is None or node in self._nodes

    def told(self, values: Sequence[NodeValue]) -> None:
        """Keep what the nodes of one run got and gave."""
        number, self._runs = self._runs, self._runs + 1
        self._keep(number, [value for value in values if (self._inputs if value.is_input else self._outputs)])


def _into(folder: Path) -> Keep:
    return lambda number, values: save_values(folder / str(number), values)


def save_values(folder: str | os.PathLike[str], values: Sequence[NodeValue]) -> list[Path]:
    """Write tensors as ``.npy`` files, and return their paths.

    Data types that NumPy has not by itself are widened: bfloat16 and float8 to float32, four-bit integers to eight.

    Args:
        folder: where; it is made.
        values: the tensors; files are named by `value_name`.

    Raises:
        OSError: they cannot be written.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"{value_name(value)}.npy" for value in values]
    for path, value in zip(paths, values, strict=True):
        np.save(path, _widened(value.array), allow_pickle=False)
    return paths


def value_name(value: NodeValue) -> str:
    """Return ``<type>.<node>.<place>.<input or output>.<number>``; characters that no file system minds, others as ``_``."""
    node = _plain(value.node)[:_LONGEST]
    return f"{_plain(value.op_type)}.{node}.{value.place}.{'input' if value.is_input else 'output'}.{value.port}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _widened(array: Array) -> Array:
    dtype: Any = array.dtype
    if dtype.isbuiltin == 1:
        return array
    return array.astype(np.int8 if dtype.name == "int4" else np.uint8 if dtype.name == "uint4" else np.float32)
