"""Blocks give plain handles to pyACL calls, and release them however they are left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from aacl import compat_tools as tools
from aacl.compat_tools import acl_context, acl_device, acl_event, acl_memory, acl_stream, check
from aacl.errors import (
    AclError,
    InvalidArgument,
    InvalidDevice,
    ModelPathError,
    NotInitialized,
    OutOfMemory,
)
from acl._handles import open_handles
from tests.compat._programs import add1
from tests.helpers import _interrupts, interrupted_everywhere

NOT_INITIALISED = 100001
BLOCKS: dict[str, Callable[[], AbstractContextManager[int]]] = {
    "context": lambda: acl_context(0),
    "data buffer": lambda: tools.acl_data_buffer(0, 0),
    "dataset": lambda: tools.acl_dataset([64]),
    "device": lambda: acl_device(0),
    "device block": lambda: acl_memory(64),
    "event": acl_event,
    "host block": lambda: tools.acl_host_memory(64),
    "stream": acl_stream,
    "tensor desc": lambda: tools.acl_tensor_desc(0, [2, 3]),
}


class Stop(Exception):
    """What a body is left with."""


def is_initialised() -> bool:
    """Whether the runtime is."""
    return acl.rt.get_context()[1] != NOT_INITIALISED


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("error", [None, Stop, KeyboardInterrupt])
def test_a_block_holds_one_thing_of_its_kind(kind: str, error: type[BaseException] | None) -> None:
    """The handle is a plain int, live inside and gone after the block, whatever leaves it."""

    def body() -> None:
        with acl_device(0):
            before = open_handles().get(kind, 0)
            with BLOCKS[kind]() as handle:
                assert type(handle) is int
                assert open_handles().get(kind, 0) == before + (kind != "device")
                if error is not None:
                    raise error
            assert open_handles().get(kind, 0) == before

    if error is None:
        body()
    else:
        with pytest.raises(error):
            body()

    assert open_handles() == {}
    assert not is_initialised()


def test_work_that_is_queued_runs_before_the_stream_ends() -> None:
    """Leaving the block of a stream waits for what was submitted."""
    with acl_device(0), tools.acl_host_memory(1 << 20) as host, acl_memory(1 << 20) as pointer:
        with acl_stream() as stream:
            for value in range(50):
                check(acl.rt.memset_async(pointer, 1 << 20, value, 1 << 20, stream))
            check(acl.rt.memcpy_async(host, 1 << 20, pointer, 1 << 20, 2, stream))

        assert acl.util.ptr_to_bytes(host, 1 << 20) == bytes([49]) * (1 << 20)


def test_the_runtime_is_left_to_who_initialised_it() -> None:
    """A block that found it initialised neither finalises it nor leaves a reference behind."""
    check(acl.init())
    with acl_device(0):
        pass
    assert is_initialised()

    assert acl.finalize_reference() == (0, 0)


def test_only_the_last_device_block_finalises() -> None:
    """Devices share the initialisation; the one that made it may be left first."""
    first, second = acl_device(0), acl_device(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)

    assert is_initialised()
    assert acl.rt.get_device() == (1, 0)
    second.__exit__(None, None, None)

    assert not is_initialised()


def test_the_thread_gets_its_context_back() -> None:
    """Nested devices and contexts leave the one before them current."""
    with acl_device(0):
        outer = acl.rt.get_context()
        with acl_device(1), acl_context(0) as context:
            assert acl.rt.get_context() == (context, 0)
        assert acl.rt.get_context() == outer


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_any_order_of_leaving_releases_everything_once(order: tuple[int, ...]) -> None:
    """Device, context, a stream in it and memory may be left in each of the 24 orders: the codes of all releases are 0."""
    blocks: list[AbstractContextManager[int]] = [acl_device(0), acl_context(0), acl_stream(), acl_memory(64)]
    for block in blocks:
        block.__enter__()
    acl.rt.get_last_error(0)

    for place in order:
        blocks[place].__exit__(None, None, None)

    assert open_handles() == {}
    assert acl.rt.get_last_error(0) == 0


def test_an_exit_stack_in_the_wrong_order() -> None:
    """A device that is pushed last, and so left first, takes its stream and memory with it."""
    with ExitStack() as stack:
        device = acl_device(0)
        device.__enter__()
        stack.enter_context(acl_stream())
        stack.enter_context(acl_memory(64))
        stack.push(device)


def test_a_stream_is_released_from_another_thread_and_context() -> None:
    """What is current where the block is left does not matter, and stays as it is."""
    with acl_device(0):
        stream = acl_stream()
        stream.__enter__()
        with acl_context(1) as context:
            stream.__exit__(None, None, None)
            assert acl.rt.get_context() == (context, 0)
        other = acl_stream()
        other.__enter__()
        thread = threading.Thread(target=other.__exit__, args=(None, None, None))
        thread.start()
        thread.join()


def test_what_the_script_released_itself_is_no_error() -> None:
    """A body may destroy the stream, reset the device and finalise, as the script did before it had blocks."""
    with acl_device(0), acl_stream() as stream:
        check(acl.rt.destroy_stream(stream))
        check(acl.rt.reset_device(0))
        check(acl.finalize())


@pytest.mark.parametrize(
    ("block", "kind", "text"),
    [
        (lambda: acl_device(99), InvalidDevice, "acl.rt.set_device failed with 107001: there is no device 99"),
        (lambda: acl_context(99), InvalidDevice, "acl.rt.create_context failed with 107001"),
        (lambda: acl_memory(1 << 50), OutOfMemory, "acl.rt.malloc failed with 207001: device 0 cannot give"),
        (lambda: acl_memory(0), InvalidArgument, "acl.rt.malloc failed with 100000"),
        (lambda: tools.acl_model("none.om"), ModelPathError, "acl.mdl.load_from_file failed with 145002"),
        (lambda: tools.acl_model_desc(77), AclError, "acl.mdl.get_desc failed with"),
        (lambda: tools.acl_data_buffer(0, -1), InvalidArgument, "acl.create_data_buffer failed with 100000"),
        (lambda: tools.acl_dataset([64, 1 << 50]), OutOfMemory, "acl.rt.malloc failed with 207001"),
        (lambda: tools.acl_dataset([64, (0, -1)]), InvalidArgument, "acl.create_data_buffer failed"),
        (lambda: tools.acl_report_thread(12345), AclError, "acl.rt.subscribe_report failed with 107017"),
    ],
)
def test_a_failing_call_raises_its_class(block: Any, kind: type[AclError], text: str) -> None:
    """The class is that of the code, the text the runtime's; nothing half-made stays."""
    with acl_device(0):
        before = open_handles()
        with pytest.raises(kind, match=text):
            block().__enter__()
        assert open_handles() == before


