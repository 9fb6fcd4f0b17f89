"""Run single operators with pyACL calls, from models that ``atc --singleop`` makes once: scores become probabilities.

Softmax takes an attribute and is looked up at every run by its type, descriptions and attributes
(``acl.op.execute_v2``). Mul is looked up once, and then run by its handle (``acl.op.execute_with_handle``), on the
result of the first without a wait in between. Every result is compared with NumPy's. The exit status is 0 if all
agree, 1 if not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import acl

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACL_FLOAT = 0
ACL_FORMAT_ND = 2
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
SHAPE = [4, 6]
ROUNDS = 3
PERCENT = 100.0


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


def compile_operators(folder: Path) -> None:
    """Make the models of both operators."""
    scores, scale = _tensor(SHAPE), _tensor([1])
    last_axis = {"name": "axes", "type": "list_int", "value": [-1]}
    operators = [
        {"op": "SoftmaxV2", "input_desc": [scores], "output_desc": [scores], "attr": [last_axis]},
        {"op": "Mul", "input_desc": [scores, scale], "output_desc": [scores]},
    ]
    (folder / "operators.json").write_text(json.dumps(operators))
    atc(f"--singleop={folder}/operators.json", f"--output={folder}", "--soc_version=Ascend310P3")


def _tensor(shape: list[int]) -> dict[str, object]:
    return {"format": "ND", "type": "float", "shape": shape}


class Operand:
    """Device memory with the description and the data buffer that operators take."""

    def __init__(self, shape: list[int]) -> None:
        self.shape, self.size = shape, 4 * int(np.prod(shape))
        self.desc = acl.create_tensor_desc(ACL_FLOAT, shape, ACL_FORMAT_ND)
        self.pointer, ret = acl.rt.malloc(self.size, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret)
        self.buffer = acl.create_data_buffer(self.pointer, self.size)

    def write(self, array: NDArray[np.float32]) -> None:
        """Copy an array to the device."""
        source = acl.util.numpy_to_ptr(array)
        check(acl.rt.memcpy(self.pointer, self.size, source, self.size, ACL_MEMCPY_HOST_TO_DEVICE))

    def read(self) -> NDArray[np.float32]:
        """Copy the device's memory to a new array."""
        array = np.empty(self.shape, np.float32)
        target = acl.util.numpy_to_ptr(array)
        check(acl.rt.memcpy(target, self.size, self.pointer, self.size, ACL_MEMCPY_DEVICE_TO_HOST))
        return array

    def destroy(self) -> None:
        """Give everything back."""
        check(acl.destroy_data_buffer(self.buffer))
        acl.destroy_tensor_desc(self.desc)
        check(acl.rt.free(self.pointer))


class Percentages:
    """Softmax and Mul behind each other on one stream; `destroy` ends them."""

    def __init__(self) -> None:
        self.stream, ret = acl.rt.create_stream()
        check(ret)
        self.scores, self.parts, self.percents = (Operand(SHAPE) for _ in range(3))
        self.scale = Operand([1])
        self.scale.write(np.array([PERCENT], np.float32))
        self.attr = acl.op.create_attr()
        check(acl.op.set_attr_list_int(self.attr, "axes", [-1]))
        self.mul, ret = acl.op.create_handle("Mul", [self.parts.desc, self.scale.desc], [self.percents.desc], 0)
        check(ret)

    def run(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what part of a hundred each score of a row gets."""
        self.scores.write(scores)
        descs, buffers = [self.scores.desc], [self.scores.buffer]
        out_descs, out_buffers = [self.parts.desc], [self.parts.buffer]
        check(acl.op.execute_v2("SoftmaxV2", descs, buffers, out_descs, out_buffers, self.attr, self.stream))
        inputs = [self.parts.buffer, self.scale.buffer]
        check(acl.op.execute_with_handle(self.mul, inputs, [self.percents.buffer], self.stream))
        check(acl.rt.synchronize_stream(self.stream))
        return self.percents.read()

    def destroy(self) -> None:
        """Give everything back."""
        acl.op.destroy_handle(self.mul)
        acl.op.destroy_attr(self.attr)
        for operand in (self.scores, self.parts, self.percents, self.scale):
            operand.destroy()
        check(acl.rt.destroy_stream(self.stream))


def expected(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what NumPy makes of the scores."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(PERCENT * powers / powers.sum(axis=-1, keepdims=True), np.float32)


def main() -> int:
    """Run the operators some times, print the first result, and return the exit status."""
    random = np.random.default_rng(3)
    agrees = True
    with tempfile.TemporaryDirectory() as folder:
        compile_operators(Path(folder))
        check(acl.init())
        try:
            check(acl.rt.set_device(0))
            check(acl.op.set_model_dir(folder))
            percentages = Percentages()
            for number in range(ROUNDS):
                scores = random.standard_normal(SHAPE).astype(np.float32) * 2
                percents = percentages.run(scores)
                agrees = agrees and np.allclose(percents, expected(scores), rtol=1e-4, atol=1e-4)
                if not number:
                    for row in percents:
                        print("".join(f"{percent:>7.2f}%" for percent in row))
            percentages.destroy()
            check(acl.rt.reset_device(0))
        finally:
            check(acl.finalize())
    print(f"{ROUNDS} rounds, {'all' if agrees else 'not all'} as NumPy computes them")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
