"""The outputs' shapes: for fixed inputs, for every gear, or free.

Inference decides what it can. The rest a trial run tells, once it is clear that
the shape does not depend on values; what does stays free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from aacl.converter._dependence import dependent_outputs
from aacl.converter._reports import InvalidOption, Unconvertible
from aacl.converter._session import OutputFacts, TrialFailed, TrialSession
from aacl.converter._shapes import ANY, ModelDims, Span

if TYPE_CHECKING:
    from onnx import ModelProto

    from aacl.converter._inputs import ModelInputs

__all__ = ("free_shape", "gear_outputs", "output_dims")

_TRIAL_SIZES = (1, 2, 8, 32, 64, 224)  # of free dims, while a rank is looked for
Shape = tuple[int, ...]
Report = Callable[[int, int], None]


def output_dims(
    model: ModelProto, session: TrialSession, inputs: ModelInputs, ranks: Sequence[int | None]
) -> list[ModelDims]:
    """Return the dims of each output of a model without gears: numbers, symbols of the inputs, None for free ones.

    Args:
        model: the model with its inputs' dims.
        session: the same, loaded.
        inputs: its inputs.
        ranks: how many dims the exporter stated for each output; used where neither inference nor a run tells.

    Raises:
        Unconvertible: the rank of an output is not known, or a trial run that had to tell dims failed.
    """
    dependent = set(dependent_outputs(model))
    is_fixed = all(spec.is_static for spec in inputs.specs)
    settled = {
        facts.name: facts.dims
        for facts in session.outputs
        if facts.is_decided or (facts.dims is not None and (facts.name in dependent or not is_fixed))
    }
    if len(settled) < len(session.outputs):
        stated = dict(zip((facts.name for facts in session.outputs), ranks, strict=True))
        unsettled = {name: rank for name, rank in stated.items() if name not in settled}
        settled |= _told_by_runs(session, inputs, unsettled, dependent if is_fixed else set(unsettled))
    symbols = set(inputs.spans)
    return [_known(settled[facts.name] or (), symbols) for facts in session.outputs]


def gear_outputs(
    model: ModelProto, session: TrialSession, inputs: ModelInputs, report: Report
) -> tuple[tuple[Shape, ...], ...]:
    """Return for each gear the shape of every output.

    Every gear is tried, so that one which the model cannot run is found here.

    Raises:
        Unconvertible: an output's shape depends on values, or can neither be inferred nor tried.
        InvalidOption: the model runs with other gears and not with this one.
    """
    _refuse_dependent(model, session)
    found: list[tuple[Shape, ...] | TrialFailed] = []
    for number, shapes in enumerate(inputs.shapes):
        report(number, len(inputs.shapes))
        try:
            found.append(tuple(session.shapes(inputs.specs, shapes)))
        except TrialFailed as failure:
            found.append(failure)
    failed = [place for place, outcome in enumerate(found) if type(outcome) is TrialFailed]
    if failed and any(isinstance(outcome, tuple) for outcome in found):
        _refuse_gears(inputs, found, failed)
    return tuple(_of_gear(session, inputs, place, outcome) for place, outcome in enumerate(found))


def free_shape(dims: ModelDims, spans: dict[str, Span]) -> tuple[Shape, tuple[tuple[int, int], ...]]:
    """Return a shape with -1 for free dims, and the ranges of its dims; no ranges when all are fixed."""
    shape = tuple(dim if isinstance(dim, int) else -1 for dim in dims)
    if -1 not in shape:
        return shape, ()
    ranges = [Span(dim, dim) if isinstance(dim, int) else spans.get(dim or "", ANY) for dim in dims]
    return shape, tuple((span.low, span.high) for span in ranges)


def _known(dims: ModelDims, symbols: set[str]) -> ModelDims:
    """Leave the symbols that inputs have: what inference or an exporter calls other dims means nothing."""
    return tuple(dim if isinstance(dim, int) or dim in symbols else None for dim in dims)


def _told_by_runs(
    session: TrialSession, inputs: ModelInputs, unsettled: dict[str, int | None], dependent: set[str]
) -> dict[str, ModelDims]:
    """Return what trial runs tell of outputs: dims, or the rank alone for those that depend on values or inputs."""
    runs, failure = _runs(session, inputs)
    places = {facts.name: (place, facts) for place, facts in enumerate(session.outputs)}
    told: dict[str, ModelDims] = {}
    for name, rank in unsettled.items():
        place, facts = places[name]
        shapes = [run[place] for run in runs]
        if not shapes and (facts.dims is not None or rank is not None):
            told[name] = facts.dims or (None,) * (rank or 0)
            continue
        if not shapes:
            raise Unconvertible(
                "E10055",
                f"the shape of output {name!r} can neither be inferred nor found by a trial run: {failure}",
            ) from failure
        if len({len(shape) for shape in shapes}) > 1:
            ranks = " or ".join(str(rank) for rank in sorted({len(shape) for shape in shapes}))
            raise Unconvertible("E10055", f"output {name!r} has {ranks} dims, as the values are: one rank is needed")
        told[name] = (None,) * len(shapes[0]) if name in dependent else shapes[0]
    return told


def _runs(session: TrialSession, inputs: ModelInputs) -> tuple[list[list[Shape]], TrialFailed | None]:
    """Run the model with the first sizes that it takes; return the outputs' shapes by kind of values."""
    failure: TrialFailed | None = None
    for size in _TRIAL_SIZES:
        shapes = [tuple(_within(size, pair) for pair in spec.ranges) or spec.shape for spec in inputs.specs]
        try:
            session.shapes(inputs.specs, shapes)
        except TrialFailed as error:
            failure = error
        else:
            return session.all_shapes(inputs.specs, shapes), None
        if all(spec.is_static for spec in inputs.specs):
            break
    return [], failure