def test_without_a_device_the_error_says_so() -> None:
    """A stream outside of any device is refused by name."""
    with pytest.raises(NotInitialized, match=r"acl\.rt\.create_stream failed with 100001"):
        acl_stream().__enter__()


def test_a_block_is_entered_once() -> None:
    """The second entry is refused, and does not disturb the first."""
    with acl_device(0):
        block = acl_memory(64)
        with block:
            pass
        with pytest.raises(InvalidArgument, match="entered before"):
            block.__enter__()


def test_work_that_failed_is_raised_on_leaving() -> None:
    """A callback that raises is told by the end of the stream's block, after everything is released."""

    def fail(_argument: object) -> None:
        raise Stop

    with (
        acl_device(0),
        pytest.raises(AclError, match="500001") as failed,
        acl_stream() as stream,
        tools.acl_report_thread(stream),
    ):
        check(acl.rt.launch_callback(fail, None, 1, stream))

    assert failed.value.code == 500001


def test_a_second_failure_is_a_note() -> None:
    """Where the body raises, its exception goes on, and tells what failed after it."""

    def fail(_argument: object) -> None:
        raise Stop

    def body(stream: int) -> None:
        check(acl.rt.launch_callback(fail, None, 1, stream))
        raise ValueError("mine")

    with (
        acl_device(0),
        pytest.raises(ValueError, match="mine") as failed,
        acl_stream() as stream,
        tools.acl_report_thread(stream),
    ):
        body(stream)

    assert any("while things were released" in note and "500001" in note for note in failed.value.__notes__)


