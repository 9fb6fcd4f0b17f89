"""Dumps: what the operators of models get and give, written to files that NumPy reads.

``<dump_path>/<time>/<device>/<model name>/<model id>/<run>/<type>.<node>.<place>.<input or output>.<number>.npy``;
with ``dump_data`` "stats" one file ``stats.csv`` in the place of these.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import aacl
from acl._arguments import check_text
from acl._config import read_document
from acl._dump_config import dump_config
from acl._state import at_finalize, require_init, state
from acl._status import DUMP_ALREADY_RUN, DUMP_NOT_RUN, INVALID_DUMP_CONFIG, Refused, code_alone
from acl.mdl._watchers import watchers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from acl._dump_config import DumpConfig
    from acl.mdl._models import Loaded

__all__ = ("finalize_dump", "init_dump", "set_dump")

_COLUMNS = ("Input/Output", "Node", "Op Type", "Index", "Data Type", "Shape", "Max", "Min", "Avg", "L2Norm")


class _Dumps:
    """The dumps of this process. The lock is held while one begins or ends: none is left behind by another thread."""

    def __init__(self) -> None:
        self._is_begun = False
        self._config: DumpConfig | None = None
        self._time = ""
        self._active: dict[int, aacl.models.TensorDump] = {}
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Let `choose` be called.

        Raises:
            Refused: it was called, or the configuration of ``acl.init`` has a dump (100044).
        """
        with self._lock:
            if self._is_begun or state.config.dump is not None:
                raise Refused(DUMP_ALREADY_RUN, "a dump has begun already; call acl.mdl.finalize_dump first")
            self._is_begun = True

    def choose(self, config: DumpConfig | None) -> None:
        """Set what is dumped of models that are loaded from now on.

        Raises:
            Refused: no dump was begun (100045).
        """
        with self._lock:
            self._check_begun()
            self._config, self._time = config, ""

    def finish(self) -> None:
        """Dump nothing more; raises `Refused` if nothing was begun."""
        with self._lock:
            self._check_begun()
            self.clear()

    def _check_begun(self) -> None:
        if not self._is_begun:
            raise Refused(DUMP_NOT_RUN, "no dump has begun; call acl.mdl.init_dump first")

    def clear(self) -> None:
        """End all dumps."""
        with self._lock:
            self._is_begun, self._config, self._time = False, None, ""
            while self._active:
                _, dump = self._active.popitem()
                dump.stop()

    def loaded(self, model_id: int, loaded: Loaded) -> None:
        """Dump a model, if it is one of those."""
        with self._lock:
            config = self._config or state.config.dump
            if config is not None and config.has_model(loaded.model.name):
                self._active[model_id] = self._started(model_id, loaded, config)

    def _started(self, model_id: int, loaded: Loaded, config: DumpConfig) -> aacl.models.TensorDump:
        name = loaded.model.name
        self._time = self._time or time.strftime("%Y%m%d%H%M%S")
        place = config.folder / self._time / str(loaded.context.device.index) / _file_name(name) / str(model_id)
        nodes, keep = config.nodes_of(name), _kept(config, place)
        dump = aacl.models.TensorDump(loaded.model, keep, nodes=nodes, inputs=config.inputs, outputs=config.outputs)
        return dump.start()

    def unloading(self, model_id: int) -> None:
        """End the dump of a model."""
        with self._lock:
            dump = self._active.pop(model_id, None)
            if dump is not None:
                dump.stop()


def _file_name(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in name)[:120] or "_"


def _kept(config: DumpConfig, place: Path) -> Any:
    """Return what writes the runs that are wanted."""

    def keep(number: int, values: Sequence[aacl.abc.NodeValue]) -> None:
        if not config.has_step(number):
            return
        if config.is_statistics:
            _write_statistics(place / str(number), values)
        else:
            aacl.models.save_values(place / str(number), values)

    return keep


def _write_statistics(folder: Path, values: Sequence[aacl.abc.NodeValue]) -> None:
    import csv  # few programs ask for it

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stats.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(_COLUMNS)
        for value in values:
            shape, role = "x".join(map(str, value.array.shape)), "Input" if value.is_input else "Output"
            rows.writerow(
                (role, value.node, value.op_type, value.port, value.array.dtype.name, shape, *_statistics(value.array))
            )


def _statistics(array: np.ndarray[Any, np.dtype[Any]]) -> tuple[float | str, ...]:
    if not array.size:
        return ("", "", "", "")
    with np.errstate(all="ignore"):
        numbers = array.astype(np.float64)
        return tuple(map(float, (numbers.max(), numbers.min(), numbers.mean(), np.sqrt(np.square(numbers).sum()))))


_dumps = _Dumps()
watchers.append(_dumps)
at_finalize(_dumps.clear)


@code_alone
def init_dump() -> int:
    """Begin dumping; `set_dump` says what.

    Returns:
        0; 100044 if a dump has begun, by this call or by the file given to ``acl.init``.

    Source: aclmdlInitDump.
    """
    require_init()
    _dumps.begin()
    return 0


@code_alone
def set_dump(dump_cfg_path: str, /) -> int:
    """Choose what is dumped of the models that are loaded from now on.

    Args:
        dump_cfg_path: a JSON file with a section ``dump``: ``dump_path`` is a folder that exists, ``dump_list`` has
            models by ``model_name`` (all without one) and of these the nodes in ``layer`` (all without them),
            ``dump_mode`` is input, output or all, ``dump_step`` are runs such as ``0|3-5``, ``dump_data`` is tensor
            or stats. Nodes inside loops and branches, and operators that are executed alone, are not dumped.

    Returns:
        0; 100045 before `init_dump`; 100003 and 100006 for a file that is none or no JSON; 100009 for a wrong section.

    Source: aclmdlSetDump.
    """
    require_init()
    check_text(dump_cfg_path, 1)
    document = read_document(dump_cfg_path)
    if "dump" not in document:
        raise Refused(INVALID_DUMP_CONFIG, f"{dump_cfg_path!r} has no section dump")
    _dumps.choose(dump_config(document, dump_cfg_path))
    return 0


@code_alone
def finalize_dump() -> int:
    """Dump nothing more, of no model.

    Returns:
        0; 100045 if nothing was begun.

    Source: aclmdlFinalizeDump.
    """
    require_init()
    _dumps.finish()
    return 0
