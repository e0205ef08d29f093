"""Columns to one array of features, with scikit-learn's transformers fitted on the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal._types import AnyArray, FloatArray
from pivotal.tables.columns import Kind, as_numbers, as_text, as_vectors
from pivotal.tables.roles import Roles
from pivotal.tables.table import Table

MOST_CATEGORIES: Final = 1000  # columns that one-hot encoding may make of one


def build(
    train: Table, test: Table | None, kinds: Mapping[str, Kind], roles: Roles
) -> tuple[FloatArray, FloatArray | None, dict[str, str]]:
    """Return the features of both tables, and what was done to each column."""
    done: dict[str, str] = {}
    blocks: list[tuple[FloatArray, FloatArray | None]] = []
    simple = {name: kind for name, kind in kinds.items() if kind in ("number", "category")}
    if simple:
        blocks.append(_simple(train, test, simple, roles, done))
    for name, kind in kinds.items():
        if kind in ("vector", "matrix"):
            blocks.append(_vectors(train, test, name, kind, roles, done))
    X = blocks[0][0] if len(blocks) == 1 else np.hstack([block for block, _ in blocks])
    if test is None:
        return X, None, done
    parts = [block for _, block in blocks if block is not None]
    return X, parts[0] if len(parts) == 1 else np.hstack(parts), done


def _simple(
    train: Table, test: Table | None, kinds: Mapping[str, Kind], roles: Roles, done: dict[str, str]
) -> tuple[FloatArray, FloatArray | None]:
    """Numbers and categories, by a ColumnTransformer."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frames = [_frame(table, kinds, roles) for table in (train, test) if table is not None]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    categories = [name for name, kind in kinds.items() if kind == "category"]
    places = {name: f"c{place}" for place, name in enumerate(kinds)}
    for name in categories:
        n_different = frames[0][places[name]].nunique()
        if n_different > MOST_CATEGORIES:
            raise ValueError(
                f"column {name!r} of {train.name} has {n_different} different values, too many to one-hot encode; "
                f"at most {MOST_CATEGORIES} are allowed. Group them, or --ignore it."
            )
    scaler = "passthrough" if roles.scale == "none" else StandardScaler()
    transformer = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), scaler), [places[name] for name in numbers]),
            (
                "categories",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
                ),
                [places[name] for name in categories],
            ),
        ],
        sparse_threshold=0.0,
    )
    X: FloatArray = transformer.fit_transform(frames[0])
    X_test: FloatArray | None = transformer.transform(frames[1]) if test is not None else None
    for name, kind in kinds.items():
        n_gaps = [int(frame[places[name]].isna().sum()) for frame in frames]
        done[name] = _told(kind, frames[0][places[name]], n_gaps, roles)
    return X, X_test


def _frame(table: Table, kinds: Mapping[str, Kind], roles: Roles) -> pd.DataFrame:
    columns: dict[str, AnyArray] = {}
    for place, (name, kind) in enumerate(kinds.items()):
        if kind == "number":
            content = finite_numbers(table, name, roles)
        else:
            content = as_text(table, name, roles.gaps)
            content[pd.isna(content)] = np.nan
        gaps = np.flatnonzero(pd.isna(content))
        if gaps.size and roles.missing == "reject":
            raise ValueError(
                f"column {name!r} of {table.name} must have no gaps with --missing reject; {gaps.size} of {len(table)} "
                f"cells are empty, the first in {table.row(gaps[0])}. Fill them, or use --missing impute."
            )
        columns[f"c{place}"] = content  # names of the user's may repeat in another case, or be empty
    return pd.DataFrame({key: pd.Series(content) for key, content in columns.items()})


def finite_numbers(table: Table, name: str, roles: Roles) -> FloatArray:
    """Return a column of numbers, NaN where there is a gap; raise where there is anything else."""
    numbers, wrong = as_numbers(table, name, roles.gaps)
    if len(wrong):
        cell = table.column(name)[int(wrong[0])].as_py()
        raise ValueError(
            f"column {name!r} of {table.name} must hold numbers, as in training; got {cell!r} in {table.row(wrong[0])}."
        )
    endless = np.flatnonzero(np.isinf(numbers))
    if endless.size:
        raise ValueError(
            f"column {name!r} of {table.name} must hold finite numbers; got {numbers[endless[0]]} in "
            f"{table.row(endless[0])}."
        )
    return numbers


def _told(kind: Kind, column: pd.Series[Any], n_gaps: list[int], roles: Roles) -> str:
    if kind == "number":
        words = ["as it is" if roles.scale == "none" else "standardised"]
        filling = f"the median {column.median():.4g}"
    else:
        words = [f"one-hot, {column.nunique()} values"]
        filling = "the most frequent value"
    if sum(n_gaps):
        words.append(f"{sum(n_gaps)} {'gap' if sum(n_gaps) == 1 else 'gaps'} filled with {filling}")
    return ", ".join(words)


def _vectors(
    train: Table, test: Table | None, name: str, kind: Kind, roles: Roles, done: dict[str, str]
) -> tuple[FloatArray, FloatArray | None]:
    """Embeddings as they are; blocks of numbers standardised."""
    from sklearn.preprocessing import StandardScaler

    X = as_vectors(train, name)
    X_test = None if test is None else as_vectors(test, name)
    if X_test is not None and X_test.shape[1] != X.shape[1]:
        raise ValueError(
            f"column {name!r} must hold vectors of one length; got {X.shape[1]} numbers in {train.name} and "
            f"{X_test.shape[1]} in the test rows."
        )
    scaled = roles.scale == "all" or (roles.scale == "numbers" and kind == "matrix")
    done[name] = f"{X.shape[1]} numbers, {'standardised' if scaled else 'as they are'}"
    if not scaled:
        return X, X_test
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), None if X_test is None else scaler.transform(X_test)
