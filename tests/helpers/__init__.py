"""What the tests of several rooms share."""

from tests.helpers._compiler import build_kernels as build_kernels
from tests.helpers._hold import Hold as Hold
from tests.helpers._hold import Overlap as Overlap
from tests.helpers._hold import wait_until_idle as wait_until_idle
from tests.helpers._hold import wait_until_parked as wait_until_parked
from tests.helpers._interrupts import interrupted_everywhere as interrupted_everywhere
from tests.helpers._notes import notes_of as notes_of
from tests.helpers._subprocess import Finished as Finished
from tests.helpers._subprocess import run_python as run_python
from tests.helpers._work import Boom as Boom
from tests.helpers._work import PythonWork as PythonWork
from tests.helpers._work import fail as fail

__all__ = (
    "Boom",
    "Finished",
    "Hold",
    "Overlap",
    "PythonWork",
    "build_kernels",
    "fail",
    "interrupted_everywhere",
    "notes_of",
    "run_python",
    "wait_until_idle",
    "wait_until_parked",
)
