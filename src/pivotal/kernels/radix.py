"""Whole orders: all points of a query sorted by rough scores, and measured again where rounding could change it.

A score is the squared distance less the square of the query, in double precision, off by a rounding error whose bound
is known; or a distance that is known already. It becomes a fixed-point number that fills what the index and the label
of the point leave of a 64-bit word:

    row of products  ->  words (score, index, label)  ->  sorted words  ->  labels and indices, nearest first
                                                               |
                            scores too close to tell apart: exact distances, equal ones by index

The leading bits are sorted by digits, least significant first, with all digits counted in one pass; there are
enough of them that few points share all of them, and those are put in order by insertion. Two points whose scores are
closer than the error bound may be in the wrong order. So runs of close scores are measured, and ordered by exact
distance, equal ones by index. Points of one label that follow each other would have the same value in either order, but
for the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.measure import PointRows, measure_points
from pivotal.kernels.order import SearchScratch, make_scratch, sort_nearest

WordArray = npt.NDArray[np.uint64]

# Bits of a digit: its counters fit in the first cache, and do not outnumber the points.
_LEAST_DIGIT, _MOST_DIGIT = 8, 12
# Up to this many points two digits tell most of them apart; beyond, three smaller ones.
_TWO_DIGITS = 1 << 18
_ONE_OF_THREE = 11
# Two digits have this many bits more than it takes to number the points: one in a hundred shares them with another.
_APART = 8
# Adding this to a number below it, and at least 0, leaves it as an integer in the last 52 bits.
INTEGER = 2.0**52
# A score has at least this many bits: labels that do not fit beside it are looked up.
_SCORE_BITS = 40
# Up to this many points of a run are ordered by insertion.
_SHORT = 32
# Words that are looked at together for whether they are in order.
_STRIDE = 64
# Insertion gives up when it has moved this many words for each of them.
_MOVES = 16


class SortWords(NamedTuple):
    """How words are made of points: the index, and below it the label, take the last bits."""

    score_bits: int
    """Bits of a word that hold the score, the leading ones."""
    label_bits: int
    """Bits that hold the label, the last ones; 0 where labels are looked up."""
    tails: WordArray
    """Index and label of each point, in their place; shape (n_train,)."""
    labels: FloatArray
    """Label of each point, or its code; shape (n_train,)."""


def make_words(labels: AnyArray, n_codes: int) -> SortWords:
    """Words for points with these labels, which are codes below `n_codes`; 0: they are no codes."""
    index_bits = max(1, (len(labels) - 1).bit_length())
    label_bits = max(1, (n_codes - 1).bit_length()) if n_codes else 0
    if index_bits + label_bits > 64 - _SCORE_BITS:
        label_bits = 0
    tails = np.arange(len(labels), dtype=np.uint64)
    if label_bits:
        tails <<= np.uint64(label_bits)
        tails |= labels.astype(np.uint64)
    return SortWords(min(51, 64 - index_bits - label_bits), label_bits, tails, labels.astype(np.float64, copy=False))


class Sorter(NamedTuple):
    """Scratch for one thread."""

    words: WordArray
    """Shape (n_train,)."""
    histogram: CodeArray
    """How often each digit has each value, shape (n_digits, 2^digit)."""
    near: SearchScratch
    """Room for the points of a run."""
    digit: int
    """Bits of a digit."""
    digits: int
    """Leading digits that are sorted before insertion."""


def make_sorter(n_train: int) -> Sorter:
    """Scratch for this many points. Where no run is long, most of it is never touched, and takes no memory."""
    digit, digits = _ONE_OF_THREE, 3
    if n_train <= _TWO_DIGITS:
        digit, digits = min(max(_LEAST_DIGIT, (n_train.bit_length() + _APART + 1) // 2), _MOST_DIGIT), 2
    return Sorter(
        words=np.empty(n_train, np.uint64),
        histogram=np.empty((-(-64 // digit), 1 << digit), np.int32),
        near=make_scratch(n_train),
        digit=digit,
        digits=digits,
    )


class Scores(NamedTuple):
    """Rough scores of all points for some queries, and what decides where they are too close."""

    made: WordArray
    """The words of all points, shape (n_queries, n_train); overwritten."""
    gaps: IndexArray
    """Scores, as numbers of words, that differ by more are in their true order; -1: all are. Shape (n_queries,)."""
    own: IndexArray
    """A point that is left out; -1: none. Shape (n_queries,)."""
    known: FloatArray
    """Exact distances, shape (n_queries, n_train); shape (0, 0) where they are measured when needed."""
    points: PointRows
    """Those to be measured."""
    queries: FloatArray
    """Shape (n_queries, n_features)."""
    squared: bool
    """Whether distances are left squared."""

    def part(self, queries: slice) -> Scores:
        """Those of some of the queries."""
        known = self.known[queries] if len(self.known) else self.known
        made, gaps, own = self.made[queries], self.gaps[queries], self.own[queries]
        return Scores(made, gaps, own, known, self.points, self.queries[queries], self.squared)


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
def write_words(
    row: FloatArray, norms: FloatArray, scale: float, shift: float, words: SortWords, first: int, made: WordArray
) -> None:
    """Fill `made` with the words of the points from `first` on: it may be the memory of the row.

    Parameters
    ----------
    row : float64 array of shape (count,)
        Scores less `norms`.
    norms : float64 array of shape (count,)
        What is added to them.
    scale, shift : float
        A score times the scale, plus the shift, is `INTEGER` and a number that fits the bits.
    words : SortWords
        How words are made.
    first : int
        The first of the points.
    made : uint64 array of shape (count,)
        Output.
    """
    place, tails = np.uint64(64 - words.score_bits), words.tails[first : first + row.shape[0]]
    for i in range(row.shape[0]):
        number = np.float64((row[i] + norms[i]) * scale + shift).view(np.uint64)
        made[i] = (number << place) | tails[i]


@kernel
def write_rows(rows: FloatArray, scales: FloatArray, shifts: FloatArray, words: SortWords) -> None:
    """Make words of the scores of all points for some queries, in their memory."""
    nothing = np.zeros(rows.shape[1])
    for q in range(rows.shape[0]):
        write_words(rows[q], nothing, scales[q], shifts[q], words, 0, rows[q].view(np.uint64))


def write_known(known: FloatArray, words: SortWords, made: WordArray) -> None:
    """Make words of distances that are known, finite and at least 0: only equal scores are too close to tell.

    A distance less the smallest, times a scale, is no smaller than that of a nearer point, however it is rounded.
    """
    rows = made.view(np.float64)
    np.subtract(known, known.min(axis=1, keepdims=True), out=rows)
    with np.errstate(over="ignore", divide="ignore"):
        scales = (2.0**words.score_bits - 8.0) / rows.max(axis=1)
    scales[~np.isfinite(scales)] = 0.0  # all the same, or as good as: one run
    write_rows(rows, scales, np.full(len(rows), 4.0 + INTEGER), words)


@kernel
def sort_digits(source: WordArray, target: WordArray, count: int, digits: int, sorter: Sorter) -> WordArray:
    """Sort the first `count` words by their leading digits; return which of the two arrays holds them."""
    histogram, width = sorter.histogram, sorter.digit
    values = 1 << width
    mask = np.uint64(values - 1)
    for digit in range(digits):
        for value in range(values):
            histogram[digit, value] = 0
    if digits == 2:
        low, high = np.uint64(64 - 2 * width), np.uint64(64 - width)
        one, two = histogram[0], histogram[1]
        for c in range(count):
            word = source[c]
            one[(word >> low) & mask] += 1
            two[word >> high] += 1
    else:
        for c in range(count):
            word = source[c] >> np.uint64(max(0, 64 - digits * width))
            for digit in range(digits):
                histogram[digit, word & mask] += 1
                word >>= np.uint64(width)
    for digit in range(digits):
        position = 0
        for value in range(values):
            occurs = histogram[digit, value]
            histogram[digit, value] = position
            position += occurs
        place, own = np.uint64(max(0, 64 - digits * width) + digit * width), histogram[digit]
        for c in range(count):
            word = source[c]
            here = (word >> place) & mask
            position = own[here]
            own[here] = position + 1
            target[np.uint32(position)] = word
        source, target = target, source
    return source


@kernel
def insert_words(words: WordArray, count: int, near: np.uint64) -> int:
    """Finish sorting what is nearly sorted, and look for neighbours that are too close to tell apart.

    Return 1 if any are less than `near` apart, else 0; -1 if this is not nearly sorted, with some of it undone.
    """
    moves, close = _MOVES * count, False
    for start in range(1, count, _STRIDE):
        stop = min(start + _STRIDE, count)
        if stop - start == _STRIDE:
            left, right = words[start - 1 : stop - 1], words[start:stop]
            found = False
            for t in range(_STRIDE):
                found |= right[t] < left[t] + near  # scores leave room for it
            if not found:
                continue
        for c in range(start, stop):
            word, p = words[c], c
            if word >= words[c - 1] + near:
                continue
            while p > 0 and words[p - 1] > word:
                words[p] = words[p - 1]
                p -= 1
            words[p] = word
            close |= p > 0 and word - words[p - 1] < near
            close |= p < c and words[p + 1] - word < near
            moves -= c - p
        if moves < 0:
            return -1
    return 1 if close else 0


@kernel
def index_of(word: np.uint64, words: SortWords) -> np.int64:
    """The index in a word."""
    place = np.uint64(64 - words.score_bits)
    return np.int64((word & ((np.uint64(1) << place) - np.uint64(1))) >> np.uint64(words.label_bits))


@kernel
def order_run(
    q: int, scores: Scores, words: SortWords, made: WordArray, start: int, stop: int, near: SearchScratch
) -> None:
    """Order made[start:stop] by exact distance, equal ones by index; scores are left out of the words."""
    count = stop - start
    listed, distances = near.near_indices, near.near_distances
    for c in range(count):
        listed[c] = index_of(made[start + c], words)
    if count > _SHORT:
        # Stable sorts: by index first, then by distance.
        for c in range(count):
            distances[c] = listed[c]
        sort_nearest(distances, listed, count, near)
    if scores.known.shape[0] > 0:
        for c in range(count):
            distances[c] = scores.known[q, listed[c]]
    else:
        measure_points(scores.points, scores.queries[q], listed, 0, count, scores.squared, distances)
    if count > _SHORT:
        sort_nearest(distances, listed, count, near)
    else:
        for c in range(1, count):
            distance, index = distances[c], listed[c]
            p = c
            while p > 0 and (distances[p - 1] > distance or (distances[p - 1] == distance and listed[p - 1] > index)):
                distances[p], listed[p] = distances[p - 1], listed[p - 1]
                p -= 1
            distances[p], listed[p] = distance, index
    for c in range(count):
        made[start + c] = words.tails[listed[c]]


@kernel
def order_runs(q: int, scores: Scores, words: SortWords, made: WordArray, count: int, near: SearchScratch) -> int:
    """Order the runs of close scores; return how many points were measured."""
    place, gap = np.uint64(64 - words.score_bits), np.uint64(scores.gaps[q])
    measured, start = 0, 0
    before = made[0] >> place
    for c in range(1, count + 1):
        if c < count:
            here = made[c] >> place
            close = here - before <= gap
            before = here
            if close:
                continue
        if c - start > 1:
            order_run(q, scores, words, made, start, c, near)
            measured += c - start
        start = c
    return measured


@kernel
def order_words(q: int, scores: Scores, words: SortWords, sorter: Sorter) -> tuple[WordArray, int]:
    """Return the words of all points of a query, nearest first, and how many points were measured.

    A word keeps its index and label; its score may be gone.
    """
    row, own, count = scores.made[q], scores.own[q], scores.made.shape[1]
    if own >= 0:  # words come in any order
        count -= 1
        row[own] = row[count]
    # Scores are at most `gap` apart where words are less than this apart, and perhaps where not quite.
    near = np.uint64(scores.gaps[q] + 1) << np.uint64(64 - words.score_bits)
    made = sort_digits(row, sorter.words, count, sorter.digits, sorter)
    close = insert_words(made, count, near)
    if close < 0:
        # Many points share their leading digits, as where one is far from all others. The row still holds every word.
        digits = -(-words.score_bits // sorter.digit)
        made = sort_digits(row, sorter.words, count, digits, sorter)
        close = insert_words(made, count, near)
    measured = order_runs(q, scores, words, made, count, sorter.near) if close != 0 else 0
    return made[:count], measured


@kernel
def list_labels(made: WordArray, words: SortWords, labels: AnyArray) -> None:
    """Fill labels with those of the points of some words."""
    if words.label_bits > 0:
        code = (np.uint64(1) << np.uint64(words.label_bits)) - np.uint64(1)
        for c in range(made.shape[0]):
            labels[c] = np.int64(made[c] & code)
    else:
        for c in range(made.shape[0]):
            labels[c] = words.labels[index_of(made[c], words)]


@kernel
def clear(row: FloatArray) -> None:
    """Fill with zeros: in order, which brings a row into the cache before it is filled here and there."""
    for i in range(row.shape[0]):
        row[i] = 0.0


@kernel
def scatter_words(made: WordArray, words: SortWords, values: FloatArray, row: FloatArray) -> None:
    """Fill row[i] with the value of point i, whose word is where its value is; no other entry is touched."""
    place, label_bits = np.uint64(64 - words.score_bits), np.uint64(words.label_bits)
    index_bits = (np.uint64(1) << place) - np.uint64(1)
    for c in range(made.shape[0]):
        row[(made[c] & index_bits) >> label_bits] = values[c]


@kernel
def order_rows(scores: Scores, words: SortWords, sorter: Sorter, labels: AnyArray, indices: CodeArray) -> int:
    """Order all points by their distance to each query; return how many were measured.

    Parameters
    ----------
    scores, words : Scores, SortWords
        Rough scores of the points, and their labels.
    sorter : Sorter
        Scratch.
    labels, indices : arrays of shape (n_queries, n_players)
        Output, overwritten: labels of the points, and the points, nearest first.
    """
    total = 0
    for q in range(labels.shape[0]):
        made, measured = order_words(q, scores, words, sorter)
        total += measured
        for c in range(made.shape[0]):
            indices[q, c] = index_of(made[c], words)
        list_labels(made, words, labels[q])
    return total
