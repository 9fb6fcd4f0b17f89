"""Outputs of TransData: the same numbers in another layout.

A block has C0 channels: 32 of one byte, 16 of everything else, float32 among it (as GE's public layouts have it; a
rule of 32 bytes, 8 float32, is not followed), or what the name of a format says (``FRACTAL_NZ_C0_8``, ``NC1HWC0_C04``).
N0 and M0 are 16. A plain layout has letters; ND of four dims counts as NCHW, of five as NCDHW where letters are needed.
How many channels are padding cannot be seen from blocks: on the way back a dim is known to lie in its last block, and
what the caller brings to be written (``out``, or the output description of the compatible face) decides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from aacl.dtypes import Format
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_PLAIN = {"NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN", "NCDHW": "NCDHW", "NDHWC": "NDHWC", "ND": ""}
_ROWS = 16
"""N0 and M0: how many filters, or rows of a matrix, lie in a block."""

_Dims = tuple[Dim, ...]


@rule("TransData")
def trans_data(call: Call) -> Sequence[Output]:
    """From a plain layout to blocks, back, or from one plain layout to another."""
    source, target = _layout(call, "src_format"), _layout(call, "dst_format")
    stated = call.desc(0).format
    if stated not in (Format.ND, Format.UNDEFINED, source):
        raise call.error(f"src_format is {source.name}, and the input is described as {stated.name}")
    groups = call.attributes["groups"]
    if groups < 1 or (groups > 1 and not any(each.name.startswith("FRACTAL_Z") for each in (source, target))):
        raise call.error(f"groups is {groups}; it is 1, or more for FRACTAL_Z and FRACTAL_Z_3D")
    shape = call.shape(0)
    if source is target:
        result = shape
    elif source.name not in _PLAIN and target.name not in _PLAIN:
        raise call.error(f"{source.name} does not become {target.name} in one step; go by way of ND, NCHW or NHWC")
    elif source.name in _PLAIN and target.name in _PLAIN:
        result = _reordered(call, shape, source.name, target.name)
    elif source.name in _PLAIN:
        result = _blocked(call, shape, source.name, target.name)
    else:
        result = _plain(call, shape, source.name, target.name)
    return [Output(call.desc(0).dtype, result, target)]


def _layout(call: Call, name: str) -> Format:
    text = call.attributes[name].upper()
    known = text in _PLAIN or text in _LETTERS or text.startswith("FRACTAL_NZ")
    if text not in Format.__members__ or not known:
        names = sorted(each for each in Format.__members__ if each in _PLAIN or each in _LETTERS or "NZ" in each)
        raise call.error(f"{name} is {call.attributes[name]!r}; it is one of {', '.join(names)}")
    return Format[text]


_LETTERS = {"NC1HWC0": "NCHW", "NC1HWC0_C04": "NCHW", "FRACTAL_Z": "NCHW", "NDC1HWC0": "NCDHW", "FRACTAL_Z_3D": "NCDHW"}
"""The dims that a blocked layout holds. FRACTAL_NZ takes any."""


def _channels(call: Call, name: str) -> int:
    """Return C0."""
    if name == "NC1HWC0_C04":
        return 4
    if name.startswith("FRACTAL_NZ_C0_"):
        return int(name.removeprefix("FRACTAL_NZ_C0_"))
    return 32 if call.desc(0).dtype.itemsize == 1 else 16


def _order(call: Call, name: str, other: str, rank: int) -> str:
    """Return the letters of a plain layout; of ND those of the other one, channels first."""
    letters = _PLAIN[name] or {4: "NCHW", 5: "NCDHW"}.get(rank, "")
    if len(letters) != rank or (other and sorted(letters) != sorted(other)):
        wanted = " or ".join(each for each, has in _PLAIN.items() if sorted(has) == sorted(other)) if other else name
        raise call.error(
            f"{call.titled(0)}, {rank} dims, is no {name} that fits here; {wanted} has {len(other or letters)}"
        )
    return letters


def _reordered(call: Call, shape: Shape, source: str, target: str) -> Shape:
    if shape is None:
        return None
    if "ND" in (source, target):  # ND is any plain layout: nothing moves
        lettered = target if source == "ND" else source
        if len(shape) != len(lettered):
            raise call.error(f"{call.titled(0)} has not the {len(lettered)} dims of {lettered}")
        return shape
    letters = _order(call, source, _PLAIN[target], len(shape))
    return tuple(shape[letters.index(letter)] for letter in _PLAIN[target])


def _blocked(call: Call, shape: Shape, source: str, target: str) -> Shape:
    """Return the dims of blocks."""
    channels = _channels(call, target)
    if target.startswith("FRACTAL_NZ"):
        return None if shape is None else _matrix_blocks(call, shape, channels)
    letters = _LETTERS[target]
    if shape is None:
        return (FREE,) * (4 if target.startswith("FRACTAL") else len(letters) + 1)
    order = _order(call, source, letters, len(shape))
    n, c, h, w = (shape[order.index(letter)] for letter in "NCHW")
    d = (shape[order.index("D")],) if "D" in letters else ()
    if target.startswith("FRACTAL_Z"):
        return _filter_blocks(call, n, c, product((*d, h, w)), channels)
    return (n, *d, _blocks(c, channels), h, w, *fixed(channels))


def _matrix_blocks(call: Call, shape: _Dims, channels: int) -> _Dims:
    if not shape:
        raise call.error("a scalar has no FRACTAL_NZ layout; give it one dim at least")
    *batch, rows, columns = (*fixed(1), *shape) if len(shape) == 1 else shape
    return (*batch, _blocks(columns, channels), _blocks(rows, _ROWS), *fixed(_ROWS, channels))


def _filter_blocks(call: Call, n: Dim, c: Dim, places: Dim, channels: int) -> _Dims:
    """Return (C1 * places, N1, N0, C0); several groups lie on the diagonal of a larger filter."""
    groups = call.attributes["groups"]
    if groups == 1:
        return (_blocks(c, channels).times(places), _blocks(n, _ROWS), *fixed(_ROWS, channels))
    if not (n.is_fixed and c.is_fixed):
        return (FREE, FREE, *fixed(_ROWS, channels))
    if n.least % groups:
        raise call.error(f"{call.titled(0)} has {n.least} filters, which {groups} groups do not share equally")
    together = _together(c.least, n.least // groups, groups, channels)
    deep, high = _blocks(Dim(*(together * c.least,) * 2), channels), -(-together * (n.least // groups) // _ROWS)
    count = -(-groups // together)
    return (places.times(deep).times(Dim(count, count)), *fixed(high, _ROWS, channels))


def _together(channels_in: int, filters: int, groups: int, block: int) -> int:
    """Return how many groups lie together, so that their channels and filters fill whole blocks where they can."""
    if not channels_in or not filters:
        return 1
    fill_channels = math.lcm(channels_in, block) // channels_in
    fill_filters = math.lcm(filters, _ROWS) // filters
    return min(math.lcm(fill_channels, fill_filters), groups)


def _plain(call: Call, shape: Shape, source: str, target: str) -> Shape:
    """Return what blocks tell of the dims that they hold."""
    channels = _channels(call, source)
    is_matrix = source.startswith("FRACTAL_NZ")
    letters = "" if is_matrix else _LETTERS[source]
    if shape is None:
        return (FREE,) * len(_PLAIN[target] or letters) or None
    _check_blocks(call, shape, source, channels)
    if is_matrix:
        *batch, n1, m1, _, _ = shape
        dims = (*batch, _inside(m1, _ROWS), _inside(n1, channels))
        if _PLAIN[target] and len(_PLAIN[target]) != len(dims):
            raise call.error(f"{call.titled(0)} holds {len(dims)} dims, and {target} has {len(_PLAIN[target])}")
        return dims
    order = _PLAIN[target] or letters
    if sorted(order) != sorted(letters):
        raise call.error(f"{source} holds {letters}, and {target} has other dims")
    known = dict.fromkeys(order, FREE)
    if source.startswith("FRACTAL_Z"):
        known["N"] = _inside(shape[1], _ROWS) if call.attributes["groups"] == 1 else FREE
    else:
        known |= dict(zip(letters.replace("C", ""), (shape[0], *shape[1:-4], *shape[-3:-1]), strict=True))
        known["C"] = _inside(shape[-4], channels)
    return tuple(known[letter] for letter in order)


def _check_blocks(call: Call, shape: _Dims, source: str, channels: int) -> None:
    """Refuse a shape that these blocks cannot have."""
    rank = {"NC1HWC0": 5, "NC1HWC0_C04": 5, "NDC1HWC0": 6, "FRACTAL_Z": 4, "FRACTAL_Z_3D": 4}.get(source)
    is_rank = len(shape) == rank if rank else len(shape) >= 4
    ends = fixed(channels) if source.startswith("N") else fixed(_ROWS, channels)
    if not is_rank or any(not dim.meets(end) for dim, end in zip(shape[-len(ends) :], ends, strict=True)):
        shown = ", ".join(str(end.least) for end in ends)
        dims = rank or "four or more"
        raise call.error(
            f"{call.titled(0)} is no {source} of {call.desc(0).dtype.name}: that has {dims} dims, and ends with {shown}"
        )


def _blocks(dim: Dim, size: int) -> Dim:
    """Return how many blocks hold a dim."""
    most = dim.most if dim.most == math.inf else -(-int(dim.most) // size)
    return Dim(-(-dim.least // size), most)


def _inside(count: Dim, size: int) -> Dim:
    """Return what is known of a dim that takes a number of blocks."""
    most = count.most if count.most == math.inf else int(count.most) * size
    return Dim(max((count.least - 1) * size + 1, 0), most)
