"""``acl.prof``: profiles of models, and what programs note down about themselves."""

from acl.prof._configs import create_config as create_config
from acl.prof._configs import destroy_config as destroy_config
from acl.prof._configs import finalize as finalize
from acl.prof._configs import init as init
from acl.prof._configs import set_config as set_config
from acl.prof._configs import start as start
from acl.prof._configs import stop as stop
from acl.prof._records import get_model_id as get_model_id
from acl.prof._records import get_op_desc_size as get_op_desc_size
from acl.prof._records import get_op_duration as get_op_duration
from acl.prof._records import get_op_end as get_op_end
from acl.prof._records import get_op_name as get_op_name
from acl.prof._records import get_op_name_len as get_op_name_len
from acl.prof._records import get_op_name_v2 as get_op_name_v2
from acl.prof._records import get_op_num as get_op_num
from acl.prof._records import get_op_start as get_op_start
from acl.prof._records import get_op_type as get_op_type
from acl.prof._records import get_op_type_len as get_op_type_len
from acl.prof._records import get_op_type_v2 as get_op_type_v2
from acl.prof._stamps import create_stamp as create_stamp
from acl.prof._stamps import destroy_stamp as destroy_stamp
from acl.prof._stamps import mark as mark
from acl.prof._stamps import mark_ex as mark_ex
from acl.prof._stamps import pop as pop
from acl.prof._stamps import push as push
from acl.prof._stamps import range_start as range_start
from acl.prof._stamps import range_stop as range_stop
from acl.prof._stamps import set_stamp_trace_message as set_stamp_trace_message
from acl.prof._steps import create_step_info as create_step_info
from acl.prof._steps import destroy_step_info as destroy_step_info
from acl.prof._steps import get_step_timestamp as get_step_timestamp
from acl.prof._subscriptions import create_subscribe_config as create_subscribe_config
from acl.prof._subscriptions import destroy_subscribe_config as destroy_subscribe_config
from acl.prof._subscriptions import model_subscribe as model_subscribe
from acl.prof._subscriptions import model_un_subscribe as model_un_subscribe

__all__ = (
    "create_config",
    "create_stamp",
    "create_step_info",
    "create_subscribe_config",
    "destroy_config",
    "destroy_stamp",
    "destroy_step_info",
    "destroy_subscribe_config",
    "finalize",
    "get_model_id",
    "get_op_desc_size",
    "get_op_duration",
    "get_op_end",
    "get_op_name",
    "get_op_name_len",
    "get_op_name_v2",
    "get_op_num",
    "get_op_start",
    "get_op_type",
    "get_op_type_len",
    "get_op_type_v2",
    "get_step_timestamp",
    "init",
    "mark",
    "mark_ex",
    "model_subscribe",
    "model_un_subscribe",
    "pop",
    "push",
    "range_start",
    "range_stop",
    "set_config",
    "set_stamp_trace_message",
    "start",
    "stop",
)


def __dir__() -> list[str]:
    return [*__all__]
