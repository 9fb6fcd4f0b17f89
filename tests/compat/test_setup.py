"""Beginning and ending the runtime."""

from __future__ import annotations

import json
import math
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import Dataset, add1, good, in_thread, ok, run_program, untyped


def test_second_init_is_an_answer_and_counts_a_reference(tmp_path: Path) -> None:
    """C001: a second init gives 100002, with a text and no last error; all works then, and one finalize ends it."""
    assert acl.init() == 0
    assert acl.init() == 100002
    assert "initialised before; 2 references" in (acl.get_recent_err_msg() or "")
    assert acl.rt.peek_at_last_error(0) == 0

    ok(acl.rt.set_device(0))
    model = good(acl.mdl.load_from_file(add1(tmp_path)))
    given, wanted = Dataset(np.ones((1, 4), np.float32)), Dataset(np.zeros((1, 4), np.float32))
    ok(acl.mdl.execute(model, given.handle, wanted.handle))

    np.testing.assert_array_equal(wanted.read(), np.full((1, 4), 2, np.float32))
    assert acl.finalize() == 0
    assert acl.finalize() == 100037


def test_finalize_gives_all_references_back_and_init_may_follow() -> None:
    """C002: init, init, finalize, init: each cycle starts clean, and old handles are dead."""
    assert (acl.init(), acl.init(), acl.finalize(), acl.init()) == (0, 100002, 0, 0)
    ok(acl.rt.set_device(0))
    stream, pointer = good(acl.rt.create_stream()), good(acl.rt.malloc(64, 0))
    desc = acl.create_tensor_desc(0, [2], 2)
    ok(acl.finalize())

    ok(acl.init())
    ok(acl.rt.set_device(0))

    assert acl.rt.synchronize_stream(stream) == 107017
    assert acl.rt.free(pointer) == 100000
    assert acl.get_tensor_desc_type(desc) == -1


def test_twenty_cycles_give_the_same_results(tmp_path: Path) -> None:
    """C002: set, load, execute, unload, reset, finalize, twenty times in one process; every code 0, outputs equal."""
    path, x = add1(tmp_path), np.arange(4, dtype=np.float32).reshape(1, 4)
    for _ in range(20):
        ok(acl.init())
        ok(acl.rt.set_device(0))
        model = good(acl.mdl.load_from_file(path))
        given, wanted = Dataset(x), Dataset(np.zeros_like(x))
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        np.testing.assert_array_equal(wanted.read(), x + 1)
        ok(acl.mdl.unload(model))
        given.destroy()
        wanted.destroy()
        ok(acl.rt.reset_device(0))
        ok(acl.finalize())


def test_finalize_without_init_is_a_code() -> None:
    """C003: finalize before any init and after the last one gives 100037."""
    assert acl.finalize() == 100037
    ok(acl.init())
    assert acl.finalize() == 0
    assert acl.finalize() == 100037
    assert "not initialised" in (acl.get_recent_err_msg() or "")


def test_finalize_reference_counts_down() -> None:
    """finalize_reference returns what is left, and ends the runtime with the last reference."""
    acl.init(), acl.init()

    assert acl.finalize_reference() == (1, 0)
    assert acl.rt.set_device(0) == 0
    assert acl.finalize_reference() == (0, 0)
    assert acl.finalize_reference() == (0, 100037)
    assert acl.rt.set_device(0) == 100001


def test_calls_before_init_are_codes() -> None:
    """Before init: what needs no device answers, the rest says 100001, and nothing raises."""
    assert acl.rt.get_run_mode() == (1, 0)
    assert acl.get_soc_name() == "Ascend310P3"
    assert acl.rt.get_device_count() == (2, 0)
    assert acl.rt.get_device() == (0, 100001)
    assert acl.rt.set_device(0) == 100001
    assert acl.rt.create_context(0) == (0, 100001)
    assert acl.rt.malloc(64, 0) == (0, 100001)
    assert acl.op.set_model_dir(".") == 100001
    assert acl.rt.free(4096) == 100000
    assert acl.rt.destroy_context(1) == 107017


def test_destroying_after_finalize_is_a_code(device: int) -> None:
    """After finalize programs still destroy and free, from finalizers: codes, never a crash."""
    context = good(acl.rt.create_context(0))
    stream, event = good(acl.rt.create_stream()), good(acl.rt.create_event())
    pointer, host = good(acl.rt.malloc(64, 0)), good(acl.rt.malloc_host(64))
    dataset, desc, buffer = acl.mdl.create_dataset(), acl.mdl.create_desc(), acl.create_data_buffer(pointer, 64)
    ok(acl.finalize())

    codes = [
        acl.rt.destroy_stream(stream),
        acl.rt.destroy_event(event),
        acl.rt.destroy_context(context),
        acl.rt.free(pointer),
        acl.rt.free_host(host),
        acl.mdl.destroy_dataset(dataset),
        acl.mdl.destroy_desc(desc),
        acl.destroy_data_buffer(buffer),
        acl.rt.reset_device(0),
        acl.rt.synchronize_stream(0),
    ]

    assert all(codes), codes
    assert acl.destroy_tensor_desc(12345) is None


