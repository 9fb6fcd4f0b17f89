"""Subscriptions: the operators of a model, sent through a pipe while it runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from operator import index
from time import monotonic
from typing import NamedTuple

import aacl
from aacl.errors import InvalidArgument
from acl._handles import Handles
from acl._state import at_finalize
from acl._status import (
    INVALID_PARAM,
    PROF_NOT_RUN,
    PROF_REPEAT_SUBSCRIBE,
    PROFILING_FAILURE,
    Refused,
    code_alone,
    plain,
)
from acl.mdl._models import Loaded, model_at
from acl.mdl._watchers import watchers
from acl.prof._backlog import Backlog
from acl.prof._configs import check_metrics
from acl.prof._control import control
from acl.prof._pipe import Pipe
from acl.prof._records import RECORD_NBYTES, packed

__all__ = ("create_subscribe_config", "destroy_subscribe_config", "model_subscribe", "model_un_subscribe")

_PAUSE = 0.1  # seconds between two looks
_SHARE = 5  # a look costs the next run a new session of the device: at most a fifth of the time goes there
_MOST_WAITING = 65536  # records that wait for a reader who is slower than the model: 24 MB
_SLICE = 1024  # records that are sent between two looks at whether more came, or all is over
_PATIENCE = 10.0  # seconds that the end of a subscription waits for a reader who takes nothing


class SubscribeConfig(NamedTuple):
    """What a subscription sends, and where to."""

    has_times: bool
    fd: int


class _Subscription:
    """One model, and the thread that sends what it ran."""

    def __init__(self, model_id: int, loaded: Loaded, pipe: Pipe) -> None:
        began = monotonic()
        self._profile = aacl.models.Profile(loaded.model).start()
        self._pause = max(_PAUSE, _SHARE * (monotonic() - began))
        self._model_id, self._pipe = model_id, pipe
        self._over = threading.Event()
        self._failure = ""
        self._thread = threading.Thread(target=self._work, name=f"acl-prof-{model_id}", daemon=True)
        try:
            self._thread.start()
        except BaseException:  # no thread is left: nobody would take what is recorded
            self._profile.stop()
            raise

    def end(self) -> str:
        """Send what is left, and return what went wrong, if anything did."""
        self._profile.stop()
        self._over.set()
        self._thread.join()
        self._pipe.close()
        return self._failure

    def _work(self) -> None:
        waiting = Backlog(RECORD_NBYTES, _MOST_WAITING)
        try:
            self._send_meanwhile(waiting)
            waiting.add(self._taken())
            while waiting and (sent := self._pipe.send(memoryview(waiting.head(_SLICE)), RECORD_NBYTES, _PATIENCE)):
                waiting.sent(sent)
        except OSError as error:
            self._failure = f"records cannot be written to the pipe: {error}"
            self._discard()
            return
        if waiting:
            self._failure = f"the pipe's reader took nothing for {_PATIENCE} s; "
        if waiting or waiting.dropped:
            self._failure += f"{len(waiting) + waiting.dropped} records were dropped for a reader that is too slow"

    def _send_meanwhile(self, waiting: Backlog) -> None:
        """Send what is recorded until the end of the subscription."""
        look = 0.0
        while not self._over.wait(0 if waiting else self._pause):
            if monotonic() >= look:  # also while a slow reader takes one slice after the other
                waiting.add(self._taken())
                look = monotonic() + self._pause
            waiting.sent(self._pipe.send(memoryview(waiting.head(_SLICE)), RECORD_NBYTES, _PAUSE))

    def _discard(self) -> None:
        """Let no records gather that nobody will get."""
        while not self._over.wait(self._pause):
            self._profile.take()

    def _taken(self) -> bytes:
        return b"".join([packed(self._model_id, node) for node in self._profile.take()])


class _Subscriptions:
    """Those of this process, by the model's id; None for one that sends nothing."""

    def __init__(self) -> None:
        self._active: dict[int, _Subscription | None] = {}

    def begin(self, model_id: int, config: SubscribeConfig) -> None:
        """Subscribe; raises `Refused` for a model that is subscribed to (148046), or profiled otherwise (148047)."""
        loaded = model_at(model_id)
        with control.lock:
            control.check_free()
            if model_id in self._active:
                raise Refused(PROF_REPEAT_SUBSCRIBE, f"model {model_id} is subscribed to; unsubscribe first")
            pipe = Pipe(config.fd)
            try:
                self._active[model_id] = _Subscription(model_id, loaded, pipe) if config.has_times else None
            except BaseException:
                pipe.close()
                raise
            if not config.has_times:
                pipe.close()
            control.subscribed = True

    def end(self, model_id: int) -> str:
        """Unsubscribe, and return what went wrong; raises `Refused` if nothing was subscribed to (100043)."""
        with control.lock:
            if model_id not in self._active:
                raise Refused(PROF_NOT_RUN, f"model {model_id} is not subscribed to, or was unsubscribed before")
            subscription = self._active.pop(model_id)
            control.subscribed = bool(self._active)
        return "" if subscription is None else subscription.end()

    def loaded(self, model_id: int, loaded: Loaded) -> None:
        """Nothing: models are subscribed to one by one."""

    def unloading(self, model_id: int) -> None:
        """End the subscription of a model that ends."""
        with suppress(Refused):  # nothing was subscribed to, or another thread ends it
            self.end(model_id)

    def clear(self) -> None:
        """End all."""
        for model_id in [*self._active]:
            self.unloading(model_id)


