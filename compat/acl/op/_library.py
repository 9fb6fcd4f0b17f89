"""The operator models that a program has loaded, and which of them serves a request."""

from __future__ import annotations

import os
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aacl
from aacl.errors import InvalidArgument, InvalidFile, ModelDataError, OperatorNotFound
from acl import _blocks
from acl._arguments import check_text
from acl._state import at_finalize, require_init, state
from acl._status import MAX_OPQUEUE_NUM, REPEAT_INITIALIZE, Refused, code_alone
from acl.op._compiled import CompiledModels, signature_of
from acl.op._own import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from acl.op._compiled import Signature

    Slot: TypeAlias = aacl.TensorDesc | None

__all__ = (
    "Served",
    "add_compiled",
    "at_drop",
    "drop",
    "find",
    "known_compiled",
    "load",
    "set_max_op_queue_num",
    "set_model_dir",
    "use",
)

_LEVELS = 3  # of folders that are searched, the given one included

_models: dict[str, list[aacl.models.OperatorModel]] = {}
_places: list[str] = []
_folders: list[str] = []  # none, or the one
_compiled = CompiledModels()
_at_drop: list[Callable[[Signature], object]] = []


@code_alone
def set_model_dir(model_dir: str, /) -> int:
    """Load the operator models (``.om`` files of ``atc --singleop``) of a folder and of two levels below it.

    Args:
        model_dir: the folder.

    Returns:
        0; 100003 if it is no folder; 145006 if a file in it is damaged, and then none of it is loaded; 100002 if
        another call has set one: it works once between ``acl.init`` and ``acl.finalize``; 100001 before ``acl.init``.

    Source: aclopSetModelDir.
    """
    check_text(model_dir, 1)
    require_init()
    if _folders:
        raise Refused(
            REPEAT_INITIALIZE,
            f"the folder of operator models was set before, to {_folders[0]!r}; a program can set one. "
            "Put the models of both into one folder, or load single files with acl.op.load",
        )
    if not os.path.isdir(model_dir):
        raise InvalidFile(f"{model_dir!r} is no folder; give the one that atc --singleop wrote to")
    _add([model for path in _files(model_dir) for model in _read(path)])
    _folders.append(model_dir)
    _places.append(f"folder {model_dir}")
    return 0


@code_alone
def load(model_ptr: int, model_size: int, /) -> int:
    """Load an operator model from memory, which may be freed at once.

    Args:
        model_ptr: address of the model in memory of the host or the device.
        model_size: bytes there.

    Returns:
        0; 145006 if the bytes are no operator model; 107000 if the memory is not mapped; 100000 for a null address or a
        size below 1; 100001 before ``acl.init``.

    Source: aclopLoad.
    """
    require_init()
    address, nbytes = index(model_ptr), index(model_size)
    if not address or nbytes < 1:
        raise InvalidArgument(f"there is no operator model of {nbytes} bytes at {address:#x}")
    operator = _operator(_blocks.read(address, nbytes))
    if operator is None:
        raise ModelDataError("this .om file holds a model, not an operator; load it with acl.mdl.load_from_mem")
    _add([operator])
    _places.append("memory")
    return 0


@code_alone
def set_max_op_queue_num(max_op_num: int, /) -> int:
    """Bound how many compiled operators of one shape, and how many of many shapes, are kept.

    The one that was unused longest goes first. Loaded operator models are never dropped.

    Args:
        max_op_num: how many.

    Returns:
        0; 148048 below 1; 100001 before ``acl.init``.

    Source: aclopSetMaxOpQueueNum.
    """
    require_init()
    number = index(max_op_num)
    if number < 1:
        raise Refused(MAX_OPQUEUE_NUM, f"at least 1 operator is kept, not {number}")
    state.limit_operators(number)
    drop(_compiled.limit(number))
    return 0


def _files(folder: str) -> Iterator[Path]:
    for path, folders, names in os.walk(folder):
        if len(Path(path).relative_to(folder).parts) >= _LEVELS - 1:
            folders.clear()
        folders.sort()
        yield from (Path(path, name) for name in sorted(names) if name.endswith(".om"))


def _read(path: Path) -> list[aacl.models.OperatorModel]:
    """Read a file: one operator, or none if it holds a model."""
    try:
        operator = _operator(path.read_bytes())
    except ModelDataError as error:
        raise ModelDataError(f"{path}: {error}") from None
    except OSError as error:
        raise InvalidFile(f"cannot read {path}: {error}") from None
    return [] if operator is None else [operator]


