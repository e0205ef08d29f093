"""The column that is predicted: classes, or numbers."""

from __future__ import annotations

import numpy as np

from pivotal._types import AnyArray, FloatArray
from pivotal.tables.columns import as_numbers, as_text, count_different, find_gaps, holds_lists, is_numeric
from pivotal.tables.table import Table

__all__ = ["all_numbers", "as_classes", "as_responses", "check_classes", "read_labels"]


def read_labels(train: Table, test: Table | None, label: str, regression: bool) -> tuple[AnyArray, AnyArray | None]:
    """Return the labels of both tables: whole numbers or text for classes, float64 for regression.

    Raises
    ------
    ValueError
        If there are gaps, numbers where classes should be or the other way round, or a class for each row.
    """
    tables = [train] if test is None else [train, test]
    for table in tables:
        if holds_lists(table, label):
            raise ValueError(f"column {label!r} of {table.name} holds vectors and cannot be --label; choose another.")
        missing = find_gaps(table, label, {""})
        if missing.size:
            raise ValueError(
                f"{table.name} must have a label in every row; {missing.size} of {len(table)} have none in column "
                f"{label!r}, the first is {table.row(missing[0])}. Drop these rows."
            )
    if regression:
        read = [as_responses(table, label) for table in tables]
    else:
        check_classes(count_different(train, label), len(train), label, train.name, numeric=all_numbers(train, label))
        read = [as_classes(table, label, all(all_numbers(one, label) for one in tables)) for table in tables]
    return read[0], read[1] if test is not None else None


def all_numbers(table: Table, label: str) -> bool:
    """Whether all labels are finite numbers."""
    numbers, wrong = as_numbers(table, label, ()) if table.written or is_numeric(table, label) else (None, [0])
    return numbers is not None and not len(wrong) and bool(np.isfinite(numbers).all())


def as_responses(table: Table, label: str) -> FloatArray:
    """Return labels that are numbers to be predicted."""
    numbers, wrong = as_numbers(table, label, ())
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong) or bad.size:
        row = int(wrong[0]) if len(wrong) else int(bad[0])
        cell = table.column(label)[row].as_py()
        raise ValueError(
            f"column {label!r} of {table.name} must hold numbers for --utility regression; got {cell!r} in "
            f"{table.row(row)}. Mend it, or use --utility hard or soft for classes."
        )
    return numbers


def as_classes(table: Table, label: str, numeric: bool) -> AnyArray:
    """Return labels that are classes: whole numbers, or text."""
    if not numeric:
        return as_text(table, label, ())
    numbers = as_numbers(table, label, ()).numbers
    odd = np.flatnonzero(numbers != np.floor(numbers))
    if odd.size:
        raise ValueError(
            f"column {label!r} of {table.name} must name classes, and {numbers[odd[0]]} is a number; use --utility "
            "regression to predict numbers."
        )
    return numbers.astype(np.int64)


def check_classes(n_different: int, n_rows: int, label: str, name: str, *, numeric: bool) -> None:
    """Turn down labels of which no two are alike, given how many are different."""
    if n_different == n_rows and n_rows > 2:
        fix = "use --utility regression to predict numbers" if numeric else "choose another column with --label"
        raise ValueError(
            f"column {label!r} of {name} has a different label in each of its {n_rows} rows, so that no row says "
            f"anything about another; {fix}."
        )
