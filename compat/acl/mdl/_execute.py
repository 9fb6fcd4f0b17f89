"""Running models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aacl.errors import WaitTimeout
from acl._devices import stream_at
from acl._status import code_alone
from acl._streams import refuse_in_callback
from acl._threads import here
from acl.mdl._datasets import datasets
from acl.mdl._exec_config import exec_configs
from acl.mdl._failures import Failing
from acl.mdl._models import model_at
from acl.rt._exception import is_watched, watch
from acl.rt._wait import block

if TYPE_CHECKING:
    import aacl
    from acl._streams import Stream

__all__ = ("execute", "execute_async", "execute_async_v2", "execute_v2")


@code_alone
def execute(model_id: int, input: int, output: int, /) -> int:
    """Run a model and wait for the end.

    Args:
        model_id: the model, loaded in this thread's context.
        input: a dataset with a buffer for each input, hidden ones too, of at least the input's size; more buffers are
            left alone. A model with gears runs in the gear chosen for the dataset; if none was, in the largest, with one
            warning. For one with free dims the dataset says the shapes (`set_dataset_tensor_desc`).
        output: the same for the outputs. Of a model with free dims it has the outputs' shapes when the run is over
            (`get_dataset_tensor_desc`); a buffer (0, 0) gets memory from the runtime then, which is the program's and
            ends with ``acl.rt.free``.

    Returns:
        0; 507011 if the run failed, with what failed in the text; 145003 if there is no such model; 107004 if it was
        loaded in another context; 100000 for a dataset that is none, has too few buffers, a null buffer or an unknown
        shape; 100017 for shapes that the model does not take, with the input's name and range in the text; 100017 and
        100018 for a buffer that is too small, with both sizes in the text, of which nothing was written; 107000 for
        memory that is not mapped; in strict mode 107005 if the model runs elsewhere, and 145013 if no gear was chosen.

    Source: aclmdlExecute.
    """
    loaded = model_at(model_id)
    run, results = loaded.submit(model_id, None, datasets.get(input), datasets.get(output))
    run.wait(block_loop=True)
    run.result()
    if results is not None:
        results.settle()
    return 0


@code_alone
def execute_async(model_id: int, input: int, output: int, stream: int, /) -> int:
    """Submit a run of a model to a stream.

    The gear and the shapes that the input dataset says now are the run's; later ones are of later runs.

    Args:
        model_id: the model, loaded in this thread's context.
        input: the inputs, as for `execute`.
        output: the outputs, as for `execute`.
        stream: where; 0 is the default one.

    Returns:
        0, which means submitted; a failure of the run is the code of the next synchronise of the stream, and so is an
        output that proves too large for its buffer. Other codes as `execute` and ``synchronize_stream``.

    Source: aclmdlExecuteAsync.
    """
    _start(model_id, input, output, stream_at(stream))
    return 0


@code_alone
def execute_v2(model_id: int, input: int, output: int, stream: int, exec_config: int, /) -> int:
    """Run a model on a stream, behind what is queued there, and wait for the end of the run.

    Args:
        model_id: the model; datasets as `execute`.
        input: the inputs.
        output: the outputs.
        stream: where; 0 is the default one.
        exec_config: of `create_exec_config_handle`; its first option limits the wait.

    Returns:
        0; 507046 when the time is over, and the run goes on; 507004 in a callback that the run would come after, and
        nothing was submitted; 100000 if it is no configuration; other codes as `execute`.

    Source: aclmdlExecuteV2.
    """
    config = exec_configs.get(exec_config)
    target = stream_at(stream)
    if here.callbacks:
        refuse_in_callback("wait for a run after itself", lambda other, blocks: blocks and other is target)
    run, end = _start(model_id, input, output, target)
    if not block(end, config.timeout):
        raise WaitTimeout(f"model {model_id} has not run after {config.timeout} s; the run goes on")
    run.result()
    return 0


@code_alone
def execute_async_v2(model_id: int, input: int, output: int, stream: int, exec_config: int, /) -> int:
    """Do what `execute_async` does; the configuration, of which nothing limits that, is checked.

    Args:
        model_id: the model, loaded in this thread's context.
        input: the inputs, as for `execute`.
        output: the outputs, as for `execute`.
        stream: where; 0 is the default one.
        exec_config: of `create_exec_config_handle`.

    Returns:
        0, which means submitted; 100000 if it is no configuration; other codes as `execute_async`.

    Source: aclmdlExecuteAsyncV2.
    """
    exec_configs.get(exec_config)
    _start(model_id, input, output, stream_at(stream))
    return 0


def _start(model_id: int, input: int, output: int, target: Stream) -> tuple[aacl.Completion[Any], aacl.Completion[Any]]:
    """Submit a run; what it tells is told before anybody can learn from the stream that it is over.

    Returns:
        The run, and what is over when it has told that.
    """
    loaded = model_at(model_id)
    given, wanted = datasets.get(input), datasets.get(output)
    failing = Failing(loaded, model_id, given, wanted) if is_watched() else None
    run, results = loaded.submit(model_id, target, given, wanted)
    watch(target, run, failing)
    if results is None:
        return run, run
    if run.done():
        results.settle()
        return run, run
    # Not a callback of the completion: that would come by the loop, if one runs here, which may be blocked in the
    # synchronise that has to come after it.
    return run, target.stream.call(results.settle)
