"""The features of tables on one machine: what the encoding makes of their columns, beside texts and images embedded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.types import AnyArray, IndexArray
from pivotal.tables._encoding import Encoding
from pivotal.tables._feature_columns import FeatureColumns, ProfileRequest, read_columns
from pivotal.tables._summary import TableSummary, summarise
from pivotal.tables._weighing import side_by_side, weigh
from pivotal.tables.columns import Kind
from pivotal.tables.embedding import embed_column
from pivotal.tables.roles import ColumnChoice, Roles
from pivotal.tables.table import Table

_NONE: Final = np.empty(0, dtype=np.int64)


class Training(NamedTuple):
    """The columns of the training table that become features as they are: what is asked, what was read and learned."""

    question: ProfileRequest
    columns: FeatureColumns
    summary: TableSummary

    @classmethod
    def of(cls, train: Table, kinds: Mapping[str, Kind], roles: Roles, known: ColumnChoice) -> Training:
        """Read columns that are features."""
        question = ProfileRequest(
            train.name, roles, {name: one for name, one in kinds.items() if name not in known.embedded}
        )
        columns = read_columns(train, question, known.numbers)
        return cls(question, columns, summarise(columns, question))

    def only(self, kinds: Mapping[str, Kind]) -> Training:
        """Return some of the columns."""
        if set(self.question.kinds) <= set(kinds):
            return self
        return Training(
            *self.columns.only(self.question, kinds),
            self.summary.only(self.question, kinds),
        )


def build(
    training: Training, test: Table | None, embedded: Mapping[str, Kind], known: ColumnChoice
) -> tuple[Any, Any, dict[str, str], IndexArray]:
    """Return the features of both tables: those of the encoding, then texts and images embedded.

    Where anything is embedded, or lies beside the table, what comes last is weighed against what comes first. With
    them comes what was done to each column, and the training rows of which nothing is known.
    """
    question, summary, train = training.question, training.summary, training.columns.table
    check_gaps(question, summary)
    read, checked = [training.columns], None
    if test is not None:
        values = {name: words.counts or () for name, words in summary.categories.items()}
        asked = replace(question, name=test.name, known=values)
        read.append(read_columns(test, asked))
        checked = summarise(read[1], asked)
        check_gaps(asked, checked)
        check_lengths(question, summary, checked)
    encoding = Encoding.learned(question, summary, _medians(training, checked))
    done = encoding.describe_columns(summary, checked)
    tables = [train] if test is None else [train, test]
    encoded = [encoding.encode(columns) for columns in read]
    apart: dict[str, list[Any]] = {}
    unknown: list[IndexArray] = []
    for name, kind in embedded.items():
        apart[name], done[name], absent = embed_column(
            tables, name, kind, known.embedded[name], question.roles.embedding
        )
        unknown.append(absent)
    for place, name in enumerate(train.beside):
        apart[name] = _beside(tables, place, done)
    if not apart:
        return encoded[0], encoded[1] if test is not None else None, done, _NONE
    places = encoding.places()
    n_together = min([places[name].start for name in question.of("vector")], default=encoding.n_features)
    apart = {name: [part[:, places[name]] for part in encoded] for name in question.of("vector")} | apart
    together = [[part[:, :n_together] for part in encoded]] if n_together else []
    every = [*together, *apart.values()]
    if len(every) > 1:
        every = weigh(every)
        for place, name in enumerate(apart):
            done[name] += _weight_in_words(place, len(apart), bool(together))
    X = [side_by_side(parts) for parts in zip(*every, strict=True)]
    alone = len(unknown) == len(every)  # nothing but what was embedded says what a row is
    lost = reduce(np.intersect1d, unknown) if alone else _NONE
    return X[0], X[1] if test is not None else None, done, lost


def _medians(training: Training, test: TableSummary | None) -> dict[str, float]:
    """Return the medians of the columns of numbers and dates that have gaps in either table."""
    found = {}
    numbers = {name: place for place, name in enumerate(training.question.of("number"))}
    for name, gaps in training.summary.gaps.items():
        if not gaps.cells and (test is None or not test.gaps[name].cells):
            continue
        if name in numbers:
            found[name] = float(np.nanmedian(training.columns.numbers[:, numbers[name]]))
        elif name in training.columns.dates and gaps.cells < training.summary.n_rows:
            found[name] = float(np.nanmedian(training.columns.dates[name][1]))
    return found


def check_gaps(question: ProfileRequest, summary: TableSummary) -> None:
    """Turn down gaps, where that was asked for."""
    if question.roles.missing != "reject":
        return
    for name, gaps in summary.gaps.items():
        if gaps.cells:
            raise ValueError(
                f"column {name!r} of {question.name} must have no gaps with --missing reject; {gaps.cells} of "
                f"{summary.n_rows} cells are empty, the first in {gaps.first}. Fill them, or use --missing impute."
            )


def check_lengths(question: ProfileRequest, summary: TableSummary, test: TableSummary) -> None:
    """Turn down vectors of the test rows that are not as long as those of the training rows."""
    for name, width in summary.vectors.items():
        if test.vectors[name].length != width.length:
            raise ValueError(
                f"column {name!r} must hold vectors of one length; got {width.length} numbers in {question.name} and "
                f"{test.vectors[name].length} in the test rows."
            )


def _weight_in_words(place: int, n_apart: int, beside: bool) -> str:
    if beside:
        return "; weighed to count as much as all numbers and categories together"
    return "; weighed to count as much as the first of its kind" if place else f"; one of {n_apart} blocks of equal say"


def _beside(tables: Sequence[Table], place: int, done: dict[str, str]) -> list[AnyArray]:
    """Vectors that lie in a file of their own, which is another one for the test rows."""
    first = list(tables[0].beside)
    for table in tables[1:]:
        if len(table.beside) != len(first):
            raise ValueError(
                f"test rows need embeddings as the training rows have them, {len(first)} for each row; {table.name} "
                f"has {len(table.beside)}. Name as many with --test-embeddings, or test_embeddings= in Python."
            )
    names = [list(table.beside)[place] for table in tables]
    blocks = [table.beside[name].vectors for table, name in zip(tables, names, strict=True)]
    lengths = [block.shape[1] for block in blocks]
    if lengths[-1] != lengths[0]:
        raise ValueError(
            f"embeddings must have one length; got {lengths[0]} numbers in {names[0]} and {lengths[-1]} in {names[-1]}."
        )
    done[names[0]] = f"{lengths[0]} numbers of each row, as they are, {tables[0].beside[names[0]].how}"
    return blocks
