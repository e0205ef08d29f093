"""Columns to one array of features, with scikit-learn's transformers fitted on the training rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.tables._cells import convert, is_numeric, is_string
from pivotal.tables._dates import date_features
from pivotal.tables._weighing import side_by_side, weigh
from pivotal.tables.columns import Kind, as_numbers, as_vectors, as_words, type_of
from pivotal.tables.embedding import embed_column
from pivotal.tables.roles import Choice, Roles
from pivotal.tables.table import Table

MOST_CATEGORIES: Final = 1000  # columns that one-hot encoding may make of one
_LARGEST: Final = 1e140  # whose square is still finite, and whose distances are


class Features(NamedTuple):
    """Features of the training rows and of the test rows, and what was done to each column."""

    X: Any
    X_test: Any
    done: dict[str, str]


def build(train: Table, test: Table | None, kinds: Mapping[str, Kind], roles: Roles, known: Choice) -> Features:
    """Return the features of both tables: numbers, categories, matrices, then vectors, and texts and images embedded.

    Where anything is embedded, or lies beside the table, what comes last is weighed against what comes first.

    Parameters
    ----------
    train, test : Table
    kinds : mapping of str to Kind
        The columns that are features.
    roles : Roles
    known : Choice
        What is known of the training table.
    """
    done: dict[str, str] = {}
    tables = [table for table in (train, test) if table is not None]
    blocks: list[list[Any]] = []
    for kind, make in (("number", partial(_numbers, known.numbers)), ("category", _categories)):
        names = [name for name, one in kinds.items() if one == kind]
        if names:
            blocks.append(make(tables, names, roles, done))
    apart: dict[str, list[Any]] = {}
    for name, kind in kinds.items():
        if name in known.embedded:
            apart[name], done[name] = embed_column(tables, name, kind, known.embedded[name], roles.embedding)
        elif kind == "date":
            blocks.append(date_features(tables, name, roles, done))
        elif kind == "matrix":
            blocks.append(_vectors(tables, name, kind, roles, done))
        elif kind == "vector":
            apart[name] = _vectors(tables, name, kind, roles, done)
    for place, name in enumerate(train.beside):
        apart[name] = _beside(tables, place, done)
    together = [[side_by_side(parts) for parts in zip(*blocks, strict=True)]] if blocks else []
    every = [*together, *apart.values()]
    if (known.embedded or train.beside) and len(every) > 1:
        every = weigh(every)
        for place, name in enumerate(apart):
            done[name] += _weight_in_words(place, len(apart), bool(together))
    X = [side_by_side(parts) for parts in zip(*every, strict=True)]
    return Features(X[0], X[1] if test is not None else None, done)


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


def _numbers(
    known: Mapping[str, FloatArray], tables: Sequence[Table], names: Sequence[str], roles: Roles, done: dict[str, str]
) -> list[FloatArray]:
    """Numbers: gaps filled with the median of the training rows, then standardised."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    blocks = []
    for place, table in enumerate(tables):
        block = finite_numbers(table, names, roles.gaps, known if place == 0 else None)
        _check_gaps(table, names, np.isnan(block), roles)
        blocks.append(block)
    n_gaps = np.sum([np.isnan(block).sum(axis=0) for block in blocks], axis=0)
    medians = np.full(len(names), np.nan)
    if n_gaps.any():
        imputer = SimpleImputer(strategy="median").fit(blocks[0])
        medians, blocks = imputer.statistics_, [imputer.transform(block) for block in blocks]
    if roles.scale != "none":
        scaler = StandardScaler().fit(blocks[0])
        blocks = [scaler.transform(block) for block in blocks]
    for place, name in enumerate(names):
        words = ["as it is" if roles.scale == "none" else "standardised"]
        if n_gaps[place]:
            words.append(_filled(int(n_gaps[place]), f"the median {medians[place]:.4g}"))
        done[name] = ", ".join(words)
    return blocks


