"""Arguments of kernel functions, put together one by one.

They lie one after the other, each at a multiple of 8 bytes. A place holder is a pointer to data that travel with them:
the program writes these to a buffer of the host, and in a launch the pointer holds where they are.
"""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl import _blocks
from acl._status import PARAM_INVALID, Refused, code_alone, with_code
from acl.rt._argument_list import KernelArgs, Parameter, forget, keep, kernel_args, padded, parameters
from acl.rt._binary import functions

__all__ = (
    "kernel_args_append",
    "kernel_args_append_place_holder",
    "kernel_args_finalize",
    "kernel_args_get_handle_mem_size",
    "kernel_args_get_mem_size",
    "kernel_args_get_place_holder_buffer",
    "kernel_args_init",
    "kernel_args_init_by_user_mem",
    "kernel_args_para_update",
)

_WORD = 8
_HANDLE_NBYTES = 64  # what a program gives a handle of its own; what it stands for is kept elsewhere
_MOST = 1 << 24  # bytes of an argument, and of the data of a place holder


@with_code(0)
def kernel_args_init(func_handle: int, /) -> tuple[int, int]:
    """Begin the arguments of a function, in memory of the runtime's.

    Args:
        func_handle: of ``binary_get_function``.

    Returns:
        (handle, 0), good for any number of launches until the binary is unloaded, or 4,096 others of the function were
        begun after it was launched; (0, code): 107017 for no function,
        100000 for a null handle.

    Source: aclrtKernelArgsInit.
    """
    args = KernelArgs(functions.get(func_handle))
    return keep(kernel_args.add(args), args), 0


@code_alone
def kernel_args_init_by_user_mem(
    func_handle: int, args_handle: int, user_host_mem: int, actual_args_size: int, /
) -> int:
    """Begin the arguments of a function in memory of the program's.

    Args:
        func_handle: of ``binary_get_function``.
        args_handle: the address of host memory of `kernel_args_get_handle_mem_size` bytes. From now on it is the
            handle; if it was one before, those arguments end.
        user_host_mem: the address of host memory for what place holders point to. It must stay until the last launch.
        actual_args_size: its bytes, as `kernel_args_get_mem_size` tells; arguments beyond them are refused.

    Returns:
        0; 100000 for a null address; 107000 for sizes below 1 or memory that is not mapped or read-only; 107017 for no
        function.

    Source: aclrtKernelArgsInitByUserMem.
    """
    function, handle = functions.get(func_handle), index(args_handle)
    address, nbytes = index(user_host_mem), index(actual_args_size)
    if nbytes < 1:
        raise Refused(PARAM_INVALID, f"arguments cannot lie in {nbytes} bytes")
    _check_writable(handle, _HANDLE_NBYTES)
    _check_writable(address, nbytes)
    if handle in kernel_args.objects:
        forget(handle)
    args = kernel_args.objects[handle] = KernelArgs(function, (address, nbytes))
    keep(handle, args)
    return 0


@with_code(0)
def kernel_args_get_mem_size(func_handle: int, user_args_size: int, /) -> tuple[int, int]:
    """Return how much memory `kernel_args_init_by_user_mem` needs.

    Args:
        func_handle: of ``binary_get_function``.
        user_args_size: the bytes of all arguments, 8 for a place holder and its data, each rounded up to a multiple
            of 8.

    Returns:
        (bytes, 0); (0, code): 107000 for a size below 0 or beyond 2^24; 107017 for no function.

    Source: aclrtKernelArgsGetMemSize.
    """
    functions.get(func_handle)
    nbytes = index(user_args_size)
    if not 0 <= nbytes <= _MOST:
        raise Refused(PARAM_INVALID, f"the arguments of a function cannot have {nbytes} bytes")
    return max(padded(nbytes), _WORD), 0


@with_code(0)
def kernel_args_get_handle_mem_size(func_handle: int, /) -> tuple[int, int]:
    """Return how much memory a handle of the program's own needs.

    Args:
        func_handle: of `binary_get_function`.

    Returns:
        (bytes, 0); (0, code): 107017 for no function, 100000 for a null handle.

    Source: aclrtKernelArgsGetHandleMemSize.
    """
    functions.get(func_handle)
    return _HANDLE_NBYTES, 0


