"""Find the hot spots of heat maps with pyACL calls: how many there are is known only after the run.

The program follows the four steps of a single operator whose output shape values decide:

1. ``acl.op.infer_shape`` gives a range for every dim that is not known;
2. memory is allocated for the largest shape of these ranges;
3. ``acl.op.execute_v2`` runs the operator, whose model ``atc --singleop`` made once for every size of map;
4. after the synchronise, the output's description has the exact shape.

Every map's spots are compared with NumPy's. The exit status is 0 if all agree, 1 if not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import acl

FLOAT, INT64, BOOL, ND = 0, 9, 12, 2
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
LIMIT = 3.0  # degrees above the mean
MAPS = ((4, 6), (48, 64), (240, 320), (1, 1))

Array = NDArray[np.generic]


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
    """Make the models of Greater and NonZero, for maps of every size."""
    maps, limit = _tensor("float", [-1, -1]), _tensor("float", [1])
    mask, spots = _tensor("bool", [-1, -1]), _tensor("int64", [-1, 2])
    (folder / "operators.json").write_text(
        json.dumps(
            [
                {"op": "Greater", "input_desc": [maps, limit], "output_desc": [mask]},
                {"op": "NonZero", "input_desc": [mask], "output_desc": [spots]},
            ]
        )
    )
    atc(f"--singleop={folder}/operators.json", f"--output={folder}", "--soc_version=Ascend310P3")


def _tensor(dtype: str, shape: list[int]) -> dict[str, object]:
    return {"format": "ND", "type": dtype, "shape": shape}


class Operand:
    """Device memory with the description and the data buffer that operators take."""

    def __init__(self, dtype: int, shape: list[int], nbytes: int) -> None:
        self.pointer, ret = acl.rt.malloc(max(nbytes, 1), 0)
        check(ret)
        self.desc = acl.create_tensor_desc(dtype, shape, ND)
        self.buffer = acl.create_data_buffer(self.pointer, nbytes)

    @classmethod
    def of(cls, array: NDArray[np.float32]) -> Operand:
        """Copy an array to the device."""
        operand, data = cls(FLOAT, list(array.shape), array.nbytes), array.tobytes()
        source = acl.util.bytes_to_ptr(data)
        check(acl.rt.memcpy(operand.pointer, len(data), source, len(data), HOST_TO_DEVICE))
        return operand

    def read(self) -> Array:
        """Copy int64 numbers of the shape that the description has now to the host."""
        found = np.empty(dims(self.desc), np.int64)
        target, nbytes = acl.util.numpy_to_ptr(found), acl.get_tensor_desc_size(self.desc)
        if nbytes:
            check(acl.rt.memcpy(target, found.nbytes, self.pointer, nbytes, DEVICE_TO_HOST))
        return found

    def destroy(self) -> None:
        """Give everything back."""
        check(acl.destroy_data_buffer(self.buffer))
        acl.destroy_tensor_desc(self.desc)
        check(acl.rt.free(self.pointer))


def dims(desc: int) -> list[int]:
    """Return the dims of a description; -1 where one is not known."""
    found = []
    for index in range(acl.get_tensor_desc_num_dims(desc)):
        dim, ret = acl.get_tensor_desc_dim_v2(desc, index)
        check(ret)
        found.append(dim)
    return found


def largest(desc: int) -> list[int]:
    """Return the largest dims that a description allows."""
    found = []
    for index in range(acl.get_tensor_desc_num_dims(desc)):
        (_, most), ret = acl.get_tensor_desc_dim_range(desc, index, 2)
        check(ret)
        found.append(most)
    return found


def find_spots(heat: NDArray[np.float32], stream: int) -> tuple[list[int], Array]:
    """Return the largest shape that the result could have had, and the places of the spots."""
    x, limit = Operand.of(heat), Operand.of(np.array([LIMIT], np.float32))
    mask = Operand(BOOL, list(heat.shape), heat.size)
    inputs = [x.desc, limit.desc], [x.buffer, limit.buffer]
    check(acl.op.execute_v2("Greater", *inputs, [mask.desc], [mask.buffer], 0, stream))

    bounds = acl.create_tensor_desc(INT64, [-1, -1], ND)
    nothing = acl.create_data_buffer(0, 0)  # no values are needed for the bounds
    check(acl.op.infer_shape("NonZero", [mask.desc], [nothing], 1, [bounds], 0))
    shape = largest(bounds)
    spots = Operand(INT64, shape, 8 * shape[0] * shape[1])
    check(acl.op.execute_v2("NonZero", [mask.desc], [mask.buffer], [spots.desc], [spots.buffer], 0, stream))
    check(acl.rt.synchronize_stream(stream))
    found = spots.read()

    for operand in (x, limit, mask, spots):
        operand.destroy()
    check(acl.destroy_data_buffer(nothing))
    acl.destroy_tensor_desc(bounds)
    return shape, found


def main() -> int:
    """Find the spots of some maps and return the exit status."""
    random = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        compile_operators(Path(folder))
        check(acl.init())
        check(acl.rt.set_device(0))
        check(acl.op.set_model_dir(folder))
    stream, ret = acl.rt.create_stream()
    check(ret)
    print(f"{'map':>10}  {'at most':>8}  {'spots':>5}  first ones")
    agree = True
    for shape in MAPS:
        heat = random.standard_normal(shape).astype(np.float32)
        heat[0, 0] = 5.0
        most, spots = find_spots(heat, stream)
        first = ", ".join(f"({row}, {column})" for row, column in spots[:3].tolist())
        print(f"{'x'.join(map(str, shape)):>10}  {most[0]:>8}  {len(spots):>5}  {first}")
        agree = agree and np.array_equal(spots, np.argwhere(heat > LIMIT))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    print("all as NumPy finds them" if agree else "NumPy finds others")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
