"""Damaged and hostile files, given to everything that reads files.

Seeds are good files of each kind; a case is a seed with a few changes that a number decides, so that any
case can be made again. Cases run in child processes, which may neither crash, nor hang, nor take much
memory, nor open a file outside their folder, nor raise anything but `aacl.AclError`.
"""

from tests.helpers.fuzz._corpus import KINDS as KINDS
from tests.helpers.fuzz._corpus import corpus as corpus
from tests.helpers.fuzz._mutations import mutated as mutated
from tests.helpers.fuzz._parent import Finding as Finding
from tests.helpers.fuzz._parent import fuzz as fuzz

__all__ = ("KINDS", "Finding", "corpus", "fuzz", "mutated")
