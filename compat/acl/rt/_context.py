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
def create_context(device_id: int) -> tuple[int, int]:
    """Make a context on a device and make it current in this thread.

    Returns:
        (handle, 0); (0, 107001) if there is no such device; (0, 100001) before ``acl.init``.
    """
    return _devices.create_context(device_id).handle, 0


@code_alone
def destroy_context(context: int) -> int:
    """Wait for a context's work and end it; threads that had it current have none then.

    Returns:
        0; 100000 for 0 and for a default context, which ends with its device; 107017 if it is no context
        (any more); 507004 in a callback of one of its streams, and then it stays; otherwise the code of queued work that failed and whose stream nobody had synchronised.
    """
    close_context(contexts.get(context))
    return 0


@code_alone
def set_context(context: int) -> int:
    """Make a context current in this thread. Returns 0; 100000 for 0; 107017 if it is no context (any more)."""
    require_init()
    here.context = contexts.get(context)
    return 0


@with_code(0)
def get_context() -> tuple[int, int]:
    """Return (handle, 0) of this thread's context; (0, 107002) if it has none."""
    return current().handle, 0


@with_code(0)
def ctx_get_current_default_stream() -> tuple[int, int]:
    """Return (handle, 0) of the stream that 0 stands for in this thread's context; (0, 107002) if it has none."""
    return current().default_stream.handle, 0
