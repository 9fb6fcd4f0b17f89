"""Operator types of a program's own: a selector, kernels, and what they make of a signature."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, final

from aacl._runtime import checks_kernels
from aacl.errors import AlreadyRegistered, ClosedResource, InvalidArgument, KernelNotFound, KernelRegistered
from aacl.memory._space import PLANS_KEPT, spaces
from aacl.ops._attribute import attribute_key
from aacl.ops._callbacks import discarded, function_of, name_of, noted, words
from aacl.ops._launch import Launch
from aacl.ops._launcher import Launcher, PythonKernel
from aacl.ops._registry import in_force
from aacl.ops._shared_object import SharedKernel, Takes
from aacl.tensors._desc import TensorDesc

if TYPE_CHECKING:
    from aacl.memory._space import DeviceMemory

__all__ = ("Registration", "register_operator")

Slots: TypeAlias = "tuple[TensorDesc | None, ...]"
Descs: TypeAlias = "tuple[TensorDesc, ...]"
OwnKernel: TypeAlias = "SharedKernel | PythonKernel"
Selector: TypeAlias = "Callable[[Slots, Descs, Mapping[str, Any]], Launch]"
Infer: TypeAlias = "Callable[[Slots, Mapping[str, Any]], Sequence[TensorDesc]]"

_TAKEN = ("inputs", "outputs", "workspaces", "bytes of tiling")


@final
class Registration:
    """An operator type of the program's own, in force until it is closed. Made by `register_operator`.

    Attributes:
        op_type: the operator's name.
    """

    __slots__ = ("_infer", "_kernels", "_launches", "_lock", "_selector", "_turns", "op_type")

    def __init__(
        self, op_type: str, selector: Selector, kernels: Mapping[str, OwnKernel], infer: Infer | None = None
    ) -> None:
        """Hold what was given; call `register_operator` instead."""
        self.op_type = name_of("an operator type", op_type)
        self._selector = function_of(f"the selector of operator {op_type}", selector, "inputs, outputs, attributes")
        rule = f"the rule of operator {op_type}"
        self._infer = None if infer is None else function_of(rule, infer, "inputs, attributes")
        if not isinstance(kernels, Mapping):
            raise InvalidArgument(f"operator {op_type}: kernels are a dict by name, not {kernels!r}")
        self._kernels = {name_of("a kernel", name): self._checked(name, each) for name, each in kernels.items()}
        self._launches: dict[Hashable, Launch] = {}
        self._turns: dict[Hashable, threading.RLock] = {}
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether the type is no longer registered."""
        return in_force.get(self.op_type) is not self

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels, sorted."""
        return tuple(sorted(self._kernels))

    def add_kernel(self, name: str, kernel: OwnKernel) -> None:
        """Add a kernel that the selector may choose from now on.

        Args:
            name: for the selector's launches.
            kernel: as for `register_operator`.

        Raises:
            KernelRegistered: the operator has one of that name.
            InvalidArgument: it is no kernel.
            ClosedResource: the registration was closed.
        """
        if self.closed:
            raise ClosedResource(f"cannot add a kernel to {self!r}; register the operator again")
        added = self._checked(name_of("a kernel", name), kernel)
        with self._lock:
            if name in self._kernels:
                raise KernelRegistered(f"operator {self.op_type} has a kernel {name!r} already; choose another name")
            self._kernels[name] = added

    def close(self) -> None:
        """End the registration; what was submitted before runs, and what is executed later finds no such operator.

        Harmless when repeated.
        """
        with _lock:
            if self.closed:
                return
            del in_force[self.op_type]
        _drop_plans(self.op_type)

    def choose(self, inputs: Slots, outputs: Descs, attributes: Mapping[str, Any]) -> Launch:
        """Return the launch for a signature, asking the selector the first time.

        Args:
            inputs: descriptions, None where an input is absent.
            outputs: descriptions.
            attributes: by name.

        Raises:
            InvalidArgument: the selector returned no `Launch`.
            KernelNotFound: its launch names a kernel that there is not.
            Exception: whatever the selector raised, with a note.
        """
        key = (inputs, outputs, attribute_key(attributes))
        launch = self._launches.get(key)
        if launch is not None:
            return launch
        # A signature that two threads ask for is chosen for once. Others do not wait: a selector may execute
        # operators, whose selectors may execute this one.
        turn = self._turns.setdefault(key, threading.RLock())
        try:
            with turn:
                launch = self._launches.get(key)
                return launch or self._keep(key, self._select(inputs, outputs, attributes))
        finally:
            self._turns.pop(key, None)

    def infer(self, inputs: Sequence[TensorDesc | None], attributes: Mapping[str, Any]) -> Descs | None:
        """Return what the program's rule says of the outputs; None if there is no rule.

        Raises:
            InvalidArgument: it returned something else than descriptions.
            Exception: whatever it raised, with a note.
        """
        if self._infer is None:
            return None
        what = f"the rule of operator {self.op_type}"
        with noted(f"raised by {what} for inputs {words(inputs)}"):
            found = self._infer(tuple(inputs), MappingProxyType(dict(attributes)))
        if not isinstance(found, (list, tuple)) or not all(isinstance(each, TensorDesc) for each in found):
            raise InvalidArgument(f"{what} returned {discarded(found)}; it returns a list of TensorDescs")
        return tuple([TensorDesc.of(each.dtype, each.shape, each.format, ranges=each.ranges) for each in found])

    def outputs(self, inputs: Slots, attributes: Mapping[str, Any], out: Descs | None) -> Descs:
        """Return the outputs' descriptions, every dim known.

        Raises:
            InvalidArgument: the exact shape of an input or output is not known, or there is neither a rule nor ``out``.
        """
        for place, desc in enumerate(inputs):
            if desc is not None and not desc.is_static:
                raise InvalidArgument(
                    f"operator {self.op_type}: the exact shape of input {place} is known only when the command that "
                    "makes it is over; await it first"
                )
        found = self.infer(inputs, attributes)
        if found is None and out is None:
            raise InvalidArgument(
                f"operator {self.op_type} was registered without infer=, so nothing tells its outputs; pass out="
            )
        known: Descs = out if found is None and out is not None else found or ()
        for place, desc in enumerate(known):
            if not desc.is_static:
                raise InvalidArgument(
                    f"the rule of operator {self.op_type} leaves dims of output {place} open: {list(desc.shape)}"
                )
        return known

    def launcher(self, memory: DeviceMemory, inputs: Slots, outputs: Descs, attributes: Mapping[str, Any]) -> Launcher:
        """Return the run of what the selector chooses.

        Raises:
            InvalidArgument: a workspace is larger than the device's memory, or the kernel says that it takes more than
                there is; as `choose` besides.
        """
        launch = self.choose(inputs, outputs, attributes)
        for index, nbytes in enumerate(launch.workspaces):
            if nbytes > memory.total:
                raise InvalidArgument(
                    f"operator {self.op_type}: workspace {index} of kernel {launch.kernel!r} takes {nbytes} bytes; "
                    f"device {memory.index} has {memory.total} (AACL_DEVICE_MEMORY)"
                )
        kernel = self._kernels[launch.kernel]
        if isinstance(kernel, SharedKernel) and kernel.takes is not None:
            self._check_takes(launch, kernel.takes, (len(inputs), len(outputs)))
        return Launcher(self.op_type, launch, kernel, memory, len(inputs), checks_kernels())

    def _check_takes(self, launch: Launch, takes: Takes, tensors: tuple[int, int]) -> None:
        found = Takes(*tensors, len(launch.workspaces), len(launch.tiling))
        for what, least, number in zip(_TAKEN, takes, found, strict=True):
            if number < least:
                raise InvalidArgument(
                    f"kernel {launch.kernel!r} of operator {self.op_type} takes {least} {what}; there are {number}"
                )

    def _keep(self, key: Hashable, launch: Launch) -> Launch:
        with self._lock:
            if len(self._launches) >= PLANS_KEPT:
                self._launches.clear()
            self._launches[key] = launch
        return launch

    def _select(self, inputs: Slots, outputs: Descs, attributes: Mapping[str, Any]) -> Launch:
        with noted(f"raised by the selector of operator {self.op_type} for inputs {words(inputs)}"):
            launch: object = self._selector(inputs, outputs, MappingProxyType(dict(attributes)))
        if not isinstance(launch, Launch):
            raise InvalidArgument(
                f"the selector of operator {self.op_type} returned {discarded(launch)}; it returns an aacl.Launch"
            )
        if launch.kernel not in self._kernels:
            there = ", ".join(self.kernels) or "none"
            raise KernelNotFound(
                f"the selector of operator {self.op_type} chose kernel {launch.kernel!r}, which is not registered; "
                f"there is {there}"
            )
        return launch

    def _checked(self, name: str, kernel: Any) -> OwnKernel:
        if isinstance(kernel, SharedKernel):
            return kernel
        what = f"kernel {name!r} of operator {self.op_type}"
        checked: PythonKernel = function_of(what, kernel, "block, inputs, outputs, workspaces, tiling")
        return checked

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed " if self.closed else ""
        return f"<{state}Registration of {self.op_type} with kernels {', '.join(self.kernels) or 'none'}>"


_lock = threading.RLock()


def register_operator(
    op_type: str, *, selector: Selector, kernels: Mapping[str, OwnKernel], infer: Infer | None = None
) -> Registration:
    """Register an operator type of the program's own; it runs on every device of this process.

    While it is in force it also stands before an operator of the catalogue that has the same name.

    Args:
        op_type: the operator's name, for `Operation`.
        selector: ``selector(inputs, outputs, attributes)`` returns the `Launch` for a signature: it is called once
            for each, with tuples of `TensorDesc` (None for an absent input) and the attributes by name, as they
            were given to the operation. Sequences among these are tuples.
        kernels: by name: a `SharedKernel`, or a function ``kernel(block, inputs, outputs, workspaces, tiling)`` that is
            called once a block, on the device's threads, with a `Block`, tuples of NumPy arrays on the device's memory
            (inputs read-only, None where absent; workspaces as bytes), and the launch's tiling bytes. Blocks may wait for
            each other only where there are no more of them than the device has cores, and never for a stream's work.
        infer: ``infer(inputs, attributes)`` returns a list with the description of each output. Without it
            operations need ``out=``.

    Returns:
        The registration, to be closed or used in a ``with`` block.

    Raises:
        AlreadyRegistered: the type is registered.
        InvalidArgument: a name is no name, or a function no function that can be called so.
    """
    registration = Registration(op_type, selector, kernels, infer)
    with _lock:
        if op_type in in_force:
            raise AlreadyRegistered(f"operator {op_type} is registered already: {in_force[op_type]!r}; close it first")
        in_force[op_type] = registration
    _drop_plans(op_type)
    return registration


def _drop_plans(op_type: str) -> None:
    """Let operations that were prepared with another meaning of a type be prepared again."""
    for space in [*spaces]:
        space.drop_plans(partial(_is_of, op_type))


def _is_of(op_type: str, key: Hashable) -> bool:
    return isinstance(key, tuple) and key[:1] == (op_type,)


def _after_fork() -> None:
    """Another thread of the parent may have held a lock."""
    global _lock
    _lock = threading.RLock()
    for registration in in_force.values():
        registration._lock = threading.Lock()
        registration._turns.clear()


os.register_at_fork(after_in_child=_after_fork)
