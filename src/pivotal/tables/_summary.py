"""What workers learn from the pieces of a table, and how it adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.tables._features import MOST_CATEGORIES, finite_numbers
from pivotal.tables._pieces import Piece, read_piece
from pivotal.tables.columns import Kind, as_vectors, as_words, find_gaps, profile
from pivotal.tables.label_column import as_classes, as_responses, check_kind
from pivotal.tables.prepare import row_names
from pivotal.tables.roles import Roles, choose, matching
from pivotal.tables.table import Table

__all__ = [
    "DistinctValues",
    "Labels",
    "Look",
    "Moments",
    "ProfileRequest",
    "Summary",
    "combine",
    "look_at",
    "summarise",
    "words_of",
]

_EPS: Final = float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Number of rows, and of each column the mean, the sum of squared deviations from it, and the extremes."""

    n_rows: int
    mean: FloatArray
    squares: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, columns: FloatArray) -> Moments:
        """Return those of an array of shape (n_columns, n_rows), in which sums run along memory."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = columns.mean(axis=1)
            rest = columns - mean[:, np.newaxis]
            squares = (rest**2).sum(axis=1) - rest.sum(axis=1) ** 2 / columns.shape[1]
        return cls(columns.shape[1], mean, squares, columns.min(axis=1), columns.max(axis=1))

    def only(self, places: Sequence[int]) -> Moments:
        """Return those of some of the columns."""
        some = list(places)
        return Moments(self.n_rows, self.mean[some], self.squares[some], self.low[some], self.high[some])

    def joined(self, other: Moments) -> Moments:
        """Return those of the rows of both, by the formula of Chan, Golub and LeVeque."""
        n_rows = self.n_rows + other.n_rows
        share = other.n_rows / n_rows
        with np.errstate(over="ignore", invalid="ignore"):
            step = other.mean - self.mean
            squares = self.squares + other.squares + step**2 * (self.n_rows * share)
            low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
            return Moments(n_rows, self.mean + step * share, squares, low, high)

    @property
    def deviation(self) -> FloatArray:
        """Standard deviations, the rows being the population; 1 for a constant column, as in StandardScaler."""
        variance = np.maximum(self.squares, 0.0) / self.n_rows
        blur = self.n_rows * _EPS * variance + (self.n_rows * self.mean * _EPS) ** 2  # what rounding can make of 0
        return np.where(variance <= blur, 1.0, np.sqrt(variance))


class DistinctValues(NamedTuple):
    """The values of a category; None where there are more than `most`."""

    most: int
    words: frozenset[str] | None

    def joined(self, other: DistinctValues) -> DistinctValues:
        """Return the values of both."""
        words = None if self.words is None or other.words is None else self.words | other.words
        return DistinctValues(self.most, None if words is None or len(words) > self.most else words)


class Labels(NamedTuple):
    """Gaps among the labels, whether all are integers, and how many rows have each, by their text."""

    gaps: int
    numeric: bool
    counts: dict[str, int]

    def joined(self, other: Labels) -> Labels:
        """Return what is known of both."""
        counts = Counter(self.counts)
        counts.update(other.counts)
        return Labels(self.gaps + other.gaps, self.numeric and other.numeric, dict(counts))


class Width(NamedTuple):
    """How long vectors are, what their numbers are, and their moments if they are to be standardised."""

    length: int
    dtype: np.dtype[Any]
    moments: Moments | None


@dataclass(frozen=True, eq=False)
class ProfileRequest:
    """What is asked of every piece.

    Parameters
    ----------
    name : str
        What messages call the table.
    schema : pyarrow Schema
        Its columns.
    roles : Roles
        Which column plays which part.
    regression : bool
        Whether the label is a number to be predicted.
    kinds : mapping of str to Kind
        Columns that are features, or may be.
    undecided : collection of str
        Categories that are text if they have too many different values.
    training : bool, default=True
        Whether anything is learned; test rows are only checked.
    known : mapping of str to list of str
        The values of the categories, where test rows are checked.
    """

    name: str
    schema: pa.Schema
    roles: Roles
    regression: bool
    kinds: Mapping[str, Kind]
    undecided: Collection[str] = ()
    training: bool = True
    known: Mapping[str, Collection[str]] = field(default_factory=dict)

    def of(self, *kinds: Kind) -> list[str]:
        """Return the columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def scaled(self, name: str) -> bool:
        """Whether a column of vectors is standardised."""
        return self.roles.scale == "all" or (self.roles.scale == "numbers" and self.kinds[name] == "matrix")

    def read(self, piece: Piece) -> Table:
        """Return what the question is about, of a piece."""
        named = [self.roles.id] if self.training and self.roles.id is not None else []
        return read_piece(piece, self.name, self.schema, list(dict.fromkeys([*self.kinds, self.roles.label, *named])))


class Look(NamedTuple):
    """What the columns are, going by the first rows."""

    kinds: dict[str, Kind]
    treatments: dict[str, tuple[str, str]]
    undecided: frozenset[str]
    """Text of which only all rows can say whether it is a category; a category until then."""


def look_at(piece: Piece, question: ProfileRequest) -> Look:
    """Decide what each column is, as far as a piece can tell."""
    roles = question.roles
    table = read_piece(piece, question.name, question.schema, question.schema.names)
    certain = matching(table, roles.categorical, "--categorical")
    open_ = [name for name in table.columns if name not in set(certain)]
    found = profile(table, open_, roles.gaps, roles.max_categories)
    undecided = [name for name in open_ if found.kinds[name] in ("category", "text")]
    choice = choose(table, replace(roles, categorical=[*certain, *undecided]))
    return Look(choice.kinds, choice.treatments, frozenset(undecided) & frozenset(choice.kinds))


