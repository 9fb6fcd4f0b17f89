"""Contexts: made, ended, and current thread by thread."""

from __future__ import annotations

from acl import _devices
from acl._contexts import close_context, contexts
from acl._devices import current
from acl._state import require_init
from acl._status import code_alone, with_code
from acl._threads import here

__all__ = ("create_context", "ctx_get_current_default_stream", "destroy_context", "get_context", "set_context")


@with_code(0)
def create_context(device_id: int, /) -> tuple[int, int]:
    """Make a context on a device and make it current in this thread.

    Args:
        device_id: the device, which is opened if need be.

    Returns:
        (handle, 0); (0, 107001) if there is no such device; (0, 100001) before ``acl.init``.

    Source: aclrtCreateContext.
    """
    return _devices.create_context(device_id).handle, 0


@code_alone
def destroy_context(context: int, /) -> int:
    """Wait for a context's work and end it; threads that had it current have none then.

    Args:
        context: the context, one of `create_context`.

    Returns:
        0; 100000 for 0 and for a default context, which ends with its device; 107017 if it is no context (any more);
        507004 in a callback of one of its streams, and then it stays; otherwise the code of queued work that failed and
        whose stream nobody had synchronised.

    Source: aclrtDestroyContext.
    """
    close_context(contexts.get(context))
    return 0


@code_alone
def set_context(context: int, /) -> int:
    """Make a context current in this thread, and its device with it.

    Args:
        context: the context.

    Returns:
        0; 100000 for 0; 107017 if it is no context (any more); 100001 before ``acl.init``.

    Source: aclrtSetCurrentContext.
    """
    require_init()
    here.context = contexts.get(context)
    return 0


@with_code(0)
def get_context() -> tuple[int, int]:
    """Return this thread's context.

    Returns:
        (handle, 0); (0, 107002) if it has none.

    Source: aclrtGetCurrentContext.
    """
    return current().handle, 0


@with_code(0)
def ctx_get_current_default_stream() -> tuple[int, int]:
    """Return the stream that 0 stands for in this thread's context.

    Returns:
        (handle, 0); (0, 107002) if it has none.

    Source: aclrtCtxGetCurrentDefaultStream.
    """
    return current().default_stream.handle, 0
