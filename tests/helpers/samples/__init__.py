"""One small call for every operator type that has a kernel.

The generic tests run each of them in every dtype, and the table of operators is made from them. A
family's module has a dict ``SAMPLES``; every module of this package is found by itself.

    SAMPLES = {
        "Add": Sample([data(2, 3), data(2, 3)]),
        "ReduceSum": Sample([data(2, 3, 4), host([1])], {"keep_dims": True}),
        "Asin": Sample([data(2, 3, low=-0.9, high=0.9)]),
        "BiasAdd": Sample([data(2, 3, 4, 4), data(3)], {"data_format": "NCHW"}),
    }
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from tests.helpers.samples._sample import Sample as Sample
from tests.helpers.samples._sample import data as data
from tests.helpers.samples._sample import fixed as fixed
from tests.helpers.samples._sample import host as host

__all__ = ("Sample", "data", "fixed", "host", "samples")


@functools.cache
def samples() -> dict[str, tuple[str, Sample]]:
    """Return each operator type's sample and the name of the family that has it.

    Raises:
        ValueError: two families have one for the same type.
    """
    found: dict[str, tuple[str, Sample]] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        for op_type, sample in importlib.import_module(f"{__name__}.{module.name}").SAMPLES.items():
            if op_type in found:
                raise ValueError(f"operator {op_type} has samples in {found[op_type][0]} and {module.name}")
            found[op_type] = module.name, sample
    return found
