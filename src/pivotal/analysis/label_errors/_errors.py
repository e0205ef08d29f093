"""The result: suspects, what speaks against them, and labels put right."""

from __future__ import annotations

import html
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, SupportsIndex

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis.label_errors._breakdown import confusion_of, counts_by_group
from pivotal.analysis.label_errors._counts import ErrorCount, error_chances
from pivotal.core.frozen import freeze_arrays
from pivotal.core.providers import provided
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_probability, is_integer


@dataclass(frozen=True, eq=False, repr=False)
class LabelErrors:
    """Rows whose label is in doubt, and why. Made by `find_label_errors`; all arrays are read-only.

    Parameters
    ----------
    scores : float64 array of shape (n_rows,)
        How the votes for the label of the row compare with those for the best other label, from 0 to 1: low is
        suspicious. With a and b these shares of all votes, (1 + (a - b) / sqrt(a + b)) / 2; with two classes, a.
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
        How they were found; `weights` says how much say each voter had.
    support, rival_support : float64 arrays of shape (n_rows,)
        Share of the votes for the label as given, and for the best other one.
    rivals : array of shape (n_rows,)
        The best other label.
    estimate : ErrorCount
        See `n_wrong`.
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
    support: FloatArray
    rival_support: FloatArray
    rivals: AnyArray
    estimate: ErrorCount

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    @property
    def n_probable(self) -> int:
        """Number of labels that are probably wrong, however many suspects were asked for."""
        return int(self.probable.sum())

    @property
    def fixed_size(self) -> bool:
        """Whether there are as many suspects as were asked for, rather than as many as are probably wrong."""
        return not (self.suspects.size == self.n_probable and self.probable[self.suspects].all())

    @property
    def n_wrong(self) -> ErrorCount:
        """Estimated number of wrong labels: count, low, high, and the level of the interval, 0.9.

        Where less than one label in a hundred is wrong, the estimate tends to be too high. Where features hardly
        predict the labels, rare ones cannot be told from wrong ones: `upper_bound_only` is true then, low is 0, and
        high says how many are wrong at most; chances of single rows are too high there, too.
        """
        return self.estimate

    @cached_property
    def error_chances(self) -> FloatArray:
        """How likely the label of each row is wrong; the sum is `n_wrong`. Shape (n_rows,)."""
        return self._chances(self.estimate.count)

    def precision(self, m: int | None = None) -> float:
        """Return which share of the first m of `order` is expected to be wrong; of the suspects by default."""
        if m is None:
            first = self.suspects
        elif not is_integer(m, 0, self.scores.size):
            raise ValueError(f"m must be an integer from 0 to {self.scores.size}, the number of rows; got {m!r}.")
        else:
            first = self.order[:m]
        return float(self.error_chances[first].mean()) if first.size else float("nan")

    def confusion(self) -> pd.DataFrame:
        """Return expected numbers of wrong labels: a row per label given, a column per label suggested instead."""
        return confusion_of(self.given, self.rivals, self.error_chances)

    def by_class(self) -> pd.DataFrame:
        """Return expected numbers of wrong labels per label given, with the columns of `by_group`."""
        return self._counts_by(self.given).rename_axis("given")

    def by_group(self, groups: npt.ArrayLike) -> pd.DataFrame:
        """Return expected numbers of wrong labels per annotator, owner or any other group, most first.

        Groups may err more or less often: many suspects of one make its other doubtful labels more suspicious, too.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)
            Whose each row is.

        Returns
        -------
        frame : pandas DataFrame
            A row per group with columns rows, suspects, wrong, low, high (an interval of the same level as `n_wrong`)
            and share (of its rows that is wrong).
        """
        if np.shape(groups) != self.scores.shape:
            raise ValueError(
                f"groups must name one for each of the {self.scores.size} rows that were looked at; "
                f"got shape {np.shape(groups)}."
            )
        return self._counts_by(groups, careless=True).rename_axis("group")

    def _counts_by(self, groups: npt.ArrayLike, *, careless: bool = False) -> pd.DataFrame:
        suspect = np.zeros(self.scores.size, dtype=bool)
        suspect[self.suspects] = True
        ends = self._chances(self.estimate.low), self._chances(self.estimate.high)
        return counts_by_group(groups, suspect, (self.error_chances, *ends), careless=careless)

    def _chances(self, count: float) -> FloatArray:
        return error_chances(self.support, self.rival_support, count)

    def to_frame(self, *, all_rows: bool = False) -> pd.DataFrame:
        """One line per suspect, most suspicious first; its index is the row.

        Parameters
        ----------
        all_rows : bool, default=False
            Whether to list all rows rather than the suspects, in the same order.

        Returns
        -------
        frame : pandas DataFrame
            Columns id, given, suggested, confidence, score, error_chance, value, nearest (ids), nearest_labels, spoils
            (ids) and, if all rows are listed, suspect.
        """
        rows = self.order if all_rows else self.suspects
        columns: dict[str, Any] = {
            "id": self.ids[rows],
            "given": self.given[rows],
            "suggested": self.suggested[rows],
            "confidence": self.confidence[rows],
            "score": self.scores[rows],
            "error_chance": self.error_chances[rows],
            "value": self.values[rows],
            "nearest": [self.ids[self.nearest[row]].tolist() for row in rows],
            "nearest_labels": [self.given[self.nearest[row]].tolist() for row in rows],
            "spoils": [self.ids[self._spoiled_by(row)].tolist() for row in rows],
        }
        if all_rows:
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
        minimum = check_probability(confidence, "confidence")
        labels = np.array(self.given if y is None else y)
        if labels.shape != self.given.shape:
            raise ValueError(
                f"y must have a label for each of the {self.given.size} rows that were looked at; "
                f"got shape {labels.shape}."
            )
        rows = self.suspects[self.confidence[self.suspects] >= minimum]
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
        i = self._position(row)
        near = self.given[self.nearest[i]]
        said = self.suggested[i]
        count = int((near == said).sum())
        if len(near) == 1:
            vote = f"its nearest neighbour {'says' if count else 'does not say'} {said}"
        else:
            vote = f"{count} of its {len(near)} nearest neighbours {'says' if count == 1 else 'say'} {said}"
        if tuple(self.settings["voters"]) != ("neighbors",):
            votes = f"{self.support[i]:.0%} of the votes are for {self.given[i]}"
            if self.rival_support[i] > 0.0:
                votes += f" and {self.rival_support[i]:.0%} for {self.rivals[i]}"
            vote = f"{votes}; {vote}"
        return f"row {self.ids[i]} is labelled {self.given[i]}; {vote}; {self._harm(i)}"

    def _harm(self, row: int) -> str:
        return f"it hurts {_predictions_of([str(name) for name in self.ids[self._spoiled_by(row)]])}"

    def _position(self, row: object) -> int:
        """Return the position of a row, checked."""
        if isinstance(row, bool) or not isinstance(row, SupportsIndex):
            raise TypeError(f"row must be the position of a row, an integer; got {row!r}.")
        i = operator.index(row)
        if not 0 <= i < self.scores.size:
            raise ValueError(f"row must lie between 0 and {self.scores.size - 1}; got {i}.")
        return i

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
        if self.settings["task"] != "classification":
            raise ValueError(
                f"a review is about one class per row; these are of {self.settings['task']}. "
                "Look at to_frame() and explain(), and put labels right with corrected()."
            )
        decisions: pd.DataFrame = provided("review").review(self, X, **what)
        return decisions

    def report(self, path: str | os.PathLike[str], **what: Any) -> Path:
        """Write one HTML page: how many are wrong, where, and the suspects; it opens anywhere, without a network.

        Parameters
        ----------
        path : path-like
            File to write.
        **what
            Something to read for each row (text), who labelled it (groups), and a title.
        """
        written: Path = provided("label page").write_label_page(self, path, **what)
        return written

    def _spoiled_by(self, row: int | np.int64) -> IndexArray:
        spoiled: IndexArray = self.spoiled[row][self.spoiled[row] >= 0]
        return spoiled

    def __reduce__(self) -> tuple[Any, ...]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["settings"] = dict(self.settings)  # a mapping proxy cannot be pickled
        return type(self), tuple(state.values())

    def __repr__(self) -> str:
        first = ", ".join(self._named(int(one)) for one in self.suspects[:5])
        more = ", ..." if self.suspects.size > 5 else ""
        named = f": {first}{more}" if self.suspects.size else ""
        n, n_rows = self.suspects.size, self.scores.size
        which = f"{n} most suspicious of" if self.fixed_size else f"{n} {'suspect' if n == 1 else 'suspects'} among"
        of = f"{n_rows} {self._unit}"
        wrong = f"{self.estimate}" if self.estimate.upper_bound_only else f"an estimated {self.estimate.count:.0f}"
        return f"{type(self).__name__}({which} {of}, {wrong} {self.estimate.what.split(',')[0]}{named})"

    _unit: ClassVar[str] = "rows"

    def _named(self, place: int) -> str:
        """What one of them is called."""
        return str(self.ids[place])

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(max_rows=10, float_format="{:.3g}".format, border=0, escape=True)
        return f"<div><p>{html.escape(repr(self))}</p>{table}</div>"


def _predictions_of(names: list[str]) -> str:
    if not names:
        return "no prediction"
    if len(names) == 1:
        return f"the prediction for row {names[0]}"
    return f"the predictions for rows {', '.join(names[:-1])} and {names[-1]}"
