"""The command line's grammar, the option table, and the options that exclude each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aacl.converter import InvalidOption, Unconvertible
from aacl.converter._options import OPTIONS, UsageError, Use, check_options, parse_arguments, usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["--model=net.onnx", "--framework=5"],
        ["--model", "net.onnx", "--framework", "5"],
        ["-model=net.onnx", "-framework", "5"],
        ["--framework=3", "--model=net.onnx", "--framework=5"],
        ["--model=net.onnx", "--framework=5", "--"],
    ],
)
def test_spellings_of_options(arguments: list[str]) -> None:
    """One dash or two, ``=`` or a blank, and the last of two equal options wins."""
    assert parse_arguments(arguments) == {"model": "net.onnx", "framework": "5"}


def test_hyphens_are_underscores_and_values_keep_theirs() -> None:
    """A name may be spelt with hyphens; a value keeps everything after its first ``=``."""
    assert parse_arguments(["--soc-version=A-1=b", "--input_shape", "-a:1"]) == {"soc_version": "A-1=b", "input_shape": "-a:1"}  # fmt: skip


@given(st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.text()), st.booleans())
def test_any_value_comes_through(options: dict[str, str], is_joined: bool) -> None:
    """Whatever a value holds, it is read as it was written, in either spelling."""
    pairs = [[f"--{n}={v}"] if is_joined else [f"--{n}", v] for n, v in options.items()]

    assert parse_arguments([word for pair in pairs for word in pair]) == options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--modle=x"], "unknown command line flag 'modle'.*--model"),
        (["--zzz"], "unknown command line flag 'zzz'"),
        (["--model"], "'--model' is missing its argument"),
        (["net.onnx"], "'net.onnx' is no option"),
        (["--model=a", "b:4"], "'b:4' is no option.*quote"),
        (["--", "x"], "'x' is no option"),
    ],
)
def test_unreadable_command_lines(arguments: list[str], words: str) -> None:
    """An unknown option, a missing value or a stray word is named."""
    with pytest.raises(UsageError, match=words):
        parse_arguments(arguments)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"model": ""}, "E10004"),
        ({"output": "  "}, "E10004"),
        ({"framework": "2"}, "E10007"),
        ({"framework": "five"}, "E10007"),
        ({"enable_compress_weight": "yes"}, "E10005"),
        ({"disable_reuse_memory": "2"}, "E10006"),
        ({"log": "loud"}, "E10010"),
        ({"precision_mode": "fp8"}, "E10001"),
        ({"nonsense": "1"}, "E10001"),
        ({"dynamic_batch_size": "1,2", "dynamic_dims": "1;2"}, "E10009"),
        ({"dynamic_batch_size": "1,2", "dynamic_image_size": "1,2"}, "E10009"),
        ({"dynamic_dims": "1,2", "insert_op_conf": "a.cfg"}, "E10001"),
        ({"input_shape_range": "a:[1~2]", "input_shape": "a:1"}, "E10047"),
        ({"compress_weight_conf": "a", "enable_compress_weight": "true"}, "E10047"),
        ({"precision_mode": "force_fp16", "precision_mode_v2": "fp16"}, "E10056"),
        ({"modify_mixlist": "a.json", "precision_mode": "force_fp16"}, "E10001"),
        ({"optypelist_for_implmode": "Gelu"}, "E10057"),
    ],
)
def test_wrong_values_and_exclusions(options: dict[str, str], code: str) -> None:
    """Empty values, values out of their choices and options that exclude each other have their codes (C122)."""
    with pytest.raises(InvalidOption) as caught:
        check_options(options)

    assert caught.value.report.code == code
    assert [name for name in options if name not in str(caught.value) and name != "precision_mode"] == []


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.use is Use.REFUSED])
def test_options_not_converted_yet_are_refused_by_name(name: str) -> None:
    """A known option that is not converted yet is refused by name; the value that asks for nothing is accepted."""
    option = OPTIONS[name]
    value = next((choice for choice in option.choices if choice != option.default), "something")

    with pytest.raises(Unconvertible, match=f"--{name} .*not converted yet"):
        check_options({name: value})
    if option.default:
        check_options({name: option.default})
        check_options({name: f"{option.default},{option.default}"} if not option.choices else {name: option.default})


def test_recorded_options_are_accepted_with_each_choice() -> None:
    """Every choice of every option that is only recorded is accepted, beside the option that it needs."""
    needs = {
        "modify_mixlist": {"precision_mode": "allow_mix_precision"},
        "optypelist_for_implmode": {"op_select_implmode": "high_precision"},
    }
    for option in OPTIONS.values():
        if option.use is Use.RECORDED:
            for choice in option.choices or ("anything",):
                check_options({option.name: choice} | needs.get(option.name, {}))


def test_usage_lists_every_option() -> None:
    """The help text names every option once, under what is done with it."""
    lines = usage().splitlines()

    assert [line.split()[0][2:] for line in lines if line.startswith("  --")] == sorted(
        OPTIONS, key=lambda name: list(Use).index(OPTIONS[name].use)
    )
