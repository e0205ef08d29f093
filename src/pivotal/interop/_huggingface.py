"""Columns of a Hugging Face Dataset, in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.core.types import AnyArray
from pivotal.results.values import Values
from pivotal.valuation.value import value


def value_dataset(
    train: Any,
    test: Any = None,
    *,
    features: str | Sequence[str] = "embedding",
    label: str = "label",
    ids: str | npt.ArrayLike | None = None,
    **settings: Any,
) -> Values:
    """Return what each row of a Dataset is worth.

    Parameters
    ----------
    train : datasets.Dataset
        Training points.
    test : datasets.Dataset, optional
        Queries. Without them, self-valuation of the rows of `train`.
    features : str or sequence of str, default="embedding"
        Column of vectors of one length, or columns of numbers or vectors, which are put side by side.
    label : str, default="label"
        Column of labels. Where it is a ClassLabel, labels are compared by name, so splits may number them differently.
    ids : str or array-like of shape (n_train,), optional
        Column with the names of the rows, or the names.
    **settings
        Further arguments of `pivotal.value`: k, utility, semivalue, metric, ...

    Returns
    -------
    Values
        In the order of the rows of `train`.
    """
    columns = [features] if isinstance(features, str) else list(features)
    if not columns:
        raise ValueError("features must name at least one column; got none.")
    _check_columns(train, [*columns, label, *([ids] if isinstance(ids, str) else [])], "train")
    names = _read(train, ids).to_numpy() if isinstance(ids, str) else ids
    X_train, y_train = _points(train, columns), _labels(train, label, "train")
    if test is None:
        alone: Values = value(X_train, y_train, ids=names, **settings)
        return alone
    _check_columns(test, [*columns, label], "test")
    return value(X_train, y_train, _points(test, columns), _labels(test, label, "test"), ids=names, **settings)


def with_values(dataset: Any, values: Values, column: str = "value") -> Any:
    """Return a Dataset with the values of its rows as a column.

    Parameters
    ----------
    dataset : datasets.Dataset
        The rows that were valued, in their order.
    values : Values
        What they are worth.
    column : str, default="value"
        Name of the new column. Sampled values add another, with ``_standard_error`` behind its name.

    Returns
    -------
    datasets.Dataset
        A new one; `dataset` stays as it is.
    """
    _check_columns(dataset, [], "dataset")
    if not isinstance(values, Values):
        raise TypeError(f"values must be pivotal.Values; got {type(values).__name__}.")
    if len(values) != len(dataset):
        raise ValueError(f"dataset must hold the rows that were valued, {len(values)}; got {len(dataset)}.")
    new = {column: values.values}
    if values.standard_error is not None:
        new[f"{column}_standard_error"] = values.standard_error
    taken = [name for name in new if name in dataset.column_names]
    if taken:
        raise ValueError(f"column must be a new name; dataset has a column {taken[0]!r} already. Choose another.")
    for name, content in new.items():
        dataset = dataset.add_column(name, content)
    return dataset


def _check_columns(dataset: Any, wanted: list[str], name: str) -> None:
    there = getattr(dataset, "column_names", None)
    if not isinstance(there, list) or not hasattr(dataset, "with_format") or not hasattr(dataset, "__len__"):
        raise TypeError(
            f"{name} must be a datasets.Dataset; got {type(dataset).__name__}. Choose one split of a DatasetDict, and "
            "load it without streaming."
        )
    missing = [column for column in wanted if column not in there]
    if missing:
        raise ValueError(f"{name} must have a column {missing[0]!r}; it has {', '.join(map(repr, there))}.")
    if len(dataset) == 0:
        raise ValueError(f"{name} must have at least one row; got none.")


def _read(dataset: Any, column: str) -> pa.ChunkedArray:
    # As Arrow has it: the NumPy format of a Dataset would cut float64 down to float32.
    return dataset.select_columns([column]).with_format("arrow")[:][column]


def _points(dataset: Any, columns: list[str]) -> AnyArray:
    tables = [_as_table(_read(dataset, name), name) for name in columns]
    return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)


def _as_table(content: pa.ChunkedArray, column: str) -> AnyArray:
    """Return a column of vectors, or of numbers, as a table with a row for each."""
    kind = content.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    entry = kind.value_type if is_list else kind
    if not (pa.types.is_floating(entry) or pa.types.is_integer(entry) or pa.types.is_boolean(entry)):
        raise ValueError(
            f"features must be columns of numbers or of vectors; {column!r} holds {kind}. "
            "Turn texts and images into vectors first, with pivotal.embed."
        )
    entries = [chunk.flatten() if is_list else chunk for chunk in content.chunks]
    if content.null_count or any(part.null_count for part in entries):
        raise ValueError(f"features must be complete; column {column!r} has missing entries. Drop these rows.")
    widths = np.unique(pc.list_value_length(content).to_numpy()) if is_list else np.ones(1, np.int64)
    if widths.size > 1:
        raise ValueError(
            f"features must be vectors of one length; column {column!r} has lengths from {widths[0]} to {widths[-1]}."
        )
    numbers = np.concatenate([part.to_numpy(zero_copy_only=False) for part in entries])
    return numbers.reshape(len(content), int(widths[0]))


def _labels(dataset: Any, column: str, name: str) -> AnyArray:
    labels: AnyArray = _read(dataset, column).to_numpy()
    classes = getattr(dataset.features[column], "names", None)
    if classes is None:
        return labels
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError(
            f"{name} must have a label in every row; column {column!r} has none in some, as the test sets of contests "
            "do. Choose a split with labels."
        )
    return np.asarray(classes, dtype=object)[labels]
