"""A table to features and labels, and a word on what was done to each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pivotal.core.types import AnyArray, IndexArray
from pivotal.tables._cells import plain
from pivotal.tables._features import Training, build
from pivotal.tables.amounts import how_read, look_like_amounts, with_amounts
from pivotal.tables.columns import as_pictures, as_text, find_gaps, type_of
from pivotal.tables.embedding import USUAL
from pivotal.tables.label_column import read_labels
from pivotal.tables.roles import Roles, Treatment, choose, embed_what_there_is, matching
from pivotal.tables.table import Table

__all__ = ["Prepared", "labelled", "own_columns", "prepare", "split"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Features and labels of a table.

    Parameters
    ----------
    X, y : arrays of shape (n_train, n_features) and (n_train,)
        Features are a CSR matrix where texts are counted.
    X_test, y_test : arrays, optional
        Those of the test table, transformed as the training table was.
    ids : array of shape (n_train,)
        Names of the rows; their numbers, counted from 0, by default.
    owners : array of shape (n_train,), optional
    text : list of str, optional
        Something to read for each row.
    images : list of str, bytes or None, optional
        Something to see for each row: paths, or contents of files.
    treatments : tuple of Treatment
        One per column.
    unknown : int64 array
        Rows of which nothing is known: their texts have no words, or their images cannot be read, and they have no
        other features.
    """

    X: Any
    y: AnyArray
    X_test: Any
    y_test: AnyArray | None
    ids: AnyArray
    owners: AnyArray | None = None
    text: list[str] | None = None
    images: list[Any] | None = None
    treatments: tuple[Treatment, ...] = field(default=())
    unknown: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __str__(self) -> str:
        width = max(len(one.column) for one in self.treatments)
        lines = [f"  {one.column.ljust(width)}  {one.kind.ljust(8)}  {one.done}" for one in self.treatments]
        return "\n".join([f"{self.X.shape[0]} rows, {self.X.shape[1]} features", *lines])


def split(table: Table, label: str, share: float, seed: int) -> tuple[IndexArray, IndexArray]:
    """Draw rows at random to be held out, every class in proportion where there are enough of each.

    Returns
    -------
    kept, held_out : int arrays
        Row numbers, ascending.
    """
    from sklearn.model_selection import train_test_split

    if not 0.0 < share < 1.0:
        raise ValueError(f"--split must be a share between 0 and 1, such as 0.2; got {share}.")
    rows = np.arange(len(table))
    n_out = max(1, round(share * len(table)))
    if n_out >= len(table):
        raise ValueError(f"{table.name} has too few rows to hold out {share:.0%} of them; got {len(table)}.")
    classes = pd.Series(as_text(table, table.check_column(label, "--label"), {""}), dtype=object).fillna("")
    counts = classes.value_counts()
    fair = counts.min() >= 2 and len(counts) <= min(n_out, len(table) - n_out)
    kept, held_out = train_test_split(rows, test_size=n_out, random_state=seed, stratify=classes if fair else None)
    return np.sort(kept), np.sort(held_out)


def prepare(train: Table, test: Table | None, roles: Roles, *, regression: bool = False) -> Prepared:
    """Turn tables into features and labels.

    All that is learned (means, standard deviations, medians, categories) is learned from the training table alone.

    Parameters
    ----------
    train : Table
    test : Table, optional
        Must have the columns that the training table's features come from, and the label.
    roles : Roles
    regression : bool, default=False
        Whether the label is a number to be predicted.

    Returns
    -------
    Prepared

    Raises
    ------
    ValueError
        If a column does not exist or cannot be what it should be; the message says what to do.
    """
    label = train.check_column(roles.label, "--label")
    for option in ("id", "owner"):
        name = getattr(roles, option)
        if name is not None:
            train.check_column(name, f"--{option}")
    train, test, amounts = _with_numbers(train, test, roles)
    choice = choose(train, roles)
    treatments = dict(choice.treatments)
    used = choice.features()
    training = Training.of(train, used, roles, choice)
    asked = set() if roles.features is None else set(matching(train, roles.features, "--features"))
    for name in training.summary.constant(training.question) - asked:
        treatments[name] = (used.pop(name), "omitted: constant")
    used = used or embed_what_there_is(train, choice, roles)
    if not used and not train.beside:
        raise no_features(train.name, label, treatments, off=roles.embedding.off)
    if test is not None:
        check_columns([*used, label], test.columns, (train.name, test.name))
    embedded = {name: kind for name, kind in used.items() if name in choice.embedded}
    X, X_test, done, unknown = build(training.only(used), test, embedded, choice)
    for name, remark in [*amounts.items(), *choice.remarks.items()]:
        if name in done:
            done[name] += f"; {remark}"
    y, y_test = read_labels(train, test, roles, regression=regression)
    done[label] = "predicted, a number" if regression else classes_in_words(len(pd.unique(y)))
    return Prepared(
        X,
        y,
        X_test,
        y_test,
        ids=_ids(train, roles.id),
        owners=None if roles.owner is None else row_names(train, roles.owner, "--owner"),
        text=_readable(train, [name for name, kind in choice.kinds.items() if kind == "text"]),
        images=next((as_pictures(train, name) for name, kind in choice.kinds.items() if kind == "image"), None),
        treatments=(
            *(Treatment(name, kind, done.get(name, what)) for name, (kind, what) in treatments.items()),
            *(Treatment(name, "vector", done[name]) for name in train.beside),
        ),
        unknown=unknown,
    )


