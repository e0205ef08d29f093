"""How columns become features: one encoding, learned from a summary, for one machine and for many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.types import AnyArray, FloatArray
from pivotal.tables._dates import DateEncoding
from pivotal.tables._feature_columns import Coded, FeatureColumns, ProfileRequest
from pivotal.tables._summary import MOST_CATEGORIES, TableSummary


class Category(NamedTuple):
    """The values of a category, sorted, and what gaps are filled with."""

    values: list[str]
    filling: str | None


_MANY_ROWS: Final = 20  # of fewer, all may differ by chance
_DIFFERENT: Final = 0.9  # share of cells with a value of their own from which a column is no category


@dataclass(frozen=True, eq=False)
class Encoding:
    """What was learned from the training rows.

    Features come in this order: numbers, categories, dates and matrices, vectors.
    """

    question: ProfileRequest
    medians: FloatArray  # of the columns of numbers: what gaps are filled with
    mean: FloatArray  # and these, 0 and 1 where numbers stay as they are
    deviation: FloatArray
    categories: Mapping[str, Category]
    dates: Mapping[str, DateEncoding]
    lengths: Mapping[str, int]  # how many numbers the vectors of each column have
    scales: Mapping[str, tuple[FloatArray, FloatArray]]  # mean and deviation of vectors that are standardised
    dtype: np.dtype[Any]

    @classmethod
    def learned(cls, question: ProfileRequest, summary: TableSummary, medians: Mapping[str, float]) -> Encoding:
        """Return what a summary of all training rows says; with medians of what has gaps, be it in test rows."""
        numbers = question.of("number")
        filling = np.array([medians.get(name, np.nan) for name in numbers])
        mean, deviation = np.zeros(len(numbers)), np.ones(len(numbers))
        if summary.numbers is not None and question.roles.scale != "none":
            moments = summary.numbers.filled(filling, summary.n_rows)
            mean, deviation = moments.mean, moments.deviation
        categories = {}
        for name in question.of("category"):
            words = summary.categories[name]
            if words.counts is None or len(words.counts) > MOST_CATEGORIES:
                count = f"more than {MOST_CATEGORIES}" if words.counts is None else len(words.counts)
                raise ValueError(
                    f"column {name!r} of {question.name} has {count} different values, too many to one-hot encode; at "
                    f"most {MOST_CATEGORIES} are allowed. Group them, or --ignore it."
                )
            n_cells = sum(words.counts.values())
            if n_cells >= _MANY_ROWS and len(words.counts) > _DIFFERENT * n_cells:
                raise ValueError(
                    f"column {name!r} of {question.name} must repeat to be a category; {len(words.counts)} of "
                    f"{n_cells} cells differ, so that it makes no two rows alike. Embed text, --embed {name}=tfidf, "
                    "or --ignore it."
                )
            categories[name] = Category(sorted(words.counts), words.most_frequent)
        dates = {}
        for name in question.of("date"):
            if summary.gaps[name].cells == summary.n_rows:
                raise ValueError(f"column {name!r} of {question.name} must hold at least one date to be a feature.")
            dates[name] = DateEncoding.learned(summary.dates[name], medians.get(name, np.nan), summary.n_rows)
        widths = summary.vectors
        return cls(
            question,
            filling,
            mean,
            deviation,
            categories,
            dates,
            {name: width.length for name, width in widths.items()},
            {name: (one.moments.mean, one.moments.deviation) for name, one in widths.items() if one.moments},
            np.result_type(
                *(width.dtype for width in widths.values()),
                *([np.float64] if numbers or categories or dates or not widths else []),
            ),
        )

    def places(self) -> dict[str, slice]:
        """Return which features each column becomes, in their order."""
        widths: dict[str, int] = dict.fromkeys(self.question.of("number"), 1)
        widths |= {name: len(category.values) for name, category in self.categories.items()}
        for name in [*self.question.of("date", "matrix"), *self.question.of("vector")]:
            widths[name] = self.dates[name].width if name in self.dates else self.lengths[name]
        found, first = {}, 0
        for name, width in widths.items():
            found[name] = slice(first, first + width)
            first += width
        return found

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return max((place.stop for place in self.places().values()), default=0)

    def encode(self, columns: FeatureColumns) -> AnyArray:
        """Return the features of rows as an array of shape (n_rows, n_features)."""
        places = self.places()
        if len(places) == len(columns.vectors) == 1 and not self.scales:
            (vectors,) = columns.vectors.values()
            return vectors  # as they are: there may be many
        out: AnyArray = np.empty((len(columns.table), self.n_features), dtype=self.dtype)
        n_numbers = columns.numbers.shape[1]
        numbers = out[:, :n_numbers]
        np.subtract(columns.numbers, self.mean, out=numbers)
        numbers /= self.deviation
        rows, gaps = np.nonzero(np.isnan(numbers))
        numbers[rows, gaps] = ((self.medians - self.mean) / self.deviation)[gaps]
        for name, place in list(places.items())[n_numbers:]:
            part = out[:, place]
            if name in self.categories:
                _write_one_hot(columns.words[name], self.categories[name], part)
            elif name in self.dates:
                self.dates[name].write(columns.dates[name][1], part)
            else:
                vectors = columns.vectors[name]
                if name in self.scales:
                    mean, deviation = (one.astype(vectors.dtype) for one in self.scales[name])
                    vectors = (vectors - mean) / deviation
                part[:] = vectors
        return out

    def describe_columns(self, summary: TableSummary, test: TableSummary | None = None) -> dict[str, str]:
        """Say what becomes of each column, going by the training rows and the test rows."""
        done = {}
        for place, name in enumerate(self.places()):
            gaps = summary.gaps[name].cells if name in summary.gaps else 0
            gaps += test.gaps[name].cells if test is not None and name in test.gaps else 0
            if name in self.categories:
                n_values = len(self.categories[name].values)
                words = [f"one-hot, {n_values} value{'' if n_values == 1 else 's'}"]
                filling = "the most frequent value"
            elif name in self.dates:
                words, filling = [str(self.dates[name])], "the median"
            elif name in self.lengths:
                scaled = "standardised" if name in self.scales else "as they are"
                words = [f"{self.lengths[name]} numbers, {scaled}"]
            else:
                words = ["as it is" if self.question.roles.scale == "none" else "standardised"]
                filling = f"the median {self.medians[place]:.4g}"
            if gaps:
                words.append(f"{gaps} gap{'' if gaps == 1 else 's'} filled with {filling}")
            strange = 0 if test is None else test.strange.get(name, 0)
            if strange:
                rows = "1 test row has a value" if strange == 1 else f"{strange} test rows have values"
                words.append(f"{rows} not in training")
            done[name] = ", ".join(words)
        return done

    def __dask_tokenize__(self) -> Any:
        roles = self.question.roles
        learned = (self.medians, self.mean, self.deviation, dict(self.categories), dict(self.dates), dict(self.scales))
        return ("pivotal features", dict(self.question.kinds), learned, sorted(roles.gaps), roles.scale)


def _write_one_hot(coded: Coded, category: Category, out: FloatArray) -> None:
    """Write a column of 0 and 1 for each value; a word that training rows do not have is a row of zeros."""
    places = {value: place for place, value in enumerate(category.values)}
    filling = -1 if category.filling is None else places[category.filling]
    of_words = [filling if word is None else places.get(word, -1) for word in coded.words.tolist()]
    columns = np.array(of_words, dtype=np.int64)[coded.codes]
    known = np.flatnonzero(columns >= 0)
    out[:] = 0.0
    out[known, columns[known]] = 1.0
