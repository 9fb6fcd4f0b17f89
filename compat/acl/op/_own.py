"""Operators whose kernels are the program's own: what it registered, and what its compile functions chose.

A compile function chooses once, in ``update_params``; the choice stands for one signature until the next such
call. Each choice has a number, by which the native operator finds it: a new choice is another signature there, so
that nothing of an old one runs again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import AlreadyRegistered, KernelNotFound, KernelRegistered, OperatorNotFound
from acl._state import at_finalize
from acl._status import Refused
from acl.op._compiled import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl.op._compiled import Signature

__all__ = (
    "SELECTOR_NOT_REGISTERED",
    "OwnOperator",
    "add_kernel",
    "add_operator",
    "own_operator",
    "remove_operator",
    "serving",
)

SELECTOR_NOT_REGISTERED = 100028
_NUMBER = "launch"
"""The attribute of the native operator: which choice."""
_CHOICES_MOST = 4096

_operators: dict[str, OwnOperator] = {}
_kernels: dict[str, dict[str, aacl.SharedKernel]] = {}
_numbers = count(1)


class OwnOperator:
    """An operator type with a compile function.

    Attributes:
        compile_function: the program's.
        native_type: what the native operator is called: no name that a program uses natively.
    """

    __slots__ = ("_launches", "_lock", "_numbers", "_registration", "compile_function", "native_type", "op_type")

    def __init__(self, op_type: str, compile_function: Callable[..., object]) -> None:
        self.op_type, self.compile_function = op_type, compile_function
        self.native_type = f"{op_type} (own kernel)"
        self._launches: dict[int, aacl.Launch] = {}
        self._numbers: dict[Signature, int] = {}
        self._lock = threading.Lock()  # of both: several threads may call `update_params` at once
        self._registration = aacl.register_operator(
            self.native_type, selector=self._select, kernels=_kernels.get(op_type, {})
        )

    def _select(self, _inputs: object, _outputs: object, attributes: Mapping[str, Any]) -> aacl.Launch:
        return self._launches[attributes[_NUMBER]]

    def add_kernel(self, name: str, kernel: aacl.SharedKernel) -> None:
        """Let the compile function choose a kernel."""
        self._registration.add_kernel(name, kernel)

    def choose(self, signature: Signature, launch: aacl.Launch) -> list[Signature]:
        """Keep what was chosen for a signature; return what does not serve any more, as `serving` signs it.

        Raises:
            KernelNotFound: there is no such kernel.
        """
        kernels = self._registration.kernels
        if launch.kernel not in kernels:
            raise KernelNotFound(
                f"the compile function of operator {self.op_type} chose kernel {launch.kernel!r}; there is "
                f"{', '.join(kernels) or 'none'}: acl.op.create_kernel makes one"
            )
        with self._lock:
            old = self._numbers.get(signature)
            if old is not None and self._launches[old] == launch:
                return []
            gone = [] if old is None else [self._drop(signature)]
            if len(self._numbers) >= _CHOICES_MOST:
                gone.append(self._drop(next(iter(self._numbers))))
            number = next(_numbers)
            # The launch first: who finds the number asks for it at once.
            self._launches[number], self._numbers[signature] = launch, number
            return gone

    def number(self, signature: Signature) -> int | None:
        """Return the number of what was chosen for a signature."""
        return self._numbers.get(signature)

    def close(self) -> list[Signature]:
        """End the registration; return what does not serve any more."""
        self._registration.close()
        with self._lock:
            return [self._drop(signature) for signature in [*self._numbers]]

    def sign(self, number: int) -> Signature:
        """Return what prepared requests that a choice serves are known by."""
        return self.native_type, number

    def _drop(self, signature: Signature) -> Signature:
        number = self._numbers.pop(signature)
        del self._launches[number]
        return self.sign(number)


def add_operator(op_type: str, compile_function: Callable[..., object]) -> None:
    """Register a compile function.

    Raises:
        AlreadyRegistered: the type has one.
    """
    if op_type in _operators:
        raise AlreadyRegistered(
            f"operator {op_type} has a compile function already; call acl.op.unregister_compile_func first"
        )
    _operators[op_type] = OwnOperator(op_type, compile_function)


def remove_operator(op_type: str) -> list[Signature]:
    """Forget a compile function, not the kernels; return what does not serve any more.

    Raises:
        Refused: the type has none.
    """
    own = own_operator(op_type)
    del _operators[op_type]
    return own.close()


def own_operator(op_type: str) -> OwnOperator:
    """Return an operator type that has a compile function.

    Raises:
        Refused: it has none.
    """
    own = _operators.get(op_type)
    if own is None:
        raise Refused(
            SELECTOR_NOT_REGISTERED,
            f"operator {op_type} has no compile function; call acl.op.register_compile_func first",
        )
    return own


def add_kernel(op_type: str, name: str, load: Callable[[], aacl.SharedKernel]) -> None:
    """Keep a kernel for an operator type, which may get its compile function later.

    Args:
        op_type: the type.
        name: the kernel's id.
        load: makes the kernel.

    Raises:
        KernelRegistered: the type has a kernel of that name.
        KernelLoadError: it cannot be loaded.
    """
    if name in _kernels.get(op_type, ()):
        raise KernelRegistered(f"operator {op_type} has a kernel {name!r} already; give this one another id")
    kernel = load()
    if op_type in _operators:
        _operators[op_type].add_kernel(name, kernel)
    _kernels.setdefault(op_type, {})[name] = kernel


def serving(
    op_type: str, inputs: Sequence[aacl.TensorDesc | None], outputs: Sequence[aacl.TensorDesc], given: Mapping[str, Any]
) -> tuple[str, dict[str, Any], Signature] | None:
    """Return what serves a request of a type with a compile function: native type, attributes, what it is known by.

    None if the type has no compile function.

    Raises:
        OperatorNotFound: the compile function was not asked about these descriptions and attributes.
    """
    own = _operators.get(op_type)
    if own is None:
        return None
    number = own.number(signature_of(op_type, inputs, outputs, given))
    if number is None:
        raise OperatorNotFound(
            f"the compile function of operator {op_type} has chosen no kernel for these descriptions and attributes; "
            "call acl.op.update_params with them first"
        )
    return own.native_type, {_NUMBER: number}, own.sign(number)


def _clear() -> None:
    for own in _operators.values():
        own.close()
    _operators.clear()
    _kernels.clear()


at_finalize(_clear)
