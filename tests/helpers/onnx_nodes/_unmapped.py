"""The ONNX operators with node tests that no Ascend operator stands for, and why."""

from __future__ import annotations

__all__ = ("UNMAPPED",)

_NO_LIST = "the converter lists no support for it"
_NO_COUNTERPART = "no operator of the catalogue does this"
_CONTROL = "a graph's control flow, not an operator"
_SEQUENCE = "sequences and optionals are no tensors"
_STRINGS = "tensors of strings have no place in device memory"

UNMAPPED = {
    "Adagrad": _NO_LIST,
    "Adam": _NO_LIST,
    "ArrayFeatureExtractor": _NO_LIST,
    "Binarizer": _NO_LIST,
    "BlackmanWindow": _NO_LIST,
    "CausalConvWithState": _NO_COUNTERPART,
    "DFT": _NO_LIST,
    "DynamicQuantizeLinear": _NO_LIST,
    "FlexAttention": _NO_COUNTERPART,
    "HammingWindow": _NO_LIST,
    "HannWindow": _NO_LIST,
    "If": _CONTROL,
    "ImageDecoder": _NO_LIST,
    "LabelEncoder": _NO_LIST,
    "LinearAttention": _NO_COUNTERPART,
    "Loop": _CONTROL,
    "MelWeightMatrix": _NO_LIST,
    "Momentum": _NO_LIST,
    "OptionalGetElement": _SEQUENCE,
    "OptionalHasElement": _SEQUENCE,
    "RegexFullMatch": _STRINGS,
    "STFT": "the attributes of STFT are others, and its output has the frames last",
    "Scan": _CONTROL,
    "SequenceInsert": _SEQUENCE,
    "SequenceMap": _SEQUENCE,
    "SplitToSequence": _SEQUENCE,
    "StringConcat": _STRINGS,
    "StringNormalizer": _STRINGS,
    "StringSplit": _STRINGS,
    "TensorScatter": _NO_LIST,
    "TfIdfVectorizer": "its tables of n-grams are attributes that no prototype of the catalogue has",
    "TreeEnsemble": _NO_LIST,
}
"""ONNX operator to reason. An operator stands here or has a mapping."""