def test_callbacks_are_reported_before_their_block_ends() -> None:
    """Every callback that was launched in the block of a report thread has run behind it."""
    ran: list[int] = []
    with acl_device(0), acl_stream() as stream:
        with tools.acl_report_thread(stream) as thread:
            assert type(thread) is int
            for number in range(20):
                check(acl.rt.launch_callback(ran.append, number, 1, stream))
        assert ran == [*range(20)]


def test_a_model_runs_on_datasets_of_blocks(tmp_path: Path) -> None:
    """Model, description and datasets give the handles that the calls take; memory of the program's stays its own."""
    path, x = add1(tmp_path), np.arange(4, dtype=np.float32).reshape(1, 4)
    with acl_device(0), tools.acl_model(path) as model, tools.acl_model_desc(model) as desc, acl_memory(16) as mine:
        check(acl.rt.memcpy(mine, 16, acl.util.bytes_to_ptr(x.tobytes()), 16, 1))
        size = acl.mdl.get_output_size_by_index(desc, 0)
        with tools.acl_dataset([(mine, 16)]) as inputs, tools.acl_dataset([size]) as outputs:
            check(acl.mdl.execute(model, inputs, outputs))
            address = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(outputs, 0))
            y = np.frombuffer(acl.util.ptr_to_bytes(address, 16), np.float32)
        assert acl.util.ptr_to_bytes(mine, 16) == x.tobytes()

    assert y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("answer", "value"), [(0, None), ((5, 0), 5), ((1, 2, 0), (1, 2)), ((0,), None), (({"a": 1}, 0), {"a": 1})]
)
def test_check_takes_the_code_off(answer: object, value: object) -> None:
    """What a call returned beside its code is left."""
    assert check(answer) == value


@pytest.mark.parametrize("answer", [None, (), "0", (0, None), True, 0.0])
def test_check_refuses_what_has_no_code(answer: object) -> None:
    """An answer that does not end with a whole number is a mistake of the script."""
    with pytest.raises(TypeError, match="does not end with a code"):
        check(answer)


@pytest.mark.parametrize(("code", "kind"), [(207001, OutOfMemory), (107001, InvalidDevice), (345678, AclError)])
def test_check_raises_the_class_of_the_code(code: int, kind: type[AclError]) -> None:
    """A code without a class of its own is AclError, and keeps its number."""
    with pytest.raises(AclError, match=f"acl.rt.free failed with {code}") as failed:
        check((0, code), "acl.rt.free")

    assert type(failed.value) is kind
    assert failed.value.code == code


def test_entering_leaves_no_failure_behind() -> None:
    """What the blocks ask on their way is no failure of the script's."""
    with acl_device(0), acl_stream(), acl_memory(64):
        assert acl.rt.get_last_error(0) == 0
        assert acl.get_recent_err_msg() is None


def test_an_interrupt_anywhere_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at each place of the blocks' own code, entering and leaving included: no handle outlives the outermost."""
    monkeypatch.setattr(_interrupts, "_PACKAGE", str(Path(tools.__file__).parent))

    def act(_prepared: None) -> None:
        with (
            acl_device(0),
            acl_context(0),
            acl_stream() as stream,
            tools.acl_dataset([64, 0]),
            acl_memory(64) as pointer,
        ):
            check(acl.rt.memset_async(pointer, 64, 1, 64, stream))

    places = []
    for _, place in interrupted_everywhere(lambda: None, act):
        places.append(place)
        assert open_handles() == {}, place
        acl.finalize()  # whose end may be what the interrupt prevented

    assert len(places) > 200


def test_blocks_of_many_threads_share_the_runtime() -> None:
    """It is initialised by the first and finalised by the last, however they overlap."""
    start, errors = threading.Barrier(8), list[BaseException]()

    def work(number: int) -> None:
        try:
            start.wait()
            for _ in range(20):
                with acl_device(number % 2), acl_stream() as stream, acl_memory(64) as pointer:
                    check(acl.rt.memset_async(pointer, 64, number, 64, stream))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert not is_initialised()
