"""What an operator type takes: inputs, outputs and attributes, and the checks that follow from them.

The source is the operators' prototype headers (``REG_OP``), restated in the
catalogue's table; the names of groups of data types are those headers' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._attribute import Attribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aacl.abc import TensorInfo

__all__ = ("Attribute", "OperatorSchema", "Parameter")


@attrs.frozen
class Parameter:
    """An input or output of an operator type.

    Attributes:
        name: the header's name of it, such as ``x1``.
        is_optional: whether it may be absent.
        is_dynamic: whether it stands for one or more tensors.
        dtypes: the data types it takes; those that no tensor description can have are left out.
    """

    name: str
    is_optional: bool
    is_dynamic: bool
    dtypes: frozenset[DataType]


@attrs.frozen
class OperatorSchema:
    """The prototype of an operator type.

    Attributes:
        op_type: its name, such as ``"Add"``.
        inputs: in the header's order.
        outputs: in the header's order.
        attributes: optional ones first, then required ones, each in the header's order.
    """

    op_type: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: tuple[Attribute, ...]

    def complete(self, given: Mapping[str, object], count: int | None = None) -> dict[str, Any]:
        """Return every attribute's value: the given ones checked and converted, defaults for the others.

        Lists come back as tuples, ``Type`` attributes as `DataType`.

        Args:
            given: attributes by name.
            count: inputs in the flat list, where known: it tells ``N``, the number of tensors of a
                dynamic input, when that is not given.

        Raises:
            InvalidArgument: an attribute is unknown, has the wrong kind of value, or is required and missing.
        """
        known = {attribute.name: attribute for attribute in self.attributes}
        if count is not None and "N" in known and "N" not in given:
            given = {**given, "N": sum(parameter.is_dynamic for parameter in self.assign(count))}
        for name in given:
            if name not in known:
                raise InvalidArgument(self._unknown_attribute(name, tuple(known)))
        return {
            name: attribute.convert(self.op_type, given[name]) if name in given else self._default(attribute)
            for name, attribute in known.items()
        }

    def assign(
        self, count: int, *, lengths: Mapping[str, int] | None = None, omit_optional: bool = True
    ) -> tuple[Parameter, ...]:
        """Return the parameter of each position of a flat list of inputs.

        A dynamic input takes what the others leave. Several dynamic inputs share it equally,
        unless ``lengths`` says otherwise.

        Args:
            count: inputs in the flat list.
            lengths: how many tensors a dynamic input has, by name.
            omit_optional: whether optional inputs at the end may be left out of the list.

        Raises:
            InvalidArgument: too many inputs, too few, or a number that dynamic inputs cannot share.
        """
        dynamic = [parameter for parameter in self.inputs if parameter.is_dynamic]
        if not dynamic:
            return self._assign_fixed(count, omit_optional)
        sizes = self._dynamic_sizes(count, dynamic, lengths or {})
        return tuple(parameter for parameter in self.inputs for _ in range(sizes.get(parameter.name, 1)))

    def check_inputs(self, inputs: Sequence[TensorInfo | None], lengths: Mapping[str, int] | None = None) -> None:
        """Check number, presence and data types of a flat list of inputs.

        None, or a data type ``UNDEFINED``, marks an absent optional input.

        Raises:
            InvalidArgument: the number does not fit, or a required input is absent.
            UnsupportedDataType: an input has a data type that the operator does not take.
        """
        for position, (parameter, info) in enumerate(
            zip(self.assign(len(inputs), lengths=lengths), inputs, strict=True)
        ):
            if info is None or info.dtype is DataType.UNDEFINED:
                if not parameter.is_optional:
                    raise InvalidArgument(
                        f"operator {self.op_type}: input {position}, {parameter.name}, is absent and not optional; "
                        f"inputs are {self.signature}"
                    )
            elif info.dtype not in parameter.dtypes:
                raise UnsupportedDataType(self._wrong_dtype("input", parameter, info.dtype))

    def check_outputs(self, outputs: Sequence[TensorInfo]) -> None:
        """Check the data types of a flat list of outputs; more than the schema names belong to a dynamic output.

        Raises:
            InvalidArgument: fewer outputs than the schema names, or more without a dynamic one.
            UnsupportedDataType: an output has a data type that the operator does not give.
        """
        fixed = [parameter for parameter in self.outputs if not parameter.is_dynamic]
        spare = len(outputs) - len(fixed)
        if spare < 0 or (spare > 0 and len(fixed) == len(self.outputs)):
            raise InvalidArgument(
                f"operator {self.op_type} was given {len(outputs)} outputs; "
                f"it has {', '.join(parameter.name for parameter in self.outputs)}"
            )
        if len(self.outputs) - len(fixed) > 1:  # which tensor belongs to which dynamic output is not known here
            return
        flat = [p for p in self.outputs for _ in range(spare if p.is_dynamic else 1)]
        for parameter, info in zip(flat, outputs, strict=True):
            if info.dtype not in parameter.dtypes:
                raise UnsupportedDataType(self._wrong_dtype("output", parameter, info.dtype))

    @property
    def signature(self) -> str:
        """The inputs as text: ``x1, x2, bias?``; ``?`` optional, ``*`` dynamic."""
        marks = {(False, False): "", (True, False): "?", (False, True): "*", (True, True): "*?"}
        return ", ".join(p.name + marks[p.is_optional, p.is_dynamic] for p in self.inputs) or "none"

    def _assign_fixed(self, count: int, omit_optional: bool) -> tuple[Parameter, ...]:
        least = len(self.inputs)
        while omit_optional and least and self.inputs[least - 1].is_optional:
            least -= 1
        if not least <= count <= len(self.inputs):
            raise InvalidArgument(self._wrong_count(count))
        return self.inputs[:count]

    def _dynamic_sizes(self, count: int, dynamic: Sequence[Parameter], lengths: Mapping[str, int]) -> dict[str, int]:
        sizes = {p.name: lengths[p.name] for p in dynamic if p.name in lengths}
        open_ = [parameter for parameter in dynamic if parameter.name not in sizes]
        spare = count - (len(self.inputs) - len(dynamic)) - sum(sizes.values())
        if spare < len(open_) or (spare and not open_):
            raise InvalidArgument(self._wrong_count(count))
        if open_ and spare % len(open_):
            names = ", ".join(parameter.name for parameter in open_)
            raise InvalidArgument(
                f"operator {self.op_type}: {spare} tensors cannot be shared equally by the dynamic inputs {names}; "
                f"say how many each has"
            )
        return sizes | {parameter.name: spare // len(open_) for parameter in open_}

    def _default(self, attribute: Attribute) -> object:
        if attribute.is_required:
            raise InvalidArgument(
                f"operator {self.op_type} needs attribute {attribute.name} ({attribute.kind}), which was not given"
            )
        return attribute.default

    def _unknown_attribute(self, name: str, known: tuple[str, ...]) -> str:
        import difflib  # only for this text

        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        return (
            f"operator {self.op_type} has no attribute {name!r}; {hint}it has {', '.join(known) or 'none'}, "
            f"and the inputs {', '.join(parameter.name for parameter in self.inputs) or 'none'}"
        )

    def _wrong_count(self, count: int) -> str:
        legend = [text for mark, text in (("?", "? may be absent"), ("*", "* stands for one or more"))
                  if mark in self.signature]  # fmt: skip
        what = "1 input" if count == 1 else f"{count} inputs"
        text = f"operator {self.op_type} was given {what}; it takes {self.signature}"
        return f"{text} ({', '.join(legend)})" if legend else text

    def _wrong_dtype(self, what: str, parameter: Parameter, dtype: DataType) -> str:
        allowed = ", ".join(known.name for known in sorted(parameter.dtypes))
        return (
            f"operator {self.op_type}: {what} {parameter.name} has data type {dtype.name}; "
            f"it takes {allowed or 'no type that a tensor description can have'}"
        )