def check_columns(wanted: Sequence[str], there: Sequence[str], names: tuple[str, str]) -> None:
    """Turn down test rows without a column that is needed; `names` are those of the training and of the test table."""
    known = set(there)
    missing = next((column for column in wanted if column not in known), None)
    if missing is not None:
        raise ValueError(f"{names[1]} has no column {missing!r}, which {names[0]} has; test rows need it too.")


def _with_numbers(train: Table, test: Table | None, roles: Roles) -> tuple[Table, Table | None, dict[str, str]]:
    """Return tables in which numbers as people write them are numbers, and a word on how they were read."""
    if not roles.numbers:
        return train, test, {}
    sure = {name for name in roles.numbers if name in train.columns}
    named = [
        name
        for name in matching(train, roles.numbers, "--numbers")
        if name in sure or look_like_amounts(train, name, roles.gaps)
    ]
    read = with_amounts(train, named, roles.gaps)
    said = {name: how_read(train, read, name) for name in named}
    if test is not None:
        test = with_amounts(test, [name for name in named if name in test.columns], roles.gaps, train)
    return read, test, {name: words for name, words in said.items() if words}


def own_columns(table: Table, treatments: Sequence[Treatment]) -> dict[str, AnyArray]:
    """Return the columns to compare rows by: as they were read, all but labels, names, texts, images and vectors."""
    kinds = ("number", "category", "date", "ignored", "rows")
    return {one.column: as_text(table, one.column, {""}) for one in treatments if one.kind in kinds}


def labelled(table: Table, label: str) -> IndexArray:
    """Return the rows that have a label; raise where none has one."""
    missing = find_gaps(table, table.check_column(label, "--label"), {""})
    if len(missing) == len(table):
        raise ValueError(f"{table.name} must have labels; column {label!r} has none.")
    return np.setdiff1d(np.arange(len(table)), missing)


def no_features(name: str, label: str, treatments: Mapping[str, tuple[str, str]], *, off: bool = False) -> ValueError:
    """Return an error that says why no column can be used; `off` where texts and images are not to be embedded."""
    others = {column: reasons for column, reasons in treatments.items() if column != label}
    why = "; ".join(f"{column!r} is {kind}, {done}" for column, (kind, done) in list(others.items())[:5])
    rest = f"; and {len(others) - 5} more" if len(others) > 5 else ""
    reasons = f" ({why}{rest})" if others else ""
    shown = off and any(kind in USUAL for kind, _ in others.values())
    fix = "omit --embed none, which keeps these from being features" if shown else "name some with --features"
    return ValueError(f"{name} has no column that can be used as a feature beside {label!r}{reasons}; {fix}.")


def classes_in_words(n_classes: int) -> str:
    """Say what became of the column of labels."""
    if n_classes == 1:
        return "predicted, only one class, so that no row says more than another"
    return f"predicted, {n_classes} classes"


def _ids(table: Table, column: str | None) -> AnyArray:
    """Return what names the rows: a column, the paths of a folder's images, or their numbers."""
    if column is None and table.format == "images":
        column = "path"
    return table.row_numbers if column is None else row_names(table, column, "--id")


def row_names(table: Table, column: str, option: str) -> AnyArray:
    """Return a column that names rows, or their owners; raise where it has gaps."""
    text = as_text(table, column, {""})
    missing = np.flatnonzero(pd.isna(text))
    if missing.size:
        raise ValueError(
            f"column {column!r} of {table.name}, which {option} names, must not have gaps; {table.row(missing[0])} "
            "has one."
        )
    kind = type_of(table, column)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return text
    cells: AnyArray = plain(table.column(column)).to_numpy()
    return cells


def _readable(table: Table, columns: list[str]) -> list[str] | None:
    if not columns:
        return None
    parts: list[Any] = [as_text(table, name, {""}) for name in columns]
    if len(columns) == 1:
        return ["" if cell is None else cell for cell in parts[0]]
    return [
        "; ".join(f"{name}: {cell}" for name, cell in zip(columns, cells, strict=True) if cell is not None)
        for cells in zip(*parts, strict=True)
    ]
