"""Why a query is decided as it is: the training points for its true label and against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pivotal.core.providers import provided
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.results.per_query import PerQuery

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The training points that decide one query, the most important first.

    `str` says it in words.

    Parameters
    ----------
    query : int
        Which query: queries are numbered as they were counted.
    target : str
        Its true label.
    verdict : str
        What its nearest neighbours say to that, in words.
    points : int array of shape (n_points,)
        Training indices: first those for the true label, then those against it, each from the largest value down.
    ids : array of shape (n_points,)
        Their names.
    labels : tuple of str
        Their labels.
    values : float array of shape (n_points,)
        Their values for this query; the mean over queries is the value of a point.
    ranks : int array of shape (n_points,)
        How near they are; the nearest point has rank 1.
    n_others : int
        How many points with a value other than 0 are omitted.
    rest : float
        The sum of their values.
    noun : str
        What a point is called.
    """

    query: int
    target: str
    verdict: str
    points: IndexArray
    ids: AnyArray
    labels: tuple[str, ...]
    values: FloatArray
    ranks: AnyArray
    n_others: int
    rest: float
    noun: str = "row"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per point, in the order of `points`; the index is the training index.

        Returns
        -------
        frame : pandas DataFrame
            Columns id, label, value, rank and side, which is "for" or "against".
        """
        sides = np.where(self.values > 0, "for", "against")
        columns = {"id": self.ids, "label": self.labels, "value": self.values, "rank": self.ranks, "side": sides}
        return pd.DataFrame(columns, index=self.points)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the values as bars; see `pivotal.plots.plot_explanation`."""
        drawn: Axes = provided("plots").plot_explanation(self, ax)
        return drawn

    def __str__(self) -> str:
        sides = [
            f"{word}: {self._listed(side)}."
            for word, side in (("For", self.values > 0), ("Against", self.values < 0))
            if side.any()
        ]
        if self.n_others:
            sides.append(f"{self.n_others} others add up to {self.rest:+.3g}.")
        return " ".join([f"query {self.query} {self.verdict}.", *(sides or ["No point changes anything."])])

    def __repr__(self) -> str:
        return str(self)

    def _listed(self, side: AnyArray) -> str:
        return ", ".join(
            f"{self.noun} {self.ids[i]} ({self.labels[i]}) {self.values[i]:+.3g}" for i in np.flatnonzero(side).tolist()
        )


def explain_query(kept: PerQuery, ids: AnyArray, query: int, n: int) -> Explanation:
    """Return the n points most for a query's true label, and the n most against it; ids are names of all points."""
    points, values, ranks = kept.row(query)
    order = np.argsort(-np.abs(values), kind="stable")  # of equals the nearer comes first
    shown = np.concatenate([order[values[order] > 0][:n], order[values[order] < 0][:n]])
    others = np.setdiff1d(np.flatnonzero(values), shown)
    if kept.grades is None:
        labels = tuple(kept.name_of(kept.labels[point]) for point in points[shown])
        verdict = _verdict(kept, query, points[ranks <= kept.k])
    else:
        grades = kept.grades_of(query)
        labels, first = tuple(f"grade {grade:g}" for grade in grades[shown]), grades[ranks <= kept.k]
        found = f"finds {int((first > 0.0).sum())} relevant among its first {len(first)}"
        verdict = f"({kept.name_of(query)}) {found}"
    return Explanation(
        query,
        kept.name_of(kept.targets[query]),
        verdict,
        points[shown],
        ids[points[shown]],
        labels,
        values[shown],
        ranks[shown],
        len(others),
        float(values[others].sum()),
        "row" if kept.grades is None else "document",
    )


def _verdict(kept: PerQuery, query: int, nearest: IndexArray) -> str:
    target, count = kept.targets[query], len(nearest)
    if not kept.classes:
        mean = float(kept.labels[nearest].mean())
        return f"has the response {kept.name_of(target)}: the mean of its {count} nearest is {mean:g}"
    agree = int((kept.labels[nearest] == target).sum())
    return f"is labelled {kept.name_of(target)}: {agree} of its {count} nearest {'agrees' if agree == 1 else 'agree'}"
