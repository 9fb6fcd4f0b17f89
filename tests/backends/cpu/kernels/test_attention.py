"""Attention, query by query in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16]
BATCH, HEADS, SIZE, QUERIES, KEYS = 2, 4, 3, 4, 6
LAYOUTS = ["BSH", "SBH", "BNSD", "BSND"]


def _inputs(dtype: np.dtype[Any], key_heads: int = HEADS, queries: int = QUERIES) -> list[Array]:
    """Return query, key and value as ``[batch, heads, sequence, size]``."""
    random = np.random.default_rng(6)
    shapes = [(BATCH, HEADS, queries, SIZE), *[(BATCH, key_heads, KEYS, SIZE)] * 2]
    return [random.uniform(-1.5, 1.5, shape).astype(dtype) for shape in shapes]


def _laid(x: Array, layout: str) -> Array:
    """Return ``[batch, heads, sequence, size]`` in a layout."""
    order = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}[layout]
    found = x.transpose(order)
    return np.ascontiguousarray(found.reshape(*found.shape[:2], -1) if len(layout) == 3 else found)


Seen = Callable[[int, int, int], bool]
Score = Callable[[float, tuple[int, int, int, int]], float]


def _reference(q: Array, k: Array, v: Array, seen: Seen, score: Score) -> tuple[Array, Array, Array]:
    """Return the attention, the largest score and the sum of each row; rows that see nothing are 0."""
    out, most = np.zeros(q.shape), np.full(q.shape[:3], -math.inf)
    total, share = np.zeros(q.shape[:3]), q.shape[1] // k.shape[1]
    for b, h, i in np.ndindex(q.shape[:3]):
        row = {
            j: score(
                sum(float(x) * float(y) for x, y in zip(q[b, h, i], k[b, h // share, j], strict=True)), (b, h, i, j)
            )
            for j in range(k.shape[2])
            if seen(b, i, j)
        }
        if not row:
            continue
        most[b, h, i] = max(row.values())
        powers = {j: math.exp(value - most[b, h, i]) for j, value in row.items()}
        total[b, h, i] = math.fsum(powers.values())
        for j, power in powers.items():
            out[b, h, i] += power / total[b, h, i] * v[b, h // share, j].astype(np.float64)
    return out, most, total


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_flash_attention(run: Run, close: Close, dtype: np.dtype[Any], layout: str, key_heads: int) -> None:
    """All layouts; query heads may share key heads; maximum and sum of each row eight times."""
    q, k, v = _inputs(dtype, key_heads)
    out, most, total = _reference(q, k, v, lambda *_: True, lambda score, _: score * 0.5)
    attributes = {"head_num": HEADS, "input_layout": layout, "scale_value": 0.5}
    largest, sums, unused, found = run("FlashAttentionScore", [_laid(item, layout) for item in (q, k, v)], attributes)

    close(found, _laid(out, layout), units=32 if dtype == np.float32 else 2, floor=1)
    assert largest.shape == (BATCH, HEADS, QUERIES, 8)
    assert (largest.dtype, unused.shape) == (np.dtype(np.float32), (0,))
    close(largest, np.repeat(most[..., None], 8, -1), units=16, floor=1)
    close(sums, np.repeat(total[..., None], 8, -1), units=32)


@settings(max_examples=25, deadline=None)
@given(mode=st.integers(0, 4), before=st.integers(0, 7), after=st.integers(0, 7), has_mask=st.booleans())
def test_masks(run: Run, close: Close, mode: int, before: int, after: int, has_mask: bool) -> None:
    """Bands from the upper left or the lower right corner, and masks, 1 hiding a key."""
    q, k, v = _inputs(DTYPES[0])
    mask = np.random.default_rng(3).integers(0, 2, (BATCH, 1, QUERIES, KEYS)).astype(bool) if has_mask else None
    shift = KEYS - QUERIES

    def seen(b: int, i: int, j: int) -> bool:
        masked = mask is not None and mode < 2 and bool(mask[b, 0, i, j])
        inside = {
            0: not has_mask or -before <= j - i <= after,
            1: True,
            2: j <= i,
            3: j <= i + shift,
            4: -before <= j - i - shift <= after,
        }[mode]
        return inside and not masked

    exact, _, _ = _reference(q, k, v, seen, lambda score, _: score)
    laid = [_laid(item, "BSH") for item in (q, k, v)]
    inputs = [*laid, None, None, None, mask]
    attributes = {"head_num": HEADS, "input_layout": "BSH", "sparse_mode": mode}
    tokens = {"pre_tockens": before, "next_tockens": after}
    close(run("FlashAttentionScore", inputs, {**attributes, **tokens})[3], _laid(exact, "BSH"), units=32, floor=1)
    attributes = {"num_heads": HEADS, "sparse_mode": mode, "pre_tokens": before, "next_tokens": after}

    close(run("PromptFlashAttention", [*laid, None, mask], attributes)[0], _laid(exact, "BSH"), units=32, floor=1)


@pytest.mark.parametrize("mask_shape", [(QUERIES, KEYS), (1, 1, QUERIES, KEYS), (BATCH, HEADS, QUERIES, KEYS)], ids=str)
def test_mask_shapes(run: Run, close: Close, mask_shape: tuple[int, ...]) -> None:
    """A mask for all, or one for each batch and head."""
    q, k, v = _inputs(DTYPES[0])
    mask = np.random.default_rng(3).integers(0, 2, mask_shape).astype(np.uint8)
    whole = np.broadcast_to(mask, (BATCH, HEADS, QUERIES, KEYS))
    attributes = {"head_num": HEADS, "input_layout": "BNSD"}
    found = run("FlashAttentionScore", [q, k, v, None, None, None, mask], attributes)[3]
    # A batch for each head, so that a mask of heads is one of batches.
    whole = whole.reshape(BATCH * HEADS, QUERIES, KEYS)
    single = [item.reshape(BATCH * HEADS, 1, -1, SIZE) for item in (q, k, v)]
    exact, _, _ = _reference(
        single[0], single[1], single[2], lambda b, i, j: not whole[b, i, j], lambda score, _: score
    )

    close(found.reshape(exact.shape), exact, units=32, floor=1)


@pytest.mark.parametrize("pse_type", [0, 1])
def test_shift(run: Run, close: Close, pse_type: int) -> None:
    """Type 1 adds before the scale, type 0 after it; it may have one row for all queries."""
    q, k, v = _inputs(DTYPES[0])
    shift = np.random.default_rng(2).uniform(-1, 1, (BATCH, HEADS, 1, KEYS)).astype(np.float32)

    def score(value: float, place: tuple[int, int, int, int]) -> float:
        b, h, _, j = place
        extra = float(shift[b, h, 0, j])
        return (value + extra) * 0.5 if pse_type else value * 0.5 + extra

    exact, _, _ = _reference(q, k, v, lambda *_: True, score)
    attributes = {"head_num": HEADS, "input_layout": "BNSD", "scale_value": 0.5, "pse_type": pse_type}
    close(run("FlashAttentionScore", [q, k, v, shift], attributes)[3], exact, units=32, floor=1)
    if not pse_type:
        attributes = {"num_heads": HEADS, "input_layout": "BNSD", "scale_value": 0.5}
        close(run("PromptFlashAttention", [q, k, v, shift], attributes)[0], exact, units=32, floor=1)


def test_dropout(run: Run, close: Close) -> None:
    """A bit of the drop mask keeps a chance, the others count as 0."""
    q, k, v = _inputs(DTYPES[0])
    bits = np.random.default_rng(2).integers(0, 2, (BATCH, HEADS, QUERIES, KEYS))
    packed = np.packbits(bits.reshape(-1), bitorder="little")
    attributes = {"head_num": HEADS, "input_layout": "BNSD", "keep_prob": 0.75}
    found = run("FlashAttentionScore", [q, k, v, None, packed], attributes)[3]
    for place in ((0, 0, 0), (1, 3, 2)):
        row = [float(np.dot(q[place].astype(float), k[place[0], place[1], j].astype(float))) for j in range(KEYS)]
        powers = [math.exp(value) for value in row]
        chances = [power / math.fsum(powers) * bit / 0.75 for power, bit in zip(powers, bits[place], strict=True)]
        exact = sum(chance * v[place[0], place[1], j].astype(float) for j, chance in enumerate(chances))
        close(found[place], exact, units=32, floor=1)
    with pytest.raises(ValueError, match="drop_mask needs 24 bytes"):
        run("FlashAttentionScore", [q, k, v, None, packed[:-1]], attributes)


@pytest.mark.parametrize("layout", ["BSH", "BNSD", "BSND"])
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_actual_lengths(run: Run, close: Close, layout: str, dtype: np.dtype[Any]) -> None:
    """Keys beyond a sequence's length are not seen, queries beyond it give 0."""
    q, k, v = _inputs(dtype)
    lengths, key_lengths = np.array([2, 4]), np.array([6, 1])
    exact, _, _ = _reference(q, k, v, lambda b, i, j: i < lengths[b] and j < key_lengths[b], lambda score, _: score)
    laid = [_laid(item, layout) for item in (q, k, v)]
    attributes = {"num_heads": HEADS, "input_layout": layout}
    (found,) = run("PromptFlashAttention", [*laid, None, None, lengths, key_lengths], attributes)
    close(found, _laid(exact, layout), units=2, floor=1)
    q, k, v = _inputs(dtype, 2, 1)
    exact, _, _ = _reference(q, k, v, lambda b, _, j: j < key_lengths[b], lambda score, _: score)
    laid = [_laid(item, layout) for item in (q, k, v)]
    (found,) = run("IncreFlashAttention", [*laid, None, None, key_lengths, *[None] * 9], attributes)

    close(found, _laid(exact, layout), units=2, floor=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("is_triangle", [False, True])
def test_scaled_masked_softmax(run: Run, close: Close, dtype: np.dtype[Any], is_triangle: bool) -> None:
    """What is masked counts as -10000: a row that is masked throughout is even."""
    x = np.random.default_rng(3).uniform(-2, 2, (2, 2, 3, 3)).astype(dtype)
    mask = np.array([[0, 1, 0], [1, 1, 1], [0, 0, 0]], bool)[None, None]
    attributes = {"scale": 0.5, "fixed_triu_mask": is_triangle}
    inputs = [x] if is_triangle else [x, mask]
    exact = np.empty(x.shape)
    for b, h, i in np.ndindex(2, 2, 3):
        hidden = [j > i if is_triangle else bool(mask[0, 0, i, j]) for j in range(3)]
        row = [-10000 if hide else float(item) * 0.5 for item, hide in zip(x[b, h, i], hidden, strict=True)]
        powers = [math.exp(item - max(row)) for item in row]
        exact[b, h, i] = np.array(powers) / math.fsum(powers)
    (y,) = run("ScaledMaskedSoftmax", inputs, attributes)
    close(y, exact, units=8)

    dy = np.random.default_rng(4).uniform(-2, 2, x.shape).astype(dtype)
    (slopes,) = run("ScaledMaskedSoftmaxGrad", [dy, y, *inputs[1:]], attributes)
    wide, grad = y.astype(np.float64), dy.astype(np.float64)
    for place in np.ndindex(x.shape):
        b, h, i, j = place
        hide = j > i if is_triangle else bool(mask[0, 0, i, j])
        whole = sum(wide[b, h, i, m] * ((m == j) - wide[b, h, i, j]) * grad[b, h, i, m] for m in range(3))
        close(slopes[place], np.array(0 if hide else 0.5 * whole), units=16, floor=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rank", [4, 5])
@pytest.mark.parametrize("has_mask", [False, True])
def test_softmax_of_windows(run: Run, close: Close, dtype: np.dtype[Any], rank: int, has_mask: bool) -> None:
    """A mask a window and a bias a head are added to the scaled scores."""
    random = np.random.default_rng(3)
    x, bias, mask = (random.uniform(-2, 2, s).astype(dtype) for s in ((2, 3, 2, 4, 5), (2, 4, 5), (3, 4, 5)))
    scores = x.astype(np.float64) * 0.25 + bias.astype(np.float64)
    for window in range(3):
        scores[:, window] += mask[window].astype(np.float64) * has_mask
    powers = np.exp(scores)
    exact = powers / powers.sum(-1, keepdims=True)
    shape = x.shape if rank == 5 else (6, 2, 4, 5)
    inputs = [x.reshape(shape), mask if has_mask else None, bias]

    close(run("MaskedSoftmaxWithRelPosBias", inputs, {"scale_value": 0.25})[0], exact.reshape(shape), units=8)


def test_bad_input(run: Run) -> None:
    """What does not fit, or is not known here, is named."""
    q, k, v = (_laid(item, "BSH") for item in _inputs(DTYPES[0]))
    usual = {"head_num": HEADS, "input_layout": "BSH"}
    with pytest.raises(NotSupported, match="input_layout is 'TND'; this device knows BSH, SBH, BNSD, BSND"):
        run("FlashAttentionScore", [q, k, v], {**usual, "input_layout": "TND"})
    with pytest.raises(InvalidArgument, match="does not divide into 5 heads"):
        run("FlashAttentionScore", [q, k, v], {**usual, "head_num": 5})
    with pytest.raises(InvalidArgument, match="must have one batch"):
        run("FlashAttentionScore", [q, k[:1], v[:1]], usual)
    with pytest.raises(InvalidArgument, match="4 query heads share 3 key heads"):
        run("FlashAttentionScore", [q, k[..., :9], v[..., :9]], usual)
    with pytest.raises(NotSupported, match="sparse_mode is 5"):
        run("FlashAttentionScore", [q, k, v], {**usual, "sparse_mode": 5})
    with pytest.raises(NotSupported, match="input padding_mask is not supported"):
        run("FlashAttentionScore", [q, k, v, None, None, q], usual)
    with pytest.raises(NotSupported, match="pse_type is 2"):
        run("FlashAttentionScore", [q, k, v], {**usual, "pse_type": 2})
    with pytest.raises(InvalidArgument, match=r"does not broadcast to \(2, 4, 4, 6\): batch, heads, queries, keys"):
        run("FlashAttentionScore", [q, k, v, None, None, None, np.zeros((4, 5), bool)], usual)
    with pytest.raises(ValueError, match=r"actual lengths lie within \[0, 6\]"):
        run("PromptFlashAttention", [q, k, v, None, None, None, np.array([7])], {"num_heads": HEADS})
    with pytest.raises(NotSupported, match="quantised queries"):
        run("PromptFlashAttention", [item.astype(np.int8) for item in (q, k, v)], {"num_heads": HEADS})
    q, k, v = (item.astype(np.float16) for item in (q, k, v))
    with pytest.raises(NotSupported, match="one key and one value"):
        run("IncreFlashAttention", [q, k, k, v, v, *[None] * 12], {"num_heads": HEADS})


@pytest.mark.parametrize("layout", ["BSH", "SBH"])
@pytest.mark.parametrize("empty", [(0, 3, 5), (2, 0, 5), (2, 3, 0)])
def test_nothing_to_attend_to(run: Run, layout: str, empty: tuple[int, int, int]) -> None:
    """An empty batch or no queries give an empty result, no keys a result of 0."""
    batch, queries, keys = empty
    q, k = (np.ones((batch, size, 8), np.float32) for size in (queries, keys))
    q, k = (x if layout == "BSH" else x.swapaxes(0, 1) for x in (q, k))

    *_, found = run("FlashAttentionScore", [q, k, k], {"head_num": 2, "input_layout": layout})

    assert found.shape == q.shape
    assert not found.any()


def test_no_windows_to_bias(run: Run) -> None:
    """An empty batch of windows gives an empty result."""
    x, mask, bias = (np.ones(shape, np.float32) for shape in ((0, 2, 1, 3, 3), (2, 3, 3), (1, 3, 3)))

    assert run("MaskedSoftmaxWithRelPosBias", [x, mask, bias])[0].shape == x.shape
