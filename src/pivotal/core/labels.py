"""Labels of any kind to class codes, and responses to floats."""

from __future__ import annotations

import logging
import numbers
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, CodeArray, FloatArray

__all__ = [
    "ClassCodes",
    "as_array",
    "as_labels",
    "as_responses",
    "check_classes",
    "check_same_kind",
    "look_like_amounts",
    "numbers_among",
]

_FEW_POINTS: Final = 20
_FEW_TRAINING: Final = 10
_FEW_CLASSES: Final = 10
_MANY_CLASSES: Final = 30


def as_labels(y: Any, name: str) -> AnyArray:
    """Return class labels as an array of shape (n,), without missing ones."""
    labels = _one_dimensional(y, name)
    missing = [] if labels.dtype.kind in "iubUS" else np.flatnonzero(pd.isna(labels)).tolist()
    if missing:
        raise ValueError(
            f"{name} must have a label for every point; got {len(missing)} missing, the first at position "
            f"{missing[0]}. Drop these points or give them a label of their own."
        )
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold class labels; got dtype {labels.dtype}.")
    plain = None if labels.dtype.kind in "iub" else numbers_among(labels)
    if plain is not None and not (whole := np.isfinite(plain) & (plain == np.floor(plain))).all():
        odd = plain[~whole][0]
        kind = "fractions" if np.isfinite(odd) else "numbers"
        raise ValueError(
            f"Unknown label type: {name} must hold class labels; got {kind} such as {odd}. "
            'Use utility="regression" for numbers, or give the classes names.'
        )
    return labels


def numbers_among(labels: AnyArray) -> AnyArray | None:
    """Return labels that are numbers as an array of these, also where Python holds each; None for other labels."""
    if labels.dtype.kind in "iuf":
        return labels
    if labels.dtype.kind != "O" or not all(
        isinstance(label, numbers.Real | Decimal) and not isinstance(label, bool | np.bool_) for label in labels
    ):
        return None
    if all(isinstance(label, numbers.Integral) and abs(int(label)) < 2**63 for label in labels):
        return labels.astype(np.int64)
    return labels.astype(np.float64)


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


class ClassCodes:
    """The label set, in the order of its codes."""

    def __init__(self, labels: AnyArray | pd.Index[Any]) -> None:
        self._labels = labels

    @cached_property
    def classes(self) -> pd.Index[Any]:
        """The different labels."""
        return pd.Index(self._labels)

    @property
    def n_classes(self) -> int:
        """How many they are."""
        return len(self._labels)

    @classmethod
    def of(cls, *labels: AnyArray, classes: Any = None) -> ClassCodes:
        """Collect the labels that occur, in the order in which they do, or check that `classes` names them all."""
        return cls._of_found(pd.unique(_together(labels)), classes)

    @classmethod
    def encoding(
        cls, y_train: AnyArray, y_test: AnyArray | None = None, *, classes: Any = None
    ) -> tuple[ClassCodes, CodeArray, CodeArray | None]:
        """Return the label set, the codes of training labels, and those of queries, where there are any.

        Raises where training labels look like amounts, unless `classes` names them, or queries have none of them.
        """
        n_train = len(y_train)
        found, every = pd.factorize(y_train if y_test is None else _together((y_train, y_test)))
        n_known = int(found[:n_train].max()) + 1
        if n_known < len(every) and y_test is not None:
            check_same_kind(y_train, y_test)
        if classes is None and n_known > _FEW_CLASSES and (amounts := numbers_among(y_train)) is not None:
            check_classes(*np.unique(amounts, return_counts=True))
        known = cls._of_found(every, classes)
        if classes is not None:
            found = known.classes.get_indexer(pd.Index(every))[found]
        codes = found.astype(np.int32)
        return known, codes[:n_train], None if y_test is None else codes[n_train:]

    @classmethod
    def _of_found(cls, found: AnyArray, classes: Any) -> ClassCodes:
        if classes is None:
            return cls(found)
        every = pd.Index(found)
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
    def of_indicators(cls, classes: Any) -> ClassCodes:
        """Return the label set of points with many labels: each has a label, or has it not."""
        if classes is not None:
            raise ValueError(
                "classes are for one label per point; got them with a table of labels, which has a column for each. "
                "Omit them."
            )
        return cls(pd.Index([0, 1]))

    def in_order(self) -> ClassCodes:
        """Return the label set sorted, as scikit-learn sorts it; text beside numbers as text."""
        try:
            return ClassCodes(self.classes.sort_values())
        except TypeError:
            return ClassCodes(self.classes[np.argsort([str(label) for label in self.classes], kind="stable")])

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


