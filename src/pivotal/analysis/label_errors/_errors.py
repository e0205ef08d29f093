"""The result: suspects, what speaks against them, and labels put right."""

from __future__ import annotations

import html
import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.providers import provided
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_probability

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
        Rows whose label is thought wrong, most suspicious first; with `n` or `share`, as many rows as were asked for.
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
    probable : bool array of shape (n_rows,)
        Rows whose label is probably wrong, as another one has at least `odds` times its votes. These are the suspects,
        unless a number of them was asked for.
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
    probable: npt.NDArray[np.bool_]
    ids: AnyArray
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        for name, content in vars(self).items():
            if isinstance(content, np.ndarray):
                frozen = content.view()
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    @property
    def n_probable(self) -> int:
        """Number of labels that are probably wrong, however many suspects were asked for."""
        return int(self.probable.sum())

    @property
    def fixed_size(self) -> bool:
        """Whether there are as many suspects as were asked for, rather than as many as are probably wrong."""
        return not (self.suspects.size == self.n_probable and self.probable[self.suspects].all())

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
            raise TypeError(f"row must be the position of a row, an integer; got {row!r}.")
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
        return f"row {self.ids[i]} is labelled {self.given[i]}; {vote}; it hurts {_predictions_of(names)}"

    def review(self, X: Any, **what: Any) -> pd.DataFrame:
        """Decide about the suspects on a page in the browser; return the decisions when it is closed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The features that they were found with.
        **what
            What to show of the rows (frame, text, images, owners), where to keep decisions (journal), and more: see
            `pivotal.review.review`.

        Returns
        -------
        decisions : pandas DataFrame
            A line per decision: row, id, action, from, to, reviewer, at, why and more.
        """
        decisions: pd.DataFrame = provided("review").review(self, X, **what)
        return decisions

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
        n, n_rows = self.suspects.size, self.scores.size
        if self.fixed_size:
            return f"LabelErrors({n} most suspicious of {n_rows} rows, {self.n_probable} probably wrong{named})"
        return f"LabelErrors({n} {'suspect' if n == 1 else 'suspects'} among {n_rows} rows{named})"

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
        return f"the prediction for row {names[0]}"
    return f"the predictions for rows {', '.join(names[:-1])} and {names[-1]}"