def _categories(tables: Sequence[Table], names: Sequence[str], roles: Roles, done: dict[str, str]) -> list[FloatArray]:
    """Categories: gaps filled with the most frequent value of the training rows, then one-hot encoded."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    blocks = []
    for table in tables:
        block = np.empty((len(table), len(names)), dtype=object)
        for place, name in enumerate(names):
            block[:, place] = as_words(table, name, roles.gaps)
        _check_gaps(table, names, pd.isna(block), roles)
        blocks.append(block)
    n_gaps = np.sum([pd.isna(block).sum(axis=0) for block in blocks], axis=0)
    if n_gaps.any():
        imputer = SimpleImputer(strategy="most_frequent", missing_values=None).fit(blocks[0])
        blocks = [imputer.transform(block) for block in blocks]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(blocks[0])
    for place, (name, values) in enumerate(zip(names, encoder.categories_, strict=True)):
        if len(values) > MOST_CATEGORIES:
            raise ValueError(
                f"column {name!r} of {tables[0].name} has {len(values)} different values, too many to one-hot encode; "
                f"at most {MOST_CATEGORIES} are allowed. Group them, or --ignore it."
            )
        words = [f"one-hot, {len(values)} values"]
        if n_gaps[place]:
            words.append(_filled(int(n_gaps[place]), "the most frequent value"))
        n_strange = int((~np.isin(blocks[1][:, place].astype(str), values.astype(str))).sum()) if tables[1:] else 0
        done[name] = ", ".join(words) + strangers_in_words(n_strange)
    return [encoder.transform(block) for block in blocks]


def strangers_in_words(n_strange: int) -> str:
    """Say how many test rows have a value that training rows do not have."""
    if not n_strange:
        return ""
    who = "1 test row has a value" if n_strange == 1 else f"{n_strange} test rows have values"
    return f", {who} not in training"


def _filled(n_gaps: int, filling: str) -> str:
    return f"{n_gaps} {'gap' if n_gaps == 1 else 'gaps'} filled with {filling}"


def _check_gaps(table: Table, names: Sequence[str], gaps: AnyArray, roles: Roles) -> None:
    if roles.missing == "reject" and gaps.any():
        place = int(np.flatnonzero(gaps.any(axis=0))[0])
        rows = np.flatnonzero(gaps[:, place])
        raise ValueError(
            f"column {names[place]!r} of {table.name} must have no gaps with --missing reject; {rows.size} of "
            f"{len(table)} cells are empty, the first in {table.row(rows[0])}. Fill them, or use --missing impute."
        )


def finite_numbers(
    table: Table, names: Sequence[str], gaps: Collection[str], columns: Mapping[str, FloatArray] | None = None
) -> FloatArray:
    """Return columns of numbers as an array of shape (n_rows, n_columns), NaN where there is a gap.

    Parameters
    ----------
    table : Table
    names : sequence of str
    gaps : collection of str
        Texts that stand for a missing cell.
    columns : mapping of str to array, optional
        Those that have been read already.

    Raises
    ------
    ValueError
        If there is anything but numbers and gaps, or a number that is not finite.
    """
    found = dict(columns or {})
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
    large = np.abs(block) > _LARGEST
    if large.any():
        place = int(np.flatnonzero(large.any(axis=0))[0])
        row = int(np.flatnonzero(large[:, place])[0])
        number = block[row, place]
        rule = "must hold finite numbers" if np.isinf(number) else f"must stay within {_LARGEST:.0e}"
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


def _vectors(tables: Sequence[Table], name: str, kind: Kind, roles: Roles, done: dict[str, str]) -> list[FloatArray]:
    """Embeddings as they are; blocks of numbers standardised."""
    from sklearn.preprocessing import StandardScaler

    blocks = [as_vectors(table, name) for table in tables]
    length = blocks[0].shape[1]
    if blocks[-1].shape[1] != length:
        raise ValueError(
            f"column {name!r} must hold vectors of one length; got {length} numbers in {tables[0].name} and "
            f"{blocks[-1].shape[1]} in the test rows."
        )
    scaled = roles.scale == "all" or (roles.scale == "numbers" and kind == "matrix")
    done[name] = f"{length} numbers, {'standardised' if scaled else 'as they are'}"
    if not scaled:
        return blocks
    scaler = StandardScaler().fit(blocks[0])
    return [scaler.transform(block) for block in blocks]
