"""The options of ``atc``: the table, gflags' rules of writing them, and which exclude each other. Pure.

Sources: the public ATC option pages and gflags' documentation: ``--name=value``
or ``--name value``, one dash or two, hyphens or underscores; the last of two
equal options wins; ``--`` ends them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import attrs

from aacl.converter._reports import InvalidOption, Unconvertible

__all__ = ("ARGUMENTS", "OPTIONS", "Option", "UsageError", "Use", "check_options", "parse_arguments", "usage")


class Use(enum.Enum):
    """What the converter does with an option."""

    ACTED_ON = "acted on"
    RECORDED = "accepted and recorded; steers hardware only"
    REFUSED = "known, not converted yet"


@attrs.frozen
class Option:
    """One option: its use, the values it takes (empty: any text) and its help."""

    name: str
    use: Use
    choices: tuple[str, ...]
    help: str
    default: str = ""
    """For a refused option, the value that asks for nothing and is accepted."""


_BOOL, _BIT = ("true", "false"), ("0", "1")
_CODES = {"framework": "E10007", "log": "E10010"}
_FLAG_CODES: dict[tuple[str, ...], str] = {_BOOL: "E10005", _BIT: "E10006"}
_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16")
_PRECISIONS = ("force_fp16", "force_fp32", "cube_fp16in_fp32out", "allow_fp32_to_fp16", "must_keep_origin_dtype",
               "must_keep_fp32", *_MIXED, "allow_fp32_to_bf16")  # fmt: skip
_PRECISIONS_V2 = ("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16", "mixed_hif8",
                  "cube_hif8")  # fmt: skip
_FORMATS = ("NCHW", "ND", "NCDHW", "NHWC", "NDHWC")


def _acted(name: str, text: str, choices: tuple[str, ...] = ()) -> Option:
    return Option(name, Use.ACTED_ON, choices, text)


def _recorded(name: str, text: str, choices: tuple[str, ...] = ()) -> Option:
    return Option(name, Use.RECORDED, choices, text)


def _refused(name: str, text: str, choices: tuple[str, ...] = (), default: str = "") -> Option:
    return Option(name, Use.REFUSED, choices, text, default)


_TABLE = (
    _acted("model", "path of the model (.onnx; .pb of a frozen TensorFlow graph)"),
    _acted("framework", "5: ONNX, 3: TensorFlow (needs the extra aacl[tensorflow])", ("0", "1", "3", "5")),
    _acted("output", "path of the file to write; .om is appended unless it is there; with --singleop a directory"),
    _acted("soc_version", "name of the chip, such as Ascend310P3; recorded, any device runs the file"),
    _acted("singleop", "JSON file of operators; one .om each is written into the directory --output"),
    _acted("input_shape", 'dims of the inputs by name: "data:1,3,224,224;mask:1,16", or in order: "1,3,224,224;1,16"; '
           '"name:" is a scalar, -1 any size, 8~64 a range'),
    _acted("input_shape_range", 'older form of ranges: "data:[1~8,3,-1]"'),
    _acted("dynamic_batch_size", 'batch gears, such as "1,2,4"; dim 0 is -1 in --input_shape'),
    _acted("dynamic_image_size", 'gears of height,width, such as "416,416;832,832"; both are -1 in --input_shape'),
    _acted("dynamic_dims", 'gears with one size for each -1 of --input_shape, such as "1,16;8,32"; needs --input_format=ND'),
    _acted("insert_op_conf", "AIPP configuration: the pictures that inputs are made of; not with --dynamic_dims"),
    _acted("input_fp16_nodes", 'inputs that become FP16: "a;b"'),
    _acted("input_format", "layout of 4-D (NCHW) or 5-D (NCDHW) tensors; ND: none", _FORMATS),
    _acted("out_nodes", 'outputs to keep, in order: "node:0;node2:1", or ONNX tensor names "a;b"'),
    _acted("output_type", "type of all outputs (FP32, FP16, INT8, ...), or \"node:0:FP16;...\" with --out_nodes"),
    _acted("precision_mode", "types to compute in; force_fp16: every FP32 result rounded to FP16; allow_mix_precision "
           "(_fp16, _bf16): that of matrix operators; force_fp32 and cube_fp16in_fp32out: what these take; the others, "
           "and without the option: the model's own types", _PRECISIONS),
    _acted("precision_mode_v2", "the same in newer words; excludes --precision_mode", _PRECISIONS_V2),
    _acted("keep_dtype", "file of nodes that --precision_mode leaves alone, one a line: a name, or OpType::Type"),
    _acted("is_weight_clip", "1 (default): constants beyond FP16 become its largest number; 0: infinity", _BIT),
    _acted("mode", "0: convert (default); 1: write the graph of --om as JSON to --json; 3: check --model only; 6: print "
           "what --om says of itself", ("0", "1", "3", "5", "6")),
    _acted("om", "file that modes 1 and 6 read; an ONNX model in mode 1 with --framework=5"),
    _acted("json", "file that mode 1 writes"),
    _acted("check_report", "file for the report of mode 3; check_result.json by default"),
    _acted("display_model_info", "1: print what mode 6 prints, after converting", _BIT),
    _acted("save_original_model", "true: write <output>_original.om too, in the model's own precision and types", _BOOL),
    _acted("log", "level of the log", ("null", "debug", "info", "warning", "error")),
    _refused("is_input_adjust_hw_layout", "inputs in NC1HWC0", default="false"),
    _refused("is_output_adjust_hw_layout", "outputs in NC1HWC0", default="false"),
    _refused("external_weight", "weights in files of their own", ("0", "1", "2"), "0"),
    _recorded("op_name_map", "operator name map"),
    _recorded("weight", "weights of a Caffe model"),
    _recorded("debug_dir", "directory for scratch files"),
    _recorded("host_env_os", "system of the machine that will run the file"),
    _recorded("host_env_cpu", "processor of the machine that will run the file"),
    _recorded("device_id", "device to tune on"),
    _recorded("core_type", "kind of core", ("AiCore", "VectorCore")),
    _recorded("aicore_num", "number of cores"),
    _recorded("virtual_type", "virtual devices", _BIT),
    _recorded("modify_mixlist", "file of mixed precision lists; needs a mixed --precision_mode"),
    _recorded("customize_dtypes", "file of operators' types"),
    _recorded("op_select_implmode", "high_performance, high_precision and their _for_all forms",
              ("high_performance", "high_precision", "high_performance_for_all", "high_precision_for_all")),
    _recorded("optypelist_for_implmode", "operator types of --op_select_implmode"),
    _recorded("op_precision_mode", "file of operators' precision modes"),
    _recorded("fusion_switch_file", "file that turns fusions on and off"),
    _recorded("buffer_optimize", "", ("l2_optimize", "l1_optimize", "off_optimize")),
    _recorded("disable_reuse_memory", "", _BIT),
    _recorded("enable_small_channel", "", _BIT),
    _recorded("ac_parallel_enable", "", _BIT),
    _recorded("dump_mode", "", _BIT),
    _recorded("tiling_schedule_optimize", "", _BIT),
    _recorded("op_debug_level", "", ("0", "1", "2", "3", "4")),
    _recorded("op_debug_config", ""),
    _recorded("oo_level", "", ("O1", "O3")),
    _recorded("deterministic", "", _BIT),
    _recorded("jit_compile", ""),
    _recorded("atomic_clean_policy", ""),
    _recorded("status_check", ""),
    _recorded("sparsity", ""),
    _recorded("quant_dumpable", ""),
    _recorded("compression_optimize_conf", ""),
    _recorded("op_compiler_cache_mode", "", ("disable", "enable", "force")),
    _recorded("op_compiler_cache_dir", ""),
    _recorded("compress_weight_conf", "file; excludes --enable_compress_weight"),
    _recorded("enable_compress_weight", "", _BOOL),
    _recorded("shape_generalized_build_mode", "", ("shape_precise", "shape_generalized")),
    _recorded("auto_tune_mode", ""),
    _recorded("mdl_bank_path", ""),
    _recorded("op_bank_path", ""),
    _recorded("op_bank_update", ""),
    _recorded("enable_scope_fusion_passes", ""),
)  # fmt: skip

OPTIONS: dict[str, Option] = {option.name: option for option in _TABLE}

ARGUMENTS = ("model", "output", "singleop", "framework", "input_shape", "input_shape_range", "dynamic_batch_size",
             "dynamic_image_size", "dynamic_dims", "input_format", "soc_version", "out_nodes", "output_type",
             "input_fp16_nodes", "insert_op_conf", "precision_mode")  # fmt: skip
"""The options that are arguments of `aacl.convert` itself."""

# Pairs that exclude each other, and the code that says so.
_EXCLUSIVE = (
    ("dynamic_batch_size", "dynamic_image_size", "E10009"),
    ("dynamic_batch_size", "dynamic_dims", "E10009"),
    ("dynamic_image_size", "dynamic_dims", "E10009"),
    ("input_shape_range", "input_shape", "E10047"),
    ("insert_op_conf", "dynamic_dims", "E10001"),
    ("precision_mode", "precision_mode_v2", "E10056"),
    ("compress_weight_conf", "enable_compress_weight", "E10047"),
)


class UsageError(Exception):
    """The command line cannot be read; the text is gflags' own line."""


