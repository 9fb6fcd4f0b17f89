"""What an ``.om`` file says of itself: ``atc --mode=6`` and ``--display_model_info=1``.

Source: the block that the public ATC guide shows for both. Files compiled for a
device state their sizes in MODEL_DEF; for ours they are what the file holds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from aacl.converter._reports import InvalidOption, ModelFileMissing, ModelUnreadable

if TYPE_CHECKING:
    from aacl.models._om import OmFile
    from aacl.models._package import ModelPackage, OperatorPackage

__all__ = ("OmInformation", "inspect_om", "read_om_file")

_START = "============ Display Model Info start ============"
_END = "============ Display Model Info end   ============"
_LISTED = ("weight_data_size", "tbe_kernels_size", "cust_aicpu_kernel_store_size", "task_info_size", "so_store_size")


@attrs.frozen
class OmInformation:
    """The facts of one ``.om`` file; sizes in bytes, -1 for what it does not state.

    Attributes:
        name: the model's name.
        command_line: the command that made it.
        atc_version: the converter's version.
        soc_version: the SoC that it was converted for.
        framework_type: 0 Caffe, 1 MindSpore, 3 TensorFlow, 5 ONNX.
        memory_size: working memory of a run.
        weight_size: the constants.
        stream_num: streams that a run takes.
        event_num: events that a run takes.
        modeldef_size: the graph's description.
        weight_data_size: the constants, as they lie in the file.
        tbe_kernels_size: kernels for the device's cores.
        cust_aicpu_kernel_store_size: own kernels for the device's processors.
        task_info_size: tasks of the device.
        so_store_size: libraries inside, -1 where the writer counts none.
        is_compiled: whether it holds device code, which the CPU cannot run.
        is_dynamic: whether shapes are free.
        inputs: descriptions of the inputs, empty for a compiled file.
        outputs: descriptions of the outputs, empty for a compiled file.
    """

    name: str = ""
    command_line: str = ""
    atc_version: str = ""
    soc_version: str = ""
    framework_type: int = -1
    memory_size: int = 0
    weight_size: int = 0
    stream_num: int = 0
    event_num: int = 0
    modeldef_size: int = 0
    weight_data_size: int = 0
    tbe_kernels_size: int = 0
    cust_aicpu_kernel_store_size: int = 0
    task_info_size: int = 0
    so_store_size: int = -1
    is_compiled: bool = False
    is_dynamic: bool = False
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the block that the command line prints."""
        names = ("modeldef_size", *(name for name in _LISTED if getattr(self, name) >= 0))
        return [
            _START,
            f"Original Atc command line: {self.command_line}",
            self._line("system   info", ("atc_version", "soc_version", "framework_type")),
            self._line("resource info", ("memory_size", "weight_size", "stream_num", "event_num")),
            self._line("om       info", names),
            *(f"input    info: {text}" for text in self.inputs),
            *(f"output   info: {text}" for text in self.outputs),
            _END,
        ]

    def _line(self, label: str, names: Sequence[str]) -> str:
        facts = (f"{name}[{getattr(self, name)}{' B' if name.endswith('_size') else ''}]" for name in names)
        return f"{label}: {', '.join(facts)}."


def inspect_om(path: str | os.PathLike[str]) -> OmInformation:
    """Read what an ``.om`` file says of itself: one of ours, or one compiled for a device.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: it cannot be read, or is no sound ``.om`` file.
    """
    file, package = read_om_file(path)
    if package is None:
        return _compiled(file)
    return _of_model(file, package) if hasattr(package, "signature") else _of_operator(file, package)


def read_om_file(path: str | os.PathLike[str]) -> tuple[OmFile, Any]:
    """Take a file apart; return it with its package, None for a file that was compiled for a device.

    Raises:
        ModelFileMissing: there is no such file.
        ModelUnreadable: it cannot be read, or is no sound ``.om`` file.
    """
    from aacl.errors import ModelDataError
    from aacl.models._om import PartitionType, read_om
    from aacl.models._package import read_package

    data = _read(Path(path))
    try:
        file = read_om(data)
        return file, read_package(data) if file.partition(PartitionType.AACL) is not None else None
    except ModelDataError as error:
        raise ModelUnreadable("E10041", f"{os.fspath(path)!r}: {error}") from error