@dataclass(frozen=True, eq=False)
class Summary:
    """What is known of some rows.

    Parameters
    ----------
    n_rows : int
        How many there are.
    gaps : dict of str to int
        How many cells have no content, in columns of numbers and categories.
    numbers : Moments or None
        Of all columns of numbers, in their order.
    categories : dict of str to Different
        Their values.
    vectors : dict of str to Width
        How long they are.
    labels : Labels
        What is predicted.
    strange : dict of str to int
        How many test rows have a value that training rows do not have, in columns of categories.
    """

    n_rows: int
    gaps: dict[str, int]
    numbers: Moments | None
    categories: dict[str, DistinctValues]
    vectors: dict[str, Width]
    labels: Labels
    strange: dict[str, int]

    def joined(self, other: Summary) -> Summary:
        """Return what is known of the rows of both."""
        both = None
        if self.numbers is not None and other.numbers is not None:
            both = self.numbers.joined(other.numbers)
        return Summary(
            self.n_rows + other.n_rows,
            {name: n_gaps + other.gaps[name] for name, n_gaps in self.gaps.items()},
            both,
            {name: found.joined(other.categories[name]) for name, found in self.categories.items()},
            {name: _joined(name, width, other.vectors[name]) for name, width in self.vectors.items()},
            self.labels.joined(other.labels),
            {name: n_strange + other.strange[name] for name, n_strange in self.strange.items()},
        )


def _joined(name: str, width: Width, other: Width) -> Width:
    if width.length != other.length:
        raise ValueError(
            f"column {name!r} must hold vectors of one length; got {width.length} numbers in some rows and "
            f"{other.length} in others."
        )
    if width.moments is None or other.moments is None:
        return width
    return width._replace(moments=width.moments.joined(other.moments))


def combine(summaries: Sequence[Summary]) -> Summary:
    """Return what is known of the rows of all, taken in their order."""
    return reduce(Summary.joined, summaries)


def summarise(piece: Piece, question: ProfileRequest) -> Summary:
    """Return what a piece answers.

    Raises
    ------
    ValueError
        If a cell cannot be what it should be; the message says which.
    """
    roles, table = question.roles, question.read(piece)
    if question.training and roles.id is not None:
        row_names(table, roles.id, "--id")
    columns = question.of("number")
    numbers = finite_numbers(table, columns, roles.gaps).T if columns else np.empty((0, len(table)))
    gaps = dict(zip(columns, np.isnan(numbers).sum(axis=1).tolist(), strict=True))
    gaps |= {name: find_gaps(table, name, roles.gaps).size for name in question.of("category", "empty")}
    categories = {}
    for name in question.of("category") if question.training else ():
        most = min(roles.max_categories, MOST_CATEGORIES) if name in question.undecided else MOST_CATEGORIES
        words = frozenset(word for word in words_of(table, name, roles.gaps)[0] if word is not None)
        categories[name] = DistinctValues(most, words if len(words) <= most else None)
    return Summary(
        len(table),
        gaps,
        Moments.of(np.ascontiguousarray(numbers)) if columns and question.training else None,
        categories,
        {name: _width(table, name, question) for name in question.of("vector", "matrix")},
        _labels(table, question),
        {name: _count_strange(table, name, question) for name in question.of("category") if name in question.known},
    )


def _count_strange(table: Table, name: str, question: ProfileRequest) -> int:
    words, codes = words_of(table, name, question.roles.gaps)
    known = {*question.known[name], None}
    return int(np.isin(codes, [place for place, word in enumerate(words) if word not in known]).sum())


def _width(table: Table, name: str, question: ProfileRequest) -> Width:
    vectors = as_vectors(table, name)
    learned = question.training and question.scaled(name)
    moments = Moments.of(np.ascontiguousarray(vectors.T, dtype=np.float64)) if learned else None
    return Width(vectors.shape[1], vectors.dtype, moments)


def _labels(table: Table, question: ProfileRequest) -> Labels:
    label = question.roles.label
    check_kind(table, label)
    n_gaps = find_gaps(table, label, {""}).size
    if n_gaps:
        return Labels(n_gaps, numeric=True, counts={})
    if question.regression:
        as_responses(table, label)
        return Labels(0, numeric=True, counts={})
    labels = as_classes(table, label, numeric=not question.roles.classes)
    different, counts = np.unique(labels.astype(str), return_counts=True)
    return Labels(0, labels.dtype != object, dict(zip(different.tolist(), counts.tolist(), strict=True)))


def words_of(table: Table, name: str, gaps: Collection[str]) -> tuple[AnyArray, IndexArray]:
    """Return the different cells of a column as text, None where there is a gap, and which of them each cell is."""
    column = table.column(name)
    if pa.types.is_nested(column.type):
        codes, words = pd.factorize(as_words(table, name, gaps), use_na_sentinel=False)
        return words, codes
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = column.dictionary_encode(null_encoding="encode").unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    words = as_words(Table(pa.table({name: whole.dictionary}), table.name, table.format), name, gaps)
    codes = whole.indices.to_numpy(zero_copy_only=False)
    return words, codes