_CONFIGS = {
    "empty_object.json": ("{}", 0),
    "empty_file.json": ("", 100006),
    "cut.json": ('{"dump": {', 100006),
    "list.json": ("[]", 100006),
    "deep.json": ('{"a":' * 11 + "1" + "}" * 11, 100006),
    "deep_list.json": ('{"a":' + "[" * 11 + "]" * 11 + "}", 100006),
    "ten_deep.json": ('{"a":' * 10 + "1" + "}" * 10, 0),
    "bad_device.json": ('{"defaultDevice": {"default_device": "first"}}', 100006),
    "bad_queue.json": ('{"max_opqueue_num": "0"}', 148048),
}


def test_config_argument(tmp_path: Path) -> None:
    """C008: no argument and "" mean no file; a bad file is a code, after which the runtime is not initialised."""
    assert (acl.init(), acl.finalize()) == (0, 0)
    assert (acl.init(""), acl.finalize()) == (0, 0)
    assert (acl.init("missing.json"), acl.finalize()) == (100003, 100037)
    assert (acl.init(str(tmp_path)), acl.finalize()) == (100003, 100037)
    for bad in (None, 5, b"x"):
        with pytest.raises(TypeError, match="must be str"):
            untyped.init(bad)
    for name, (text, _) in _CONFIGS.items():
        (tmp_path / name).write_text(text)

    # The first file given binds a process, so each is tried in one of its own; a fork is a cheap one.
    codes = json.loads(
        run_program(
            """
            import json, os, sys, acl
            codes = {}
            for name in sys.argv[1:]:
                reader, writer = os.pipe()
                if os.fork() == 0:
                    code = acl.init(name)
                    os.write(writer, f"{code} {acl.finalize()}".encode())
                    os._exit(0)
                os.wait()
                codes[name] = os.read(reader, 100).decode()
            print(json.dumps(codes))
            """,
            *_CONFIGS,
            folder=tmp_path,
        )
    )

    assert codes == {name: f"{code} {37 * (code != 0) + 100000 * (code != 0)}" for name, (_, code) in _CONFIGS.items()}


def test_configuration_binds_the_process(tmp_path: Path) -> None:
    """C009: after finalize the same configuration is taken again, another one is refused with 100000."""
    (tmp_path / "a.json").write_text('{"err_msg_mode": "0"}')
    (tmp_path / "b.json").write_text('{"err_msg_mode": "1"}')

    out = run_program(
        """
        import acl
        print([acl.init("a.json"), acl.finalize(), acl.init("a.json"), acl.finalize(), acl.init("b.json"),
               acl.finalize(), acl.init(), acl.finalize()])
        print(acl.init("b.json"), acl.get_recent_err_msg())
        """,
        folder=tmp_path,
    ).splitlines()

    assert out[0] == "[0, 0, 0, 0, 100000, 100037, 0, 0]"
    assert "b.json" in out[1]


def test_default_device_serves_threads_that_set_none(tmp_path: Path) -> None:
    """C010: with defaultDevice, malloc and create_stream work at once in every thread; without, 107002."""
    (tmp_path / "acl.json").write_text('{"defaultDevice": {"default_device": "1"}}')

    out = run_program(
        """
        import threading, acl
        acl.init("acl.json")
        def work():
            print(acl.rt.malloc(64, 0)[1], acl.rt.create_stream()[1], acl.rt.get_device())
        work()
        thread = threading.Thread(target=work); thread.start(); thread.join()
        print(acl.rt.reset_device(1), acl.finalize())
        """,
        folder=tmp_path,
    )

    assert out.splitlines() == ["0 0 (1, 0)", "0 0 (1, 0)", "0 0"]


def test_no_default_device_means_no_context() -> None:
    """C010: without a default device, and before set_device, calls give 107002 in every thread."""
    ok(acl.init())

    for place in (lambda work: work(), in_thread):
        assert place(lambda: acl.rt.malloc(64, 0)) == (0, 107002)
        assert place(lambda: acl.rt.create_stream()) == (0, 107002)


def test_texts_of_all_threads_together(tmp_path: Path) -> None:
    """With err_msg_mode "1" one thread reads what went wrong in another; reading clears it for all."""
    (tmp_path / "acl.json").write_text('{"err_msg_mode": "1"}')

    out = run_program(
        """
        import threading, acl
        acl.init("acl.json")
        thread = threading.Thread(target=lambda: acl.rt.set_device(-1)); thread.start(); thread.join()
        print("device -1" in acl.get_recent_err_msg(), acl.get_recent_err_msg())
        """,
        folder=tmp_path,
    )

    assert out == "True None\n"


