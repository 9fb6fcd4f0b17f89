"""``acl.rt``: devices, contexts, streams, events, callbacks and memory."""

from __future__ import annotations

from acl.rt._address import map_mem as map_mem
from acl.rt._address import release_mem_address as release_mem_address
from acl.rt._address import reserve_mem_address as reserve_mem_address
from acl.rt._address import unmap_mem as unmap_mem
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
from acl.rt._binary import binary_get_function as binary_get_function
from acl.rt._binary import binary_load as binary_load
from acl.rt._binary import binary_load_from_data as binary_load_from_data
from acl.rt._binary import binary_load_from_file as binary_load_from_file
from acl.rt._binary import binary_unload as binary_unload
from acl.rt._binary import create_binary as create_binary
from acl.rt._binary import destroy_binary as destroy_binary
from acl.rt._binary import get_function_addr as get_function_addr
from acl.rt._binary import get_function_name as get_function_name
from acl.rt._binary import register_cpu_func as register_cpu_func
from acl.rt._cache import cmo_async as cmo_async
from acl.rt._cache import mem_flush as mem_flush
from acl.rt._cache import mem_invalidate as mem_invalidate
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
from acl.rt._copy import memcpy_async_with_condition as memcpy_async_with_condition
from acl.rt._copy import memset as memset
from acl.rt._copy import memset_async as memset_async
from acl.rt._copy2d import memcpy2d as memcpy2d
from acl.rt._copy2d import memcpy2d_async as memcpy2d_async
from acl.rt._copy2d import memcpy_2d as memcpy_2d
from acl.rt._copy2d import memcpy_2d_async as memcpy_2d_async
from acl.rt._copy_desc import get_memcpy_desc_size as get_memcpy_desc_size
from acl.rt._copy_desc import memcpy_async_with_desc as memcpy_async_with_desc
from acl.rt._copy_desc import set_memcpy_desc as set_memcpy_desc
from acl.rt._device import device_task_abort as device_task_abort
from acl.rt._device import get_device as get_device
from acl.rt._device import get_device_count as get_device_count
from acl.rt._device import get_device_utilization_rate as get_device_utilization_rate
from acl.rt._device import get_primary_ctx_state as get_primary_ctx_state
from acl.rt._device import get_run_mode as get_run_mode
from acl.rt._device import query_device_status as query_device_status
from acl.rt._device import reset_device as reset_device
from acl.rt._device import reset_device_force as reset_device_force
from acl.rt._device import set_device as set_device
from acl.rt._device import set_ts_device as set_ts_device
from acl.rt._device import synchronize_device as synchronize_device
from acl.rt._device import synchronize_device_with_timeout as synchronize_device_with_timeout
from acl.rt._device_info import device_get_bare_tgid as device_get_bare_tgid
from acl.rt._device_info import device_get_uuid as device_get_uuid
from acl.rt._device_info import get_device_info as get_device_info
from acl.rt._device_info import mem_uce_repair as mem_uce_repair
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
from acl.rt._exception import get_thread_last_task_id as get_thread_last_task_id
from acl.rt._exception import set_exception_info_callback as set_exception_info_callback
from acl.rt._group import create_group_info as create_group_info
from acl.rt._group import destroy_group_info as destroy_group_info
from acl.rt._group import get_all_group_info as get_all_group_info
from acl.rt._group import get_group_count as get_group_count
from acl.rt._group import get_group_info_detail as get_group_info_detail
from acl.rt._group import set_group as set_group
from acl.rt._host_func import launch_host_func as launch_host_func
from acl.rt._host_func import process_host_func as process_host_func
from acl.rt._host_func import subscribe_host_func as subscribe_host_func
from acl.rt._host_func import unsubscribe_host_func as unsubscribe_host_func
from acl.rt._kernel_args import kernel_args_append as kernel_args_append
from acl.rt._kernel_args import kernel_args_append_place_holder as kernel_args_append_place_holder
from acl.rt._kernel_args import kernel_args_finalize as kernel_args_finalize
from acl.rt._kernel_args import kernel_args_get_handle_mem_size as kernel_args_get_handle_mem_size
from acl.rt._kernel_args import kernel_args_get_mem_size as kernel_args_get_mem_size
from acl.rt._kernel_args import kernel_args_get_place_holder_buffer as kernel_args_get_place_holder_buffer
from acl.rt._kernel_args import kernel_args_init as kernel_args_init
from acl.rt._kernel_args import kernel_args_init_by_user_mem as kernel_args_init_by_user_mem
from acl.rt._kernel_args import kernel_args_para_update as kernel_args_para_update
from acl.rt._last_error import get_last_error as get_last_error
from acl.rt._last_error import peek_at_last_error as peek_at_last_error
from acl.rt._launch import launch_kernel as launch_kernel
from acl.rt._launch import launch_kernel_with_config as launch_kernel_with_config
from acl.rt._launch import launch_kernel_with_host_args as launch_kernel_with_host_args
from acl.rt._memory import free as free
from acl.rt._memory import free_host as free_host
from acl.rt._memory import get_mem_info as get_mem_info
from acl.rt._memory import malloc as malloc
from acl.rt._memory import malloc_align32 as malloc_align32
from acl.rt._memory import malloc_cached as malloc_cached
from acl.rt._memory import malloc_for_task_scheduler as malloc_for_task_scheduler
from acl.rt._memory import malloc_host as malloc_host
from acl.rt._memory import malloc_host_with_cfg as malloc_host_with_cfg
from acl.rt._memory import malloc_with_cfg as malloc_with_cfg
from acl.rt._overflow import get_overflow_status as get_overflow_status
from acl.rt._overflow import reset_overflow_status as reset_overflow_status
from acl.rt._peer import device_can_access_peer as device_can_access_peer
from acl.rt._peer import device_disable_peer_access as device_disable_peer_access
from acl.rt._peer import device_enable_peer_access as device_enable_peer_access
from acl.rt._physical import free_physical as free_physical
from acl.rt._physical import malloc_physical as malloc_physical
from acl.rt._physical import mem_get_allocation_granularity as mem_get_allocation_granularity
from acl.rt._pointer import pointer_get_attributes as pointer_get_attributes
from acl.rt._reduce import reduce_async as reduce_async
from acl.rt._registration import host_get_device_pointer as host_get_device_pointer
from acl.rt._registration import host_register as host_register
from acl.rt._registration import host_register_v2 as host_register_v2
from acl.rt._registration import host_unregister as host_unregister
from acl.rt._res_limit import get_device_res_limit as get_device_res_limit
from acl.rt._res_limit import get_res_in_current_thread as get_res_in_current_thread
from acl.rt._res_limit import get_stream_res_limit as get_stream_res_limit
from acl.rt._res_limit import reset_device_res_limit as reset_device_res_limit
from acl.rt._res_limit import reset_stream_res_limit as reset_stream_res_limit
from acl.rt._res_limit import set_device_res_limit as set_device_res_limit
from acl.rt._res_limit import set_stream_res_limit as set_stream_res_limit
from acl.rt._res_limit import unuse_stream_res_in_current_thread as unuse_stream_res_in_current_thread
from acl.rt._res_limit import use_stream_res_in_current_thread as use_stream_res_in_current_thread
from acl.rt._saturation import get_device_sat_mode as get_device_sat_mode
from acl.rt._saturation import set_device_sat_mode as set_device_sat_mode
from acl.rt._shareable import mem_export_to_shareable_handle as mem_export_to_shareable_handle
from acl.rt._shareable import mem_import_from_shareable_handle as mem_import_from_shareable_handle
from acl.rt._shareable import mem_set_pid_to_shareable_handle as mem_set_pid_to_shareable_handle
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
from acl.rt._stream_attribute import get_stream_attribute as get_stream_attribute
from acl.rt._stream_attribute import get_stream_overflow_switch as get_stream_overflow_switch
from acl.rt._stream_attribute import set_stream_attribute as set_stream_attribute
from acl.rt._stream_attribute import set_stream_failure_mode as set_stream_failure_mode
from acl.rt._stream_attribute import set_stream_overflow_switch as set_stream_overflow_switch
from acl.rt._sys_param import ctx_get_sys_param_opt as ctx_get_sys_param_opt
from acl.rt._sys_param import ctx_set_sys_param_opt as ctx_set_sys_param_opt
from acl.rt._sys_param import get_sys_param_opt as get_sys_param_opt
from acl.rt._sys_param import set_sys_param_opt as set_sys_param_opt
from acl.rt._timeout import get_op_execute_timeout as get_op_execute_timeout
from acl.rt._timeout import get_op_timeout_interval as get_op_timeout_interval
from acl.rt._timeout import set_op_execute_time_out as set_op_execute_time_out
from acl.rt._timeout import set_op_execute_timeout_v2 as set_op_execute_timeout_v2
from acl.rt._timeout import set_op_wait_timeout as set_op_wait_timeout

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
    "binary_get_function",
    "binary_load",
    "binary_load_from_data",
    "binary_load_from_file",
    "binary_unload",
    "cmo_async",
    "create_binary",
    "create_context",
    "create_event",
    "create_event_ex_with_flag",
    "create_event_with_flag",
    "create_group_info",
    "create_stream",
    "create_stream_with_config",
    "ctx_get_current_default_stream",
    "ctx_get_sys_param_opt",
    "ctx_set_sys_param_opt",
    "destroy_binary",
    "destroy_context",
    "destroy_event",
    "destroy_group_info",
    "destroy_stream",
    "destroy_stream_force",
    "device_can_access_peer",
    "device_disable_peer_access",
    "device_enable_peer_access",
    "device_get_bare_tgid",
    "device_get_uuid",
    "device_task_abort",
    "event_elapsed_time",
    "event_get_timestamp",
    "free",
    "free_host",
    "free_physical",
    "get_all_group_info",
    "get_context",
    "get_device",
    "get_device_count",
    "get_device_id_from_exception_info",
    "get_device_info",
    "get_device_res_limit",
    "get_device_sat_mode",
    "get_device_utilization_rate",
    "get_error_code_from_exception_info",
    "get_event_avail_num",
    "get_event_id",
    "get_function_addr",
    "get_function_name",
    "get_group_count",
    "get_group_info_detail",
    "get_last_error",
    "get_mem_info",
    "get_memcpy_desc_size",
    "get_op_execute_timeout",
    "get_op_timeout_interval",
    "get_overflow_status",
    "get_primary_ctx_state",
    "get_res_in_current_thread",
    "get_run_mode",
    "get_stream_attribute",
    "get_stream_available_num",
    "get_stream_id_from_exception_info",
    "get_stream_overflow_switch",
    "get_stream_res_limit",
    "get_sys_param_opt",
    "get_task_id_from_exception_info",
    "get_thread_id_from_exception_info",
    "get_thread_last_task_id",
    "host_get_device_pointer",
    "host_register",
    "host_register_v2",
    "host_unregister",
    "kernel_args_append",
    "kernel_args_append_place_holder",
    "kernel_args_finalize",
    "kernel_args_get_handle_mem_size",
    "kernel_args_get_mem_size",
    "kernel_args_get_place_holder_buffer",
    "kernel_args_init",
    "kernel_args_init_by_user_mem",
    "kernel_args_para_update",
    "launch_callback",
    "launch_host_func",
    "launch_kernel",
    "launch_kernel_with_config",
    "launch_kernel_with_host_args",
    "malloc",
    "malloc_align32",
    "malloc_cached",
    "malloc_for_task_scheduler",
    "malloc_host",
    "malloc_host_with_cfg",
    "malloc_physical",
    "malloc_with_cfg",
    "map_mem",
    "mem_export_to_shareable_handle",
    "mem_flush",
    "mem_get_allocation_granularity",
    "mem_import_from_shareable_handle",
    "mem_invalidate",
    "mem_set_pid_to_shareable_handle",
    "mem_uce_repair",
    "memcpy",
    "memcpy2d",
    "memcpy2d_async",
    "memcpy_2d",
    "memcpy_2d_async",
    "memcpy_async",
    "memcpy_async_with_condition",
    "memcpy_async_with_desc",
    "memset",
    "memset_async",
    "peek_at_last_error",
    "pointer_get_attributes",
    "process_host_func",
    "process_report",
    "query_device_status",
    "query_event",
    "query_event_status",
    "query_event_wait_status",
    "record_event",
    "reduce_async",
    "register_cpu_func",
    "release_mem_address",
    "reserve_mem_address",
    "reset_device",
    "reset_device_force",
    "reset_device_res_limit",
    "reset_event",
    "reset_overflow_status",
    "reset_stream_res_limit",
    "set_context",
    "set_device",
    "set_device_res_limit",
    "set_device_sat_mode",
    "set_exception_info_callback",
    "set_group",
    "set_memcpy_desc",
    "set_op_execute_time_out",
    "set_op_execute_timeout_v2",
    "set_op_wait_timeout",
    "set_stream_attribute",
    "set_stream_failure_mode",
    "set_stream_overflow_switch",
    "set_stream_res_limit",
    "set_sys_param_opt",
    "set_ts_device",
    "stream_abort",
    "stream_get_id",
    "stream_query",
    "stream_wait_event",
    "subscribe_host_func",
    "subscribe_report",
    "synchronize_device",
    "synchronize_device_with_timeout",
    "synchronize_event",
    "synchronize_event_with_timeout",
    "synchronize_stream",
    "synchronize_stream_with_timeout",
    "unmap_mem",
    "unsubscribe_host_func",
    "unsubscribe_report",
    "unuse_stream_res_in_current_thread",
    "use_stream_res_in_current_thread",
)


def __dir__() -> list[str]:
    return [*__all__]
