"""Streams, what is submitted to them, and what submitting gives."""

from aacl.streams._completion import Completion as Completion
from aacl.streams._event import Event as Event
from aacl.streams._hosts import Executor as Executor
from aacl.streams._stream import Stream as Stream
from aacl.streams._stream import StreamStatistics as StreamStatistics
from aacl.streams._work import Work as Work

__all__ = ("Completion", "Event", "Executor", "Stream", "StreamStatistics", "Work")
