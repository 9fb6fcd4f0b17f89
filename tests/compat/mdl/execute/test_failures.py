"""Running models: runs that fail, and what is told of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import acl
from tests.compat._programs import Dataset, gather, good, ok


def test_a_failing_run_poisons_nothing(device: int, tmp_path: Path) -> None:
    """C077: an index out of range makes the run fail with 507011 and the node in the text; the next run is well."""
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    x, wanted = np.arange(4, dtype=np.float32), Dataset(np.zeros(1, np.float32))
    bad, fine = Dataset(x, np.array([9])), Dataset(x, np.array([2]))

    assert acl.mdl.execute(model, bad.handle, wanted.handle) == 507011
    assert "picks" in (acl.get_recent_err_msg() or "")
    assert acl.mdl.execute(model, fine.handle, wanted.handle) == 0
    assert wanted.read().tolist() == [2]


def test_asynchronous_failures_belong_to_their_stream(device: int, tmp_path: Path) -> None:
    """C044: the submission is 0; the failing stream's synchronise is 507011 and names the model; the other is 0."""
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    x, one, two = np.arange(4, dtype=np.float32), good(acl.rt.create_stream()), good(acl.rt.create_stream())
    bad, fine = Dataset(x, np.array([9])), Dataset(x, np.array([3]))
    lost, wanted = Dataset(np.zeros(1, np.float32)), Dataset(np.zeros(1, np.float32))
    assert acl.mdl.execute_async(model, bad.handle, lost.handle, one) == 0
    assert acl.mdl.execute_async(model, fine.handle, wanted.handle, two) == 0

    assert acl.rt.synchronize_stream(two) == 0
    assert wanted.read().tolist() == [3]
    assert acl.rt.synchronize_stream(one) == 507011
    assert "'gather'" in (acl.get_recent_err_msg() or "")
    assert acl.rt.synchronize_stream(one) == 0
    ok(acl.mdl.execute_async(model, fine.handle, lost.handle, one))
    ok(acl.rt.synchronize_stream(one))
    assert lost.read().tolist() == [3]


def test_the_exception_callback_sees_a_failing_run(device: int, tmp_path: Path) -> None:
    """set_exception_info_callback is told of a model's failure, with its code."""
    codes: list[int] = []
    ok(acl.rt.set_exception_info_callback(lambda info: codes.append(acl.rt.get_error_code_from_exception_info(info))))
    model = good(acl.mdl.load_from_file(gather(tmp_path)))
    bad = Dataset(np.arange(4, dtype=np.float32), np.array([9]))
    ok(acl.mdl.execute_async(model, bad.handle, Dataset(np.zeros(1, np.float32)).handle, 0))

    assert acl.rt.synchronize_stream(0) == 507011
    assert codes == [507011]


def test_what_is_told_of_a_failing_run(device: int, tmp_path: Path) -> None:
    """The exception callback learns the operator, and the run's inputs and outputs with their addresses."""
    told: list[tuple[str, int, int, int, int, int]] = []

    def failed(info: int) -> None:
        numbers = (
            acl.rt.get_device_id_from_exception_info(info),
            acl.rt.get_stream_id_from_exception_info(info),
            acl.rt.get_task_id_from_exception_info(info),
        )
        told.append(acl.mdl.create_and_get_op_desc(*numbers, 256))
        told.append(acl.mdl.create_and_get_op_desc(*numbers, 5))

    ok(acl.rt.set_exception_info_callback(failed))
    model, stream = good(acl.mdl.load_from_file(gather(tmp_path))), good(acl.rt.create_stream())
    bad, wanted = Dataset(np.arange(4, dtype=np.float32), np.array([9])), Dataset(np.zeros(1, np.float32))
    ok(acl.mdl.execute_async(model, bad.handle, wanted.handle, stream))
    assert acl.rt.synchronize_stream(stream) == 507011

    name, inputs, number_of_inputs, outputs, number_of_outputs, ret = told[0]
    assert (name, number_of_inputs, number_of_outputs, ret) == ("picks", 2, 1, 0)
    assert told[1] == ("", 0, 0, 0, 0, 100000)
    each = [acl.get_tensor_desc_by_index(inputs, i) for i in range(2)]
    assert each[0] == inputs
    assert [acl.get_tensor_desc_type(desc) for desc in each] == [0, 9]
    assert [acl.get_tensor_desc_address(desc) for desc in each] == bad.pointers
    assert acl.get_tensor_desc_address(outputs) == wanted.pointers[0]
    assert [acl.get_tensor_desc_by_index(inputs, i) for i in (-1, 2)] == [0, 0]
    own = acl.create_tensor_desc(0, [1], 2)
    assert (acl.get_tensor_desc_by_index(own, 0), acl.get_tensor_desc_address(own)) == (own, 0)
    assert acl.get_tensor_desc_by_index(0, 0) == acl.get_tensor_desc_address(31337) == 0
    assert acl.mdl.create_and_get_op_desc(0, 0, 0, 256) == ("", 0, 0, 0, 0, 100000)
    acl.destroy_tensor_desc(inputs)
    acl.destroy_tensor_desc(outputs)
    assert [acl.get_tensor_desc_type(desc) for desc in each] == [-1, -1]  # an array ends with its first one
