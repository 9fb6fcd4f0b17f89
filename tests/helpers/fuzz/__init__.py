"""Damaged and hostile files, given to everything that reads files; any arguments, given to every call of the drop-in.

Seeds are good files of each kind; a case is a seed with a few changes that a number decides, so that any
case can be made again. Cases run in child processes, which may neither crash, nor hang, nor take much
memory, nor open a file outside their folder, nor raise anything but `aacl.AclError`.

Calls are made in series, on objects that live as long as a series. A call may return what it states, raise
`TypeError` for arguments of wrong types or number, and change what it was given. It may neither raise anything
else, nor last long, nor change what it was not given.
"""

from tests.helpers.fuzz._corpus import KINDS as KINDS
from tests.helpers.fuzz._corpus import corpus as corpus
from tests.helpers.fuzz._mutations import mutated as mutated
from tests.helpers.fuzz._parent import Finding as Finding
from tests.helpers.fuzz._parent import fuzz as fuzz
from tests.helpers.fuzz._parent import fuzz_calls as fuzz_calls

__all__ = ("KINDS", "Finding", "corpus", "fuzz", "fuzz_calls", "mutated")
