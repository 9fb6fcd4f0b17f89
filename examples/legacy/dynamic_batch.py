"""Label readings of sensors with pyACL calls, in batches of whatever size has come in.

The model is converted once with batch gears 1, 2, 4 and 8. The program follows the steps of such models:

1. it finds the hidden input ``ascend_mbatch_shape_data`` by name and gives it a buffer as the others, all of them
   sized for the largest gear;
2. before every run it chooses a gear with ``acl.mdl.set_dynamic_batch_size``: the smallest one that takes what has
   come in, the rows behind that being padding;
3. ``acl.mdl.get_cur_output_dims`` tells how much the run has written.

Every label's probabilities are compared with NumPy's. The exit status is 0 if all agree, 1 if not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import acl

HOST_TO_DEVICE, DEVICE_TO_HOST, NORMAL_ONLY = 1, 2, 2
HIDDEN = "ascend_mbatch_shape_data"
READINGS, LABELS = 24, 3
ARRIVALS = (1, 5, 8, 3, 2, 11, 1)

Array = NDArray[np.float32]


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


def convert(folder: Path, weight: Array, bias: Array) -> str:
    """Make softmax(readings @ weight + bias) with batch gears, and return the path of its ``.om`` file."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["readings", "weight", "bias"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["labels"], axis=1),
        ],
        "labelling",
        [value("readings", TensorProto.FLOAT, ["n", READINGS])],
        [value("labels", TensorProto.FLOAT, ["n", LABELS])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    atc(
        f"--model={folder}/net.onnx", "--framework=5", f"--output={folder}/net", "--soc_version=Ascend310P3",
        f"--input_shape=readings:-1,{READINGS}", "--dynamic_batch_size=1,2,4,8",
    )  # fmt: skip
    return f"{folder}/net.om"


class Labelling:
    """The model with its memory; `close` ends it."""

    def __init__(self, path: str) -> None:
        self.model, ret = acl.mdl.load_from_file(path)
        check(ret)
        self.desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(self.desc, self.model))
        gears, ret = acl.mdl.get_dynamic_batch(self.desc)
        check(ret)
        self.gears = sorted(gears["batch"])
        self.hidden, ret = acl.mdl.get_input_index_by_name(self.desc, HIDDEN)
        check(ret)
        inputs = range(acl.mdl.get_num_inputs(self.desc))
        outputs = range(acl.mdl.get_num_outputs(self.desc))
        self.inputs = self._dataset([acl.mdl.get_input_size_by_index(self.desc, i) for i in inputs])
        self.outputs = self._dataset([acl.mdl.get_output_size_by_index(self.desc, i) for i in outputs])

    def _dataset(self, sizes: list[int]) -> int:
        dataset: int = acl.mdl.create_dataset()
        for size in sizes:
            pointer, ret = acl.rt.malloc(size, NORMAL_ONLY)
            check(ret)
            _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, size))
            check(ret)
        return dataset

    def run(self, readings: Array) -> tuple[int, Array]:
        """Return the gear that was used, and the labels of up to as many readings as the largest gear takes."""
        gear = next(gear for gear in self.gears if gear >= len(readings))
        check(acl.mdl.set_dynamic_batch_size(self.model, self.inputs, self.hidden, gear))
        padded = np.zeros((gear, READINGS), np.float32)
        padded[: len(readings)] = readings
        pointer = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(self.inputs, 0))
        check(acl.rt.memcpy(pointer, padded.nbytes, acl.util.numpy_to_ptr(padded), padded.nbytes, HOST_TO_DEVICE))
        check(acl.mdl.execute(self.model, self.inputs, self.outputs))
        dims, ret = acl.mdl.get_cur_output_dims(self.desc, 0)
        check(ret)
        labels = np.empty(dims["dims"], np.float32)
        pointer = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(self.outputs, 0))
        check(acl.rt.memcpy(acl.util.numpy_to_ptr(labels), labels.nbytes, pointer, labels.nbytes, DEVICE_TO_HOST))
        return gear, labels[: len(readings)]

    def close(self) -> None:
        """Free the memory, and unload the model."""
        for dataset in (self.inputs, self.outputs):
            for i in range(acl.mdl.get_dataset_num_buffers(dataset)):
                buffer = acl.mdl.get_dataset_buffer(dataset, i)
                check(acl.rt.free(acl.get_data_buffer_addr(buffer)))
                check(acl.destroy_data_buffer(buffer))
            check(acl.mdl.destroy_dataset(dataset))
        check(acl.mdl.destroy_desc(self.desc))
        check(acl.mdl.unload(self.model))


def expected(readings: Array, weight: Array, bias: Array) -> Array:
    """Return what NumPy makes of the readings."""
    scores = readings @ weight + bias
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def label_all(labelling: Labelling, weight: Array, bias: Array) -> bool:
    """Label what comes in, print a line a batch, and return whether NumPy agrees everywhere."""
    random = np.random.default_rng(5)
    agrees = True
    print(f"{'came in':>8}{'runs':>6}  gears")
    for count in ARRIVALS:
        readings = random.standard_normal((count, READINGS)).astype(np.float32)
        most = labelling.gears[-1]
        runs = [labelling.run(readings[start : start + most]) for start in range(0, count, most)]
        labels = np.concatenate([made for _, made in runs])
        agrees &= np.allclose(labels, expected(readings, weight, bias), rtol=1e-4, atol=1e-6)
        print(f"{count:>8}{len(runs):>6}  {', '.join(str(gear) for gear, _ in runs)}")
    return agrees


def main() -> int:
    """Run the example."""
    random = np.random.default_rng(11)
    weight = random.standard_normal((READINGS, LABELS)).astype(np.float32)
    bias = random.standard_normal(LABELS).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = convert(Path(folder), weight, bias)
        check(acl.init())
        check(acl.rt.set_device(0))
        labelling = Labelling(path)
        agrees = label_all(labelling, weight, bias)
        labelling.close()
        check(acl.rt.reset_device(0))
        check(acl.finalize())
    print("all as NumPy labels them" if agrees else "NumPy labels them otherwise")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
