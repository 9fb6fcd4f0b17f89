"""``acl.rt``: devices, contexts, streams, events, callbacks and memory."""

from __future__ import annotations

from acl.rt._allocator import allocator_create_desc as allocator_create_desc
from acl.rt._allocator import allocator_destroy_desc as allocator_destroy_desc
from acl.rt._allocator import allocator_get_by_stream as allocator_get_by_stream
from acl.rt._allocator import allocator_register as allocator_register
from acl.rt._allocator import allocator_set_alloc_advise_func_to_desc as allocator_set_alloc_advise_func_to_desc
from acl.rt._allocator import allocator_set_alloc_func_to_desc as allocator_set_alloc_func_to_desc
from acl.rt._allocator import allocator_set_free_func_to_desc as allocator_set_free_func_to_desc
from acl.rt._allocator import (
    allocator_set_get_addr_from_block_func_to_desc as allocator_set_get_addr_from_block_func_to_desc,
)
from acl.rt._allocator import allocator_set_obj_to_desc as allocator_set_obj_to_desc
from acl.rt._allocator import allocator_unregister as allocator_unregister
from acl.rt._callback import launch_callback as launch_callback
from acl.rt._callback import process_report as process_report
from acl.rt._callback import subscribe_report as subscribe_report
from acl.rt._callback import unsubscribe_report as unsubscribe_report
from acl.rt._context import create_context as create_context
from acl.rt._context import ctx_get_current_default_stream as ctx_get_current_default_stream
from acl.rt._context import destroy_context as destroy_context
from acl.rt._context import get_context as get_context
from acl.rt._context import set_context as set_context
from acl.rt._copy import memcpy as memcpy
from acl.rt._copy import memcpy_async as memcpy_async
from acl.rt._copy import memset as memset
from acl.rt._copy import memset_async as memset_async
from acl.rt._copy2d import memcpy2d as memcpy2d
from acl.rt._copy2d import memcpy2d_async as memcpy2d_async
from acl.rt._copy2d import memcpy_2d as memcpy_2d
from acl.rt._copy2d import memcpy_2d_async as memcpy_2d_async
from acl.rt._device import get_device as get_device
from acl.rt._device import get_device_count as get_device_count
from acl.rt._device import get_device_utilization_rate as get_device_utilization_rate
from acl.rt._device import get_primary_ctx_state as get_primary_ctx_state
from acl.rt._device import get_run_mode as get_run_mode
from acl.rt._device import query_device_status as query_device_status
from acl.rt._device import reset_device as reset_device
from acl.rt._device import reset_device_force as reset_device_force
from acl.rt._device import set_device as set_device
from acl.rt._device import synchronize_device as synchronize_device
from acl.rt._device import synchronize_device_with_timeout as synchronize_device_with_timeout
from acl.rt._event import create_event as create_event
from acl.rt._event import create_event_ex_with_flag as create_event_ex_with_flag
from acl.rt._event import create_event_with_flag as create_event_with_flag
from acl.rt._event import destroy_event as destroy_event
from acl.rt._event import event_elapsed_time as event_elapsed_time
from acl.rt._event import event_get_timestamp as event_get_timestamp
from acl.rt._event import get_event_avail_num as get_event_avail_num
from acl.rt._event import get_event_id as get_event_id
from acl.rt._event import query_event as query_event
from acl.rt._event import query_event_status as query_event_status
from acl.rt._event import query_event_wait_status as query_event_wait_status
from acl.rt._event import record_event as record_event
from acl.rt._event import reset_event as reset_event
from acl.rt._event import stream_wait_event as stream_wait_event
from acl.rt._event import synchronize_event as synchronize_event
from acl.rt._event import synchronize_event_with_timeout as synchronize_event_with_timeout
from acl.rt._exception import get_device_id_from_exception_info as get_device_id_from_exception_info
from acl.rt._exception import get_error_code_from_exception_info as get_error_code_from_exception_info
from acl.rt._exception import get_stream_id_from_exception_info as get_stream_id_from_exception_info
from acl.rt._exception import get_task_id_from_exception_info as get_task_id_from_exception_info
from acl.rt._exception import get_thread_id_from_exception_info as get_thread_id_from_exception_info
from acl.rt._exception import set_exception_info_callback as set_exception_info_callback
from acl.rt._last_error import get_last_error as get_last_error
from acl.rt._last_error import peek_at_last_error as peek_at_last_error
from acl.rt._memory import free as free
from acl.rt._memory import free_host as free_host
from acl.rt._memory import get_mem_info as get_mem_info
from acl.rt._memory import host_register as host_register
from acl.rt._memory import host_unregister as host_unregister
from acl.rt._memory import malloc as malloc
from acl.rt._memory import malloc_align32 as malloc_align32
from acl.rt._memory import malloc_cached as malloc_cached
from acl.rt._memory import malloc_host as malloc_host
from acl.rt._memory import mem_flush as mem_flush
from acl.rt._memory import mem_invalidate as mem_invalidate
from acl.rt._stream import create_stream as create_stream
from acl.rt._stream import create_stream_with_config as create_stream_with_config
from acl.rt._stream import destroy_stream as destroy_stream
from acl.rt._stream import destroy_stream_force as destroy_stream_force
from acl.rt._stream import get_stream_available_num as get_stream_available_num
from acl.rt._stream import stream_abort as stream_abort
from acl.rt._stream import stream_get_id as stream_get_id
from acl.rt._stream import stream_query as stream_query
from acl.rt._stream import synchronize_stream as synchronize_stream
from acl.rt._stream import synchronize_stream_with_timeout as synchronize_stream_with_timeout

