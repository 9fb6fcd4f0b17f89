"""The kernels by operator type, and what every family needs to prepare one.

A preparation takes a `KernelRequest` and returns a `Kernel`. A further operator is one small
function under the decorator `kernel`, in its family's file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from aacl.abc import Array, Kernel, KernelRequest, TensorInfo
from aacl.errors import InvalidArgument, UnsupportedDataType

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = (
    "PREPARATIONS",
    "TRANSCENDENTAL",
    "Body",
    "Preparation",
    "elements",
    "given",
    "integers",
    "kernel",
    "prepared",
    "refuse_dtype",
    "require_shape",
    "with_integers",
)

Body: TypeAlias = "Callable[..., object]"
Preparation: TypeAlias = "Callable[[KernelRequest], Kernel]"

PREPARATIONS: dict[str, Preparation] = {}

# What a function such as exp costs, in plain operations an element.
TRANSCENDENTAL = 10


def kernel(*op_types: str) -> Callable[[Preparation], Preparation]:
    """Register a preparation for operator types.

    Raises:
        ValueError: one of them has another kernel already.
    """

    def register(preparation: Preparation) -> Preparation:
        for op_type in op_types:
            # An import that was interrupted is done again, and registers its kernels again.
            if op_type in PREPARATIONS and not _same_source(PREPARATIONS[op_type], preparation):
                raise ValueError(f"operator {op_type} has two kernels")
            PREPARATIONS[op_type] = preparation
        return preparation

    return register


def _same_source(preparation: Preparation, other: Preparation) -> bool:
    return (preparation.__module__, preparation.__qualname__) == (other.__module__, other.__qualname__)


def prepared(
    request: KernelRequest,
    body: Body,
    operations: int = 0,
    *,
    in_place: bool = False,
    returns_shapes: bool = False,
    updates: tuple[int, ...] = (),
) -> Kernel:
    """Return a kernel that reads every input and writes every output, and every input that it updates, once.

    Args:
        request: the request to prepare.
        body: what runs.
        operations: beyond one operation an element.
        in_place: whether it gives the same where an output lies in the memory of an input.
        returns_shapes: whether the outputs are as large as they may get, and the body returns the exact shapes.
        updates: positions of the inputs that the body also writes.
    """
    tensors = (*request.inputs, *request.outputs, *(request.inputs[place] for place in updates))
    nbytes = sum(elements(info) * info.dtype.itemsize for info in tensors if info is not None)
    return Kernel(body, nbytes, operations, in_place, returns_shapes, updates)


def elements(info: TensorInfo) -> int:
    """Return the number of elements."""
    return math.prod(info.shape)


def given(request: KernelRequest, index: int) -> TensorInfo:
    """Return what is known of an input that must be there.

    Raises:
        InvalidArgument: it is absent.
    """
    info = request.inputs[index] if index < len(request.inputs) else None
    if info is None:
        raise InvalidArgument(f"operator {request.op_type}: input {index} is absent and needed")
    return info


def integers(array: Array) -> tuple[int, ...]:
    """Return the integers that a value input holds."""
    return tuple(array.reshape(-1).tolist())


def with_integers(request: KernelRequest, indexes: Sequence[int], make: Callable[..., Body]) -> Body:
    """Return a body whose integers come from value inputs.

    ``make`` gets the integers of each of these inputs and returns a body for all arrays. It runs
    once, now, where all are known; otherwise at each run.

    Args:
        request: the request to prepare.
        indexes: the value inputs.
        make: called with one tuple of integers an index.
    """
    known = [given(request, index).value for index in indexes]
    if all(value is not None for value in known):
        return make(*(integers(value) for value in known if value is not None))

    def body(*arrays: Array) -> None:
        make(*(integers(arrays[index]) for index in indexes))(*arrays)

    return body


def require_shape(op_type: str, found: tuple[int, ...], out: Array) -> None:
    """Refuse a result whose shape is not the output's.

    Raises:
        ValueError: the shapes differ.
    """
    if found != out.shape:
        raise ValueError(
            f"operator {op_type}: the values of its inputs ask for shape {found}; the output has {out.shape}"
        )


def refuse_dtype(request: KernelRequest, allowed: str) -> UnsupportedDataType:
    """Return an error that names the dtypes of a request and those that its kernel takes."""
    names = [info.dtype.name if info else "absent" for info in request.inputs]
    results = ", ".join(info.dtype.name for info in request.outputs)
    return UnsupportedDataType(
        f"operator {request.op_type} has no kernel on the cpu device for inputs {', '.join(names)} "
        f"and outputs {results}; it takes {allowed}"
    )
