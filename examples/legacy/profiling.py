"""See how long each operator of a model takes: a subscription sends a record of each through a pipe.

``acl.prof.model_subscribe`` begins, a thread reads the pipe, and ``acl.prof.model_un_subscribe`` ends it, after the
last record was sent. The program prints how often each type of operator ran, and its share of the time. The exit
status is 0 if every run's operators were recorded, 1 if not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_AICORE_NONE = 0xFF
SWITCH_ON = 1
NAME_LENGTH = 65
RUNS = 20
SIDE = 32


def check(ret: int) -> None:
    """End the program with the runtime's own words if a call has failed."""
    if ret:
        sys.exit(f"error {ret}: {acl.get_recent_err_msg()}")


def atc(*options: str) -> None:
    """Run the converter: the one beside this interpreter, or else the one on PATH."""
    beside = Path(sys.executable).with_name("atc")
    command = [str(beside) if beside.exists() else "atc", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def convert(folder: Path) -> str:
    """Make a small network, and return the path of its ``.om`` file."""
    value, random = helper.make_tensor_value_info, np.random.default_rng(4)
    filters = random.standard_normal((8, 3, 3, 3)).astype(np.float32)
    weights = random.standard_normal((8, 5)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["picture", "filters"], ["maps"], pads=[1, 1, 1, 1]),
            helper.make_node("Sigmoid", ["maps"], ["seen"]),
            helper.make_node("GlobalAveragePool", ["seen"], ["means"]),
            helper.make_node("Flatten", ["means"], ["features"]),
            helper.make_node("MatMul", ["features", "weights"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["labels"], axis=1),
        ],
        "labels",
        [value("picture", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [value("labels", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(filters, "filters"), numpy_helper.from_array(weights, "weights")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    atc(f"--model={folder}/net.onnx", "--framework=5", f"--output={folder}/net", "--soc_version=Ascend310P3")
    return f"{folder}/net.om"


class Model:
    """A model with its datasets; `close` ends it."""

    def __init__(self, path: str) -> None:
        self.model, ret = acl.mdl.load_from_file(path)
        check(ret)
        desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(desc, self.model))
        self.inputs = self._dataset(acl.mdl.get_input_size_by_index(desc, 0))
        self.outputs = self._dataset(acl.mdl.get_output_size_by_index(desc, 0))
        check(acl.mdl.destroy_desc(desc))

    def _dataset(self, size: int) -> int:
        pointer, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret)
        check(acl.rt.memset(pointer, size, 0, size))
        dataset: int = acl.mdl.create_dataset()
        _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, size))
        check(ret)
        return dataset

    def run(self) -> None:
        """Run the model once."""
        check(acl.mdl.execute(self.model, self.inputs, self.outputs))

    def close(self) -> None:
        """Free the memory, and unload the model."""
        for dataset in (self.inputs, self.outputs):
            buffer = acl.mdl.get_dataset_buffer(dataset, 0)
            check(acl.rt.free(acl.get_data_buffer_addr(buffer)))
            check(acl.destroy_data_buffer(buffer))
            check(acl.mdl.destroy_dataset(dataset))
        check(acl.mdl.unload(self.model))


class Profiler:
    """A subscription to a model, with the thread that reads its records; `stop` ends both."""

    def __init__(self, model: int) -> None:
        self.model = model
        self.runs: Counter[str] = Counter()
        self.nanoseconds: Counter[str] = Counter()
        self._read_end, self._write_end = os.pipe()
        self._size, ret = acl.prof.get_op_desc_size()
        check(ret)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        self._config = acl.prof.create_subscribe_config(SWITCH_ON, ACL_AICORE_NONE, self._write_end)
        check(acl.prof.model_subscribe(model, self._config))

    def _read(self) -> None:
        rest = b""
        while data := os.read(self._read_end, 16 * self._size):
            data = rest + data
            whole = len(data) // self._size * self._size
            self._take(data[:whole])
            rest = data[whole:]

    def _take(self, records: bytes) -> None:
        pointer, length = acl.util.bytes_to_ptr(records), len(records)
        for index in range(length // self._size):
            kind, ret = acl.prof.get_op_type(pointer, length, index, NAME_LENGTH)
            check(ret)
            self.runs[kind] += 1
            self.nanoseconds[kind] += acl.prof.get_op_duration(pointer, length, index)

    def stop(self) -> None:
        """End the subscription, and read what is left."""
        check(acl.prof.model_un_subscribe(self.model))
        check(acl.prof.destroy_subscribe_config(self._config))
        os.close(self._write_end)
        self._thread.join()
        os.close(self._read_end)


def show(profiler: Profiler) -> None:
    """Print a line for each type of operator, the slowest first."""
    total = sum(profiler.nanoseconds.values())
    print(f"{'operator':<20}{'runs':>6}{'us each':>10}{'share':>8}")
    for kind, nanoseconds in profiler.nanoseconds.most_common():
        runs = profiler.runs[kind]
        share = nanoseconds / total if total else 0.0
        print(f"{kind:<20}{runs:>6}{nanoseconds / runs / 1000:>10.1f}{share:>8.0%}")


def main() -> int:
    """Run the example."""
    with tempfile.TemporaryDirectory() as folder:
        path = convert(Path(folder))
        check(acl.init())
        try:
            check(acl.rt.set_device(0))
            model = Model(path)
            profiler = Profiler(model.model)
            for _ in range(RUNS):
                model.run()
            profiler.stop()
            model.close()
            check(acl.rt.reset_device(0))
        finally:
            check(acl.finalize())
    show(profiler)
    complete = bool(profiler.runs) and all(runs % RUNS == 0 for runs in profiler.runs.values())
    print(f"{RUNS} runs were {'recorded as a whole' if complete else 'not recorded as a whole'}")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
