"""Runs of a model on datasets, prepared once and kept by the memory that they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import ClosedResource, InvalidArgument, ModelInputMismatch, ModelOutputMismatch
from acl import _blocks
from acl._log import warn_program
from acl._status import GEAR_INVALID, Refused
from acl.mdl._datasets import put_desc, spans_of
from acl.mdl._hidden import hidden_inputs
from acl.mdl._pictures import aipp_at, as_described, buffer_shape
from acl.mdl._results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl._contexts import Context
    from acl.mdl._datasets import Dataset

__all__ = ("Runs",)

Spans = tuple[tuple[int, int], ...]
Shapes = tuple[tuple[int, ...], ...]
_MOST = 256


class Form:
    """A model at the input shapes of a run.

    Attributes:
        inputs: a description each.
        outputs: a description each, with free dims where only the run tells.
        is_exact: whether every output's shape is known.
    """

    __slots__ = ("inputs", "is_exact", "outputs")

    def __init__(self, inputs: Sequence[aacl.TensorDesc], outputs: Sequence[aacl.TensorDesc]) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.is_exact = all(desc.is_static for desc in outputs)


Key = tuple[Form, Spans, Spans]


class Runs:
    """The prepared runs of one model."""

    __slots__ = (
        "_context",
        "_forms",
        "_hidden",
        "_is_ranged",
        "_model",
        "_only",
        "_runs",
        "_signature",
        "_told_of_gears",
    )

    def __init__(self, model: aacl.Model, context: Context) -> None:
        self._model, self._context, self._signature = model, context, model.signature
        self._hidden = hidden_inputs(self._signature)
        self._is_ranged = self._signature.gears is None and not as_described(self._signature).is_static
        self._told_of_gears = self._signature.gears is None  # or a run without a gear was warned of
        self._forms: dict[Shapes, Form] = {}
        self._runs: dict[Key, aacl.Work[Any]] = {}
        self._only = self._form(tuple([spec.shape for spec in model.inputs])) if self._signature.is_static else None

    def submit(
        self, stream: aacl.Stream, given: Dataset, wanted: Dataset, gear: int | None
    ) -> tuple[aacl.Completion[Any], Results | None]:
        """Submit a run, prepared before or now.

        Args:
            stream: where.
            given: the inputs.
            wanted: the outputs.
            gear: the position of the gear, None for the largest; of no meaning to a model without gears.

        Returns:
            Its completion, and what is to be settled when it is over, if anything is.

        Raises:
            InvalidArgument: fewer buffers than the model has places, a null one, or shapes that are not said.
            ModelInputMismatch, ModelOutputMismatch: a buffer is too small, the text has both sizes; or a shape is
                none that the model takes, the text has input, shape and range.
            InvalidMemoryRange: memory is not mapped.
        """
        form = self._only
        if form is None or given.descs:
            form = self.form(given, gear)
        key = form, spans_of(given), spans_of(wanted)
        run = self._runs.get(key)
        if run is not None:
            if gear is None and not self._told_of_gears:
                self._miss_gear()
            try:
                completion = stream.execute(run)
            except ClosedResource:  # memory that it was bound to: bind to what is there now
                self._runs.pop(key, None)
            else:
                if self._is_ranged:
                    _tell(wanted, form)
                return completion, None
        return self._anew(stream, key, wanted, gear)

    def form(self, given: Dataset, gear: int | None) -> Form:
        """Return the model at the shapes of a run; arguments and errors as `submit`."""
        return self._form(self._shapes(given, gear))

    def clear(self) -> None:
        """Let go of all of them."""
        self._runs.clear()

    def _anew(
        self, stream: aacl.Stream, key: Key, dataset: Dataset, gear: int | None
    ) -> tuple[aacl.Completion[Any], Results | None]:
        """Prepare a run, submit it, and keep it if it may be."""
        form, inputs, outputs = key
        given, wanted = self._inputs(form, inputs), self._outputs(form, outputs)
        if gear is None and not self._told_of_gears:
            self._miss_gear()
        run = self._model(*given, out=wanted)
        completion = stream.execute(run)
        null = [position for position, tensor in enumerate(wanted) if tensor is None]
        if not form.is_exact or null:
            return completion, Results(completion, dataset, null, self._context)
        if all(tensor is not None and tensor.device_index >= 0 for tensor in (*given, *wanted)):  # not the host's
            if len(self._runs) >= _MOST:
                self._runs.clear()
            self._runs[key] = run
        if self._is_ranged:
            _tell(dataset, form)
        return completion, None

    # -- shapes -------------------------------------------------------------------------------

    def _miss_gear(self) -> None:
        """Refuse, or warn once of, a run that no gear was chosen for: on the real device that is an error."""
        name, strict = self._model.name, aacl.products.is_strict()
        self._told_of_gears = not strict
        text = (
            f"no gear was chosen for this run of model {name!r}; acl.mdl.set_dynamic_batch_size, set_dynamic_hw_size or "
            "set_input_dynamic_dims chooses one for the input dataset"
        )
        if strict:
            raise Refused(GEAR_INVALID, f"{text}; with AACL_STRICT=0 the software device takes the largest gear")
        warn_program(f"{text}; the software device takes the largest gear")

    def _shapes(self, given: Dataset, gear: int | None) -> Shapes:
        """Return the shapes of the inputs: those of the gear, or the ones that the dataset says."""
        gears, model = self._signature.gears, self._model
        known: Shapes = tuple([spec.shape for spec in model.inputs])
        if gears is not None:
            known = gears.inputs[gears.largest if gear is None else gear]
        shapes = []
        for position, (spec, shape) in enumerate(zip(model.inputs, known, strict=True)):
            desc = given.descs.get(position)
            if desc is not None and not desc.is_static:
                raise ModelInputMismatch(
                    f"input {position} ({spec.name!r}) of model {model.name!r} takes exact shapes; the dataset says "
                    f"{list(desc.shape)}"
                )
            if desc is None and -1 in shape:
                shape = self._picture_shape(position, given) or shape  # noqa: PLW2901 - what the dims stand for
            if desc is None and -1 in shape:
                raise InvalidArgument(
                    f"input {position} ({spec.name!r}) of model {model.name!r} has free dims, {list(shape)}; say which "
                    "shape it has in this run with acl.mdl.set_dataset_tensor_desc"
                )
            if desc is not None and -1 not in shape and desc.shape != shape:
                said = "fixed shape" if gears is None else "shape of the gear,"
                raise InvalidArgument(
                    f"input {position} ({spec.name!r}) of model {model.name!r} has the {said} {list(shape)}; "
                    f"the dataset says {list(desc.shape)}"
                )
            shapes.append(shape if desc is None else desc.shape)
        return tuple(shapes)

    def _picture_shape(self, position: int, given: Dataset) -> tuple[int, ...] | None:
        """Return the shape of a buffer of pictures, whose sizes the settings of dynamic AIPP say; None for others."""
        aipp, spec = aipp_at(self._signature, position), self._model.inputs[position]
        if aipp is None or aipp.settings is not None or spec.shape[0] < 0 or position >= len(given.buffers):
            return None
        return buffer_shape(aipp, spec, spans_of(given)[position][1])

    def _form(self, shapes: Shapes) -> Form:
        form = self._forms.get(shapes)
        if form is None:
            outputs = self._model.describe_outputs(*shapes)
            pairs = zip(self._model.inputs, shapes, strict=True)
            form = Form([aacl.TensorDesc.of(spec.dtype, shape, spec.format) for spec, shape in pairs], outputs)
            if len(self._forms) >= _MOST:
                self._forms.clear()
                self._runs.clear()
            self._forms[shapes] = form
        return form

    # -- memory -------------------------------------------------------------------------------

    def _inputs(self, form: Form, spans: Spans) -> list[aacl.Tensor]:
        """Return tensors on the buffers of the inputs; buffers beyond the model's places are left alone."""
        specs = (*self._model.inputs, *self._hidden)
        what = f"input of model {self._model.name!r}"
        self._check_count(what, specs, spans)
        sizes = [*[desc.nbytes for desc in form.inputs], *[spec.nbytes for spec in self._hidden]]
        for position, (spec, nbytes, span) in enumerate(zip(specs, sizes, spans, strict=False)):
            _check_span(f"{what}, place {position} ({spec.name})", span, nbytes, ModelInputMismatch)
        return [_blocks.tensor_at(desc, address) for desc, (address, _) in zip(form.inputs, spans, strict=False)]

    def _outputs(self, form: Form, spans: Spans) -> list[aacl.Tensor | None]:
        """Return tensors on the buffers of the outputs; None for those that the run is to make."""
        specs, what = self._model.outputs, f"output of model {self._model.name!r}"
        self._check_count(what, specs, spans)
        tensors: list[aacl.Tensor | None] = []
        for position, (spec, desc, span) in enumerate(zip(specs, form.outputs, spans, strict=False)):
            if self._is_ranged and span == (0, 0):
                tensors.append(None)
                continue
            _check_span(f"{what}, place {position} ({spec.name})", span, desc.nbytes, ModelOutputMismatch)
            tensors.append(_blocks.tensor_at(_room(desc, span[1]), span[0]))
        return tensors

    def _check_count(self, what: str, specs: Sequence[aacl.models.TensorSpec], spans: Spans) -> None:
        if len(spans) < len(specs):
            names = ", ".join(spec.name for spec in specs)
            raise InvalidArgument(
                f"the dataset has {len(spans)} of the {len(specs)} buffers that it needs, one for each {what}: {names}; "
                "add the others with acl.mdl.add_dataset_buffer"
            )


def _tell(wanted: Dataset, form: Form) -> None:
    """Let a dataset have the outputs' shapes, which are known before the run."""
    for position, desc in enumerate(form.outputs):
        if wanted.descs.get(position) is not desc:
            put_desc(wanted, position, desc)


def _room(desc: aacl.TensorDesc, nbytes: int) -> aacl.TensorDesc:
    """Return a description of as many elements as a buffer has room for, where only the run tells how many."""
    return desc if desc.is_static else aacl.TensorDesc.of(desc.dtype, (nbytes // desc.dtype.itemsize,), desc.format)


def _check_span(
    what: str, span: tuple[int, int], least: int, mismatch: type[ModelInputMismatch | ModelOutputMismatch]
) -> None:
    address, nbytes = span
    if not address and (least or nbytes):
        raise InvalidArgument(f"the buffer of {what}, is null")
    if nbytes < least:
        raise mismatch(f"{what}, takes {least} bytes; its buffer has {nbytes}")
