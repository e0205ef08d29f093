"""Putting distances in order: the nearest few of many, equal distances by training index.

Points come in order of training index. Selecting and sorting are stable, so of equal distances the lower index is
first without ever comparing indices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel

# This many numbers are compared at once. A constant, so that the compiler unrolls the comparison into vector code.
STRIDE = 64

# Distances are sorted by digits of this many bits. Non-negative doubles are ordered as their bits are.
_DIGIT = 8
_PLACES = 64 // _DIGIT
_VALUES = 1 << _DIGIT


class SearchScratch(NamedTuple):
    """Room for the candidates of one query and for sorting them; one for each thread."""

    near_distances: FloatArray
    """Shape (room,)."""
    near_indices: IndexArray
    """Shape (room,)."""
    spare_distances: FloatArray
    """Shape (room,)."""
    spare_indices: IndexArray
    """Shape (room,)."""
    histogram: IndexArray
    """How often each digit has each value, shape (8, 256)."""


def make_scratch(room: int) -> SearchScratch:
    """Scratch for up to `room` candidates."""
    return SearchScratch(
        near_distances=np.empty(room, np.float64),
        near_indices=np.empty(room, np.int64),
        spare_distances=np.empty(room, np.float64),
        spare_indices=np.empty(room, np.int64),
        histogram=np.empty((_PLACES, _VALUES), np.int64),
    )


@kernel
def copy(source: AnyArray, target: AnyArray, count: int) -> None:
    """Copy the first `count` entries; assigning one slice to another would take seconds to compile."""
    for c in range(count):
        target[c] = source[c]


@kernel
def nth_smallest(values: FloatArray, count: int, rank: int) -> float:
    """Value of this rank, from 0, among the first `count` values, which are rearranged.

    Quickselect that swaps every value, needed or not: there is no branch for the processor to guess wrong.
    """
    low, high = 0, count
    while True:
        one, two, three = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(one, two), min(max(one, two), three))
        middle = low
        for c in range(low, high):
            value = values[c]
            values[c] = values[middle]
            values[middle] = value
            middle += value < pivot
        if rank < middle:
            high = middle
            continue
        low = middle
        for c in range(middle, high):
            value = values[c]
            values[c] = values[low]
            values[low] = value
            low += value <= pivot
        if rank < low:
            return float(pivot)


@kernel
def keep_nearest(distances: FloatArray, indices: IndexArray, count: int, depth: int, scratch: SearchScratch) -> float:
    """Keep the `depth` nearest of `count` > `depth` points in their order, the first of equals; return the farthest."""
    copy(distances, scratch.spare_distances, count)
    farthest = nth_smallest(scratch.spare_distances, count, depth - 1)
    nearer = 0
    for c in range(count):
        if distances[c] < farthest:
            nearer += 1
    equals = depth - nearer
    kept = 0
    for c in range(count):
        if distances[c] <= farthest:
            if distances[c] == farthest:
                if equals == 0:
                    continue
                equals -= 1
            distances[kept] = distances[c]
            indices[kept] = indices[c]
            kept += 1
    return farthest


@kernel
def sort_nearest(distances: FloatArray, indices: IndexArray, count: int, scratch: SearchScratch) -> None:
    """Sort the first `count` non-negative distances, and the indices with them; equals keep their order (radix sort).

    Parameters
    ----------
    distances, indices : arrays of shape (>= count,)
        Sorted in place.
    count : int
        At least 1.
    scratch : SearchScratch
        With room for `count`; `near_distances` and `near_indices` are left alone.
    """
    histogram = scratch.histogram
    bits, other_bits = distances.view(np.int64), scratch.spare_distances.view(np.int64)
    own_indices, other_indices = indices, scratch.spare_indices
    histogram[:, :] = 0
    for c in range(count):
        key = bits[c]
        for place in range(_PLACES):
            histogram[place, (key >> (_DIGIT * place)) & (_VALUES - 1)] += 1
    moved = False
    for place in range(_PLACES):
        shift = _DIGIT * place
        if histogram[place, (bits[0] >> shift) & (_VALUES - 1)] == count:
            continue  # all have the same digit here
        position = 0
        for value in range(_VALUES):
            here = histogram[place, value]
            histogram[place, value] = position
            position += here
        for c in range(count):
            key = bits[c]
            digit = (key >> shift) & (_VALUES - 1)
            position = histogram[place, digit]
            histogram[place, digit] = position + 1
            other_bits[position] = key
            other_indices[position] = own_indices[c]
        bits, other_bits = other_bits, bits
        own_indices, other_indices = other_indices, own_indices
        moved = not moved
    if moved:
        copy(scratch.spare_distances, distances, count)
        copy(scratch.spare_indices, indices, count)


@kernel
def pick_nearest(row: FloatArray, depth: int, scratch: SearchScratch) -> None:
    """Gather the `depth` nearest of a row in `scratch.near_distances` and `scratch.near_indices`, in order of index.

    Parameters
    ----------
    row : float64 array of shape (n_train,)
        Finite distances, of any sign.
    depth : int
        Number of neighbours wanted, at most n_train.
    scratch : SearchScratch
        With room for more than `depth`.
    """
    distances, indices = scratch.near_distances, scratch.near_indices
    count = 0
    cut = np.inf
    for start in range(0, row.shape[0], STRIDE):
        part = row[start : start + STRIDE]
        if part.shape[0] == STRIDE:
            found = False
            for t in range(STRIDE):
                found |= part[t] < cut
            if not found:
                continue
        for t in range(part.shape[0]):
            # A later point as far as the farthest kept has the higher index, and loses.
            if part[t] < cut:
                if count == distances.shape[0]:
                    cut = keep_nearest(distances, indices, count, depth, scratch)
                    count = depth
                    if part[t] >= cut:
                        continue
                distances[count] = part[t]
                indices[count] = start + t
                count += 1
    if count > depth:
        keep_nearest(distances, indices, count, depth, scratch)


@kernel
def rank_rows(rows: FloatArray, scratch: SearchScratch, indices: IndexArray, distances: FloatArray) -> None:
    """Order the nearest points of queries whose distances to all points are known.

    Parameters
    ----------
    rows : float64 array of shape (n_queries, n_train)
        Finite distances of at least 0.
    scratch : SearchScratch
        With room for more than `depth`.
    indices, distances : arrays of shape (n_queries, depth)
        Output, overwritten.
    """
    depth = indices.shape[1]
    for i in range(rows.shape[0]):
        pick_nearest(rows[i], depth, scratch)
        sort_nearest(scratch.near_distances, scratch.near_indices, depth, scratch)
        copy(scratch.near_indices, indices[i], depth)
        copy(scratch.near_distances, distances[i], depth)