@with_code(0)
def kernel_args_append(args_handle: int, param_ptr: int, param_size: int, /) -> tuple[int, int]:
    """Add an argument.

    Args:
        args_handle: the arguments.
        param_ptr: where its value lies on the host, which is copied now: for a tensor in device memory, 8 bytes that
            hold its address.
        param_size: the bytes of the value.

    Returns:
        (handle, 0), for `kernel_args_para_update`; (0, code): 100000 for a null address; 107000 for a size below 1,
        memory that is not mapped, arguments that are final, or no room in the program's memory; 107017 for no arguments.

    Source: aclrtKernelArgsAppend.
    """
    return kernel_args.get(args_handle).append(_value(param_ptr, param_size)), 0


@with_code(0)
def kernel_args_append_place_holder(args_handle: int, /) -> tuple[int, int]:
    """Add a pointer to data that travel with the arguments.

    Args:
        args_handle: the arguments.

    Returns:
        (handle, 0), for `kernel_args_get_place_holder_buffer`; (0, code) as `kernel_args_append`.

    Source: aclrtKernelArgsAppendPlaceHolder.
    """
    return kernel_args.get(args_handle).append(bytes(_WORD), is_pointer=True), 0


@with_code(0)
def kernel_args_get_place_holder_buffer(args_handle: int, param_handle: int, data_size: int, /) -> tuple[int, int]:
    """Return where on the host the data of a place holder go. They are copied with each launch.

    Args:
        args_handle: the arguments.
        param_handle: of `kernel_args_append_place_holder`.
        data_size: the bytes of the data; another size than before is refused.

    Returns:
        (address, 0); (0, code): 107000 for a size below 1, an argument that is no place holder of these arguments, or
        no room in the program's memory; 107017 for no arguments.

    Source: aclrtKernelArgsGetPlaceHolderBuffer.
    """
    args, nbytes = kernel_args.get(args_handle), index(data_size)
    parameter = _parameter(args, param_handle)
    if not parameter.is_pointer:
        raise Refused(PARAM_INVALID, f"parameter {param_handle} is no place holder; it was appended with its value")
    if not 1 <= nbytes <= _MOST:
        raise Refused(PARAM_INVALID, f"a place holder's data cannot have {nbytes} bytes")
    return args.buffer(parameter, nbytes), 0


@code_alone
def kernel_args_para_update(args_handle: int, param_handle: int, param_ptr: int, param_size: int, /) -> int:
    """Give an argument another value, for launches from now on.

    Args:
        args_handle: the arguments, final or not.
        param_handle: of `kernel_args_append`.
        param_ptr: where the value lies on the host, which is copied now.
        param_size: its bytes, as many as before.

    Returns:
        0; 107000 for another size, a place holder, or an argument of others; other codes as `kernel_args_append`.

    Source: aclrtKernelArgsParaUpdate.
    """
    args = kernel_args.get(args_handle)
    parameter, data = _parameter(args, param_handle), _value(param_ptr, param_size)
    if parameter.is_pointer:
        raise Refused(PARAM_INVALID, f"parameter {param_handle} is a place holder; write to its buffer")
    if len(data) != parameter.nbytes:
        raise Refused(PARAM_INVALID, f"parameter {param_handle} has {parameter.nbytes} bytes, not {len(data)}")
    args.update(parameter, data)
    return 0


@code_alone
def kernel_args_finalize(args_handle: int, /) -> int:
    """Say that the arguments are complete, which a launch asks for.

    Args:
        args_handle: the arguments; harmless when repeated.

    Returns:
        0; 107000 if they are fewer bytes than the function takes, or a place holder has no data; 107017 for no
        arguments.

    Source: aclrtKernelArgsFinalize.
    """
    args = kernel_args.get(args_handle)
    args.check()
    args.is_final = True
    return 0


def _parameter(args: KernelArgs, handle: int) -> Parameter:
    parameter = parameters.get(handle)
    if parameter.owner is not args:
        raise Refused(PARAM_INVALID, f"parameter {handle} is one of other arguments")
    return parameter


def _value(address: int, nbytes: int) -> bytes:
    address, nbytes = index(address), index(nbytes)
    if not 1 <= nbytes <= _MOST:
        raise Refused(PARAM_INVALID, f"an argument cannot have {nbytes} bytes")
    if not address:
        raise InvalidArgument("an argument's value lies at address 0")
    return _blocks.read(address, nbytes)


def _check_writable(address: int, nbytes: int) -> None:
    if not address:
        raise InvalidArgument("arguments cannot lie at address 0")
    _blocks.other_memory(address, nbytes).check_writable(0, nbytes)
