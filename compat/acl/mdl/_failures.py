"""Runs that failed: what an exception callback may ask about them."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from operator import index
from typing import TYPE_CHECKING, NamedTuple

from aacl.errors import InvalidArgument
from acl._desc_arrays import add_array
from acl._state import at_finalize
from acl._status import with_code
from acl.mdl._datasets import spans_of

if TYPE_CHECKING:
    import aacl
    from acl.mdl._datasets import Dataset
    from acl.mdl._models import Loaded

__all__ = ("Failing", "create_and_get_op_desc")

_MOST = 64
_NODE = re.compile(r"Name:'([^']+)'")  # how ONNX Runtime names the node that failed

Operands = tuple[tuple["aacl.TensorDesc", int], ...]


class _Failure(NamedTuple):
    """What is known of a run that failed: the operator, and what the run read and wrote."""

    name: str
    inputs: Operands
    outputs: Operands


_failures: OrderedDict[tuple[int, int, int], _Failure] = OrderedDict()
"""The latest ones, by device, stream and task."""
_lock = threading.Lock()  # streams fail each on a thread of its own, and the runtime may end meanwhile


class Failing:
    """Takes note of a run if it fails, for `create_and_get_op_desc`."""

    __slots__ = ("_form", "_model", "_spans")

    def __init__(self, loaded: Loaded, model_id: int, given: Dataset, wanted: Dataset) -> None:
        self._model, self._form = loaded.model.name, loaded.runs.form(given, given.gears.get(model_id))
        self._spans = spans_of(given), spans_of(wanted)

    def __call__(self, device: int, stream: int, task: int, error: BaseException) -> None:
        """Take note of the failure of a task."""
        found = _NODE.search(str(error))
        inputs, outputs = self._spans
        failure = _Failure(
            self._model if found is None else found[1],
            tuple([(desc, address) for desc, (address, _) in zip(self._form.inputs, inputs, strict=False)]),
            tuple([(desc, address) for desc, (address, _) in zip(self._form.outputs, outputs, strict=False)]),
        )
        with _lock:
            _failures[device, stream, task] = failure
            while len(_failures) > _MOST:
                _failures.popitem(last=False)


@with_code("", 0, 0, 0, 0)
def create_and_get_op_desc(
    device_id: int, stream_id: int, task_id: int, op_name_len: int, /
) -> tuple[str, int, int, int, int, int]:
    """Tell which operator failed, by what an exception callback was told; known of the latest 64 failed model runs.

    Args:
        device_id: of ``get_device_id_from_exception_info``.
        stream_id: of ``get_stream_id_from_exception_info``.
        task_id: of ``get_task_id_from_exception_info``.
        op_name_len: the most bytes of the name, the null byte of the C interface counted.

    Returns:
        (name, inputs, number of inputs, outputs, number of outputs, 0): the operator's name, the model's if that is not
        known; the inputs and outputs of the whole run, a task here, as handles of the first description
        (``get_tensor_desc_by_index``, ``get_tensor_desc_address``), whose destruction ends them. ("", 0, 0, 0, 0,
        100000) if no such task failed, or the name is longer.

    Source: aclmdlCreateAndGetOpDesc.
    """
    key = index(device_id), index(stream_id), index(task_id)
    failure = _failures.get(key)
    if failure is None:
        raise InvalidArgument(f"task {key[2]} of stream {key[1]} on device {key[0]} is no model run that failed")
    if len(failure.name.encode()) >= index(op_name_len):
        raise InvalidArgument(
            f"the operator's name takes {len(failure.name.encode()) + 1} bytes; {op_name_len} were offered"
        )
    inputs, outputs = failure.inputs, failure.outputs
    return failure.name, add_array(inputs), len(inputs), add_array(outputs), len(outputs), 0


def _forget() -> None:
    with _lock:
        _failures.clear()


at_finalize(_forget)
