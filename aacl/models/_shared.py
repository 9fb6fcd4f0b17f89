"""Models that are loaded more than once: one engine for all of them, until the last one lets go.

Files are known again by what the system says of them, without being read;
bytes, and files that were written a moment ago, by their contents. Each device
shares for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from aacl.abc import ModelEngine
from aacl.errors import ClosedResource

if TYPE_CHECKING:
    import os

    from aacl.abc import Array, DeviceBackend
    from aacl.models._signature import ModelSignature

    Data = bytes | memoryview

__all__ = ("FileIdentity", "Loan", "Shares", "shares_of")

_CHUNK = 1 << 20  # bytes compared between two chances for other threads
_SETTLED = 2_000_000_000  # nanoseconds after which a file that is written again has another time, on any file system


class FileIdentity(NamedTuple):
    """What tells a file from another, and from itself before it was written again."""

    device: int
    number: int
    nbytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileIdentity:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_settled(self, now_ns: int) -> bool:
        """Whether the times would differ if the file were written from now on."""
        return max(self.modified_ns, self.changed_ns) + _SETTLED < now_ns


class _Shared:
    """One model on one device.

    Attributes:
        data: the bytes of its file.
        identity: of its file, if it is one that the system can be asked for.
        users: loans that were not closed; 0 once it is closed itself. Changed with the shares' lock held.
        made: what was made of the bytes; None while it is being made, and if that failed.
        lock: held while it is being made.
    """

    __slots__ = ("__weakref__", "data", "identity", "lock", "made", "users")

    def __init__(self, data: Data, identity: FileIdentity | None) -> None:
        self.data, self.identity = data, identity
        self.users = 1
        self.made: _Made | None = None
        self.lock = threading.Lock()


class _Made(NamedTuple):
    signature: ModelSignature
    engine: ModelEngine
    graph_nbytes: int


Make = Callable[["Data"], tuple["ModelSignature", ModelEngine, int]]


class Loan(ModelEngine):
    """The part of one user in a model that is shared.

    Attributes:
        signature: what the model takes and gives.
        graph_nbytes: bytes of the graph, weights included.
    """

    def __init__(self, shares: Shares, shared: _Shared, made: _Made) -> None:
        self._shares, self._engine = shares, made.engine
        # Popped by whoever closes; a closed model, which is still asked what it was, holds none.
        self._shared = [shared]
        self.signature, self.graph_nbytes = made.signature, made.graph_nbytes

    def shapes(self, inputs: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...] | None, ...]:
        return self._engine.shapes(inputs)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array | None]) -> Callable[[], Sequence[Array]]:
        if not self._shared:
            raise ClosedResource("the model is closed; load it again before binding arrays to it")
        return self._engine.bind(inputs, outputs)

    def on_hosts(self, inputs: Sequence[Array], *, beside: bool = False) -> Callable[[], Sequence[Array]] | None:
        return self._engine.on_hosts(inputs, beside=beside) if self._shared else None

    @property
    def overlaps(self) -> bool:
        return self._engine.overlaps

    def graph(self) -> memoryview:
        """Return the model's graph, a complete ONNX model, where it lies.

        Raises:
            ClosedResource: the model is closed.
        """
        from aacl.models._package import ModelPackage, read_package

        if not self._shared:
            raise ClosedResource("the model is closed; load it again before reading its graph")
        package = read_package(self._shared[0].data)
        assert isinstance(package, ModelPackage), "what was loaded is a model"
        return memoryview(package.graph[0])

    def close(self) -> None:
        """Let go of the model; it is closed when everybody has."""
        try:
            shared = self._shared.pop()
        except IndexError:
            return
        self._shares.release(shared)


class Shares:
    """The models that are loaded on one device."""

    __slots__ = ("_known", "_lock")

    def __init__(self) -> None:
        # Weak: a model that its users forgot to close goes with them.
        self._known: WeakSet[_Shared] = WeakSet()
        self._lock = threading.Lock()

    def of_file(self, identity: FileIdentity) -> Loan | None:
        """Return a loan of the model that was loaded from this very file, if there is one."""
        return self._joined(lambda shared: shared.identity == identity)

    def of_bytes(self, data: Data, identity: FileIdentity | None, make: Make) -> Loan:
        """Return a loan of the model that these bytes are, made now unless it is there.

        Args:
            data: the contents of an ``.om`` file.
            identity: of the file, if it is to be known again by that.
            make: load the bytes.

        Raises:
            AclError: what making it raises; nothing is left of it.
        """
        shared = _Shared(data, identity)
        with shared.lock:
            found = self._joined(lambda other: _same(other.data, data), otherwise=shared)
            if found is not None:
                return found
            try:
                made = shared.made = _Made(*make(data))
            except BaseException:
                with self._lock:
                    self._known.discard(shared)
                raise
        return Loan(self, shared, made)

    def release(self, shared: _Shared) -> None:
        """Take one user away; the last one closes the model."""
        with self._lock:
            shared.users -= 1
            is_last = not shared.users
            if is_last:
                self._known.discard(shared)
        if is_last and shared.made is not None:
            shared.made.engine.close()

    def _joined(self, matches: Callable[[_Shared], bool], otherwise: _Shared | None = None) -> Loan | None:
        """Become a user of a model that is there, or is being made; else let others know of the one given.

        Its lock is held: nobody who finds it goes on before it is made, and whoever holds one that nobody can find
        yet may wait for others'.
        """
        seen: set[_Shared] = set()
        while fresh := self._unseen(seen, otherwise):
            for shared in fresh:
                if not matches(shared):
                    continue
                with shared.lock:
                    made = shared.made
                with self._lock:
                    if made is None or not shared.users:
                        continue
                    shared.users += 1
                return Loan(self, shared, made)
            seen.update(fresh)
        return None

    def _unseen(self, seen: set[_Shared], otherwise: _Shared | None) -> list[_Shared]:
        """Return the models not seen yet; if there are none, add the one given, in the same moment."""
        with self._lock:
            fresh = [shared for shared in self._known if shared not in seen]
            if not fresh and otherwise is not None:
                self._known.add(otherwise)
            return fresh

    def __len__(self) -> int:
        return len(self._known)


_shares: WeakKeyDictionary[DeviceBackend, Shares] = WeakKeyDictionary()
_first = threading.Lock()


def shares_of(backend: DeviceBackend) -> Shares:
    """Return the models that are loaded on a device."""
    with _first:
        return _shares.setdefault(backend, Shares())


def _same(first: Data, second: Data) -> bool:
    """Whether contents are equal; other threads run in between."""
    if first is second or len(first) != len(second):
        return first is second
    left, right = memoryview(first), memoryview(second)
    # As bytes: memory views compare element by element, a hundred times as long.
    return all(
        bytes(left[start : start + _CHUNK]) == bytes(right[start : start + _CHUNK])
        for start in range(0, len(left), _CHUNK)
    )