def _within(size: int, pair: tuple[int, int]) -> int:
    low, high = pair
    return max(low, size if high < 0 else min(high, size))


def _refuse_dependent(model: ModelProto, session: TrialSession) -> None:
    undecided = {facts.name for facts in session.outputs if not facts.is_decided}
    dependent = [name for name in dependent_outputs(model) if name in undecided]
    if dependent:
        raise Unconvertible(
            "E10055",
            "the shapes of these outputs depend on the values of the inputs, which gears do not allow: "
            f"{', '.join(map(repr, dependent))}",
            solution="Leave the gears out: --input_shape alone, with -1 or low~high, makes such outputs free.",
        )


def _refuse_gears(inputs: ModelInputs, found: Sequence[object], failed: Sequence[int]) -> None:
    assert inputs.gears is not None
    listed = ", ".join(repr(",".join(map(str, inputs.gears.values[place]))) for place in failed)
    raise InvalidOption(
        "E10001",
        f"--{inputs.gears.option}: the model does not run with the gears {listed}, and does with others: "
        f"{found[failed[0]]}",
        solution="Export the model with that dim free throughout, or leave these gears out.",
    )


def _of_gear(
    session: TrialSession, inputs: ModelInputs, place: int, outcome: tuple[Shape, ...] | TrialFailed
) -> tuple[Shape, ...]:
    """Return the shapes that a run gave, or where no values could be made up, those that inference gives."""
    if not isinstance(outcome, TrialFailed):
        return outcome
    sizes: dict[str, int] = {}
    for names, shape in zip(inputs.symbols, inputs.shapes[place], strict=True):
        sizes |= {name: size for name, size in zip(names, shape, strict=True) if name is not None}
    return tuple(_substituted(facts, sizes, outcome) for facts in session.outputs)


def _substituted(facts: OutputFacts, sizes: dict[str, int], failure: TrialFailed) -> Shape:
    shape = [dim if isinstance(dim, int) else sizes.get(dim or "") for dim in facts.dims or ()]
    if facts.dims is None or None in shape:
        raise Unconvertible(
            "E10055",
            f"the shape of output {facts.name!r} can neither be inferred nor found by a trial run: {failure}",
        ) from failure
    return tuple(size for size in shape if size is not None)
