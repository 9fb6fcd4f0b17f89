"""Plans: what is the same for all operations with equal descriptions and attributes, found out once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aacl.abc import KernelRequest
from aacl.errors import InvalidArgument, NotSupported
from aacl.ops._catalogue import schema_of
from aacl.streams._budget import Cost
from aacl.tensors._tensor import Maker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aacl.abc import Kernel
    from aacl.memory._space import DeviceMemory
    from aacl.ops._schema import OperatorSchema
    from aacl.tensors._desc import TensorDesc

__all__ = ("Plan", "infer", "prepare")


class Plan:
    """An operator with its kernel chosen and its outputs known.

    Attributes:
        body: the kernel, called with the inputs' and then the outputs' arrays.
        in_place: whether it takes outputs that lie where inputs do.
        outputs: descriptions of the outputs, all dims known.
        makers: make new output tensors.
        only_maker: of the one output, where there is only one.
        cost: what a run costs, learnt from the runs.
    """

    __slots__ = ("body", "cost", "in_place", "makers", "only_maker", "outputs")

    def __init__(self, memory: DeviceMemory, kernel: Kernel, outputs: tuple[TensorDesc, ...]) -> None:
        self.body: Callable[..., object] = kernel.body
        self.in_place, self.outputs = kernel.in_place, outputs
        self.cost = Cost.of(kernel.nbytes, kernel.operations)
        self.makers = tuple([Maker(memory, desc) for desc in outputs])
        self.only_maker = self.makers[0] if len(outputs) == 1 else None


def prepare(
    memory: DeviceMemory, op_type: str, inputs: tuple[TensorDesc | None, ...], given: Mapping[str, object]
) -> Plan:
    """Check an operator's inputs and attributes, work out its outputs and choose a kernel.

    Raises:
        OperatorNotFound: no such operator, or none that this device runs.
        UnsupportedDataType: an input has a data type that the operator does not take.
        InvalidArgument: inputs or attributes do not fit the operator, or each other.
        NotSupported: the shape of an output depends on values that are not known before the run.
    """
    schema = schema_of(op_type)
    attributes = schema.complete(given, len(inputs))
    outputs = describe(schema, inputs, attributes)
    kernel = memory.backend.kernel(KernelRequest(op_type, inputs, outputs, attributes))
    return Plan(memory, kernel, outputs)


def infer(op_type: str, inputs: Sequence[TensorDesc | None], given: Mapping[str, object]) -> tuple[TensorDesc, ...]:
    """Return what is known of an operator's outputs from descriptions alone.

    Args:
        op_type: the operator's name in the catalogue.
        inputs: in the schema's order, None where an optional input is absent; free dims (-1) and
            unknown ranks are allowed.
        given: attributes by name.

    Returns:
        The outputs' descriptions: -1 for a dim that follows from nothing known, with a range where
        something is known of it, shape ``(-2,)`` for an unknown rank.

    Raises:
        OperatorNotFound: there is no such operator.
        InvalidArgument, UnsupportedDataType: inputs or attributes do not fit.
    """
    from aacl.ops._infer import infer_outputs  # many rules, read with the first operation

    schema = schema_of(op_type)
    return infer_outputs(schema, inputs, schema.complete(given, len(inputs)))


def describe(
    schema: OperatorSchema, inputs: tuple[TensorDesc | None, ...], attributes: Mapping[str, Any]
) -> tuple[TensorDesc, ...]:
    """Return the descriptions of an operator's outputs, every dim known."""
    from aacl.ops._infer import infer_outputs

    outputs = infer_outputs(schema, inputs, attributes)
    for index, output in enumerate(outputs):
        if not output.is_static:
            _explain_unknown(schema, index, output, inputs)
    return outputs


def _explain_unknown(
    schema: OperatorSchema, index: int, output: TensorDesc, inputs: tuple[TensorDesc | None, ...]
) -> None:
    values = [
        place.name
        for place, desc in zip(schema.assign(len(inputs)), inputs, strict=True)
        if desc is not None and desc.value is None and desc.dtype.name in ("INT32", "INT64") and len(desc.shape) <= 1
    ]
    if values:
        raise InvalidArgument(
            f"operator {schema.op_type}: the shape of output {index} depends on the values of {', '.join(values)}; "
            "pass them as host values (numbers, a list, an array) instead of a device tensor"
        )
    raise NotSupported(
        f"operator {schema.op_type}: the shape of output {index} ({list(output.shape)}) depends on the contents "
        "of its inputs, which this runtime cannot run yet; compute it on the host with stream.call"
    )
