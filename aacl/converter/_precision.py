"""The types that a model computes in: what ``--precision_mode`` and ``--precision_mode_v2`` ask for.

Source: the public ATC pages of both options. A CPU has no units for half floats;
what the device would keep in half is rounded to half, and computed with, as the
device's matrix units do, in single precision. So results overflow to infinity
above 65504 and lose what lies below 6e-8, as they would there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import attrs

from aacl.converter._reports import InvalidOption, Unconvertible

__all__ = ("Precision", "check_kept", "precision_of")

_TYPE = "OpType::"
_FLOAT16, _BFLOAT16 = 10, 16  # ONNX element numbers

CUBE_OPERATORS = frozenset(
    {"Attention", "Conv", "ConvTranspose", "DeformConv", "Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"}
)
"""The operators that the device's matrix units run."""


@attrs.frozen
class Precision:
    """What is rounded.

    Attributes:
        element: the ONNX element number of the type rounded to.
        everywhere: every FP32 tensor, not only those of the matrix operators.
        outputs: what the matrix operators give too, not only what they take.
        keep: nodes that compute in the model's own types, as ``--keep_dtype`` lists them: ``name`` or ``OpType::Type``.
    """

    element: int
    everywhere: bool = False
    outputs: bool = True
    keep: frozenset[str] = frozenset()

    def keeps(self, name: str, op_type: str) -> bool:
        """Whether a node computes in the model's own types."""
        return name in self.keep or f"{_TYPE}{op_type}" in self.keep

    def lowers_cube(self, name: str, op_type: str) -> bool:
        """Whether a node is a matrix operator that takes rounded values."""
        return op_type in CUBE_OPERATORS and not self.keeps(name, op_type)


_HALF = Precision(_FLOAT16, everywhere=True)
_MIXED_HALF, _MIXED_BFLOAT = Precision(_FLOAT16), Precision(_BFLOAT16)
_CUBE = Precision(_FLOAT16, outputs=False)

# None: the model's own types. An operator that takes FP32 keeps it under "allow_fp32_to_...", and here every one does.
_PRECISIONS: dict[str, Precision | None] = {
    "force_fp16": _HALF,
    "fp16": _HALF,
    "force_fp32": _CUBE,
    "cube_fp16in_fp32out": _CUBE,
    "allow_mix_precision": _MIXED_HALF,
    "allow_mix_precision_fp16": _MIXED_HALF,
    "mixed_float16": _MIXED_HALF,
    "allow_mix_precision_bf16": _MIXED_BFLOAT,
    "mixed_bfloat16": _MIXED_BFLOAT,
    "allow_fp32_to_fp16": None,
    "allow_fp32_to_bf16": None,
    "must_keep_origin_dtype": None,
    "must_keep_fp32": None,
    "origin": None,
}


def precision_of(options: Mapping[str, str]) -> Precision | None:
    """Return what the options ask to round; None for nothing, which is the default.

    Raises:
        Unconvertible: a mode whose type no CPU code here has (HIF8).
        InvalidOption: the file of ``--keep_dtype`` cannot be read.
    """
    name = next((key for key in ("precision_mode", "precision_mode_v2") if key in options), None)
    if name is None:
        return None
    if options[name] not in _PRECISIONS:
        raise Unconvertible("E10055", f"--{name}={options[name]} is not converted; these are: {', '.join(_PRECISIONS)}")
    precision = _PRECISIONS[options[name]]
    if precision is None or "keep_dtype" not in options:
        return precision
    return attrs.evolve(precision, keep=_kept_nodes(Path(options["keep_dtype"])))


def check_kept(keep: frozenset[str], nodes: Collection[tuple[str, str]]) -> None:
    """Check that the nodes (names and types) of a model are those that ``--keep_dtype`` lists.

    Raises:
        InvalidOption: a name or type that the model has not.
    """
    known = {name for name, _ in nodes} | {f"{_TYPE}{op_type}" for _, op_type in nodes}
    unknown = sorted(keep - known)
    if unknown:
        raise InvalidOption(
            "E10003", f"--keep_dtype lists what the model has not: {', '.join(map(repr, unknown))}",
            solution="List names of the model's nodes, or OpType:: and a type of them, one a line.",
        )  # fmt: skip


def _kept_nodes(path: Path) -> frozenset[str]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        raise InvalidOption("E10410", f"the file --keep_dtype={str(path)!r} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: no text, or what no path can have in it
        raise InvalidOption("E10003", f"the file --keep_dtype={str(path)!r} cannot be read: {error}") from error
    return frozenset(line.strip() for line in lines if line.strip())
