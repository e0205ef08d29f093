"""The one way from labels as users have them to the numbers that games are played with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from pivotal.core.indicators import as_indicators, is_indicators
from pivotal.core.labels import ClassCodes, as_labels, as_responses, check_same_kind
from pivotal.core.types import AnyArray

__all__ = ["LabelEncoding"]

_NO_CLASSES: pd.Index[Any] = pd.Index([])


@dataclass(frozen=True, eq=False)
class LabelEncoding:
    """How labels turn into numbers: class codes, responses, or tables of 0 and 1 for points with many labels.

    Parameters
    ----------
    codes : ClassCodes or None
        The label set; None for regression.
    n_labels : int, optional
        Number of columns of a table of labels; None where a point has one label.
    """

    codes: ClassCodes | None
    n_labels: int | None = None

    @staticmethod
    def of(
        task: str,
        y_train: Any,
        y_test: Any = None,
        *,
        classes: Any = None,
        name: str = "y_train",
        tables: bool = True,
    ) -> tuple[AnyArray, LabelEncoding]:
        """Return the training labels as numbers, and what turns other labels into such numbers.

        Parameters
        ----------
        task : {"classification", "regression"}
            What the game takes labels for.
        y_train : array-like of shape (n_train,) or (n_train, n_labels)
            Labels of the training points.
        y_test : array-like, optional
            Labels of the queries, which may bring classes that training does not show.
        classes : array-like, optional
            The whole label set.
        name : str, default="y_train"
            What the user calls the training labels.
        tables : bool, default=True
            Whether a point may have many labels.

        Examples
        --------
        >>> labels, encoding = LabelEncoding.of("classification", ["dog", "cat", "dog"], ["cat"])
        >>> labels.tolist(), encoding.encode(["cat", "dog"], "y").tolist(), encoding.n_classes
        ([0, 1, 0], [1, 0], 2)
        """
        if task == "regression":
            return as_responses(y_train, name), LabelEncoding(None)
        if tables and is_indicators(y_train):
            table = as_indicators(y_train, name)
            return table, LabelEncoding(ClassCodes.of_indicators(classes), table.shape[1])
        train = as_labels(y_train, name)
        seen = [train]
        if y_test is not None:
            seen.append(as_labels(y_test, "y_test"))
            check_same_kind(train, seen[1])
        codes = ClassCodes.of(*seen, classes=classes)
        return codes.encode(train, name), LabelEncoding(codes)

    @property
    def classes(self) -> pd.Index[Any]:
        """The label set, in the order of its codes; empty for regression."""
        return _NO_CLASSES if self.codes is None else self.codes.classes

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return len(self.classes)

    def encode(self, y: Any, name: str) -> AnyArray:
        """Return other labels as numbers; a label outside the label set is an error."""
        if self.codes is None:
            return as_responses(y, name)
        if self.n_labels is not None:
            return as_indicators(y, name, self.n_labels)
        return self.codes.encode(as_labels(y, name), name)