def test_polling_threads_leave_the_text_of_all_threads_alone(tmp_path: Path) -> None:
    """With err_msg_mode "1", a thread whose polls find no callback does not replace the text of a failure."""
    (tmp_path / "acl.json").write_text('{"err_msg_mode": "1"}')

    out = run_program(
        """
        import threading, acl
        acl.init("acl.json"); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        acl.rt.set_device(-1)
        def poll():
            codes.append(acl.rt.process_report(1))
            acl.rt.set_device(0)
            acl.rt.subscribe_report(threading.get_ident(), stream)
            codes.append(acl.rt.process_report(1))
            codes.append(acl.rt.peek_at_last_error(0))
        codes = []
        thread = threading.Thread(target=poll); thread.start(); thread.join()
        print(codes, "device -1" in acl.get_recent_err_msg())
        """,
        folder=tmp_path,
    )

    assert out == "[107012, 507012, 107012] True\n"


def test_recent_text_is_the_threads_own_and_clears_on_reading() -> None:
    """By default a thread reads its own latest failure, once."""
    ok(acl.init())
    acl.rt.set_device(-1)

    assert in_thread(acl.get_recent_err_msg) is None
    assert "device -1" in (acl.get_recent_err_msg() or "")
    assert acl.get_recent_err_msg() is None


def test_version_and_soc_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version has three numbers; the SoC is one programs know, and can be set."""
    assert acl.get_version() == (1, 4, 0, 0)
    monkeypatch.setenv("AACL_SOC", "Ascend910B3")
    assert acl.get_soc_name() == "Ascend910B3"


def test_device_capability(device: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores are a number; a cache that is not there and unknown items are codes."""
    cores, ret = acl.get_device_capability(0, 1)

    assert ret == 0
    assert cores >= 1
    assert acl.get_device_capability(0, 2) == (0, 200006)
    assert acl.get_device_capability(0, 7) == (0, 100000)
    assert acl.get_device_capability(9, 0) == (0, 107001)


@pytest.mark.parametrize(("bits", "value"), [(0, 0.0), (0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (1, 2.0**-24)])
def test_half_precision_conversions(bits: int, value: float) -> None:
    """The 16 bits of a half-precision number and its value, both ways."""
    assert acl.float16_to_float(bits) == value
    assert acl.float_to_float16(value) == bits


def test_half_precision_overflows_to_infinity() -> None:
    """What is too large for half precision becomes infinity."""
    assert acl.float_to_float16(1e6) == 0x7C00


def test_every_half_precision_number() -> None:
    """Each of the 65536 bit patterns converts there and back, as the struct module has it; NaN stays NaN."""
    for bits in range(1 << 16):
        (expected,) = struct.unpack("<e", bits.to_bytes(2, "little"))
        value = acl.float16_to_float(bits)
        if math.isnan(expected):
            assert math.isnan(value)
            assert math.isnan(acl.float16_to_float(acl.float_to_float16(value)))
        else:
            assert (value, math.copysign(1, value)) == (expected, math.copysign(1, expected))
            assert acl.float_to_float16(value) == bits


def test_halfway_numbers_round_to_even() -> None:
    """A number halfway between two neighbours becomes the even one, on both sides of zero and among subnormals."""
    for bits in (*range(64), *range(0x3C00, 0x3C40), 0x7BFE):
        low, high = (acl.float16_to_float(each) for each in (bits, bits + 1))
        even = bits + (bits & 1)
        assert acl.float_to_float16((low + high) / 2) == even
        assert acl.float_to_float16(-(low + high) / 2) == even | 0x8000
    assert acl.float_to_float16(65519.996) == 0x7BFF
    assert acl.float_to_float16(65520) == 0x7C00


def test_finalize_tells_a_failure_that_nobody_asked_for(
    device: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Work that failed and was never synchronised is finalize's code; all is released nevertheless."""
    seen: list[int] = []
    ok(acl.op.set_model_dir(str(tmp_path)))
    host = good(acl.rt.malloc_host(64))
    ok(acl.rt.set_exception_info_callback(seen.append))
    ok(acl.rt.subscribe_report(threading.get_ident(), 0))
    ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, 0))

    assert acl.finalize() == 500001
    assert "ZeroDivisionError" in (acl.get_recent_err_msg() or "")
    assert (acl.rt.free_host(host), acl.rt.malloc(64, 0), acl.init()) == (100000, (0, 100001), 0)
    assert len(seen) == 1
    assert "ZeroDivisionError" in capfd.readouterr().err