def _operator(data: bytes) -> aacl.models.OperatorModel | None:
    package = aacl.models.read_package(data)
    return package.operator if isinstance(package, aacl.models.OperatorPackage) else None


def _add(operators: Sequence[aacl.models.OperatorModel]) -> None:
    for operator in operators:
        _models.setdefault(operator.op_type, []).append(operator)


class Served(NamedTuple):
    """What serves a request.

    Attributes:
        attributes: all of them, defaults filled in.
        outputs: as the model describes them; -1 dims where it leaves them open.
        signature: of the model if it was compiled here, or of a compile function's choice, else None.
        native_type: of the native operator, where that is not the request's own type.
    """

    attributes: Mapping[str, Any]
    outputs: tuple[aacl.TensorDesc, ...]
    signature: Signature | None = None
    native_type: str = ""


def find(op_type: str, inputs: Sequence[Slot], outputs: Sequence[aacl.TensorDesc], given: Mapping[str, Any]) -> Served:
    """Return what serves a request: a loaded operator model, or one that was compiled.

    Where the type has a compile function it is what that chose, and nothing else.

    Raises:
        OperatorNotFound: none does; the text says what was asked, and what is there.
        InvalidArgument: the operator has no such attributes.
    """
    own = serving(op_type, inputs, outputs, given)
    if own is not None:
        native_type, choice, signature = own
        return Served(choice, tuple(outputs), signature, native_type)
    attributes = aacl.ops.schema_of(op_type).complete(given)
    for model in _models.get(op_type, ()):
        if model.serves(op_type, inputs, outputs, attributes):
            return Served(attributes, model.outputs)
    known = known_compiled(op_type, inputs, outputs, attributes)
    if known is not None:
        return known
    for signature, model in _compiled.of_type(op_type):
        if model.serves(op_type, inputs, outputs, attributes):
            _compiled.use(signature)
            return Served(attributes, model.outputs, signature)
    raise OperatorNotFound(_missing(op_type, inputs, outputs, given))


def add_compiled(model: aacl.models.OperatorModel) -> Served:
    """Keep an operator model that was compiled now; return what it serves its own request with."""
    signature = signature_of(model.op_type, model.inputs, model.outputs, model.attributes)
    drop(_compiled.add(signature, model, state.config.operator_models))
    return Served(model.attributes, model.outputs, signature)


def known_compiled(
    op_type: str, inputs: Sequence[Slot], outputs: Sequence[aacl.TensorDesc], attributes: Mapping[str, Any]
) -> Served | None:
    """Return what serves a request if it was compiled exactly so before; None otherwise."""
    signature = signature_of(op_type, inputs, outputs, attributes)
    model = _compiled.known(signature)
    if model is None:
        return None
    _compiled.use(signature)
    return Served(model.attributes, model.outputs, signature)


def use(signature: Signature) -> None:
    """Take notice that a compiled model was used."""
    _compiled.use(signature)


def at_drop(forget: Callable[[Signature], object]) -> None:
    """Call ``forget(signature)`` for every compiled model that goes: what was prepared with it is to go too."""
    _at_drop.append(forget)


def drop(signatures: Sequence[Signature]) -> None:
    """Let go of what was prepared with compiled models, or choices, that are gone."""
    for signature in signatures:
        for forget in _at_drop:
            forget(signature)


def _missing(op_type: str, inputs: Sequence[Slot], outputs: Sequence[aacl.TensorDesc], given: Mapping[str, Any]) -> str:
    asked = f"{op_type}({', '.join(map(_words, inputs))}) -> {', '.join(map(_words, outputs))}"
    if given:
        asked += f" with {dict(given)}"
    names = [model.name for model in _models.get(op_type, ())]
    names += [f"{model.name} (compiled)" for _, model in _compiled.of_type(op_type)]
    if names:
        there = f"for {op_type} there are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
    else:
        there = f"for {op_type} there is none"
    where = f" in {', '.join(_places)}" if _places else "; acl.op.set_model_dir or acl.op.load loads some"
    return f"no operator model serves {asked}: {there}{where}. Make one with atc --singleop, or with acl.op.compile"


def _words(desc: Slot) -> str:
    if desc is None or desc.dtype is aacl.DataType.UNDEFINED:
        return "absent"
    const = " constant" if desc.value is not None else ""
    return f"{desc.dtype.name.lower()} {list(desc.shape)} {desc.format.name}{const}"


at_finalize(_models.clear)
at_finalize(_places.clear)
at_finalize(_folders.clear)
at_finalize(_compiled.clear)
