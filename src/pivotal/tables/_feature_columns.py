"""The columns of a table that become features, as they are read: numbers, words, seconds and vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.tables._cells import convert, is_numeric, is_string, plain
from pivotal.tables._column_moments import LARGEST
from pivotal.tables._dates import seconds_of
from pivotal.tables.columns import Kind, as_numbers, as_vectors, as_words, type_of
from pivotal.tables.roles import Roles
from pivotal.tables.table import Table


@dataclass(frozen=True, eq=False)
class ProfileRequest:
    """What is asked of every piece of a table."""

    name: str  # what messages call the table
    roles: Roles
    kinds: Mapping[str, Kind]  # columns that are features, or may be
    undecided: Collection[str] = ()  # categories that are text if they have too many different values
    whole: bool = True  # whether the table is one piece
    known: Mapping[str, Collection[str]] | None = None
    """The values of the categories, where test rows are checked; nothing is learned from these."""

    def of(self, *kinds: Kind) -> list[str]:
        """Return the columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def scaled(self, name: str) -> bool:
        """Whether a column of vectors is standardised."""
        return self.roles.scale == "all" or (self.roles.scale == "numbers" and self.kinds[name] == "matrix")


class Coded(NamedTuple):
    """The different cells of a column as text, None where there is a gap, and which of them each cell is."""

    words: AnyArray
    codes: IndexArray


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Columns of a piece as they were read: what is summarised, and what is encoded."""

    table: Table
    numbers: FloatArray  # of shape (n_rows, n_numbers), NaN where there is a gap
    words: dict[str, Coded]  # categories
    dates: dict[str, tuple[str, FloatArray]]  # kind, and seconds with NaN where there is a gap
    vectors: dict[str, AnyArray]  # of shape (n_rows, length)

    def only(self, question: ProfileRequest, kinds: Mapping[str, Kind]) -> tuple[ProfileRequest, FeatureColumns]:
        """Return some of the columns, and the question that asks for them."""
        places = [place for place, name in enumerate(question.of("number")) if name in kinds]
        numbers = self.numbers if len(places) == self.numbers.shape[1] else self.numbers[:, places]
        return replace(question, kinds=only(question.kinds, kinds)), FeatureColumns(
            self.table, numbers, only(self.words, kinds), only(self.dates, kinds), only(self.vectors, kinds)
        )


def only(columns: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return what there is of some columns."""
    return {name: content for name, content in columns.items() if name in names}


def read_columns(
    table: Table, question: ProfileRequest, known: Mapping[str, FloatArray] | None = None
) -> FeatureColumns:
    """Return the columns of a piece that a question is about; of numbers, some may be `known` already."""
    roles = question.roles
    return FeatureColumns(
        table,
        _finite_numbers(table, question.of("number"), roles.gaps, known),
        {name: _coded(table, name, roles.gaps) for name in question.of("category")},
        {name: seconds_of(table, name, roles, whole=question.whole) for name in question.of("date")},
        {name: as_vectors(table, name) for name in question.of("vector", "matrix")},
    )


def _coded(table: Table, name: str, gaps: Collection[str]) -> Coded:
    column = table.column(name)
    if pa.types.is_nested(column.type):
        return _factorized(as_words(table, name, gaps))
    whole = pa.concat_arrays(plain(column).chunks).dictionary_encode(null_encoding="encode")
    words = as_words(Table(pa.table({name: whole.dictionary}), table.name, table.format), name, gaps)
    # Cells that differ as they are written may be one word: the spellings of a truth value, or of a gap.
    different, codes = _factorized(words)
    return Coded(different, codes[whole.indices.to_numpy(zero_copy_only=False)])


def _factorized(words: AnyArray) -> Coded:
    codes, different = pd.factorize(words, use_na_sentinel=False)
    different[pd.isna(different)] = None
    return Coded(different, codes)


def _finite_numbers(
    table: Table, names: Sequence[str], gaps: Collection[str], known: Mapping[str, FloatArray] | None
) -> FloatArray:
    """Return columns of numbers as an array of shape (n_rows, n_columns), NaN where there is a gap."""
    found = dict(known or {})
    missing = [name for name in names if name not in found]
    for name in missing:
        if not is_numeric(type_of(table, name)) and not is_string(type_of(table, name)):
            found[name] = _checked(table, name, *as_numbers(table, name, gaps))
    for cells in convert(table, [name for name in missing if name not in found], gaps):
        for place, name in enumerate(cells.names):
            wrong = None if cells.wrong is None else np.flatnonzero(cells.wrong[place])
            found[name] = _checked(table, name, cells.numbers[place], wrong)
    block = np.empty((len(table), len(names)))
    for place, name in enumerate(names):
        block[:, place] = found[name]
    large = np.abs(block) > LARGEST
    if large.any():
        place = int(np.flatnonzero(large.any(axis=0))[0])
        row = int(np.flatnonzero(large[:, place])[0])
        number = block[row, place]
        rule = "must hold finite numbers" if np.isinf(number) else f"must stay within {LARGEST:.0e}"
        raise ValueError(
            f"column {names[place]!r} of {table.name} {rule}; got {number} in {table.row(row)}. Fix it, or leave the "
            "column out with --ignore."
        )
    return block


def _checked(table: Table, name: str, numbers: FloatArray, wrong: IndexArray | None) -> FloatArray:
    if wrong is not None and len(wrong):
        cell = table.column(name)[int(wrong[0])].as_py()
        raise ValueError(
            f"column {name!r} of {table.name} must hold numbers, as in training; got {cell!r} in {table.row(wrong[0])}."
        )
    return numbers
