"""The result: suspects, what speaks against them, and labels put right."""

from __future__ import annotations

import html
import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
import pandas as pd

from pivotal._types import AnyArray, FloatArray, IndexArray
from pivotal._validation import check_probability

__all__ = ["LabelErrors"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelErrors:
    """Rows whose label is in doubt, and why. Made by `find_label_errors`; all arrays are read-only.

    Parameters
    ----------
    scores : float64 array of shape (n_rows,)
        Share of the votes that agree with the label of the row, from 0 to 1: low is suspicious.
    order : int64 array of shape (n_rows,)
        Rows, most suspicious first.
    suspects : int64 array of shape (n_suspects,)
        Rows whose label is thought wrong, most suspicious first.
    given : array of shape (n_rows,)
        Labels as given.
    suggested : array of shape (n_rows,)
        Label with the most votes; the given one where none has more.
    confidence : float64 array of shape (n_rows,)
        Share of the votes for the suggested label.
    values : float64 array of shape (n_rows,)
        Soft-label Banzhaf value of each row to the predictions of all others.
    nearest : int64 array of shape (n_rows, at most 5)
        Nearest rows of each row, nearest first.
    spoiled : int64 array of shape (n_rows, 3)
        Rows whose prediction it harms most, worst first; -1 where there are fewer.
    ids : array of shape (n_rows,)
        Names of the rows.
    settings : mapping
        How they were found.
    """

    scores: FloatArray
    order: IndexArray
    suspects: IndexArray
    given: AnyArray
    suggested: AnyArray
    confidence: FloatArray
    values: FloatArray
    nearest: IndexArray
    spoiled: IndexArray
    ids: AnyArray
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        for name, content in vars(self).items():
            if isinstance(content, np.ndarray):
                frozen = content.view()
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def to_frame(self, *, everyone: bool = False) -> pd.DataFrame:
        """One line per suspect, most suspicious first; its index is the row.

        Parameters
        ----------
        everyone : bool, default=False
            Whether to list all rows rather than the suspects, in the same order.

        Returns
        -------
        frame : pandas DataFrame
            Columns id, given, suggested, confidence, score, value, nearest (ids), nearest_labels, spoils (ids) and, if
            all rows are listed, suspect.
        """
        rows = self.order if everyone else self.suspects
        columns: dict[str, Any] = {
            "id": self.ids[rows],
            "given": self.given[rows],
            "suggested": self.suggested[rows],
            "confidence": self.confidence[rows],
            "score": self.scores[rows],
            "value": self.values[rows],
            "nearest": _lists(self.ids[self.nearest[row]] for row in rows),
            "nearest_labels": _lists(self.given[self.nearest[row]] for row in rows),
            "spoils": _lists(self.ids[self._spoiled_by(row)] for row in rows),
        }
        if everyone:
            columns["suspect"] = np.isin(rows, self.suspects)
        return pd.DataFrame(columns, index=pd.Index(rows, name="row"))

    def corrected(self, y: Any = None, *, confidence: float = 0.0) -> AnyArray:
        """Return labels with those of the suspects replaced by the suggested ones.

        Parameters
        ----------
        y : array-like of shape (n_rows,), optional
            Labels to correct; those given by default. They are copied.
        confidence : float, default=0.0
            Suspects whose suggested label has a smaller share of the votes keep theirs.
        """
        least = check_probability(confidence, "confidence")
        labels = np.array(self.given if y is None else y)
        if labels.shape != self.given.shape:
            raise ValueError(
                f"y must have a label for each of the {self.given.size} rows that were looked at; "
                f"got shape {labels.shape}."
            )
        rows = self.suspects[self.confidence[self.suspects] >= least]
        if labels.dtype.kind in "US":
            labels = labels.astype(np.result_type(labels, self.suggested))  # no label is cut short
        labels[rows] = self.suggested[rows]
        return labels

    def explain(self, row: SupportsIndex) -> str:
        """Say in a sentence what speaks for or against the label of a row.

        Parameters
        ----------
        row : int
            Position of the row, suspect or not.
        """
        if isinstance(row, bool) or not isinstance(row, SupportsIndex):
            raise TypeError(f"row must be the position of a row, a whole number; got {row!r}.")
        i = operator.index(row)
        if not 0 <= i < self.scores.size:
            raise ValueError(f"row must lie between 0 and {self.scores.size - 1}; got {i}.")
        near = self.given[self.nearest[i]]
        said = self.suggested[i]
        count = int((near == said).sum())
        if len(near) == 1:
            vote = f"its nearest neighbour {'says' if count else 'does not say'} {said}"
        else:
            vote = f"{count} of its {len(near)} nearest neighbours {'says' if count == 1 else 'say'} {said}"
        names = [str(name) for name in self.ids[self._spoiled_by(i)]]
        return f"row {self.ids[i]} is labelled {self.given[i]}; {vote}; it spoils {_predictions_of(names)}"

    def _spoiled_by(self, row: int | np.int64) -> IndexArray:
        spoiled: IndexArray = self.spoiled[row][self.spoiled[row] >= 0]
        return spoiled

    def __reduce__(self) -> tuple[Any, ...]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return _rebuild, ({**state, "settings": dict(self.settings)},)  # a mapping proxy cannot be pickled

    def __repr__(self) -> str:
        first = ", ".join(str(name) for name in self.ids[self.suspects[:5]])
        more = ", ..." if self.suspects.size > 5 else ""
        named = f": {first}{more}" if self.suspects.size else ""
        return f"LabelErrors({self.suspects.size} suspects among {self.scores.size} rows{named})"

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(max_rows=10, float_format="{:.3g}".format, border=0, escape=True)
        return f"<div><p>{html.escape(repr(self))}</p>{table}</div>"


def _rebuild(state: dict[str, Any]) -> LabelErrors:
    return LabelErrors(**state)


def _lists(parts: Any) -> list[list[Any]]:
    return [part.tolist() for part in parts]


def _predictions_of(names: list[str]) -> str:
    if not names:
        return "no prediction"
    if len(names) == 1:
        return f"the prediction of row {names[0]}"
    return f"the prediction of rows {', '.join(names[:-1])} and {names[-1]}"
