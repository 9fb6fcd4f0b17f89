"""The test run itself: both loops, warnings as errors, nothing lost."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with this one's conftest and pytest settings."""
    pytester.makepyprojecttoml((ROOT / "pyproject.toml").read_text())
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    return pytester


async def test_asynchronous_tests_run_on_the_loop_of_their_name(request: pytest.FixtureRequest) -> None:
    """The run called asyncio has asyncio's loop, the one called uvloop uvloop's."""
    loop = type(asyncio.get_running_loop()).__module__

    assert loop.split(".")[0] == request.node.callspec.id


def test_each_asynchronous_test_runs_twice_and_each_other_once(run: pytest.Pytester) -> None:
    """Two runs for `async def`, one for `def`; fixtures may be asynchronous."""
    run.makepyfile(
        """
        import pytest

        @pytest.fixture
        async def one():
            return 1

        async def test_waits(one):
            assert one == 1

        def test_does_not():
            pass
        """
    )

    run.runpytest_subprocess(".").assert_outcomes(passed=3)


def test_what_nobody_sees_fails_the_test(run: pytest.Pytester) -> None:
    """A leaked resource, a forgotten coroutine and a lost exception are failures, on both loops."""
    run.makepyfile(
        """
        import asyncio, gc

        async def fail():
            raise ValueError

        async def test_unclosed_file():
            open(__file__)
            gc.collect()

        async def test_coroutine_never_awaited():
            asyncio.sleep(1)
            gc.collect()

        async def test_task_never_awaited():
            asyncio.create_task(fail())
            await asyncio.sleep(0)
            gc.collect()

        async def test_callback():
            asyncio.get_running_loop().call_soon(lambda: 1 / 0)
            await asyncio.sleep(0)
        """
    )

    run.runpytest_subprocess(".").assert_outcomes(failed=8)


def test_settings_of_the_machine_are_kept_out(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable AACL_… of the caller is not seen by a test."""
    monkeypatch.setenv("AACL_SOMETHING", "1")
    run.makepyfile("import os\ndef test_it():\n    assert 'AACL_SOMETHING' not in os.environ")

    run.runpytest_subprocess(".").assert_outcomes(passed=1)
    assert os.environ["AACL_SOMETHING"] == "1"
