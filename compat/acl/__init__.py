"""The drop-in for pyACL: blocking, handle-style calls on the runtime of aacl.

Names, argument order and return values are those of the public pyACL
reference. Arguments go by position. A wrong number or type of arguments raises
`TypeError`; everything that goes wrong at run time is a code, and
``acl.get_recent_err_msg()`` tells in words what it was.

Three codes come from nearly every function, and few say so again: 100001
before ``acl.init``, 107002 in a thread without a context (``acl.rt.set_device``
and ``acl.rt.set_context`` give it one), 200006 after a fork.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from acl import rt as rt
from acl import util as util
from acl._cann import get_cann_attribute as get_cann_attribute
from acl._cann import get_cann_attribute_list as get_cann_attribute_list
from acl._cann import get_cann_version as get_cann_version
from acl._cann import get_version as get_version
from acl._cann import get_version_str as get_version_str
from acl._data_buffers import create_data_buffer as create_data_buffer
from acl._data_buffers import destroy_data_buffer as destroy_data_buffer
from acl._data_buffers import get_data_buffer_addr as get_data_buffer_addr
from acl._data_buffers import get_data_buffer_size as get_data_buffer_size
from acl._data_buffers import get_data_buffer_size_v2 as get_data_buffer_size_v2
from acl._data_buffers import update_data_buffer as update_data_buffer
from acl._data_types import data_type_size as data_type_size
from acl._desc_arrays import get_tensor_desc_address as get_tensor_desc_address
from acl._desc_arrays import get_tensor_desc_by_index as get_tensor_desc_by_index
from acl._desc_hints import set_tensor_dynamic_input as set_tensor_dynamic_input
from acl._desc_hints import set_tensor_value_range as set_tensor_value_range
from acl._desc_layouts import set_tensor_format as set_tensor_format
from acl._desc_layouts import set_tensor_origin_format as set_tensor_origin_format
from acl._desc_layouts import set_tensor_origin_shape as set_tensor_origin_shape
from acl._desc_layouts import set_tensor_shape as set_tensor_shape
from acl._desc_layouts import set_tensor_storage_format as set_tensor_storage_format
from acl._desc_layouts import set_tensor_storage_shape as set_tensor_storage_shape
from acl._desc_layouts import trans_tensor_desc_format as trans_tensor_desc_format
from acl._setup import app_log as app_log
from acl._setup import finalize as finalize
from acl._setup import finalize_reference as finalize_reference
from acl._setup import float16_to_float as float16_to_float
from acl._setup import float_to_float16 as float_to_float16
from acl._setup import get_device_capability as get_device_capability
from acl._setup import get_recent_err_msg as get_recent_err_msg
from acl._setup import get_soc_name as get_soc_name
from acl._setup import init as init
from acl._tensor_descs import create_tensor_desc as create_tensor_desc
from acl._tensor_descs import destroy_tensor_desc as destroy_tensor_desc
from acl._tensor_descs import get_tensor_desc_dim as get_tensor_desc_dim
from acl._tensor_descs import get_tensor_desc_dim_range as get_tensor_desc_dim_range
from acl._tensor_descs import get_tensor_desc_dim_v2 as get_tensor_desc_dim_v2
from acl._tensor_descs import get_tensor_desc_element_count as get_tensor_desc_element_count
from acl._tensor_descs import get_tensor_desc_format as get_tensor_desc_format
from acl._tensor_descs import get_tensor_desc_name as get_tensor_desc_name
from acl._tensor_descs import get_tensor_desc_num_dims as get_tensor_desc_num_dims
from acl._tensor_descs import get_tensor_desc_size as get_tensor_desc_size
from acl._tensor_descs import get_tensor_desc_type as get_tensor_desc_type
from acl._tensor_descs import set_tensor_const as set_tensor_const
from acl._tensor_descs import set_tensor_desc_name as set_tensor_desc_name
from acl._tensor_descs import set_tensor_place_ment as set_tensor_place_ment
from acl._tensor_descs import set_tensor_shape_range as set_tensor_shape_range

if TYPE_CHECKING:
    from acl import blas as blas
    from acl import fv as fv
    from acl import himpi as himpi
    from acl import mdl as mdl
    from acl import media as media
    from acl import op as op
    from acl import prof as prof

__all__ = (
    "app_log",
    "blas",
    "create_data_buffer",
    "create_tensor_desc",
    "data_type_size",
    "destroy_data_buffer",
    "destroy_tensor_desc",
    "finalize",
    "finalize_reference",
    "float16_to_float",
    "float_to_float16",
    "fv",
    "get_cann_attribute",
    "get_cann_attribute_list",
    "get_cann_version",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "get_device_capability",
    "get_recent_err_msg",
    "get_soc_name",
    "get_tensor_desc_address",
    "get_tensor_desc_by_index",
    "get_tensor_desc_dim",
    "get_tensor_desc_dim_range",
    "get_tensor_desc_dim_v2",
    "get_tensor_desc_element_count",
    "get_tensor_desc_format",
    "get_tensor_desc_name",
    "get_tensor_desc_num_dims",
    "get_tensor_desc_size",
    "get_tensor_desc_type",
    "get_version",
    "get_version_str",
    "himpi",
    "init",
    "mdl",
    "media",
    "op",
    "prof",
    "rt",
    "set_tensor_const",
    "set_tensor_desc_name",
    "set_tensor_dynamic_input",
    "set_tensor_format",
    "set_tensor_origin_format",
    "set_tensor_origin_shape",
    "set_tensor_place_ment",
    "set_tensor_shape",
    "set_tensor_shape_range",
    "set_tensor_storage_format",
    "set_tensor_storage_shape",
    "set_tensor_value_range",
    "trans_tensor_desc_format",
    "update_data_buffer",
    "util",
)

_LATER = frozenset(
    {"blas", "fv", "himpi", "mdl", "media", "op", "prof"}
)  # true modules, imported when a program first names them

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _LATER:
            return importlib.import_module(f"acl.{name}")
        raise AttributeError(f"module 'acl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
