"""``acl.mdl``: models."""

from acl.mdl._aipp import get_aipp_type as get_aipp_type
from acl.mdl._aipp import get_first_aipp_info as get_first_aipp_info
from acl.mdl._aipp import set_aipp_by_input_index as set_aipp_by_input_index
from acl.mdl._aipp import set_input_aipp as set_input_aipp
from acl.mdl._aipp_frames import set_aipp_crop_params as set_aipp_crop_params
from acl.mdl._aipp_frames import set_aipp_dtc_pixel_mean as set_aipp_dtc_pixel_mean
from acl.mdl._aipp_frames import set_aipp_dtc_pixel_min as set_aipp_dtc_pixel_min
from acl.mdl._aipp_frames import set_aipp_padding_params as set_aipp_padding_params
from acl.mdl._aipp_frames import set_aipp_pixel_var_reci as set_aipp_pixel_var_reci
from acl.mdl._aipp_frames import set_aipp_scf_params as set_aipp_scf_params
from acl.mdl._aipp_settings import create_aipp as create_aipp
from acl.mdl._aipp_settings import destroy_aipp as destroy_aipp
from acl.mdl._aipp_settings import get_aipp_data_size as get_aipp_data_size
from acl.mdl._aipp_settings import set_aipp_ax_swap_switch as set_aipp_ax_swap_switch
from acl.mdl._aipp_settings import set_aipp_csc_params as set_aipp_csc_params
from acl.mdl._aipp_settings import set_aipp_input_format as set_aipp_input_format
from acl.mdl._aipp_settings import set_aipp_rbuv_swap_switch as set_aipp_rbuv_swap_switch
from acl.mdl._aipp_settings import set_aipp_src_image_size as set_aipp_src_image_size
from acl.mdl._bundles import bundle_get_model_id as bundle_get_model_id
from acl.mdl._bundles import bundle_get_model_num as bundle_get_model_num
from acl.mdl._bundles import bundle_load_from_file as bundle_load_from_file
from acl.mdl._bundles import bundle_load_from_mem as bundle_load_from_mem
from acl.mdl._bundles import bundle_unload as bundle_unload
from acl.mdl._config import create_config_handle as create_config_handle
from acl.mdl._config import destroy_config_handle as destroy_config_handle
from acl.mdl._config import load_with_config as load_with_config
from acl.mdl._config import set_config_opt as set_config_opt
from acl.mdl._datasets import add_dataset_buffer as add_dataset_buffer
from acl.mdl._datasets import create_dataset as create_dataset
from acl.mdl._datasets import destroy_dataset as destroy_dataset
from acl.mdl._datasets import get_dataset_buffer as get_dataset_buffer
from acl.mdl._datasets import get_dataset_num_buffers as get_dataset_num_buffers
from acl.mdl._datasets import get_dataset_tensor_desc as get_dataset_tensor_desc
from acl.mdl._datasets import set_dataset_tensor_desc as set_dataset_tensor_desc
from acl.mdl._desc_names import get_input_index_by_name as get_input_index_by_name
from acl.mdl._desc_names import get_input_name_by_index as get_input_name_by_index
from acl.mdl._desc_names import get_output_index_by_name as get_output_index_by_name
from acl.mdl._desc_names import get_output_name_by_index as get_output_name_by_index
from acl.mdl._desc_names import get_tensor_real_name as get_tensor_real_name
from acl.mdl._descs import create_desc as create_desc
from acl.mdl._descs import destroy_desc as destroy_desc
from acl.mdl._descs import get_cur_output_dims as get_cur_output_dims
from acl.mdl._descs import get_desc as get_desc
from acl.mdl._descs import get_desc_from_file as get_desc_from_file
from acl.mdl._descs import get_desc_from_mem as get_desc_from_mem
from acl.mdl._descs import get_input_data_type as get_input_data_type
from acl.mdl._descs import get_input_dims as get_input_dims
from acl.mdl._descs import get_input_dims_range as get_input_dims_range
from acl.mdl._descs import get_input_dims_v2 as get_input_dims_v2
from acl.mdl._descs import get_input_format as get_input_format
from acl.mdl._descs import get_input_size_by_index as get_input_size_by_index
from acl.mdl._descs import get_num_inputs as get_num_inputs
from acl.mdl._descs import get_num_outputs as get_num_outputs
from acl.mdl._descs import get_output_data_type as get_output_data_type
from acl.mdl._descs import get_output_dims as get_output_dims
from acl.mdl._descs import get_output_format as get_output_format
from acl.mdl._descs import get_output_size_by_index as get_output_size_by_index
from acl.mdl._dump import finalize_dump as finalize_dump
from acl.mdl._dump import init_dump as init_dump
from acl.mdl._dump import set_dump as set_dump
from acl.mdl._exec_config import create_exec_config_handle as create_exec_config_handle
from acl.mdl._exec_config import destroy_exec_config_handle as destroy_exec_config_handle
from acl.mdl._exec_config import set_exec_config_opt as set_exec_config_opt
from acl.mdl._execute import execute as execute
from acl.mdl._execute import execute_async as execute_async
from acl.mdl._execute import execute_async_v2 as execute_async_v2
from acl.mdl._execute import execute_v2 as execute_v2
from acl.mdl._failures import create_and_get_op_desc as create_and_get_op_desc
from acl.mdl._gears import get_dynamic_batch as get_dynamic_batch
from acl.mdl._gears import get_dynamic_hw as get_dynamic_hw
from acl.mdl._gears import get_input_dynamic_dims as get_input_dynamic_dims
from acl.mdl._gears import get_input_dynamic_gear_count as get_input_dynamic_gear_count
from acl.mdl._gears import set_dynamic_batch_size as set_dynamic_batch_size
from acl.mdl._gears import set_dynamic_hw_size as set_dynamic_hw_size
from acl.mdl._gears import set_input_dynamic_dims as set_input_dynamic_dims
from acl.mdl._load import load_from_file as load_from_file
from acl.mdl._load import load_from_file_with_mem as load_from_file_with_mem
from acl.mdl._load import load_from_file_with_q as load_from_file_with_q
from acl.mdl._load import load_from_mem as load_from_mem
from acl.mdl._load import load_from_mem_with_mem as load_from_mem_with_mem
from acl.mdl._load import load_from_mem_with_q as load_from_mem_with_q
from acl.mdl._load import query_size as query_size
from acl.mdl._load import query_size_from_mem as query_size_from_mem
from acl.mdl._load import unload as unload
from acl.mdl._operators import get_op_attr as get_op_attr