def parse_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """Return the options of a command line by name.

    Raises:
        UsageError: an unknown option, one without its value, or a word that is no option.
    """
    options: dict[str, str] = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, is_pair, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if word == "--" and not words:
            break
        if not word.startswith("-") or word == "--":
            found = words[0] if word == "--" else word
            raise UsageError(
                f"ERROR: {found!r} is no option; write --name=value, and quote values that hold ; or blanks"
            )
        if name not in OPTIONS:
            raise UsageError(f"ERROR: unknown command line flag '{name}'{_close_to(name)}")
        if not is_pair:
            if not words:
                raise UsageError(
                    f"ERROR: flag '--{name}' is missing its argument; flag description: {OPTIONS[name].help}"
                )
            value = words.pop(0)
        options[name] = value
    return options


def check_options(options: Mapping[str, str]) -> None:
    """Check each option's value, then the pairs that exclude each other, then what is not converted yet.

    Raises:
        InvalidOption: an unknown name, an empty value, one out of its choices, or two that exclude each other.
        Unconvertible: an option that is known and not converted yet.
    """
    for name, value in options.items():
        _check_value(name, value)
    for first, second, code in _EXCLUSIVE:
        if first in options and second in options:
            raise InvalidOption(code, f"--{first} and --{second} exclude each other")
    _check_needs(options)
    for name, value in options.items():
        option = OPTIONS[name]
        if option.use is Use.REFUSED and {word.strip() for word in value.split(",")} != {option.default}:
            raise Unconvertible("E10055", f"--{name} ({option.help}) is not converted yet; the value was {value!r}")


