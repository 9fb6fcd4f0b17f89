"""Profiling into files: `init`, `start`, `stop`, `finalize`, and what they are told."""

from __future__ import annotations

from operator import index

import aacl
from aacl.errors import InvalidArgument, InvalidDevice
from acl._arguments import check_text
from acl._handles import Handles
from acl._state import require_init
from acl._status import INVALID_PARAM, PROF_MODULES_UNSUPPORTED, code_alone, plain, refused
from acl.prof._control import control
from acl.prof._session import Masks, Wanted

__all__ = ("check_metrics", "create_config", "destroy_config", "finalize", "init", "set_config", "start", "stop")

_METRICS = frozenset((*range(9), 255))
_SAMPLINGS = range(1, 13)
_configs: Handles[Wanted] = Handles("profiling config", INVALID_PARAM)


def check_metrics(number: int) -> None:
    """Raise `InvalidArgument` for what is no ``aclprofAicoreMetrics``; none of them can be counted here."""
    if index(number) not in _METRICS:
        raise InvalidArgument(f"{number} is no kind of core metrics; they are 0 to 8, and 255 for none")


@code_alone
def init(profiler_result_path: str, /) -> int:
    """Name the folder for profiles, which is made if it is not there.

    Args:
        profiler_result_path: the folder.

    Returns:
        0; 100000 for an empty path; 100042 if it was named before; 500005 if the folder cannot be made or written;
        148047 if the configuration of ``acl.init`` or a subscription profiles already.

    Source: aclprofInit.
    """
    require_init()
    check_text(profiler_result_path, 1)
    if not profiler_result_path:
        raise InvalidArgument("the folder's path is empty; name one")
    control.open(profiler_result_path)
    return 0


@plain(0)
def create_config(
    device_id_list: list[int],
    aicore_metrics: int,
    aicore_events: int,
    data_type_config: int,
    /,
) -> int:
    """Return the handle of what `start` is to profile.

    Args:
        device_id_list: the devices.
        aicore_metrics: which counters of a core; no software device has any.
        aicore_events: nothing, 0.
        data_type_config: what is wanted: 2 or 0x800 the times of operators, 0x80 the program's own stamps. The other
            bits ask for what the hardware counts, and add nothing here.

    Returns:
        The handle; 0 if there is no device in the list, one of them is not there or named twice, or a number is none of
        those above.

    Source: aclprofCreateConfig.
    """
    numbers = [index(number) for number in device_id_list]
    index(aicore_events)
    check_metrics(aicore_metrics)
    data = index(data_type_config)
    if not numbers or len(set(numbers)) < len(numbers):
        raise InvalidArgument(f"the devices are {numbers}; name one or more, each once")
    known = aacl.device_count()
    for number in numbers:
        if not 0 <= number < known:
            raise InvalidDevice(f"there is no device {number}; there are 0 to {known - 1}")
    if data <= 0 or data & ~Masks.KNOWN:
        raise InvalidArgument(f"{data:#x} asks for kinds of data that are not known; the bits are {Masks.KNOWN:#x}")
    return _configs.add(Wanted(frozenset(numbers), data))


@code_alone
def destroy_config(profiler_config: int, /) -> int:
    """Destroy what `create_config` made.

    Args:
        profiler_config: of `create_config`.

    Returns:
        0; 100000 if it is none, or in use between `start` and `stop`.

    Source: aclprofDestroyConfig.
    """
    _configs.get(profiler_config)
    if index(profiler_config) in control.sessions:
        raise InvalidArgument("the configuration is in use; call acl.prof.stop first")
    _configs.take(profiler_config)
    return 0


@code_alone
@refused("its settings are of counters and buses that a software device has not", PROF_MODULES_UNSUPPORTED)
def set_config(config_type: int, config_str: str, /) -> int:
    """Set how often hardware is sampled, or how much may be stored; refused, for a software device can do neither.

    Args:
        config_type: an ``aclprofConfigType``.
        config_str: the value.

    Returns:
        200007 for every kind that there is (1 to 12), 100000 for others; never 0.

    Source: aclprofSetConfig.
    """
    config_type = index(config_type)
    check_text(config_str, 2)
    if config_type not in _SAMPLINGS:
        raise InvalidArgument(f"{config_type} is no kind of setting; they go from 1 to {_SAMPLINGS[-1]}")
    return 0


@code_alone
def start(profiler_config: int, /) -> int:
    """Profile the models of devices, those that are loaded and those that will be, until `stop`.

    What is submitted from now on is recorded, in memory. Profiled runs of one model take turns.

    Args:
        profiler_config: of `create_config`.

    Returns:
        0; 100000 if it is no configuration; 100043 before `init`; 100042 if one of the devices is profiled already;
        148047 if the configuration of ``acl.init`` or a subscription profiles.

    Source: aclprofStart.
    """
    wanted = _configs.get(profiler_config)
    control.begin(index(profiler_config), wanted)
    return 0


@code_alone
def stop(profiler_config: int, /) -> int:
    """Stop what `start` began with this configuration, and write the files.

    ``<folder>/PROF_<number>_<time>_<process>/device_<n>`` has ``op_summary.csv`` with a line for each operator that
    ran, ``op_statistic.csv`` with sums, and ``trace.json`` for trace viewers; ``host`` beside it has the program's
    stamps and steps. Synchronise streams before: what is still queued is not recorded.

    Args:
        profiler_config: of `create_config`.

    Returns:
        0; 100000 if it is no configuration; 100043 if it was not started; 500005 if files cannot be written.

    Source: aclprofStop.
    """
    _configs.get(profiler_config)
    control.end(index(profiler_config))
    return 0


@code_alone
def finalize() -> int:
    """Stop everything that `start` began, and give the folder back.

    Returns:
        0; 100043 if `init` was not called; 500005 if files cannot be written.

    Source: aclprofFinalize.
    """
    control.close()
    return 0
