"""Give the runs on a stream memory from a pool of the program's own.

A model whose shapes are free needs memory at run time. ``acl.rt.allocator_register`` lets it come from functions of
the program: here from a pool that keeps what was given back, by sizes that are powers of two. The same pictures come
twice, so that the second time nothing new is allocated. Every result is compared with NumPy's. The exit status is 0 if
all agree and every block came back, 1 if not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

import acl

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACL_FLOAT, ACL_FORMAT_ND = 0, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
LEAST = 1 << 12  # bytes
ROOM = 1 << 20
PICTURES = ((8, 8), (100, 40), (64, 300), (8, 8), (100, 40), (64, 300))


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
    """Make a model that finds the bright places of a picture of any size, and return its path."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["limit"], value_float=0.9),
            helper.make_node("Greater", ["picture", "limit"], ["mask"]),
            helper.make_node("NonZero", ["mask"], ["places"]),
        ],
        "bright",
        [value("picture", TensorProto.FLOAT, ["h", "w"])],
        [value("places", TensorProto.INT64, [2, "n"])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    atc(
        f"--model={folder}/net.onnx", "--framework=5", f"--output={folder}/net", "--soc_version=Ascend910B3",
        "--input_shape=picture:-1,-1",
    )  # fmt: skip
    return f"{folder}/net.om"


class Pool:
    """Blocks of device memory, kept by size when they are given back."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}
        self.sizes: dict[int, int] = {}
        self.live: set[int] = set()
        self.allocated = self.reused = 0

    def take(self, size: int) -> int:
        """Return the address of a block that has the size."""
        rounded = max(LEAST, 1 << (size - 1).bit_length())
        kept = self.free.setdefault(rounded, [])
        if kept:
            pointer = kept.pop()
            self.reused += 1
        else:
            pointer, ret = acl.rt.malloc(rounded, ACL_MEM_MALLOC_HUGE_FIRST)
            if ret:
                return 0  # the run fails with "out of memory"
            self.sizes[pointer] = rounded
            self.allocated += 1
        self.live.add(pointer)
        return pointer

    def give_back(self, pointer: int) -> None:
        """Keep a block for the next who asks for its size."""
        self.live.remove(pointer)
        self.free[self.sizes[pointer]].append(pointer)

    def release(self) -> None:
        """Free all blocks."""
        for pointer in self.sizes:
            check(acl.rt.free(pointer))
        self.sizes.clear()


def register(stream: int, pool: Pool) -> None:
    """Let the runs on a stream draw on a pool; the description is needed only for that."""
    desc = acl.rt.allocator_create_desc()
    check(acl.rt.allocator_set_obj_to_desc(desc, pool))
    check(acl.rt.allocator_set_alloc_func_to_desc(desc, Pool.take))
    check(acl.rt.allocator_set_alloc_advise_func_to_desc(desc, lambda pool, size, _address: pool.take(size)))
    check(acl.rt.allocator_set_free_func_to_desc(desc, Pool.give_back))
    check(acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, lambda pointer: pointer))
    check(acl.rt.allocator_register(stream, desc))
    check(acl.rt.allocator_destroy_desc(desc))


class BrightPlaces:
    """The model with its datasets; `close` ends it."""

    def __init__(self, path: str) -> None:
        self.model, ret = acl.mdl.load_from_file(path)
        check(ret)
        self.inputs, self.outputs = self._dataset(), self._dataset()

    def _dataset(self) -> int:
        pointer, ret = acl.rt.malloc(ROOM, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret)
        dataset: int = acl.mdl.create_dataset()
        _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, ROOM))
        check(ret)
        return dataset

    def find(self, picture: NDArray[np.float32], stream: int) -> NDArray[np.int64]:
        """Return where a picture is bright."""
        desc = acl.create_tensor_desc(ACL_FLOAT, list(picture.shape), ACL_FORMAT_ND)
        _, ret = acl.mdl.set_dataset_tensor_desc(self.inputs, desc, 0)
        check(ret)
        acl.destroy_tensor_desc(desc)
        target = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(self.inputs, 0))
        source = acl.util.numpy_to_ptr(picture)
        check(acl.rt.memcpy(target, ROOM, source, picture.nbytes, ACL_MEMCPY_HOST_TO_DEVICE))
        check(acl.mdl.execute_async(self.model, self.inputs, self.outputs, stream))
        check(acl.rt.synchronize_stream(stream))
        found = acl.mdl.get_dataset_tensor_desc(self.outputs, 0)
        count, ret = acl.get_tensor_desc_dim_v2(found, 1)
        check(ret)
        result = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(self.outputs, 0))
        data = acl.util.ptr_to_bytes(result, 2 * 8 * count)
        return np.frombuffer(data, np.int64).reshape(2, count)

    def close(self) -> None:
        """Free the memory, and unload the model."""
        for dataset in (self.inputs, self.outputs):
            buffer = acl.mdl.get_dataset_buffer(dataset, 0)
            check(acl.rt.free(acl.get_data_buffer_addr(buffer)))
            check(acl.destroy_data_buffer(buffer))
            check(acl.mdl.destroy_dataset(dataset))
        check(acl.mdl.unload(self.model))


def find_all(model: BrightPlaces, stream: int, pool: Pool) -> bool:
    """Find the bright places of every picture, print a line each, and return whether NumPy agrees everywhere."""
    random = np.random.default_rng(6)
    agrees = True
    print(f"{'picture':>9}{'places':>8}{'allocated':>11}{'reused':>8}")
    for shape in PICTURES:
        picture = random.random(shape, np.float32)
        places = model.find(picture, stream)
        agrees = agrees and np.array_equal(places, np.array(np.nonzero(picture > np.float32(0.9))))
        print(f"{f'{shape[0]}x{shape[1]}':>9}{places.shape[1]:>8}{pool.allocated:>11}{pool.reused:>8}")
    return agrees


def main() -> int:
    """Run the example."""
    pool = Pool()
    with tempfile.TemporaryDirectory() as folder:
        path = convert(Path(folder))
        check(acl.init())
        try:
            check(acl.rt.set_device(0))
            stream, ret = acl.rt.create_stream()
            check(ret)
            register(stream, pool)
            model = BrightPlaces(path)
            agrees = find_all(model, stream, pool)
            model.close()
            check(acl.rt.allocator_unregister(stream))
            check(acl.rt.destroy_stream(stream))
            left = len(pool.live)
            pool.release()
            check(acl.rt.reset_device(0))
        finally:
            check(acl.finalize())
    right = agrees and not left and pool.allocated > 0
    print(f"{'all as NumPy finds them' if agrees else 'NumPy finds others'}; {left} blocks were not given back")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
