"""Find the edges in pictures of any size with pyACL calls: neither the sizes nor how many edges there are is known.

The model is converted once for heights from 3 to 512 and widths without limit. The program follows the steps of such
models, whose sizes ``acl.mdl.get_input_size_by_index`` and ``acl.mdl.get_output_size_by_index`` give as 0:

1. before every run ``acl.mdl.set_dataset_tensor_desc`` says which shape the picture has;
2. the first output's buffer is over-allocated, since its largest size is known; the second one's is (0, 0): the
   runtime allocates what the run turns out to need;
3. after the run ``acl.mdl.get_dataset_tensor_desc`` has the exact shapes, and the program frees what was allocated
   for it.

Every picture's edges are compared with NumPy's. The exit status is 0 if all agree, 1 if not.
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

FLOAT, ND = 0, 2
HOST_TO_DEVICE, NORMAL_ONLY = 1, 2
PICTURES = ((12, 16), (240, 320), (3, 3), (64, 1000), (12, 16))
ROOM = 512 * 1000 * 4  # bytes for the largest of them
LIMIT = 2.5
LAPLACE = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], np.float32).reshape(1, 1, 3, 3)

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


def convert(folder: Path) -> str:
    """Make a model that gives how steep a picture is everywhere, and where that passes a limit."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["picture", "laplace"], ["curve"], pads=[1, 1, 1, 1]),
            helper.make_node("Abs", ["curve"], ["steepness"]),
            helper.make_node("Greater", ["steepness", "limit"], ["mask"]),
            helper.make_node("NonZero", ["mask"], ["edges"]),
        ],
        "edges",
        [value("picture", TensorProto.FLOAT, [1, 1, "h", "w"])],
        [value("steepness", TensorProto.FLOAT, [1, 1, "h", "w"]), value("edges", TensorProto.INT64, [4, "n"])],
        [numpy_helper.from_array(LAPLACE, "laplace"), numpy_helper.from_array(np.array(LIMIT, np.float32), "limit")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    atc(
        f"--model={folder}/net.onnx", "--framework=5", f"--output={folder}/net", "--soc_version=Ascend910B3",
        "--input_shape=picture:1,1,3~512,-1",
    )  # fmt: skip
    return f"{folder}/net.om"


class Edges:
    """The model with its datasets; `close` ends it."""

    def __init__(self, path: str) -> None:
        self.model, ret = acl.mdl.load_from_file(path)
        check(ret)
        self.picture, self.steepness = self._buffer(ROOM), self._buffer(ROOM)
        self.edges = acl.create_data_buffer(0, 0)
        self.inputs, self.outputs = self._dataset(self.picture), self._dataset(self.steepness, self.edges)

    def _buffer(self, size: int) -> int:
        pointer, ret = acl.rt.malloc(size, NORMAL_ONLY)
        check(ret)
        buffer: int = acl.create_data_buffer(pointer, size)
        return buffer

    def _dataset(self, *buffers: int) -> int:
        dataset: int = acl.mdl.create_dataset()
        for buffer in buffers:
            _, ret = acl.mdl.add_dataset_buffer(dataset, buffer)
            check(ret)
        return dataset

    def run(self, picture: Array, stream: int) -> tuple[Array, NDArray[np.int64]]:
        """Return how steep a picture is, and the places of its edges, [4, number of edges]."""
        desc = acl.create_tensor_desc(FLOAT, list(picture.shape), ND)
        _, ret = acl.mdl.set_dataset_tensor_desc(self.inputs, desc, 0)
        check(ret)
        acl.destroy_tensor_desc(desc)
        pointer = acl.get_data_buffer_addr(self.picture)
        check(acl.rt.memcpy(pointer, ROOM, acl.util.numpy_to_ptr(picture), picture.nbytes, HOST_TO_DEVICE))
        check(acl.mdl.execute_async(self.model, self.inputs, self.outputs, stream))
        check(acl.rt.synchronize_stream(stream))
        steepness = np.asarray(self._read(0, self.steepness, np.float32), np.float32)
        edges = np.asarray(self._read(1, self.edges, np.int64), np.int64)
        check(acl.rt.free(acl.get_data_buffer_addr(self.edges)))
        check(acl.update_data_buffer(self.edges, 0, 0))  # the next run allocates anew
        return steepness, edges

    def _read(self, position: int, buffer: int, dtype: type[np.generic]) -> NDArray[np.generic]:
        desc = acl.mdl.get_dataset_tensor_desc(self.outputs, position)
        dims = [acl.get_tensor_desc_dim_v2(desc, i)[0] for i in range(acl.get_tensor_desc_num_dims(desc))]
        data = acl.util.ptr_to_bytes(acl.get_data_buffer_addr(buffer), acl.get_tensor_desc_size(desc))
        return np.frombuffer(data, dtype).reshape(dims)

    def close(self) -> None:
        """Free the memory, and unload the model."""
        for buffer in (self.picture, self.steepness):
            check(acl.rt.free(acl.get_data_buffer_addr(buffer)))
        for buffer in (self.picture, self.steepness, self.edges):
            check(acl.destroy_data_buffer(buffer))
        for dataset in (self.inputs, self.outputs):
            check(acl.mdl.destroy_dataset(dataset))
        check(acl.mdl.unload(self.model))


def expected(picture: Array) -> Array:
    """Return how steep NumPy finds a picture."""
    around = np.pad(picture, ((0, 0), (0, 0), (1, 1), (1, 1)))
    height, width = picture.shape[2:]
    parts = [
        LAPLACE[0, 0, row, column] * around[:, :, row : row + height, column : column + width]
        for row in range(3)
        for column in range(3)
    ]
    return np.asarray(np.abs(sum(parts)), np.float32)


def find_all(model: Edges) -> bool:
    """Find the edges of every picture, print a line each, and return whether NumPy agrees everywhere."""
    stream, ret = acl.rt.create_stream()
    check(ret)
    random = np.random.default_rng(2)
    agrees = True
    print(f"{'picture':>9}{'edges':>8}")
    for height, width in PICTURES:
        picture = random.random((1, 1, height, width), np.float32).round(2)
        steepness, edges = model.run(picture, stream)
        agrees &= np.allclose(steepness, expected(picture), atol=1e-5)
        agrees &= np.array_equal(edges, np.array(np.nonzero(steepness > LIMIT)))
        print(f"{f'{height}x{width}':>9}{edges.shape[1]:>8}")
    check(acl.rt.destroy_stream(stream))
    return agrees


def main() -> int:
    """Run the example."""
    with tempfile.TemporaryDirectory() as folder:
        path = convert(Path(folder))
        check(acl.init())
        check(acl.rt.set_device(0))
        model = Edges(path)
        agrees = find_all(model)
        model.close()
        check(acl.rt.reset_device(0))
        check(acl.finalize())
    print("all as NumPy finds them" if agrees else "NumPy finds others")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
