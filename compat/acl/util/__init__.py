"""``acl.util``: addresses of Python objects, and threads."""

from acl.util._pointers import bytes_to_ptr as bytes_to_ptr
from acl.util._pointers import numpy_contiguous_to_ptr as numpy_contiguous_to_ptr
from acl.util._pointers import numpy_to_ptr as numpy_to_ptr
from acl.util._pointers import ptr_to_bytes as ptr_to_bytes
from acl.util._pointers import ptr_to_numpy as ptr_to_numpy
from acl.util._threads import start_thread as start_thread
from acl.util._threads import stop_thread as stop_thread

__all__ = (
    "bytes_to_ptr",
    "numpy_contiguous_to_ptr",
    "numpy_to_ptr",
    "ptr_to_bytes",
    "ptr_to_numpy",
    "start_thread",
    "stop_thread",
)


def __dir__() -> list[str]:
    return [*__all__]