__all__ = (
    "allocator_create_desc",
    "allocator_destroy_desc",
    "allocator_get_by_stream",
    "allocator_register",
    "allocator_set_alloc_advise_func_to_desc",
    "allocator_set_alloc_func_to_desc",
    "allocator_set_free_func_to_desc",
    "allocator_set_get_addr_from_block_func_to_desc",
    "allocator_set_obj_to_desc",
    "allocator_unregister",
    "create_context",
    "create_event",
    "create_event_ex_with_flag",
    "create_event_with_flag",
    "create_stream",
    "create_stream_with_config",
    "ctx_get_current_default_stream",
    "destroy_context",
    "destroy_event",
    "destroy_stream",
    "destroy_stream_force",
    "event_elapsed_time",
    "event_get_timestamp",
    "free",
    "free_host",
    "get_context",
    "get_device",
    "get_device_count",
    "get_device_id_from_exception_info",
    "get_device_utilization_rate",
    "get_error_code_from_exception_info",
    "get_event_avail_num",
    "get_event_id",
    "get_last_error",
    "get_mem_info",
    "get_primary_ctx_state",
    "get_run_mode",
    "get_stream_available_num",
    "get_stream_id_from_exception_info",
    "get_task_id_from_exception_info",
    "get_thread_id_from_exception_info",
    "host_register",
    "host_unregister",
    "launch_callback",
    "malloc",
    "malloc_align32",
    "malloc_cached",
    "malloc_host",
    "mem_flush",
    "mem_invalidate",
    "memcpy",
    "memcpy2d",
    "memcpy2d_async",
    "memcpy_2d",
    "memcpy_2d_async",
    "memcpy_async",
    "memset",
    "memset_async",
    "peek_at_last_error",
    "process_report",
    "query_device_status",
    "query_event",
    "query_event_status",
    "query_event_wait_status",
    "record_event",
    "reset_device",
    "reset_device_force",
    "reset_event",
    "set_context",
    "set_device",
    "set_exception_info_callback",
    "stream_abort",
    "stream_get_id",
    "stream_query",
    "stream_wait_event",
    "subscribe_report",
    "synchronize_device",
    "synchronize_device_with_timeout",
    "synchronize_event",
    "synchronize_event_with_timeout",
    "synchronize_stream",
    "synchronize_stream_with_timeout",
    "unsubscribe_report",
)


def __dir__() -> list[str]:
    return [*__all__]
