"""What magika itself does around its model: reading a file's features, and naming what the model found.

The package's own code is called, so that all three ways start from the same numbers and end in the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from magika import Magika

__all__ = ("BATCH", "Batch", "Features", "Label", "Labeller", "Scores", "batches")

BATCH = 8
"""Files a run of the model; the last batch may be shorter, and is filled up."""

Features = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float32]


@attrs.frozen
class Label:
    """What a file is.

    Attributes:
        name: the content type, such as ``python``.
        score: how sure the model is; 1 where no model was needed.
        detected: what the model alone said; empty where none was needed (an empty or a tiny file).
    """

    name: str
    score: float
    detected: str


@attrs.frozen
class Batch:
    """Some files as the model takes them.

    Attributes:
        known: for each file its label, where the model is not needed; else None.
        rows: the features, (`BATCH`, width) int32; zeros behind the last file.
    """

    known: list[Label | None]
    rows: Features


class Labeller:
    """The package's model, its reading of files and its rules for names.

    Attributes:
        model: path of the ONNX model.
        width: features of a file.
        classes: content types that the model tells apart.
    """

    def __init__(self) -> None:
        self._magika = Magika()
        config = self._magika._model_config
        self.model = Path(self._magika._model_path)
        self.width: int = config.beg_size + config.mid_size + config.end_size
        self._names = config.target_labels_space
        self.classes = len(self._names)

    def read(self, paths: Sequence[Path]) -> Batch:
        """Read the features of at most `BATCH` files.

        Raises:
            OSError: a file cannot be read.
        """
        known: list[Label | None] = []
        rows = np.zeros((BATCH, self.width), np.int32)
        for row, path in enumerate(paths):
            result, features = self._magika._get_result_or_features_from_path(path)
            known.append(None if features is not None else _label_of(path, result))
            if features is not None:
                rows[row] = [*features.beg, *features.mid, *features.end]
        return Batch(known, rows)

    def name(self, batch: Batch, scores: Scores) -> list[Label]:
        """Return the label of each file in a batch, given the model's output for it."""
        return [known or self._name(row) for known, row in zip(batch.known, scores, strict=False)]

    def _name(self, scores: Scores) -> Label:
        best = int(scores.argmax())
        score, detected = float(scores[best]), self._names[best]
        output, _ = self._magika._get_output_label_from_dl_label_and_score(detected, score)
        return Label(str(output), score, str(detected))

    def identify(self, paths: Sequence[Path]) -> list[Label]:
        """Label files as the package itself does.

        Raises:
            OSError: a file cannot be read.
        """
        results = self._magika.identify_paths(paths)
        return [_label_of(path, result) for path, result in zip(paths, results, strict=True)]


def _label_of(path: Path, result: Any) -> Label:
    if not result.ok:
        raise OSError(f"{path} cannot be read: {result.status}")
    prediction = result.prediction
    detected = str(prediction.dl.label)
    return Label(str(prediction.output.label), float(prediction.score), "" if detected == "undefined" else detected)


def batches(paths: Sequence[Path]) -> list[Sequence[Path]]:
    """Cut files into batches; the last one may be shorter."""
    return [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
