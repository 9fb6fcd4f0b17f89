"""Runs whose results have a shape that only the run tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.ops._operand import Operand
    from aacl.ops._plan import Plan
    from aacl.tensors._tensor import Tensor

__all__ = ("run_exactly", "run_late")


def run_exactly(body: Callable[..., Any], results: tuple[Tensor, ...], *arrays: Any) -> None:
    """Run a kernel on outputs that are as large as they may get, and tell each result its shape."""
    for tensor, shape in zip(results, body(*arrays), strict=True):
        tensor.settle(shape)


def run_late(
    plan_of: Callable[[tuple[Any, ...]], Plan], inputs: Sequence[Operand], results: tuple[Tensor, ...]
) -> None:
    """Run an operator whose inputs had no exact shape when it was submitted: they have one now.

    The kernel works on views of the outputs' memory, which is large enough for the largest inputs.
    """
    for each in inputs:
        if each is not None:
            each.check_settled()
    plan = plan_of(tuple([None if each is None else each.desc for each in inputs]))
    if plan.updates:  # nobody was told that their contents change
        raise InvalidArgument(
            "an operator that updates inputs takes inputs of exact shapes; await the commands that make them first"
        )
    arrays = [None if each is None else each._array for each in inputs]
    targets = [
        tensor._space.backend.view(tensor.address, desc.shape, desc.dtype.numpy_dtype)
        for tensor, desc in zip(results, plan.outputs, strict=True)
    ]
    shapes: Any = plan.body(*arrays, *targets)
    if plan.bounds is None:
        shapes = [desc.shape for desc in plan.outputs]
    for tensor, shape in zip(results, shapes, strict=True):
        tensor.settle(shape)