_configs: Handles[SubscribeConfig] = Handles("subscription config", INVALID_PARAM)
_subscriptions = _Subscriptions()
watchers.append(_subscriptions)
at_finalize(_subscriptions.clear)


@plain(0)
def create_subscribe_config(time_info_switch: int, aicore_metrics: int, fd: int, /) -> int:
    """Return the handle of what a subscription sends.

    Args:
        time_info_switch: 1 for the times of operators; with 0 nothing is sent, as no device counts anything else here.
        aicore_metrics: which counters of a core; no software device has any.
        fd: the pipe's end for writing.

    Returns:
        The handle; 0 for another switch or metrics, or a negative file descriptor.

    Source: aclprofCreateSubscribeConfig.
    """
    switch, fd = index(time_info_switch), index(fd)
    check_metrics(aicore_metrics)
    if switch not in (0, 1):
        raise InvalidArgument(f"the switch for times is 0 or 1, not {switch}")
    if fd < 0:
        raise InvalidArgument(f"{fd} is no file descriptor; give the end of a pipe that is written to")
    return _configs.add(SubscribeConfig(switch == 1, fd))


@code_alone
def destroy_subscribe_config(subscribe_config: int, /) -> int:
    """Destroy what `create_subscribe_config` made; subscriptions go on.

    Args:
        subscribe_config: of `create_subscribe_config`.

    Returns:
        0; 100000 if it is none.

    Source: aclprofDestroySubscribeConfig.
    """
    _configs.take(subscribe_config)
    return 0


@code_alone
def model_subscribe(model_id: int, subscribe_config: int, /) -> int:
    """Send a record of each operator of the runs submitted from now on, soon after they ran.

    A thread of the program reads whole records from the pipe; see `get_op_desc_size`. Runs of the model take turns.

    Args:
        model_id: the model.
        subscribe_config: of `create_subscribe_config`.

    Returns:
        0; 145003 if there is no such model; 107004 if it was loaded in another context; 100000 if it is no
        configuration, or its file descriptor cannot be written; 148046 if the model is subscribed to; 148047 if `init`
        was called, or the configuration of ``acl.init`` profiles.

    Source: aclprofModelSubscribe.
    """
    config = _configs.get(subscribe_config)
    _subscriptions.begin(index(model_id), config)
    return 0


@code_alone
def model_un_subscribe(model_id: int, /) -> int:
    """Send what is left, and nothing more. Synchronise before: queued runs are not recorded.

    Args:
        model_id: the model.

    Returns:
        0; 100043 if the model is not subscribed to; 500005 if records could not be sent: the pipe is broken, nobody
        read from it for ten seconds, or the reader was slower than the model, and the oldest of more than 65536 records
        that waited were dropped.

    Source: aclprofModelUnSubscribe.
    """
    failure = _subscriptions.end(index(model_id))
    if failure:
        raise Refused(PROFILING_FAILURE, failure)
    return 0
