"""What is done with a file of each kind: everything that a program would."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

import aacl
import acl
from acl._config import read_config
from acl._status import Refused

__all__ = ("TARGETS",)

_MOST_ELEMENTS = 1 << 22


def _om(path: Path, folder: Path) -> None:
    """Look into it, write it as JSON, load it through both faces, and run it where it loads."""
    from aacl.converter import inspect_om, write_json

    _refused(lambda: inspect_om(path).lines())
    _refused(lambda: write_json(path, folder / "om.json"))
    _load_by_acl(path.read_bytes())
    with aacl.blocking.Device(0), aacl.blocking.Stream() as stream:
        model = aacl.blocking.open_resource(aacl.Model(path))
        try:
            arrays = [_ones(spec) for spec in model.inputs]
            stream.execute(model(*[stream.to_device(array) for array in arrays]))
        finally:
            aacl.blocking.close(model)


def _ones(spec: aacl.models.TensorSpec) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    shape = [dim if dim >= 0 else max(1, low) for dim, (low, _) in zip(spec.shape, _ranges(spec), strict=True)]
    if np.prod(shape, dtype=float) > _MOST_ELEMENTS:
        raise aacl.InvalidArgument("a harness does not run models as large as that")
    return np.ones(shape, spec.dtype.numpy_dtype)


def _ranges(spec: aacl.models.TensorSpec) -> tuple[tuple[int, int], ...]:
    return spec.ranges or ((1, 1),) * len(spec.shape)


def _load_by_acl(data: bytes) -> None:
    """Codes are answers; only an exception or the end of the process is a finding."""
    model, ret = acl.mdl.load_from_mem(acl.util.bytes_to_ptr(data), len(data))
    acl.mdl.query_size_from_mem(acl.util.bytes_to_ptr(data), len(data))
    if ret:
        assert acl.get_recent_err_msg()
        return
    desc = acl.mdl.create_desc()
    acl.mdl.get_desc(desc, model)
    for index in range(acl.mdl.get_num_inputs(desc)):
        acl.mdl.get_input_dims(desc, index)
        acl.mdl.get_input_size_by_index(desc, index)
    acl.mdl.destroy_desc(desc)
    assert acl.mdl.unload(model) == 0


def _onnx(path: Path, folder: Path) -> None:
    from aacl.converter import check_model, convert

    _refused(lambda: check_model(path, folder / "check.json"))
    convert(path, folder / "net", input_shape="image:1,3,8,8")


def _aipp(path: Path, folder: Path) -> None:
    from aacl.converter import convert
    from tests.helpers.fuzz._corpus import model

    convert(model(), folder / "net", input_shape="image:1,3,8,8", insert_op_conf=path)


def _operators(path: Path, folder: Path) -> None:
    from aacl.converter import convert_operators

    convert_operators(path, folder / "operators")


def _configuration(path: Path, _folder: Path) -> None:
    with suppress(Refused):  # what `acl.init` turns into a code
        read_config(str(path))


def _refused(function: Callable[[], object]) -> None:
    """Call what may refuse the file, and go on."""
    with suppress(aacl.AclError):
        function()


TARGETS: dict[str, Callable[[Path, Path], None]] = {
    "om": _om,
    "onnx": _onnx,
    "aipp": _aipp,
    "operators": _operators,
    "configuration": _configuration,
}