__all__ = (
    "add_dataset_buffer",
    "bundle_get_model_id",
    "bundle_get_model_num",
    "bundle_load_from_file",
    "bundle_load_from_mem",
    "bundle_unload",
    "create_aipp",
    "create_and_get_op_desc",
    "create_config_handle",
    "create_dataset",
    "create_desc",
    "create_exec_config_handle",
    "destroy_aipp",
    "destroy_config_handle",
    "destroy_dataset",
    "destroy_desc",
    "destroy_exec_config_handle",
    "execute",
    "execute_async",
    "execute_async_v2",
    "execute_v2",
    "finalize_dump",
    "get_aipp_data_size",
    "get_aipp_type",
    "get_cur_output_dims",
    "get_dataset_buffer",
    "get_dataset_num_buffers",
    "get_dataset_tensor_desc",
    "get_desc",
    "get_desc_from_file",
    "get_desc_from_mem",
    "get_dynamic_batch",
    "get_dynamic_hw",
    "get_first_aipp_info",
    "get_input_data_type",
    "get_input_dims",
    "get_input_dims_range",
    "get_input_dims_v2",
    "get_input_dynamic_dims",
    "get_input_dynamic_gear_count",
    "get_input_format",
    "get_input_index_by_name",
    "get_input_name_by_index",
    "get_input_size_by_index",
    "get_num_inputs",
    "get_num_outputs",
    "get_op_attr",
    "get_output_data_type",
    "get_output_dims",
    "get_output_format",
    "get_output_index_by_name",
    "get_output_name_by_index",
    "get_output_size_by_index",
    "get_tensor_real_name",
    "init_dump",
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_file_with_q",
    "load_from_mem",
    "load_from_mem_with_mem",
    "load_from_mem_with_q",
    "load_with_config",
    "query_size",
    "query_size_from_mem",
    "set_aipp_ax_swap_switch",
    "set_aipp_by_input_index",
    "set_aipp_crop_params",
    "set_aipp_csc_params",
    "set_aipp_dtc_pixel_mean",
    "set_aipp_dtc_pixel_min",
    "set_aipp_input_format",
    "set_aipp_padding_params",
    "set_aipp_pixel_var_reci",
    "set_aipp_rbuv_swap_switch",
    "set_aipp_scf_params",
    "set_aipp_src_image_size",
    "set_config_opt",
    "set_dataset_tensor_desc",
    "set_dump",
    "set_dynamic_batch_size",
    "set_dynamic_hw_size",
    "set_exec_config_opt",
    "set_input_aipp",
    "set_input_dynamic_dims",
    "unload",
)


def __dir__() -> list[str]:
    return [*__all__]
