"""What a type checker sees of the installed module."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import acl

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "mypy-programs"

GOOD = '''
"""A program that uses every namespace."""

import numpy as np

import acl
import acl.mdl as models
from acl import op
from acl.rt import memcpy


def report(args: list[int]) -> None:
    """Report callbacks."""
    acl.rt.set_context(args[0])
    acl.rt.process_report(100)


def seen(data: list[object]) -> None:
    """Take a callback's data."""


def check(ret: int, what: str) -> None:
    """Stop at a failure."""
    if ret != 0:
        raise SystemExit(f"{what}: {ret}: {acl.get_recent_err_msg().strip()}")


check(acl.init(), "init")
check(acl.rt.set_device(0), "set_device")
free, total, ret = acl.rt.get_mem_info(1)
context, ret = acl.rt.create_context(0)
stream, ret = acl.rt.create_stream()
thread, ret = acl.util.start_thread(report, [context])
check(acl.rt.subscribe_report(thread, stream), "subscribe_report")
check(acl.rt.launch_callback(seen, [1, "a"], 1, stream), "launch_callback")

pointer, ret = acl.rt.malloc(64, 0)
array = np.zeros(16, np.float32)
check(memcpy(pointer, 64, acl.util.numpy_to_ptr(array), array.nbytes, 1), "memcpy")
data: bytes = acl.util.ptr_to_bytes(pointer, 64)
desc = acl.create_tensor_desc(0, [16], 2)
buffer = acl.create_data_buffer(pointer, 64)
attr = op.create_attr()
check(op.set_attr_list_int(attr, "axes", [0, 1]), "set_attr_list_int")
check(op.execute_v2("Abs", [desc], [buffer], [desc], [buffer], attr, stream), "execute_v2")
check(acl.blas.hgemm(0, 0, 0, 1, 1, 1, pointer, pointer, 1, pointer, 1, pointer, pointer, 1, 0, stream), "hgemm")

model, ret = models.load_from_file("net.om")
model_desc = models.create_desc()
check(models.get_desc(model_desc, model), "get_desc")
dims, ret = models.get_input_dims(model_desc, 0)
shape: list[int] = dims["dims"]
dataset = models.create_dataset()
dataset, ret = models.add_dataset_buffer(dataset, buffer)
dataset, ret = models.set_dataset_tensor_desc(dataset, desc, 0)
check(models.execute(model, dataset, dataset), "execute")

config = acl.prof.create_config([0], 0, 0, 1)
features = acl.fv.create_init_para(10)
memory, ret = acl.media.dvpp_malloc(64)
memory, ret = acl.himpi.dvpp_malloc(0, 64)
check(acl.finalize(), "finalize")
print(free, total, data, shape, config, features, memory)
'''

WRONG = """
import acl

acl.rt.malloc("64", 0)  # arg-type
acl.rt.malloc(64)  # call-arg
acl.rt.malloc(64, 0, 0)  # call-arg
acl.rt.malloc(size=64, policy=0)  # call-arg
acl.rt.malloc_device(64)  # attr-defined
acl.create_tensor(0, [1], 2)  # attr-defined
address: str = acl.rt.malloc(64, 0)  # assignment
address, ret, more = acl.rt.malloc(64, 0)  # misc
dataset: int = acl.mdl.add_dataset_buffer(1, 2)  # assignment
acl.create_tensor_desc(0, 16, 2)  # arg-type
acl.op.set_attr_string(1, "name", 2)  # arg-type
acl.mdl.load_from_file(b"net.om")  # arg-type
acl.util.ptr_to_bytes(None, 1)  # arg-type
acl.blas.hgemm(0)  # call-arg
acl.prof.stop("config")  # arg-type
acl.fv.create_init_para("10")  # arg-type
acl.app_log("INFO", "text")  # arg-type
"""


def _mypy(folder: Path) -> list[str]:
    """Check a folder's programs as a user's project would be checked, and return the errors."""
    names = sorted(path.name for path in folder.glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", f"--cache-dir={CACHE}", *names],
        check=False, capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.timeout(120)
def test_programs_are_clean_under_strict_mypy(tmp_path: Path) -> None:
    """A program that uses every namespace, and those of the examples, pass without a stub, a setting or an ignore."""
    (tmp_path / "every_namespace.py").write_text(GOOD)
    for path in (ROOT / "examples" / "legacy").glob("*.py"):
        shutil.copy(path, tmp_path)

    assert [f"acl.{name}" for name in acl.__all__ if name in NAMESPACES and not re.search(rf"\b{name}\b", GOOD)] == []
    assert _mypy(tmp_path) == []


NAMESPACES = ("blas", "fv", "himpi", "mdl", "media", "op", "prof", "rt", "util")


@pytest.mark.timeout(120)
def test_wrong_calls_are_reported(tmp_path: Path) -> None:
    """Wrong types, counts, names and results are errors where they stand, and nothing else is."""
    (tmp_path / "wrong.py").write_text(WRONG)
    expected = {
        (number, line.partition("  # ")[2]) for number, line in enumerate(WRONG.splitlines(), 1) if "  # " in line
    }

    found = {re.match(r"wrong\.py:(\d+): error: .* \[([a-z-]+)\]$", line) for line in _mypy(tmp_path)}

    assert {(int(each[1]), each[2]) for each in found if each} == expected


def test_the_wheel_says_that_both_packages_are_typed(tmp_path: Path) -> None:
    """Type checkers read the annotations of an installed package only beside a ``py.typed``."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        check=True, capture_output=True, cwd=ROOT,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")

    names = zipfile.ZipFile(wheel).namelist()

    assert {"aacl/py.typed", "acl/py.typed", "acl/rt/__init__.py"} <= {*names}
