"""``acl.mdl``: models."""

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
from acl.mdl._descs import create_desc as create_desc
from acl.mdl._descs import destroy_desc as destroy_desc
from acl.mdl._descs import get_cur_output_dims as get_cur_output_dims
from acl.mdl._descs import get_desc as get_desc
from acl.mdl._descs import get_desc_from_file as get_desc_from_file
from acl.mdl._descs import get_desc_from_mem as get_desc_from_mem
from acl.mdl._descs import get_input_data_type as get_input_data_type
from acl.mdl._descs import get_input_dims as get_input_dims
from acl.mdl._descs import get_input_dims_v2 as get_input_dims_v2
from acl.mdl._descs import get_input_format as get_input_format
from acl.mdl._descs import get_input_index_by_name as get_input_index_by_name
from acl.mdl._descs import get_input_name_by_index as get_input_name_by_index
from acl.mdl._descs import get_input_size_by_index as get_input_size_by_index
from acl.mdl._descs import get_num_inputs as get_num_inputs
from acl.mdl._descs import get_num_outputs as get_num_outputs
from acl.mdl._descs import get_output_data_type as get_output_data_type
from acl.mdl._descs import get_output_dims as get_output_dims
from acl.mdl._descs import get_output_format as get_output_format
from acl.mdl._descs import get_output_index_by_name as get_output_index_by_name
from acl.mdl._descs import get_output_name_by_index as get_output_name_by_index
from acl.mdl._descs import get_output_size_by_index as get_output_size_by_index
from acl.mdl._descs import get_tensor_real_name as get_tensor_real_name
from acl.mdl._execute import execute as execute
from acl.mdl._execute import execute_async as execute_async
from acl.mdl._gears import get_dynamic_batch as get_dynamic_batch
from acl.mdl._gears import get_dynamic_hw as get_dynamic_hw
from acl.mdl._gears import get_input_dynamic_dims as get_input_dynamic_dims
from acl.mdl._gears import get_input_dynamic_gear_count as get_input_dynamic_gear_count
from acl.mdl._gears import set_dynamic_batch_size as set_dynamic_batch_size
from acl.mdl._gears import set_dynamic_hw_size as set_dynamic_hw_size
from acl.mdl._gears import set_input_dynamic_dims as set_input_dynamic_dims
from acl.mdl._load import load_from_file as load_from_file
from acl.mdl._load import load_from_file_with_mem as load_from_file_with_mem
from acl.mdl._load import load_from_mem as load_from_mem
from acl.mdl._load import load_from_mem_with_mem as load_from_mem_with_mem
from acl.mdl._load import query_size as query_size
from acl.mdl._load import query_size_from_mem as query_size_from_mem
from acl.mdl._load import unload as unload

__all__ = (
    "add_dataset_buffer",
    "create_config_handle",
    "create_dataset",
    "create_desc",
    "destroy_config_handle",
    "destroy_dataset",
    "destroy_desc",
    "execute",
    "execute_async",
    "get_cur_output_dims",
    "get_dataset_buffer",
    "get_dataset_num_buffers",
    "get_dataset_tensor_desc",
    "get_desc",
    "get_desc_from_file",
    "get_desc_from_mem",
    "get_dynamic_batch",
    "get_dynamic_hw",
    "get_input_data_type",
    "get_input_dims",
    "get_input_dims_v2",
    "get_input_dynamic_dims",
    "get_input_dynamic_gear_count",
    "get_input_format",
    "get_input_index_by_name",
    "get_input_name_by_index",
    "get_input_size_by_index",
    "get_num_inputs",
    "get_num_outputs",
    "get_output_data_type",
    "get_output_dims",
    "get_output_format",
    "get_output_index_by_name",
    "get_output_name_by_index",
    "get_output_size_by_index",
    "get_tensor_real_name",
    "load_from_file",
    "load_from_file_with_mem",
    "load_from_mem",
    "load_from_mem_with_mem",
    "load_with_config",
    "query_size",
    "query_size_from_mem",
    "set_config_opt",
    "set_dataset_tensor_desc",
    "set_dynamic_batch_size",
    "set_dynamic_hw_size",
    "set_input_dynamic_dims",
    "unload",
)


def __dir__() -> list[str]:
    return [*__all__]