def check_classes(labels: AnyArray, counts: AnyArray) -> None:
    """Turn down training labels that look like amounts (prices, ages, counts), given how many points have each."""
    if labels.dtype.kind in "iuf" and look_like_amounts(labels, counts):
        raise ValueError(
            f"labels must be classes, and {len(labels)} different numbers among {int(counts.sum())} labels, such as "
            f'{_few(labels)}, look like amounts. Value numbers with pivotal.value(..., utility="regression"); if each '
            "of them names a class, pass them as text, such as y.astype(str), or name them all with classes=."
        )


def look_like_amounts(numbers: AnyArray, counts: AnyArray) -> bool:
    """Whether labels that are integers are amounts rather than classes.

    Classes are few, have several points each and, where there are many of them, are numbered from 0 or 1 on. What few
    points there are, up to 20, says nothing. `counts` is how many points have each of the different labels.

    Examples
    --------
    >>> import numpy as np
    >>> look_like_amounts(np.arange(10), np.full(10, 3))
    False
    >>> look_like_amounts(np.arange(18, 78), np.full(60, 9))  # ages
    True
    """
    n_classes, n_points = len(numbers), int(counts.sum())
    if n_classes <= _FEW_CLASSES or n_points <= _FEW_POINTS:
        return False
    low, high = int(numbers.min()), int(numbers.max())
    numbered = low in (0, 1) and 2 * n_classes >= high - low + 1
    many = n_classes > _MANY_CLASSES and not numbered
    return many or 5 * n_classes > n_points or float(np.median(counts)) < 3.0


def check_same_kind(y_train: AnyArray, y_test: AnyArray) -> None:
    """Raise when no label of a test set occurs in training, as every value would be 0; say so when some do not.

    Among fewer than 10 training points a label may be missing by chance, which is said and is no error.
    """
    train, test = pd.Index(pd.unique(y_train)), pd.Index(pd.unique(y_test))
    known = np.array([label in train for label in test])
    if known.all():
        return
    if not known.any() and _is_text(y_train) != _is_text(y_test):
        kinds = {True: "text", False: "numbers"}
        raise ValueError(
            f"y_train and y_test must hold labels of one type; got {kinds[_is_text(y_train)]} such as "
            f"{_few(y_train[:1])} and {kinds[_is_text(y_test)]} such as {_few(y_test[:1])}. Convert one of them."
        )
    if not known.any() and len(y_train) >= _FEW_TRAINING:
        raise ValueError(
            f"y_test must hold labels that y_train has too; none of them is known there: y_train has {_few(train)}, "
            f"and y_test has {_few(test)}. Are both coded in the same way?"
        )
    unknown = np.isin(test.get_indexer(pd.Index(y_test)), np.flatnonzero(~known))
    logging.getLogger("pivotal").warning(
        "%d of %d test labels are not among the training labels, such as %s; no training point helps to predict them.",
        unknown.sum(),
        len(y_test),
        _few(test[~known]),
    )


def as_array(y: Any) -> AnyArray:
    """Return labels as an array; a number beside text does not turn into text."""
    labels = np.asarray(y)
    # NumPy makes text of numbers beside text, and floats of integers beyond 64 bits.
    careless = labels.dtype.kind == "U" or (labels.dtype.kind == "f" and np.any(np.abs(labels) >= 2.0**53))
    return np.asarray(y, dtype=object) if careless and isinstance(y, (list, tuple)) else labels


def _one_dimensional(y: Any, name: str) -> AnyArray:
    labels = as_array(y)
    if labels.ndim != 1:
        fix = f" Use {name}.ravel()." if labels.ndim == 2 and labels.shape[1] == 1 else ""
        raise ValueError(f"{name} must be one-dimensional, a label per point; got shape {labels.shape}.{fix}")
    if labels.size == 0:
        raise ValueError(f"{name} must hold at least one label; got none.")
    return labels


def _together(labels: tuple[AnyArray, ...]) -> AnyArray:
    """Concatenate without turning numbers into text, or integers of two types into floats."""
    kinds = {part.dtype.kind for part in labels}
    plain = [part for part in labels if part.dtype.kind in "iuf"]
    large = len(kinds & set("iuf")) > 1 and any(np.any(np.abs(part) >= 2.0**53) for part in plain)
    if len({_is_text(part) for part in labels}) > 1 or {"i", "u"} <= kinds or large:
        labels = tuple(part.astype(object) for part in labels)
    return np.concatenate(labels)


def _is_text(labels: AnyArray) -> bool:
    return labels.dtype.kind in "US" or (labels.dtype.kind == "O" and isinstance(labels[0], str))


def _few(labels: Any) -> str:
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels[:3]]
    shown = ", ".join(repr(label) for label in plain)
    return shown + (", ..." if len(labels) > 3 else "")
