"""The column that is predicted: classes, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pivotal.core.labels import look_like_amounts
from pivotal.core.types import AnyArray, FloatArray
from pivotal.tables._cells import is_numeric
from pivotal.tables.columns import as_integers, as_numbers, as_words, find_gaps, holds, type_of
from pivotal.tables.roles import INSTEAD, Roles
from pivotal.tables.table import Table


def read_labels(
    train: Table, test: Table | None, roles: Roles, *, regression: bool
) -> tuple[AnyArray, AnyArray | None]:
    """Return the labels of both tables: integers or text for classes, float64 for regression.

    Gaps are errors, as are numbers where classes should be or the other way round, a class for each row, and test rows
    without a label that training rows have. Numbers that are said to be names of classes are read as text.
    """
    label = roles.label
    tables = [train] if test is None else [train, test]
    for table in tables:
        check_kind(table, label)
        missing = find_gaps(table, label, {""})
        if missing.size:
            raise ValueError(
                f"{table.name} must have a label in every row; {missing.size} of {len(table)} have none in column "
                f"{label!r}, the first is {table.row(missing[0])}. Drop these rows with --unlabelled drop, "
                'or unlabelled="drop" in Python.'
            )
    if regression:
        read: list[AnyArray] = [as_responses(table, label) for table in tables]
        return read[0], read[1] if test is not None else None
    exact = [None if roles.classes else as_integers(table, label) for table in tables]
    read = [one for one in exact if one is not None]
    if len(read) < len(tables):
        instead = roles.instead_of_numbers
        read = [_as_names(table, label, classes=roles.classes, instead=instead) for table in tables]
    counts = pd.Series(read[0]).value_counts()
    numbers = None if read[0].dtype == object else counts.index.to_numpy()
    check_classes(counts.to_numpy(), numbers, roles, train.name)
    if test is not None:
        check_known(set(counts.index), set(pd.unique(read[1])), label, (train.name, test.name))
    return read[0], read[1] if test is not None else None


def check_kind(table: Table, label: str) -> None:
    """Turn down columns that hold neither text nor numbers."""
    what = holds(table, label)
    if what:
        raise ValueError(f"column {label!r} of {table.name} holds {what} and cannot be --label; choose another.")


def as_responses(table: Table, label: str) -> FloatArray:
    """Return labels that are numbers to be predicted."""
    numbers, wrong = as_numbers(table, label, ())
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong) or bad.size:
        row = int(wrong[0]) if len(wrong) else int(bad[0])
        cell = table.column(label)[row].as_py()
        raise ValueError(
            f"column {label!r} of {table.name} must hold numbers for --utility regression; got {cell!r} in "
            f"{table.row(row)}. Fix it, or use --utility hard or soft for classes."
        )
    return numbers


def as_classes(table: Table, label: str, *, numeric: bool) -> AnyArray:
    """Return labels that are classes: integers where all of them are, else text."""
    exact = as_integers(table, label) if numeric else None
    return _as_names(table, label, classes=not numeric) if exact is None else exact


def _as_names(table: Table, label: str, *, classes: bool, instead: str = INSTEAD) -> AnyArray:
    """Return labels as text; fractions are turned down unless they were said to be names."""
    numbers, wrong = as_numbers(table, label, ())
    if not classes and not len(wrong) and np.isfinite(numbers).all():
        odd = np.flatnonzero(numbers != np.floor(numbers))
        if odd.size:
            raise ValueError(
                f"column {label!r} of {table.name} must name classes, and {numbers[odd[0]]} in {table.row(odd[0])} is "
                f"a number; {instead}."
            )
    if classes and is_numeric(type_of(table, label)):
        exact = as_integers(table, label)
        if exact is not None:  # as CSV spells them, of whatever type they are in the file
            return exact.astype(str).astype(object)
    return as_words(table, label, ())


def check_classes(counts: AnyArray, numbers: AnyArray | None, roles: Roles, name: str) -> None:
    """Turn down labels of a table that are not classes, by how many rows have each; `numbers` where they are such."""
    label, instead = roles.label, roles.instead_of_numbers
    n_rows = int(np.sum(counts))
    if len(counts) == n_rows and n_rows > 2:
        fix = instead if numbers is not None else "choose another column with --label"
        raise ValueError(
            f"column {label!r} of {name} has a different label in each of its {n_rows} rows, so that no row says "
            f"anything about another; {fix}."
        )
    if numbers is not None and look_like_amounts(numbers, counts):
        raise ValueError(
            f"column {label!r} of {name} holds numbers that look like amounts, not classes: {len(counts)} different "
            f"ones in {n_rows} rows; if each of them names a class, say --classes; otherwise, {instead}."
        )


def check_known(train: set[object], test: set[object], label: str, names: tuple[str, str]) -> None:
    """Turn down test rows of which no label is known from the training rows."""
    if not train & test:
        one, other = (sorted(map(repr, labels))[0] for labels in (train, test))
        raise ValueError(
            f"column {label!r} of {names[1]} must have labels that {names[0]} has too; none of them is known there: "
            f"{names[0]} has labels such as {one}, and {names[1]} such as {other}."
        )


def cells_of_labels(table: Table, label: str, y: AnyArray, labels: Sequence[Any]) -> list[Any]:
    """Return labels as the table writes them: as in the first row that has them, and new ones as they are."""
    column = table.column(label)
    first = pd.Series(y).drop_duplicates()
    written = {known: column[place].as_py() for place, known in first.items()}
    return [written.get(one, str(one) if table.written else one) for one in labels]
