"""Operators of the dynamic-shape path: kernels, and the function that chooses among them by the descriptions.

Order of the calls: `register_compile_func` and `create_kernel`, then for each kind of request `update_params`, which
calls the compile function, and then ``execute_v2`` as often as wanted.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._arguments import check_text
from acl._handles import Handles
from acl._state import require_init
from acl._status import DIMS_UNKNOWN, FAILURE, INVALID_PARAM, Refused, code_alone
from acl.op._attributes import attributes_at
from acl.op._compiled import signature_of
from acl.op._execute import descs_at
from acl.op._library import drop
from acl.op._own import SELECTOR_NOT_REGISTERED, add_kernel, add_operator, own_operator, remove_operator

__all__ = (
    "create_kernel",
    "register_compile_func",
    "set_kernel_args",
    "set_kernel_workspace_sizes",
    "unregister_compile_func",
    "update_params",
)

_ENGINES = (0, 1, 2)  # aclopEngineType: SYS, AICORE, VECTOR


class _KernelDesc:
    """What a compile function has said so far."""

    __slots__ = ("blocks", "kernel", "tiling", "workspaces")

    def __init__(self) -> None:
        self.kernel, self.blocks, self.tiling = "", 1, b""
        self.workspaces: tuple[int, ...] = ()

    def launch(self, op_type: str) -> aacl.Launch:
        if not self.kernel:
            raise InvalidArgument(
                f"the compile function of operator {op_type} chose no kernel; it is to call acl.op.set_kernel_args"
            )
        return aacl.Launch(self.kernel, tiling=self.tiling, blocks=self.blocks, workspaces=self.workspaces)


_descs: Handles[_KernelDesc] = Handles("kernel desc", INVALID_PARAM)


@code_alone
def register_compile_func(op_type: str, func: Callable[[int, list[int], int, list[int], int, int], int], /) -> int:
    """Register the function that chooses an operator's kernels.

    Args:
        op_type: the operator's type, one of the catalogue or any other name.
        func: called by `update_params` with the number of inputs, their descriptions, the number of outputs, their
            descriptions, the attributes (as given there) and a kernel description, which is good until it returns. It
            calls `set_kernel_args`, and `set_kernel_workspace_sizes` if it needs workspaces, and returns 0.

    Returns:
        0; 100030 if the type has one; 100000 for an empty type; 100001 before ``acl.init``.

    Source: aclopRegisterCompileFunc.
    """
    require_init()
    if not callable(func):
        raise TypeError("argument 2 must be callable")
    add_operator(_type(op_type), func)
    return 0


@code_alone
def unregister_compile_func(op_type: str, /) -> int:
    """Forget an operator's compile function and what it chose; queued runs go on, and kernels stay.

    Args:
        op_type: such as ``"Add"``.

    Returns:
        0; 100028 if it has none; 100001 before ``acl.init``.

    Source: aclopUnregisterCompileFunc.
    """
    require_init()
    drop(remove_operator(_type(op_type)))
    return 0


@code_alone
def create_kernel(
    op_type: str, kernel_id: str, kernel_name: str, bin_data: int, bin_size: int, engine_type: int, deallocator: int, /
) -> int:
    """Load a kernel of an operator: a shared object of this machine, made with ``aacl_kernel.h``.

    Args:
        op_type: the operator's type.
        kernel_id: what compile functions call the kernel.
        kernel_name: its name in the shared object.
        bin_data: the address of the shared object's bytes, which are copied.
        bin_size: their number.
        engine_type: an ``aclopEngineType``: 0, 1 or 2. The host has one engine.
        deallocator: 1 to free the bytes when they are no longer needed, which is at once, if they are memory of
            ``acl.rt.malloc_host``; 0 leaves that to the program.

    Returns:
        0; 100025 if the bytes are no kernel of this machine (the text says why); 100031 if the operator has a kernel of
        that id; 107000 if the memory is not mapped; 100000 for an empty name, a null address, a size below 1, or
        another engine or deallocator; 100001 before ``acl.init``. Nothing is registered or freed then.

    Source: aclopCreateKernel.
    """
    require_init()
    address, nbytes = index(bin_data), index(bin_size)
    if not address or nbytes < 1:
        raise InvalidArgument(f"there is no kernel of {nbytes} bytes at {address:#x}")
    if index(engine_type) not in _ENGINES:
        raise InvalidArgument(f"an engine is one of {_ENGINES}, not {engine_type}")
    if index(deallocator) not in (0, 1):
        raise InvalidArgument(f"deallocator is 0 or 1, not {deallocator}")
    name = _text("a kernel's name", kernel_name, 3)
    add_kernel(
        _type(op_type),
        _text("a kernel's id", kernel_id, 2),
        lambda: aacl.SharedKernel(_blocks.read(address, nbytes), name),
    )
    if deallocator and address in _blocks.host_blocks:
        _blocks.free_host(address)
    return 0


@code_alone
def set_kernel_args(kernel_desc: int, kernel_id: str, block_dim: int, args_ptr: int, arg_size: int, /) -> int:
    """Choose a kernel and its tiling data, inside a compile function.

    Args:
        kernel_desc: the compile function's last argument.
        kernel_id: as given to `create_kernel`.
        block_dim: how many blocks run it, 1 to 65,535.
        args_ptr: the address of the tiling data on the host, which is copied.
        arg_size: their bytes; 0 for none.

    Returns:
        0; 100000 outside of a compile function, for an empty id, or numbers beyond their range; 107000 if the memory is
        not mapped.

    Source: aclopSetKernelArgs.
    """
    desc, address, nbytes = _descs.get(kernel_desc), index(args_ptr), index(arg_size)
    if nbytes < 0 or (nbytes and not address):
        raise InvalidArgument(f"there are no arguments of {nbytes} bytes at {address:#x}")
    chosen = aacl.Launch(
        _text("a kernel's id", kernel_id, 2),
        tiling=_blocks.read(address, nbytes) if nbytes else b"",
        blocks=index(block_dim),
    )
    desc.kernel, desc.blocks, desc.tiling = chosen.kernel, chosen.blocks, chosen.tiling
    return 0


@code_alone
def set_kernel_workspace_sizes(kernel_desc: int, num_workspaces: int, workspace_sizes: Sequence[int], /) -> int:
    """Say how many bytes of device memory the kernel needs beside its tensors, inside a compile function.

    Args:
        kernel_desc: the compile function's last argument.
        num_workspaces: how many workspaces there are.
        workspace_sizes: the bytes of each; not looked at when there are none.

    Returns:
        0; 100000 outside of a compile function, for a negative size, or another number of them.

    Source: aclopSetKernelWorkspaceSizes.
    """
    desc, number = _descs.get(kernel_desc), index(num_workspaces)
    if not number:
        desc.workspaces = ()
        return 0
    if not isinstance(workspace_sizes, (list, tuple, np.ndarray)):
        raise TypeError(f"parameter must be a list, not {type(workspace_sizes).__name__}")
    sizes = tuple([index(size) for size in workspace_sizes])
    if number != len(sizes):
        raise InvalidArgument(f"{number} workspaces, and {len(sizes)} sizes of them")
    desc.workspaces = aacl.Launch("any", workspaces=sizes).workspaces
    return 0


@code_alone
def update_params(op_type: str, input_descs: Sequence[int], output_descs: Sequence[int], attr: int, /) -> int:
    """Call an operator's compile function, whose choice serves ``execute_v2`` with the same descriptions from now on.

    Args:
        op_type: the operator's type.
        input_descs: a description for each input, every dim given.
        output_descs: a description for each output, every dim given.
        attr: the attributes; 0 for none.

    Returns:
        0; what the compile function returned if that is not 0; 500001 if it raised (the text says what); 100028 if there
        is none, or is another one by the time that it returns; 100029 if it chose a kernel that there is not; 100000 if it chose none, or for no descriptions or
        attributes; 145000 for unknown dims; 100001 before ``acl.init``. What was chosen before stays then.

    Source: aclopUpdateParams.
    """
    require_init()
    own, attributes = own_operator(_type(op_type)), attributes_at(attr)
    inputs, outputs = descs_at(input_descs), descs_at(output_descs)
    _check_dims(op_type, inputs, outputs)
    signature = signature_of(op_type, inputs, outputs, attributes.values)
    launch = _compiled(op_type, own.compile_function, [*input_descs], [*output_descs], attr)
    if own_operator(op_type) is not own:
        raise Refused(SELECTOR_NOT_REGISTERED, f"operator {op_type} got another compile function while its own chose")
    drop(own.choose(signature, launch))
    return 0


def _compiled(
    op_type: str, function: Callable[..., Any], inputs: list[int], outputs: list[int], attr: int
) -> aacl.Launch:
    desc = _KernelDesc()
    handle = _descs.add(desc)
    try:
        code = function(len(inputs), inputs, len(outputs), outputs, attr, handle)
    except Exception as error:
        raise Refused(FAILURE, f"the compile function of operator {op_type} raised {_told(error)}") from error
    finally:
        _descs.objects.pop(handle, None)
    if isinstance(code, bool) or not isinstance(code, (int, np.integer)):
        raise InvalidArgument(
            f"the compile function of operator {op_type} returned {code!r}; it returns 0, or a code if it cannot choose"
        )
    if code:
        raise Refused(int(code), f"the compile function of operator {op_type} returned {code}")
    return desc.launch(op_type)


def _told(error: Exception) -> str:
    """Return an exception and its line."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _check_dims(op_type: str, inputs: Sequence[aacl.TensorDesc], outputs: Sequence[aacl.TensorDesc]) -> None:
    for what, descs in (("input", inputs), ("output", outputs)):
        for position, desc in enumerate(descs):
            if not desc.is_static:
                raise Refused(
                    DIMS_UNKNOWN,
                    f"operator {op_type}: {what} {position} has unknown dims, {list(desc.shape)}; a kernel is chosen "
                    "for those of a run",
                )


def _type(op_type: Any) -> str:
    return _text("an operator's type", op_type, 1)


def _text(what: str, text: str, place: int) -> str:
    check_text(text, place)
    if not text:
        raise InvalidArgument(f"{what} is empty")
    return text
