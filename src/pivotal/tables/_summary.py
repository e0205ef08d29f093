"""What is learned from the rows of a table, in pieces that add up: one machine has one piece, a cluster many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, IndexArray
from pivotal.tables._column_moments import LARGEST, Moments
from pivotal.tables._dates import DateSummary
from pivotal.tables._feature_columns import FeatureColumns, ProfileRequest, only
from pivotal.tables.columns import find_gaps
from pivotal.tables.table import Table

MOST_CATEGORIES: Final = 1000  # columns that one-hot encoding may make of one


class Gaps(NamedTuple):
    """How many cells of a column have no content, and where the first of them is."""

    cells: int
    first: str

    @classmethod
    def of(cls, table: Table, rows: IndexArray) -> Gaps:
        """Return those of a column, by the rows in which there are gaps."""
        return cls(rows.size, table.row(rows[0]) if rows.size else "")

    def joined(self, other: Gaps) -> Gaps:
        """Return those of both, the rows of `self` coming first."""
        return Gaps(self.cells + other.cells, self.first or other.first)


class CategoryCounts(NamedTuple):
    """How often each value of a category occurs; None where there are more than `limit` values."""

    limit: int
    counts: dict[str, int] | None

    def joined(self, other: CategoryCounts) -> CategoryCounts:
        """Return the values of both."""
        if self.counts is None or other.counts is None:
            return CategoryCounts(self.limit, None)
        counts = dict(Counter(self.counts) + Counter(other.counts))
        return CategoryCounts(self.limit, counts if len(counts) <= self.limit else None)

    @property
    def most_frequent(self) -> str | None:
        """The value that occurs most often, the first in the alphabet of several; None without one."""
        return min(self.counts, key=lambda word: (-(self.counts or {})[word], word)) if self.counts else None


class Width(NamedTuple):
    """How long vectors are, what their numbers are, and their moments if they are to be standardised."""

    length: int
    dtype: np.dtype[Any]
    moments: Moments | None


@dataclass(frozen=True, eq=False)
class TableSummary:
    """What is known of some rows."""

    n_rows: int
    gaps: dict[str, Gaps]  # of columns of numbers, categories and dates
    numbers: Moments | None  # of all columns of numbers, in their order
    categories: dict[str, CategoryCounts]
    dates: dict[str, DateSummary]
    vectors: dict[str, Width]
    strange: dict[str, int]  # how many test rows have a category that training rows do not have

    def joined(self, other: TableSummary) -> TableSummary:
        """Return what is known of the rows of both."""
        both = None
        if self.numbers is not None and other.numbers is not None:
            both = self.numbers.joined(other.numbers)
        return TableSummary(
            self.n_rows + other.n_rows,
            {name: gaps.joined(other.gaps[name]) for name, gaps in self.gaps.items()},
            both,
            {name: words.joined(other.categories[name]) for name, words in self.categories.items()},
            {name: dates.joined(other.dates[name]) for name, dates in self.dates.items()},
            {name: _joined(name, width, other.vectors[name]) for name, width in self.vectors.items()},
            {name: count + other.strange[name] for name, count in self.strange.items()},
        )

    def constant(self, question: ProfileRequest) -> set[str]:
        """Return the numbers and categories that say nothing, as they are the same in every row."""
        if self.n_rows < 2:
            return set()
        found = {name for name, words in self.categories.items() if words.counts is not None and len(words.counts) < 2}
        found -= {name for name in found if 0 < self.gaps[name].cells < self.n_rows}
        if self.numbers is not None:
            same = (self.numbers.low == self.numbers.high) & (self.numbers.counts == self.n_rows)
            found |= {name for name, is_same in zip(question.of("number"), same, strict=True) if is_same}
        return found

    def only(self, question: ProfileRequest, kinds: Collection[str]) -> TableSummary:
        """Return what is known of some of the columns."""
        places = [place for place, name in enumerate(question.of("number")) if name in kinds]
        numbers = self.numbers.only(places) if self.numbers is not None and places else None
        return TableSummary(
            self.n_rows,
            only(self.gaps, kinds),
            numbers,
            only(self.categories, kinds),
            only(self.dates, kinds),
            only(self.vectors, kinds),
            only(self.strange, kinds),
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


def combine(summaries: Sequence[Any]) -> Any:
    """Return what is known of the rows of all, taken in their order."""
    return reduce(lambda one, other: one.joined(other), summaries)


def summarise(columns: FeatureColumns, question: ProfileRequest) -> TableSummary:
    """Return what columns of a piece say."""
    table, learning = columns.table, question.known is None
    missing = np.isnan(columns.numbers)
    some = np.asarray(missing.any(axis=0))
    gaps = {
        name: Gaps.of(table, np.flatnonzero(missing[:, place])) if some[place] else Gaps(0, "")
        for place, name in enumerate(question.of("number"))
    }
    gaps |= {name: Gaps.of(table, np.flatnonzero(np.isnan(found))) for name, (_, found) in columns.dates.items()}
    categories = {}
    strange = {}
    for name, coded in columns.words.items():
        counts = np.bincount(coded.codes, minlength=len(coded.words)).tolist()
        words = {word: n for word, n in zip(coded.words.tolist(), counts, strict=True) if word is not None and n}
        gaps[name] = Gaps.of(table, np.flatnonzero(np.asarray(pd.isna(coded.words))[coded.codes]))
        if question.known is not None:
            strange[name] = sum(n for word, n in words.items() if word not in question.known[name])
            continue
        limit = min(question.roles.max_categories, MOST_CATEGORIES) if name in question.undecided else MOST_CATEGORIES
        categories[name] = CategoryCounts(limit, words if len(words) <= limit or question.whole else None)
    gaps |= {name: Gaps.of(table, find_gaps(table, name, question.roles.gaps)) for name in question.of("empty")}
    return TableSummary(
        len(table),
        gaps,
        Moments.of(columns.numbers) if learning and columns.numbers.shape[1] else None,
        categories,
        {name: DateSummary.of(kind, seconds) for name, (kind, seconds) in columns.dates.items() if learning},
        {name: _width(name, vectors, question) for name, vectors in columns.vectors.items()},
        strange,
    )


def _width(name: str, vectors: AnyArray, question: ProfileRequest) -> Width:
    moments = None
    if question.known is None and question.scaled(name):
        if float(np.abs(vectors).max(initial=0.0)) > LARGEST:
            raise ValueError(
                f"column {name!r} of {question.name} must stay within {LARGEST:.0e} to be standardised; leave it as it "
                "is with --scale none, or omit it with --ignore."
            )
        moments = Moments.of(vectors)
    return Width(vectors.shape[1], vectors.dtype, moments)
