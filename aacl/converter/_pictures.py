"""Pictures in front of a model: ``--insert_op_conf``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aacl.converter._reports import InvalidOption

if TYPE_CHECKING:
    from aacl.converter._inputs import ModelInputs
    from aacl.models._aipp import Aipp

__all__ = ("read_aipp",)


def read_aipp(path: str | os.PathLike[str], inputs: ModelInputs, half: Sequence[str]) -> tuple[Aipp, ...]:
    """Return the AIPP that a configuration file puts in front of inputs.

    Args:
        path: the file, in the text form of protocol buffers.
        inputs: the model's inputs.
        half: the inputs that ``--input_fp16_nodes`` names.

    Raises:
        InvalidOption: the file cannot be read (E10410, E10052), it is no configuration or does not fit an input
            (E10052, E19014, E10001), or it is for an input of `half` (E10034).
    """
    from aacl.models._aipp_config import AippConfigError, parse_aipp

    try:
        kind = None if inputs.gears is None else inputs.gears.kind
        aipps = parse_aipp(_read(Path(path)), inputs.specs, kind, inputs.shapes)
    except AippConfigError as error:
        raise InvalidOption(error.report_code, f"--insert_op_conf={os.fspath(path)!r}: {error}") from error
    for aipp in aipps:
        if aipp.spec.name in half:
            raise InvalidOption(
                "E10034", f"input {aipp.spec.name!r} is in --input_fp16_nodes, and AIPP makes it of pictures"
            )
    return aipps


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        raise InvalidOption("E10410", f"the file --insert_op_conf={str(path)!r} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: no text, or what no path can have in it
        raise InvalidOption("E10052", f"the file --insert_op_conf={str(path)!r} cannot be read: {error}") from error
