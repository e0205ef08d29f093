"""One data set from OpenML by scikit-learn's client, brought into the form of the files: numbers and class codes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray
from pivotal.research.datasets._dataset import Dataset
from pivotal.research.datasets._files import check_arrays
from pivotal.research.datasets._registry import DatasetEntry, Variant


def fetch(entry: DatasetEntry, version: int | None) -> Dataset:
    """Download a data set, or take it from scikit-learn's cache; ConnectionError where OpenML does not have it.

    A version other than the one that the entry names is not checked for its shape.
    """
    from sklearn.datasets import fetch_openml

    which: dict[str, Any] = {"data_id": entry.openml}
    source = f"OpenML {entry.openml}"
    if version is not None:
        which = {"name": entry.openml_name, "version": version}
        source = f"OpenML {entry.openml_name} version {version}"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            # Without types pandas reads categories that are numbers as numbers, which is what they become below.
            bunch = fetch_openml(**which, as_frame="auto", read_csv_kwargs={"dtype": None})
        except (OSError, ValueError) as error:  # no network, no such data set, a download that is not what it says
            reason = " ".join(str(error).split())
            raise ConnectionError(f"{source} could not be fetched ({reason})") from error
    X, notes = _as_numbers(bunch.data)
    y, names = _as_codes(bunch.target, source, below_mean=entry.below_mean)
    form, labels = next(variant for variant in entry.variants if variant.name == "full"), entry.labels
    if version is not None:
        form = Variant("", "", X.shape[1], len(names), len(y))
        labels = ", ".join(f"{code} = {name}" for code, name in enumerate(names))
    check_arrays(X, y, form, source)
    remarks = (" ".join(str(one.message).split()) for one in said)
    notes += [remark for remark in remarks if remark.startswith(("Version", "OpenML"))]  # not of retries
    note = "; ".join(note for note in (form.note, *notes) if note)
    names_there = tuple(bunch.feature_names)
    return Dataset(X, y, entry.name, source, note, labels=labels, feature_names=names_there, image=form.image)


def _as_numbers(table: Any) -> tuple[AnyArray, list[str]]:
    """Return a table of floats without gaps, and what had to be done for it."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):  # sparse at OpenML
        return table.toarray().astype(np.float32), []
    columns, coded, filled = [], 0, 0
    for _, column in table.items():
        # What reads as a number stays one; categories are numbered in their order.
        values = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        present = column.notna().to_numpy()
        if np.isnan(values[present]).any():
            values = pd.Categorical(column).codes.astype(np.float64)
            coded += 1
        gaps = ~present | ~np.isfinite(values)
        if gaps.any():
            filled += int(gaps.sum())
            values = np.where(gaps, np.median(values[~gaps]) if not gaps.all() else 0.0, values)
        columns.append(values.astype(np.float32))
    notes = []
    if coded:
        notes.append(f"categories of {coded} column{'s' if coded > 1 else ''} numbered")
    if filled:
        notes.append(f"{filled} missing entries set to the median of their column")
    return np.column_stack(columns), notes


def _as_codes(target: Any, source: str, *, below_mean: bool) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return class codes in the order of the sorted labels, and the labels."""
    import pandas as pd

    if target is None or np.ndim(target) != 1:
        raise ValueError(f"{source} must name one target column; it does not: pass version= to choose another version.")
    if pd.isna(target).any():
        raise ValueError(f"{source} must have a label for every row; {int(pd.isna(target).sum())} are missing.")
    labels = np.array([label.strip("'") if isinstance(label, str) else label for label in target])  # ARFF may quote
    try:
        numbers = labels.astype(np.float64)  # "10" comes after "9"
    except ValueError:
        numbers = None
    if numbers is not None and below_mean and len(np.unique(numbers)) > 2:
        return (numbers < numbers.mean()).astype(np.int64), ["otherwise", "below the mean"]
    classes, codes = np.unique(labels.astype(str) if numbers is None else numbers, return_inverse=True)
    return codes.astype(np.int64), [str(name) if numbers is None else f"{name:g}" for name in classes]
