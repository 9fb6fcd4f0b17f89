"""The other runtimes: found, or named as missing."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

__all__ = ("PEERS", "Absent", "load", "versions")

PEERS = ("torch", "openvino", "opencv-python-headless", "uvloop")


class Absent(Exception):
    """A peer is not installed, or does not start; the text says which and why."""


def load(name: str) -> ModuleType:
    """Import a peer.

    Raises:
        Absent: it cannot be imported.
    """
    try:
        return import_module(name)
    except Exception as error:  # a peer's own libraries may fail in any way
        raise Absent(f"{name} is not installed, or does not start: {error}") from error


def versions() -> dict[str, str]:
    """Return the version of each peer, and of what this project stands on."""
    return {name: _version(name) for name in ("aacl", "numpy", "onnxruntime", *PEERS)}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
