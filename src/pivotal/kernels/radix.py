"""Whole orders: all points of a query sorted by rough scores, and measured again only where a value can change.

A score is the squared distance less the square of the query, in double precision, off by a rounding error whose bound
is known. It becomes a fixed-point number that fills what the index leaves of a 64-bit word:

    row of products  ->  words (score, index)  ->  sorted words  ->  labels and indices, nearest first
                                                        |
                     scores too close to tell apart: exact distances, equal ones by index

The leading bits are sorted by digits, least significant first, with all digits counted in one pass; there are enough of
them that few points share all of them, and those are put in order by insertion. Two points whose scores are closer
than the error bound may be in the wrong order. That matters only if their labels differ: points next to each other
with one label have the same value. So runs of close scores are measured, and ordered by exact distance, if they hold
more than one label. Sparing the others changes no bit of any result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.accumulate import add_row
from pivotal.kernels.measure import measure_rows
from pivotal.kernels.order import Scratch, make_scratch, sort_nearest

WordArray = npt.NDArray[np.uint64]

# Bits of a digit: its counters fit in the first cache.
_DIGIT = 11
# Adding this to a number below it, and at least 0, leaves it as an integer in the last 52 bits.
INTEGER = 2.0**52
# Up to this many points of a run are ordered by insertion.
_SHORT = 32
# Sums that stay in the first cache while rows are added to them.
_SUMS = 512
# Insertion gives up when it has moved this many words for each of them.
_MOVES = 16


class Sorter(NamedTuple):
    """Scratch for one thread, and how words are made."""

    words: WordArray
    """Shape (n_train,)."""
    other: WordArray
    """Shape (n_train,)."""
    histogram: CodeArray
    """How often each digit has each value, shape (6, 2048)."""
    near: Scratch
    """Room for the points of a run."""
    index_bits: int
    """Bits of a word that hold the index; the others hold the score."""
    digits: int
    """Leading digits that are sorted before insertion."""


def score_bits(n_train: int) -> int:
    """Bits that the index leaves to the score, at most as many as a double has."""
    return min(51, 64 - max(1, (n_train - 1).bit_length()))


def make_sorter(n_train: int) -> Sorter:
    """Scratch for this many points. Where no run is long, most of it is never touched, and takes no memory."""
    return Sorter(
        words=np.empty(n_train, np.uint64),
        other=np.empty(n_train, np.uint64),
        histogram=np.empty((6, 1 << _DIGIT), np.int32),
        near=make_scratch(n_train),
        index_bits=64 - score_bits(n_train),
        digits=2 if n_train <= 1 << 18 else 3,
    )


@kernel
def centre_in_double(X: AnyArray, centre: FloatArray, scale: float, points: FloatArray, norms: FloatArray) -> None:
    """Fill `points` with (X - centre) * scale, in double precision, and `norms` with their squared lengths."""
    for i in range(X.shape[0]):
        square = 0.0
        for j in range(X.shape[1]):
            points[i, j] = (X[i, j] - centre[j]) * scale
            square += points[i, j] * points[i, j]
        norms[i] = square


@kernel
def centre_again(X: AnyArray, centre: FloatArray, scale: float, points: FloatArray) -> None:
    """As `centre_in_double`, where the lengths are known: sums would have to wait for each other."""
    for i in range(X.shape[0]):
        row, own = X[i], points[i]
        for j in range(X.shape[1]):
            own[j] = (row[j] - centre[j]) * scale


@kernel
def make_words(row: FloatArray, norms: FloatArray, scale: float, shift: float, own: int, sorter: Sorter) -> int:
    """Fill the words with all points but `own`, and return how many they are; `row` is overwritten."""
    count: int = row.shape[0]
    for i in range(count):
        row[i] = (row[i] + norms[i]) * scale + shift
    bits, words = row.view(np.uint64), sorter.words
    place = np.uint64(sorter.index_bits)
    for i in range(count):
        words[i] = (bits[i] << place) | np.uint64(i)
    if own >= 0:  # words come in any order
        count -= 1
        words[own] = words[count]
    return count


@kernel
def sort_digits(count: int, digits: int, sorter: Sorter) -> WordArray:
    """Sort the first `count` words by their leading digits; return the array that holds them."""
    histogram, source, target = sorter.histogram, sorter.words, sorter.other
    mask = np.uint64((1 << _DIGIT) - 1)
    for digit in range(digits):
        for value in range(1 << _DIGIT):
            histogram[digit, value] = 0
    if digits == 2:
        for c in range(count):
            word = source[c]
            histogram[0, (word >> np.uint64(64 - 2 * _DIGIT)) & mask] += 1
            histogram[1, word >> np.uint64(64 - _DIGIT)] += 1
    else:
        for c in range(count):
            word = source[c] >> np.uint64(max(0, 64 - digits * _DIGIT))
            for digit in range(digits):
                histogram[digit, word & mask] += 1
                word >>= np.uint64(_DIGIT)
    for digit in range(digits):
        position = 0
        for value in range(1 << _DIGIT):
            occurs = histogram[digit, value]
            histogram[digit, value] = position
            position += occurs
        place = np.uint64(max(0, 64 - digits * _DIGIT) + digit * _DIGIT)
        for c in range(count):
            word = source[c]
            here = (word >> place) & mask
            position = histogram[digit, here]
            histogram[digit, here] = position + 1
            target[position] = word
        source, target = target, source
    return source


@kernel
def insert_words(words: WordArray, count: int) -> bool:
    """Finish sorting what is nearly sorted; return False if it is not, with some of it undone."""
    moves = _MOVES * count
    for c in range(1, count):
        word = words[c]
        if words[c - 1] > word:
            p = c
            while p > 0 and words[p - 1] > word:
                words[p] = words[p - 1]
                p -= 1
            words[p] = word
            moves -= c - p
            if moves < 0:
                return False
    return True


@kernel
def order_run(
    X: AnyArray, query: FloatArray, squared: bool, indices: CodeArray, start: int, stop: int, near: Scratch
) -> None:
    """Order indices[start:stop] by exact distance, equal ones by index."""
    count = stop - start
    listed, distances = near.near_indices, near.near_distances
    for c in range(count):
        listed[c] = indices[start + c]
    if count > _SHORT:
        # Stable sorts: by index first, then by distance.
        for c in range(count):
            distances[c] = listed[c]
        sort_nearest(distances, listed, count, near)
        measure_rows(X, query, listed, 0, count, squared, distances)
        sort_nearest(distances, listed, count, near)
    else:
        measure_rows(X, query, listed, 0, count, squared, distances)
        for c in range(1, count):
            distance, index = distances[c], listed[c]
            p = c
            while p > 0 and (distances[p - 1] > distance or (distances[p - 1] == distance and listed[p - 1] > index)):
                distances[p], listed[p] = distances[p - 1], listed[p - 1]
                p -= 1
            distances[p], listed[p] = distance, index
    for c in range(count):
        indices[start + c] = listed[c]


@kernel
def order_runs(
    X: AnyArray,
    query: FloatArray,
    squared: bool,
    words: WordArray,
    gap: int,
    all_alike: bool,
    points: AnyArray,
    labels: AnyArray,
    indices: CodeArray,
    sorter: Sorter,
) -> int:
    """Order the runs of close scores in which order matters; return how many points were measured."""
    count = indices.shape[0]
    place = np.uint64(sorter.index_bits)
    measured, start, mixed = 0, 0, False
    before = words[0] >> place
    for c in range(1, count + 1):
        if c < count:
            here = words[c] >> place
            close = here - before <= np.uint64(gap)
            before = here
            if close:
                mixed |= labels[c] != labels[c - 1]
                continue
        if c - start > 1 and (mixed or all_alike):
            order_run(X, query, squared, indices, start, c, sorter.near)
            for p in range(start, c):
                labels[p] = points[indices[p]]
            measured += c - start
        start, mixed = c, False
    return measured


@kernel
def order_rows(
    products: FloatArray,
    norms: FloatArray,
    scales: FloatArray,
    shifts: FloatArray,
    gaps: IndexArray,
    own: IndexArray,
    X: AnyArray,
    queries: FloatArray,
    squared: bool,
    all_alike: bool,
    points: AnyArray,
    sorter: Sorter,
    labels: AnyArray,
    indices: CodeArray,
) -> int:
    """Order all points by their distance to each query; return how many were measured.

    Parameters
    ----------
    products : float64 array of shape (n_queries, n_train)
        Minus twice the product of each query with each point; overwritten.
    norms : float64 array of shape (n_train,)
        Squared length of each point.
    scales, shifts : float64 arrays of shape (n_queries,)
        A score times `scale`, plus `shift`, is `INTEGER` and a number from 0 to what the bits of a score can hold.
    gaps : int64 array of shape (n_queries,)
        Numbers that differ by more than this are in their true order.
    own : int64 array of shape (n_queries,)
        A point that is omitted; -1: none.
    X, queries, squared
        As in `pivotal.kernels.search.scan_tile`.
    all_alike : bool
        Whether the order of points with the same label matters as well.
    points : int32 or float64 array of shape (n_train,)
        Label of each point.
    sorter : Sorter
        Scratch.
    labels, indices : arrays of shape (n_queries, n_players)
        Output, overwritten: labels of the points, and the points, nearest first.
    """
    measured = 0
    place = np.uint64(sorter.index_bits)
    mask = (np.uint64(1) << place) - np.uint64(1)
    all_digits = -(-(64 - sorter.index_bits) // _DIGIT)
    for q in range(products.shape[0]):
        count = make_words(products[q], norms, scales[q], shifts[q], own[q], sorter)
        words = sort_digits(count, sorter.digits, sorter)
        if not insert_words(words, count):
            # Many points share their leading digits, as where one is far from all others.
            for c in range(count):
                sorter.words[c] = words[c]
            words = sort_digits(count, all_digits, sorter)
            insert_words(words, count)
        own_labels, own_indices = labels[q], indices[q]
        for c in range(count):
            own_indices[c] = np.int64(words[c] & mask)
        for c in range(count):
            own_labels[c] = points[np.int64(words[c] & mask)]
        # Scores are at most `gap` apart where words are less than this apart, and perhaps where not quite.
        near, close = (np.uint64(gaps[q]) + np.uint64(1)) << place, False
        for c in range(1, count):
            close |= words[c] - words[c - 1] < near
        if close:
            measured += order_runs(
                X, queries[q], squared, words, gaps[q], all_alike, points, own_labels, own_indices, sorter
            )
    return measured


@kernel
def scatter_rows(indices: CodeArray, values: FloatArray, rows: FloatArray) -> None:
    """Fill rows[q, i] with the value of point i in the order of query q, 0 for a point that is not in it.

    Parameters
    ----------
    indices : int32 array of shape (n_queries, n_players)
        Points, no point twice in a row.
    values : float64 array of shape (n_queries, n_players)
        Their values.
    rows : float64 array of shape (n_queries, n_train)
        Output, overwritten.
    """
    for q in range(indices.shape[0]):
        row, own_indices, own_values = rows[q], indices[q], values[q]
        if indices.shape[1] < rows.shape[1]:
            for i in range(rows.shape[1]):
                row[i] = 0.0
        for c in range(indices.shape[1]):
            row[np.uint32(own_indices[c])] = own_values[c]  # not negative: nothing to look for from the end


@kernel
def add_rows(rows: FloatArray, start: int, stop: int, weights: FloatArray, sums: FloatArray) -> None:
    """Add the rows to the sums of the points start, ..., stop - 1, query after query, as `add_moments` does."""
    for first in range(start, stop, _SUMS):
        last = min(first + _SUMS, stop)
        for q in range(rows.shape[0]):
            add_row(rows[q, first:last], first, weights[q] if weights.shape[0] > 0 else 1.0, sums)
