"""Operator models that were made while the program runs: bounded, the one unused longest goes first. Pure.

Those that serve one shape and those that serve many have a queue each, as the
page of ``acl.init`` says of ``max_opqueue_num``. What ``set_model_dir`` and
``load`` bring is kept elsewhere, and never dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import aacl

    Slot: TypeAlias = aacl.TensorDesc | None

__all__ = ("CompiledModels", "Signature", "signature_of")

Signature: TypeAlias = "tuple[Any, ...]"
"""What a compiled operator is looked up by: type, descriptions and attributes."""


def signature_of(
    op_type: str, inputs: Sequence[Slot], outputs: Sequence[Slot], attributes: Mapping[str, Any]
) -> Signature:
    """Return a request's signature: names and placement of tensors do not matter, the contents of constants do."""
    exact = tuple([(name, _exact(value)) for name, value in sorted(attributes.items())])
    return op_type, tuple(map(_essence, inputs)), tuple(map(_essence, outputs)), exact


def _exact(value: Any) -> Any:
    """Return something that is equal for the same value alone: 0.0 equals -0.0, and True equals 1."""
    if isinstance(value, (list, tuple)):
        return tuple([_exact(each) for each in value])
    return (float, value.hex()) if type(value) is float else (type(value), value)


def _essence(desc: Slot) -> Any:
    if desc is None or desc.dtype < 0:
        return None
    value = None if desc.value is None else desc.value.tobytes()
    return desc.dtype, desc.shape, desc.format, desc.ranges, value


class CompiledModels:
    """The models, those for one shape and those for many apart."""

    __slots__ = ("_fixed", "_free")

    def __init__(self) -> None:
        self._fixed: OrderedDict[Signature, aacl.models.OperatorModel] = OrderedDict()
        self._free: OrderedDict[Signature, aacl.models.OperatorModel] = OrderedDict()

    def __len__(self) -> int:
        return len(self._fixed) + len(self._free)

    def add(self, signature: Signature, model: aacl.models.OperatorModel, most: int) -> list[Signature]:
        """Keep a model; return the signatures of those that had to go."""
        queue = self._fixed if _serves_one_shape(model) else self._free
        queue[signature] = model
        queue.move_to_end(signature)
        return [queue.popitem(last=False)[0] for _ in range(len(queue) - most)]

    def use(self, signature: Signature) -> None:
        """Take notice that a model was used."""
        for queue in (self._fixed, self._free):
            with suppress(KeyError):  # it was dropped, perhaps by another thread right now
                queue.move_to_end(signature)

    def limit(self, most: int) -> list[Signature]:
        """Bound both queues anew; return the signatures of those that had to go."""
        return [queue.popitem(last=False)[0] for queue in (self._fixed, self._free) for _ in range(len(queue) - most)]

    def of_type(self, op_type: str) -> Iterator[tuple[Signature, aacl.models.OperatorModel]]:
        """Give the models of an operator type, those for one shape first."""
        for queue in (self._fixed, self._free):
            yield from [(signature, model) for signature, model in [*queue.items()] if model.op_type == op_type]

    def known(self, signature: Signature) -> aacl.models.OperatorModel | None:
        """Return the model that was made for exactly this request."""
        return self._fixed.get(signature) or self._free.get(signature)

    def clear(self) -> None:
        """Drop all."""
        self._fixed.clear()
        self._free.clear()


def _serves_one_shape(model: aacl.models.OperatorModel) -> bool:
    return all(desc is None or desc.is_static for desc in model.inputs)
