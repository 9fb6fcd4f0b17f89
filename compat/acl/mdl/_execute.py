"""Running models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._devices import stream_at
from acl._status import code_alone
from acl.mdl._datasets import datasets, spans_of
from acl.mdl._models import model_at
from acl.rt._exception import watch

if TYPE_CHECKING:
    from acl.mdl._datasets import Dataset
    from acl.mdl._models import Loaded

__all__ = ("execute", "execute_async")


@code_alone
def execute(model_id: int, input: int, output: int) -> int:
    """Run a model and wait for the end.

    Args:
        model_id: the model, loaded in this thread's context.
        input: a dataset with a buffer for each input, of at least the input's size; more buffers are left alone.
        output: the same for the outputs.

    Returns:
        0; 507011 if the run failed, with what failed in the text; 145003 if there is no such model; 107004 if it was
        loaded in another context; 100000 for a dataset that is none or has too few buffers, or a null buffer; 100017 and
        100018 for a buffer that is too small, with both sizes in the text; 107000 for memory that is not mapped.
    """
    loaded = model_at(model_id)
    given, wanted = datasets.get(input), datasets.get(output)
    _check_shapes(loaded, given)
    completion = loaded.runs.submit(loaded.stream, spans_of(given), spans_of(wanted))
    completion.wait(block_loop=True)
    completion.result()
    return 0


@code_alone
def execute_async(model_id: int, input: int, output: int, stream: int) -> int:
    """Submit a run of a model to a stream, 0 being the default one; arguments as `execute`.

    Returns:
        0, which means submitted; a failure of the run is the code of the next synchronise of the stream. Other codes as
        `execute` and ``synchronize_stream``.
    """
    target, loaded = stream_at(stream), model_at(model_id)
    given, wanted = datasets.get(input), datasets.get(output)
    _check_shapes(loaded, given)
    run = loaded.runs.submit(target.stream, spans_of(given), spans_of(wanted))
    loaded.note(target, run)
    watch(target, run)
    return 0


def _check_shapes(loaded: Loaded, inputs: Dataset) -> None:
    """Check the shapes that a program has set against the model's, which are fixed."""
    if inputs.descs:
        for place, spec in enumerate(loaded.model.inputs):
            desc = inputs.descs.get(place)
            if desc is not None and desc.shape != spec.shape:
                raise InvalidArgument(
                    f"input {place} ({spec.name}) of model {loaded.model.name!r} has the fixed shape {list(spec.shape)}; "
                    f"the dataset says {list(desc.shape)}"
                )
