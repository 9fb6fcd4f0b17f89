"""Embedding bags and the gradient of an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._places import check_indices
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("EmbeddingDenseGrad")
def _embedding_gradient(request: KernelRequest) -> Kernel:
    """As torch.embedding_dense_backward: gradients are summed by index; ``padding_idx`` gets none.

    Sums run in float32; ``scale_grad_by_freq`` divides by how often an index comes.
    """
    count, padding = request.attributes["num_weights"], request.attributes["padding_idx"]
    is_scaled = request.attributes["scale_grad_by_freq"]

    def body(grad: Array, indices: Array, out: Array) -> None:
        flat = indices.reshape(-1)
        check_indices(flat, count, 0)
        rows = wide(grad).reshape(flat.size, out.shape[1])
        order = np.argsort(flat, kind="stable")
        found, starts, counts = np.unique(flat[order], return_index=True, return_counts=True)
        out.fill(0)
        if not flat.size:
            return
        sums = np.add.reduceat(rows[order], starts, axis=0)
        if is_scaled:
            sums = sums / counts[:, None].astype(np.float32)
        keep = found != padding
        out[found[keep]] = sums[keep].astype(out.dtype)

    return prepared(request, quiet(body, 3), 4 * elements(given(request, 0)))


@kernel("EmbeddingBag")
def _embedding_bag(request: KernelRequest) -> Kernel:
    """As torch.nn.functional.embedding_bag: the sum, mean or maximum of each bag's rows; an empty bag gives 0.

    The further outputs tell the bag of each index, how many rows of each bag count, and for ``max`` the index
    that gave each element (-1 for none); ``padding_idx`` counts nowhere.
    """
    attributes = request.attributes
    mode, padding = attributes["mode"], attributes["padding_idx"]
    inputs = len(request.inputs)

    def body(*arrays: Any) -> None:
        weight, indices, offsets, scales = (*arrays[:inputs], None, None)[:4]
        y, bag, sizes, places = arrays[inputs:]
        flat = indices.reshape(-1)
        check_indices(flat, len(weight), 0)
        starts, ends = _bags(request, indices, offsets)
        rows = wide(weight)[flat]
        if scales is not None:
            rows = rows * wide(scales).reshape(-1, 1)
        counted = flat != padding
        places.fill(-1)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            bag[start:end] = number
            inside = np.nonzero(counted[start:end])[0] + start
            sizes[number] = len(inside)
            y[number] = _reduced(mode, rows[inside], flat[inside], places[number] if mode == "max" else None)

    return prepared(request, quiet(body, inputs + 4), 2 * elements(given(request, 1)) * given(request, 0).shape[1])


def _reduced(mode: str, rows: Array, indices: Array, places: Any) -> Any:
    if not len(rows):
        return 0
    if mode == "max":
        best = rows.argmax(0)
        places[...] = indices[best]
        return np.take_along_axis(rows, best[None], 0)[0]
    return rows.mean(0) if mode == "mean" else rows.sum(0)


def _bags(request: KernelRequest, indices: Array, offsets: Any) -> tuple[list[int], list[int]]:
    """Return where each bag begins and ends."""
    if indices.ndim == 2:
        rows, length = indices.shape
        return [row * length for row in range(rows)], [(row + 1) * length for row in range(rows)]
    edges = offsets.reshape(-1).tolist()
    if not request.attributes["include_last_offset"]:
        edges = [*edges, indices.size]
    if not edges or edges[0] != 0 or edges[-1] > indices.size or edges != sorted(edges):
        raise ValueError(f"operator EmbeddingBag: offsets begin with 0 and rise to {indices.size} at most, not {edges}")
    return edges[:-1], edges[1:]
