"""Naming what a file is when it is not the one asked for. Pure."""

from __future__ import annotations

__all__ = ("GIT_LFS", "describe_foreign", "kind_of_bytes")

GIT_LFS = b"version https://git-lfs.github.com/spec/"

_KINDS: tuple[tuple[bytes, str], ...] = (
    (GIT_LFS, "a git-lfs pointer (the file's name in a repository, not its bytes)"),
    (b"IMOD", "a converted model (.om)"),
    (b"PICO", "a model file of the PICO family"),
    (b"PK\x03\x04", "a zip archive, such as a saved PyTorch model"),
    (b"\x89HDF", "an HDF5 file, such as a saved Keras model"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program or shared object"),
    (b"\x80\x02", "a pickle, such as a saved PyTorch model"),
    (b"\x80\x04", "a pickle, such as a saved PyTorch model"),
    (b"<", "an XML or HTML page, such as a failed download"),
    (b"{", "a JSON document"),
    (b"[", "a JSON document"),
)


def kind_of_bytes(head: bytes) -> str | None:
    """Say what a file is by its first bytes (a few hundred are enough), or None when they tell nothing."""
    if head[4:8] == b"TFL3":
        return "a TensorFlow Lite model"
    if _starts_as_onnx(head):
        return "an ONNX model"
    text = head.lstrip()
    return next((kind for start, kind in _KINDS if head.startswith(start) or text.startswith(start)), None)


def describe_foreign(head: bytes, size: int) -> str:
    """Say what a file is that should have been an ``.om``, and what to do about it."""
    if size == 0:
        return "the model is empty (0 bytes); give the bytes of an .om file made by atc"
    kind = kind_of_bytes(head)
    if kind == "an ONNX model":
        advice = "convert it first: atc --model=<file>.onnx --framework=5 --output=<file> --soc_version=<name>"
    elif head.startswith(GIT_LFS):
        advice = "fetch it first: git lfs pull"
    else:
        advice = "give an .om file made by atc"
    found = kind or f"bytes that begin with {head[:16]!r}"
    return f"this is not an .om file but {found}, {size} bytes; {advice}"


def _starts_as_onnx(head: bytes) -> bool:
    """Whether the bytes begin as ONNX exporters write a model: IR version, then producer, opset or graph."""
    if len(head) < 4 or head[0] != 0x08 or not 1 <= head[1] <= 31:
        return False
    return head[2] in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72)
