"""Options of single runs, by handle."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain
from acl.rt._wait import seconds

__all__ = ("create_exec_config_handle", "destroy_exec_config_handle", "exec_configs", "set_exec_config_opt")

# aclmdlExecConfigAttr. The others are of an event, of workspace memory and of priorities, none of which a run needs here.
_STREAM_TIMEOUT, _EVENT_TIMEOUT = 0, 1
_ATTRIBUTES = range(8)


class ExecConfig:
    """The options of a run.

    Attributes:
        timeout: how many seconds to wait for it at most; None is for ever.
    """

    __slots__ = ("timeout",)

    def __init__(self) -> None:
        self.timeout: float | None = None


exec_configs: Handles[ExecConfig] = Handles("exec config", INVALID_PARAM)


@plain(0)
def create_exec_config_handle() -> int:
    """Make a collection of options for `execute_v2` and `execute_async_v2`.

    Returns:
        The handle.

    Source: aclmdlCreateExecConfigHandle.
    """
    return exec_configs.add(ExecConfig())


@code_alone
def destroy_exec_config_handle(exec_config: int, /) -> int:
    """Destroy a collection of options.

    Args:
        exec_config: of `create_exec_config_handle`.

    Returns:
        0; 100000 if it is none.

    Source: aclmdlDestroyExecConfigHandle.
    """
    exec_configs.take(exec_config)
    return 0


@code_alone
def set_exec_config_opt(exec_config: int, attr: int, attr_value: int, /) -> int:
    """Set an option.

    Args:
        exec_config: the collection.
        attr: an ``aclmdlExecConfigAttr``: 0 the longest wait of `execute_v2`, in milliseconds, -1 for ever; 1 the same
            for events; 2 and 3 memory for intermediate results and its size; 4 to 7 priorities. Only 0 makes a
            difference here.
        attr_value: the number, or an address.

    Returns:
        0; 100000 for an unknown option, or no collection; 107000 for a time below -1.

    Source: aclmdlSetExecConfigOpt.
    """
    config, attr, value = exec_configs.get(exec_config), index(attr), index(attr_value)
    if attr not in _ATTRIBUTES:
        raise InvalidArgument(f"option {attr} of a run is not known; they go from 0 to {_ATTRIBUTES[-1]}")
    if attr in (_STREAM_TIMEOUT, _EVENT_TIMEOUT):
        limit = seconds(value)
        if attr == _STREAM_TIMEOUT:
            config.timeout = limit
    return 0