def usage() -> str:
    """Return the text of ``atc --help``."""
    lines = ["usage: atc --model=net.onnx --framework=5 --output=net --soc_version=Ascend310P3 [options]",
             "       atc --singleop=ops.json --output=directory --soc_version=Ascend310P3 [options]"]  # fmt: skip
    for use in Use:
        lines += ["", f"options ({use.value}):"]
        lines += [_help_line(option) for option in _TABLE if option.use is use]
    return "\n".join(lines)


def _help_line(option: Option) -> str:
    choices = f" [{', '.join(option.choices)}]" if option.choices else ""
    return f"  --{option.name:<30} {option.help}{choices}".rstrip()


def _check_value(name: str, value: str) -> None:
    if name not in OPTIONS:
        raise InvalidOption("E10001", f"option {name!r} is unknown{_close_to(name)}")
    if not value.strip():
        raise InvalidOption("E10004", f"the value of --{name} is empty")
    choices = OPTIONS[name].choices
    if choices and value not in choices:
        code = _CODES.get(name) or _FLAG_CODES.get(choices, "E10001")
        raise InvalidOption(code, f"--{name} takes one of {', '.join(choices)}; {value!r} was given")


def _check_needs(options: Mapping[str, str]) -> None:
    if "optypelist_for_implmode" in options and "op_select_implmode" not in options:
        raise InvalidOption("E10057", "--optypelist_for_implmode needs --op_select_implmode")
    if "modify_mixlist" in options and options.get("precision_mode") not in _MIXED:
        raise InvalidOption("E10001", f"--modify_mixlist needs --precision_mode to be one of {', '.join(_MIXED)}")


def _close_to(name: str) -> str:
    import difflib

    found = difflib.get_close_matches(name, OPTIONS, n=2)
    return f" (is {' or '.join(f'--{close}' for close in found)} meant?)" if found else ""
