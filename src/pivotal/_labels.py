"""Labels of any kind to class codes, and responses to floats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pivotal._types import AnyArray, CodeArray, FloatArray

__all__ = ["ClassCodes", "as_array", "as_labels", "as_responses"]


def as_labels(y: Any, name: str) -> AnyArray:
    """Return class labels as an array of shape (n,), without missing ones."""
    labels = _one_dimensional(y, name)
    missing = np.flatnonzero(pd.isna(labels))
    if missing.size:
        raise ValueError(
            f"{name} must have a label for every point; got {missing.size} missing, the first at position "
            f"{missing[0]}. Drop these points or give them a label of their own."
        )
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold class labels; got dtype {labels.dtype}.")
    if labels.dtype.kind == "f" and not np.all(labels == np.floor(labels)):
        odd = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"Unknown label type: {name} must hold class labels, and fractions such as {odd} are none. "
            'Use utility="regression" for numbers, or give the classes names.'
        )
    return labels


def as_responses(y: Any, name: str) -> FloatArray:
    """Return regression targets as a float64 array of shape (n,), all finite."""
    labels = _one_dimensional(y, name)
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers; got dtype {labels.dtype}.")
    try:
        responses = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold numbers for regression; got dtype {labels.dtype}. "
            'Use utility="hard" or "soft" for class labels.'
        ) from None
    bad = np.flatnonzero(~np.isfinite(responses))
    if bad.size:
        raise ValueError(
            f"{name} must be finite (no NaN, no infinity); got {responses[bad[0]]} at position {bad[0]}. "
            "Drop these points."
        )
    return responses


class ClassCodes(NamedTuple):
    """The label set, in the order of its codes."""

    classes: pd.Index[Any]

    @classmethod
    def of(cls, *labels: AnyArray, classes: Any = None) -> ClassCodes:
        """Collect the labels that occur, or check that `classes` names them all."""
        every = pd.Index(pd.unique(_together(labels)))
        if classes is None:
            return cls(every)
        given = pd.Index(as_labels(classes, "classes"))
        if given.has_duplicates:
            raise ValueError(f"classes must name each label once; got {_few(given[given.duplicated()][:1])} twice.")
        unknown = every[~every.isin(given)]
        if len(unknown):
            raise ValueError(
                f"classes must name every label that occurs; {_few(unknown)} occur but are not among them. Add them."
            )
        return cls(given)

    @classmethod
    def of_indicators(cls, classes: Any = None) -> ClassCodes:
        """Return the label set of points with many labels: each has a label, or has it not."""
        if classes is not None:
            raise ValueError(
                "classes are for one label per point; got them with a table of labels, which has a column for each. "
                "Leave them out."
            )
        return cls(pd.Index([0, 1]))

    def encode(self, labels: AnyArray, name: str) -> CodeArray:
        """Return the code of each label; labels outside the label set are an error."""
        codes = self.classes.get_indexer(pd.Index(labels))
        if (codes < 0).any():
            unknown = pd.unique(labels[codes < 0])
            raise ValueError(
                f"{name} must hold labels known from training; got {_few(unknown)}. "
                "Pass classes= with the whole label set."
            )
        return codes.astype(np.int32)


def check_same_kind(y_train: AnyArray, y_test: AnyArray) -> None:
    """Raise when no label of the queries occurs in training because they are of another type."""
    if not np.isin(pd.unique(y_test), pd.unique(y_train)).any() and _is_text(y_train) != _is_text(y_test):
        kinds = {True: "text", False: "numbers"}
        raise ValueError(
            f"y_train and y_test must hold labels of one type; got {kinds[_is_text(y_train)]} such as "
            f"{_few(y_train[:1])} and {kinds[_is_text(y_test)]} such as {_few(y_test[:1])}. Convert one of them."
        )


def as_array(y: Any) -> AnyArray:
    """Return labels as an array; a number beside text does not turn into text."""
    labels = np.asarray(y)
    return np.asarray(y, dtype=object) if labels.dtype.kind == "U" and isinstance(y, (list, tuple)) else labels


def _one_dimensional(y: Any, name: str) -> AnyArray:
    labels = as_array(y)
    if labels.ndim != 1:
        fix = f" Use {name}.ravel()." if labels.ndim == 2 and labels.shape[1] == 1 else ""
        raise ValueError(f"{name} must be one-dimensional, a label per point; got shape {labels.shape}.{fix}")
    if labels.size == 0:
        raise ValueError(f"{name} must hold at least one label; got none.")
    return labels


def _together(labels: tuple[AnyArray, ...]) -> AnyArray:
    """Concatenate without turning numbers into text."""
    if len({_is_text(part) for part in labels}) > 1:
        labels = tuple(part.astype(object) for part in labels)
    return np.concatenate(labels)


def _is_text(labels: AnyArray) -> bool:
    return labels.dtype.kind in "US" or (labels.dtype.kind == "O" and isinstance(labels[0], str))


def _few(labels: Any) -> str:
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels[:3]]
    shown = ", ".join(repr(label) for label in plain)
    return shown + (", ..." if len(labels) > 3 else "")