def _read(path: Path) -> bytes:
    if not path.name:
        raise InvalidOption("E10004", f"--om={os.fspath(path)!r} names no file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelFileMissing("E10410", f"the file {os.fspath(path)!r} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        raise ModelUnreadable(
            "E10041", f"the file {os.fspath(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def _compiled(file: OmFile) -> OmInformation:
    from aacl.models._ge_proto import decode_model_def, plain_value
    from aacl.models._om import PartitionType
    from aacl.models._wire import WireError

    partition = file.partition(PartitionType.MODEL_DEF)
    size = 0 if partition is None else partition.nbytes
    try:
        document = {} if partition is None else decode_model_def(partition.data)
    except WireError as error:
        raise ModelUnreadable("E10041", f"the file's MODEL_DEF ({size} bytes) is damaged: {error}") from error
    attributes = {name: plain_value(value) for name, value in document.get("attr", {}).items()}
    sizes: dict[str, Any] = _listed(attributes)
    return OmInformation(
        name=document.get("name", "") or file.name,
        command_line=_text(attributes, "atc_cmdline"),
        atc_version=_text(attributes, "atc_version"),
        soc_version=_text(attributes, "soc_version"),
        framework_type=_number(attributes, "framework_type", -1),
        modeldef_size=size,
        is_compiled=True,
        is_dynamic=file.is_dynamic,
        memory_size=_number(attributes, "memory_size", 0),
        weight_size=_number(attributes, "weight_size", 0),
        stream_num=_number(attributes, "stream_num", 0),
        event_num=_number(attributes, "event_num", 0),
        **sizes,
    )


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = attributes.get(name)
    return value if isinstance(value, str) else ""


def _number(attributes: Mapping[str, Any], name: str, default: int) -> int:
    value = attributes.get(name)
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return int(value[:20])
    return value if isinstance(value, int) else default


def _listed(attributes: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes of ``om_info_list``, in the order that the graph engine writes them."""
    sizes = attributes.get("om_info_list")
    numbers = [size for size in sizes if isinstance(size, int)] if isinstance(sizes, list) else []
    return dict(zip(_LISTED, numbers, strict=False))


def _of_model(file: OmFile, package: ModelPackage) -> OmInformation:
    signature, graph = package.signature, package.graph[0]
    return OmInformation(
        name=signature.name,
        command_line=_command("atc", package.options),
        atc_version=package.producer,
        soc_version=signature.soc_version,
        framework_type=_number({"framework": "5", **package.options}, "framework", -1),
        weight_size=signature.weight_nbytes,
        weight_data_size=signature.weight_nbytes,
        stream_num=1,
        modeldef_size=max(0, len(graph) - signature.weight_nbytes),
        is_dynamic=file.is_dynamic,
        inputs=tuple(f"{spec.name} {spec.dtype.name} {list(spec.shape)} {spec.format.name}" for spec in signature.inputs),
        outputs=tuple(f"{spec.name} {spec.dtype.name} {list(spec.shape)} {spec.format.name}" for spec in signature.outputs),
    )  # fmt: skip


def _of_operator(file: OmFile, package: OperatorPackage) -> OmInformation:
    return OmInformation(
        name=package.operator.name,
        command_line=_command("atc", package.options),
        atc_version=package.producer,
        soc_version=package.options.get("soc_version", ""),
        stream_num=1,
        modeldef_size=sum(part.nbytes for model in file.models for part in model),
        is_dynamic=file.is_dynamic,
    )


def _command(program: str, options: Mapping[str, str]) -> str:
    return " ".join((program, *(f"--{name}={value}" for name, value in options.items())))
