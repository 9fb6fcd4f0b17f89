"""``acl.op``: single operators."""

from acl.op._attributes import create_attr as create_attr
from acl.op._attributes import destroy_attr as destroy_attr
from acl.op._attributes import set_attr_bool as set_attr_bool
from acl.op._attributes import set_attr_data_type as set_attr_data_type
from acl.op._attributes import set_attr_float as set_attr_float
from acl.op._attributes import set_attr_int as set_attr_int
from acl.op._attributes import set_attr_list_bool as set_attr_list_bool
from acl.op._attributes import set_attr_list_data_type as set_attr_list_data_type
from acl.op._attributes import set_attr_list_float as set_attr_list_float
from acl.op._attributes import set_attr_list_int as set_attr_list_int
from acl.op._attributes import set_attr_list_list_int as set_attr_list_list_int
from acl.op._attributes import set_attr_list_string as set_attr_list_string
from acl.op._attributes import set_attr_string as set_attr_string
from acl.op._compile import compile as compile
from acl.op._compile import compile_and_execute as compile_and_execute
from acl.op._compile import compile_and_execute_v2 as compile_and_execute_v2
from acl.op._compile_options import set_compileopt as set_compileopt
from acl.op._dump_args import start_dump_args as start_dump_args
from acl.op._dump_args import stop_dump_args as stop_dump_args
from acl.op._execute import execute as execute
from acl.op._execute import execute_v2 as execute_v2
from acl.op._handle import cast as cast
from acl.op._handle import create_handle as create_handle
from acl.op._handle import create_handle_for_cast as create_handle_for_cast
from acl.op._handle import destroy_handle as destroy_handle
from acl.op._handle import execute_with_handle as execute_with_handle
from acl.op._infer import infer_shape as infer_shape
from acl.op._kernels import create_kernel as create_kernel
from acl.op._kernels import register_compile_func as register_compile_func
from acl.op._kernels import set_kernel_args as set_kernel_args
from acl.op._kernels import set_kernel_workspace_sizes as set_kernel_workspace_sizes
from acl.op._kernels import unregister_compile_func as unregister_compile_func
from acl.op._kernels import update_params as update_params
from acl.op._library import load as load
from acl.op._library import set_max_op_queue_num as set_max_op_queue_num
from acl.op._library import set_model_dir as set_model_dir

__all__ = (
    "cast",
    "compile",
    "compile_and_execute",
    "compile_and_execute_v2",
    "create_attr",
    "create_handle",
    "create_handle_for_cast",
    "create_kernel",
    "destroy_attr",
    "destroy_handle",
    "execute",
    "execute_v2",
    "execute_with_handle",
    "infer_shape",
    "load",
    "register_compile_func",
    "set_attr_bool",
    "set_attr_data_type",
    "set_attr_float",
    "set_attr_int",
    "set_attr_list_bool",
    "set_attr_list_data_type",
    "set_attr_list_float",
    "set_attr_list_int",
    "set_attr_list_list_int",
    "set_attr_list_string",
    "set_attr_string",
    "set_compileopt",
    "set_kernel_args",
    "set_kernel_workspace_sizes",
    "set_max_op_queue_num",
    "set_model_dir",
    "start_dump_args",
    "stop_dump_args",
    "unregister_compile_func",
    "update_params",
)


def __dir__() -> list[str]:
    return [*__all__]
