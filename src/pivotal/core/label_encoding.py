"""The one way from labels as users have them to the numbers that games are played with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from pivotal.core.indicators import as_indicators, is_indicators
from pivotal.core.labels import ClassCodes, as_labels, as_responses
from pivotal.core.types import AnyArray

__all__ = ["Encoded", "LabelEncoding"]

_NO_CLASSES: pd.Index[Any] = pd.Index([])


class Encoded(NamedTuple):
    """Labels as numbers: of the training points, of the queries, if any, and what turns others into such numbers."""

    labels: AnyArray
    targets: AnyArray
    encoding: LabelEncoding


@dataclass(frozen=True, eq=False)
class LabelEncoding:
    """How labels turn into numbers: class codes, responses, or tables of 0 and 1 for points with many labels."""

    codes: ClassCodes | None  # the label set; None for regression
    n_labels: int | None = None  # columns of a table of labels; None where a point has one label

    @staticmethod
    def of(
        task: str,
        y_train: Any,
        y_test: Any = None,
        *,
        classes: Any = None,
        name: str = "y_train",
        tables: bool = True,
    ) -> Encoded:
        """Return the labels as numbers, and what turns other labels into such numbers.

        Training labels, which the user calls `name`, have shape (n_train,), or (n_train, n_labels) where `tables` says
        that a point may have many. Those of queries may bring classes that training does not show; `classes` names all.

        Examples
        --------
        >>> labels, targets, encoding = LabelEncoding.of("classification", ["dog", "cat", "dog"], ["cat"])
        >>> labels.tolist(), targets.tolist(), encoding.encode(["cat", "dog"], "y").tolist(), encoding.n_classes
        ([0, 1, 0], [1], [1, 0], 2)
        """
        labels: AnyArray
        if task == "classification" and not (tables and is_indicators(y_train)):
            train, test = as_labels(y_train, name), None if y_test is None else as_labels(y_test, "y_test")
            codes, labels, targets = ClassCodes.encoding(train, test, classes=classes)
            return Encoded(labels, labels[:0] if targets is None else targets, LabelEncoding(codes))
        if task == "regression":
            labels, encoding = as_responses(y_train, name), LabelEncoding(None)
        else:
            labels = as_indicators(y_train, name)
            encoding = LabelEncoding(ClassCodes.of_indicators(classes), labels.shape[1])
        return Encoded(labels, labels[:0] if y_test is None else encoding.encode(y_test, "y_test"), encoding)

    @property
    def classes(self) -> pd.Index[Any]:
        """The label set, in the order of its codes; empty for regression."""
        return _NO_CLASSES if self.codes is None else self.codes.classes

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return 0 if self.codes is None else self.codes.n_classes

    def encode(self, y: Any, name: str) -> AnyArray:
        """Return other labels as numbers; a label outside the label set is an error."""
        if self.codes is None:
            return as_responses(y, name)
        if self.n_labels is not None:
            return as_indicators(y, name, self.n_labels)
        return self.codes.encode(as_labels(y, name), name)
