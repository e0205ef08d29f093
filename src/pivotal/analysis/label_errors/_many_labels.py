"""Many labels per row: every cell of the table, whether a row has a label, is judged as a class of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, SupportsIndex

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis.label_errors._blend import floor_of, margins, mixture_weights
from pivotal.analysis.label_errors._counts import ErrorCount, count_errors, error_chances, sum_of_counts
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._model import ask_model
from pivotal.analysis.label_errors._request import Request
from pivotal.core.games import Soft
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False, repr=False)
class ManyLabelErrors(LabelErrors):
    """Cells of a table of labels that are in doubt, and why. Made by `find_label_errors`; all arrays are read-only.

    What is said of rows in `LabelErrors` is said of cells here, of which there are n_rows times n_labels: cell c is
    about row ``c // n_labels`` and label ``c % n_labels``, and is 1 if the row is said to have the label. Only `ids`,
    `nearest`, `spoiled` and `values` are about rows, in which all labels count alike.

    Parameters
    ----------
    names : array of shape (n_labels,)
        What the labels are called.
    estimates : tuple of ErrorCount
        How many cells of each label are wrong.
    """

    names: AnyArray
    estimates: tuple[ErrorCount, ...]
    _unit: ClassVar[str] = "cells"

    @property
    def rows(self) -> IndexArray:
        """Row of each cell; shape (n_cells,)."""
        return np.arange(self.scores.size) // len(self.names)

    @property
    def labels(self) -> AnyArray:
        """Name of the label of each cell; shape (n_cells,)."""
        return np.tile(self.names, self.scores.size // len(self.names))

    @property
    def row_scores(self) -> FloatArray:
        """Score of the most suspicious cell of each row; shape (n_rows,)."""
        scores: FloatArray = self.scores.reshape(-1, len(self.names)).min(axis=1)
        return scores

    def to_frame(self, *, all_rows: bool = False) -> pd.DataFrame:
        """One line per suspect, most suspicious first; its index is the cell.

        Parameters
        ----------
        all_rows : bool, default=False
            Whether to list all cells rather than the suspects, in the same order.

        Returns
        -------
        frame : pandas DataFrame
            Columns row, id, label, given, suggested, confidence, score, error_chance, nearest (ids) and, if all cells
            are listed, suspect.
        """
        cells = self.order if all_rows else self.suspects
        rows = self.rows[cells]
        columns: dict[str, Any] = {
            "row": rows,
            "id": self.ids[rows],
            "label": self.labels[cells],
            "given": self.given[cells],
            "suggested": self.suggested[cells],
            "confidence": self.confidence[cells],
            "score": self.scores[cells],
            "error_chance": self.error_chances[cells],
            "nearest": [self.ids[self.nearest[row]].tolist() for row in rows],
        }
        if all_rows:
            columns["suspect"] = np.isin(cells, self.suspects)
        return pd.DataFrame(columns, index=pd.Index(cells, name="cell"))

    def corrected(self, y: Any = None, *, confidence: float = 0.0) -> AnyArray:
        """Return a table of labels, of shape (n_rows, n_labels), with the suspects replaced: see `LabelErrors`."""
        width = len(self.names)
        table = None if y is None else np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        if table is not None and table.shape != (self.scores.size // width, width):
            raise ValueError(f"y must have shape {(self.scores.size // width, width)}; got {table.shape}.")
        return super().corrected(None if table is None else table.ravel(), confidence=confidence).reshape(-1, width)

    def explain(self, row: SupportsIndex) -> str:
        """Say in a sentence what speaks for or against a cell.

        Parameters
        ----------
        row : int
            Position of the cell, suspect or not.
        """
        i = self._position(row)
        at, label = divmod(i, len(self.names))
        near = self.given.reshape(-1, len(self.names))[self.nearest[at], label]
        count = int(near.sum())
        has = "is" if self.given[i] else "is not"
        votes = f"{self.support[i]:.0%} of the votes agree"
        neighbours = f"{count} of its {len(near)} nearest neighbours {'has' if count == 1 else 'have'} it"
        return f"row {self.ids[at]} {has} labelled {self.names[label]}; {votes}; {neighbours}; {self._harm(at)}"

    def _named(self, place: int) -> str:
        row, label = divmod(place, len(self.names))
        return f"{self.ids[row]} {self.names[label]}"

    def by_class(self) -> pd.DataFrame:
        """Return expected numbers of wrong cells per label, with the columns of `by_group`."""
        return self._counts_by(self.labels).rename_axis("label")

    def by_group(self, groups: npt.ArrayLike) -> pd.DataFrame:
        """Return expected numbers of wrong cells per group, most first: see `LabelErrors`.

        Parameters
        ----------
        groups : array-like of shape (n_rows,) or (n_cells,)
            Whose each row, or each cell, is.
        """
        width = len(self.names)
        of_rows = np.shape(groups) == (self.scores.size // width,)
        return super().by_group(np.repeat(np.asarray(groups), width) if of_rows else groups)

    def _chances(self, count: float) -> FloatArray:
        """Chances within each label, in proportion to its estimate."""
        total = self.estimate.count
        own, rival = (each.reshape(-1, len(self.names)) for each in (self.support, self.rival_support))
        chances = [
            error_chances(own[:, label], rival[:, label], one.count * count / total if total else 0.0)
            for label, one in enumerate(self.estimates)
        ]
        return np.column_stack(chances).ravel()


def find_wrong_cells(request: Request, table: CodeArray, names: AnyArray) -> ManyLabelErrors:
    """Find cells that are in doubt, in a table of 0 and 1 of shape (n_rows, n_labels) with the names of the labels."""
    width = table.shape[1]
    ones = np.column_stack([table, np.ones(len(table))]).astype(np.float64)
    near, verdict = request.ask_nearest(table, ones, Soft())
    said = _ask(request, table, ones, near.votes)
    own = np.column_stack([np.where(table == 1, chances, 1.0 - chances).ravel() for chances in said.values()])
    weights = mixture_weights(np.maximum(own, floor_of(2)))
    support = own @ weights
    rival = 1.0 - support
    given = table.ravel()
    predicted = np.where(rival > support, 1 - given, given).astype(np.int32)
    scores = margins(support, rival)
    probable = (rival > support) & (rival >= request.odds * support)
    estimates = tuple(
        count_errors(support[one], rival[one], given[one], predicted[one])
        for one in (np.arange(label, given.size, width) for label in range(width))
    )
    return ManyLabelErrors(
        **request.judged(near, scores, probable),
        given=given.copy(),
        suggested=predicted,
        confidence=np.maximum(support, rival),
        settings=request.settings("multilabel", dict(zip(said, weights, strict=True)), n_labels=width, **verdict),
        support=support,
        rival_support=rival,
        rivals=1 - given,
        estimate=sum_of_counts(estimates),
        names=names,
        estimates=estimates,
    )


def _ask(request: Request, table: CodeArray, ones: FloatArray, nearest: FloatArray) -> dict[str, FloatArray]:
    """Return each voter's chances that a row has a label; shape (n_rows, n_labels)."""
    said: dict[str, FloatArray] = {}
    if "neighbors" in request.voters:
        said["neighbors"] = nearest[:, :-1] / nearest[:, -1:]
    floor = floor_of(2)
    leaves, importance, _ = request.ask_leaves(table, ones)
    if leaves is not None:
        said["forest"] = leaves[:, :-1] / leaves[:, -1:]
    for name, regression in request.regressions(importance, ones[:, :-1]).items():
        said[name] = np.clip(regression.predict(ones[:, :-1]), floor, 1.0 - floor)
    if request.model is not None:
        how: dict[str, Any] = {"seed": request.seed, "progress": request.resources.progress}
        columns = np.ascontiguousarray(table.T)
        said["model"] = np.column_stack([ask_model(request.model, request.X, one, 2, **how)[:, 1] for one in columns])
    return said
