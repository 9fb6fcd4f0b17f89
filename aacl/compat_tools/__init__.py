"""Structured cleanup for pyACL scripts: blocks that give plain handles and release them on any exit.

::

    import acl
    from aacl.compat_tools import acl_device, acl_memory, acl_stream, check

    with acl_device(0), acl_stream() as stream, acl_memory(1024) as pointer:
        check(acl.rt.memset_async(pointer, 1024, 0, 1024, stream))
        check(acl.rt.synchronize_stream(stream))

Whatever happens inside, an exception or Ctrl-C too, leaving the blocks waits for
queued work and releases stream → context → device, and finalises the runtime if
a block initialised it. A call that fails raises the class of `aacl.errors` for
its code, with the text of ``acl.get_recent_err_msg()``.

Blocks know what was made in them: one that is left too early, as by an
`contextlib.ExitStack` in the wrong order, ends those first. What the script
released itself is not released again where the code says that it is gone.

All of it is written on the public calls of the module that ``import acl``
finds, so it works with the vendor's own as well.
"""

from __future__ import annotations

from aacl.compat_tools._calls import check as check
from aacl.compat_tools._devices import acl_context as acl_context
from aacl.compat_tools._devices import acl_device as acl_device
from aacl.compat_tools._devices import acl_event as acl_event
from aacl.compat_tools._devices import acl_stream as acl_stream
from aacl.compat_tools._memory import acl_data_buffer as acl_data_buffer
from aacl.compat_tools._memory import acl_dataset as acl_dataset
from aacl.compat_tools._memory import acl_host_memory as acl_host_memory
from aacl.compat_tools._memory import acl_memory as acl_memory
from aacl.compat_tools._memory import acl_tensor_desc as acl_tensor_desc
from aacl.compat_tools._models import acl_model as acl_model
from aacl.compat_tools._models import acl_model_desc as acl_model_desc
from aacl.compat_tools._reporters import acl_report_thread as acl_report_thread

__all__ = (
    "acl_context",
    "acl_data_buffer",
    "acl_dataset",
    "acl_device",
    "acl_event",
    "acl_host_memory",
    "acl_memory",
    "acl_model",
    "acl_model_desc",
    "acl_report_thread",
    "acl_stream",
    "acl_tensor_desc",
    "check",
)
