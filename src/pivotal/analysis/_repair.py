"""Other labels for the least valuable points, and what that does to the score of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.analysis._ranked_inputs import ScoresLike, as_count, as_counts, as_order, describe, name_of
from pivotal.analysis.curves.curve import Curve
from pivotal.core.config import Resources
from pivotal.core.frozen import freeze_arrays
from pivotal.core.given import default
from pivotal.core.random import RandomState, as_generator
from pivotal.core.types import AnyArray, IndexArray

How = str | Callable[[IndexArray], npt.ArrayLike] | npt.ArrayLike
"""How new labels are found: a name, a function to ask, or the true labels."""


@dataclass(frozen=True, eq=False, repr=False)
class Repair:
    """Labels repaired, and the score on the way.

    Parameters
    ----------
    curve : Curve
        Score after this many points were looked at.
    order : int array of shape (n_repaired,)
        Training indices in the order in which they were looked at.
    labels : array of shape (n_train,)
        All labels at the end.
    changed : bool array of shape (n_repaired,)
        Which of the points in `order` got another label than they had.
    """

    curve: Curve
    order: IndexArray
    labels: AnyArray
    changed: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        first, last = self.curve.scores[0], self.curve.scores[-1]
        return (
            f"Repair({int(self.changed.sum())} of {len(self.order)} labels changed, "
            f"score {first:.4g} to {last:.4g}, {self.curve.label})"
        )


def repair(
    values: ScoresLike | None,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    share: int | float = 0.05,
    how: How = "flip",
    order: str | npt.ArrayLike = "lowest",
    model: Any = None,
    k: int = default(5),
    weights: Any = default("uniform"),
    metric: Any = default("euclidean"),
    metric_params: Mapping[str, Any] | None = None,
    scoring: Any = "accuracy",
    steps: int | npt.ArrayLike | None = None,
    label: str | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: bool | None = None,
) -> Repair:
    """Give the least valuable points another label, one after the other, and follow the score of a model.

    Points that are *mislabelled* and points that are *decisive* are not the same. Soft-label values find more wrong
    labels, which `detection` counts; hard-vote values find the points whose label changes predictions, wrong or not.
    This curve shows what that is worth. Measured on the very points that the values were computed from, as in the
    paper, it flatters decisive points most.

    Parameters
    ----------
    values, X_train, y_train, X_test, y_test
        As in `removal_curve`.
    share : int or float, default=0.05
        How many points to look at: a count, or a share of the training points.
    how : str, callable or array-like of shape (n_train,), default="flip"
        Where new labels come from. ``"flip"`` takes another label than the point has: with two classes the other one,
        with more the commonest other label among its k nearest other points, of equals the commonest of all.
        ``"neighbors"`` takes what the k nearest other points predict, even if it is the label it has. A function gets
        training indices, in order, and returns a label for each: an expert. An array holds the true labels.
    order : str or int array, default="lowest"
        Which are looked at first, as in `removal_curve`.
    steps : None, int or array-like, optional
        Where to look at the score, as in `removal_curve`.
    model, k, weights, metric, metric_params, scoring, label, n_jobs, random_state, progress
        As in `removal_curve`. The neighbours of ``how="flip"`` and ``how="neighbors"`` are found by this k and metric,
        for any model, and keep the labels they have: one repair does not feed the next.

    Returns
    -------
    Repair

    Examples
    --------
    >>> from pivotal.analysis import repair
    >>> X, y = [[0.0], [0.1], [0.2], [3.0]], ["cat", "dog", "cat", "dog"]
    >>> result = repair([0.2, -0.1, 0.3, 0.1], X, y, [[0.1], [2.9]], ["cat", "dog"], share=1, k=1)
    >>> result.curve.scores
    array([0.5, 1. ])
    >>> result.labels.tolist()
    ['cat', 'cat', 'cat', 'dog']
    """
    from pivotal.analysis._relabel import new_labels
    from pivotal.analysis.curves._curve_models import default_steps, make_model, task_of
    from pivotal.analysis.curves._nearest_curves import neighbours_of
    from pivotal.analysis.curves._scoring import read_labels

    resources = Resources.of(n_jobs=n_jobs, progress=progress)
    near = neighbours_of(model, k=k, weights=weights, metric=metric, metric_params=metric_params)
    task = task_of(scoring, model, y_train)
    given = read_labels(y_train, "y_train", task)
    queue = as_order(order, values, len(given), as_generator(random_state))
    queue = queue[: as_count(share, len(given), "share")]
    counts = as_counts(steps, len(queue), len(given), default=default_steps(model))
    queue = queue[: counts[-1]]
    repaired = given.copy()
    if len(queue):
        new = new_labels(how, queue, given, X_train, task, near, resources.n_jobs)
        repaired = repaired.astype(_common_dtype(given, new))
        repaired[queue] = new
    data = (X_train, y_train, X_test, y_test)
    run = make_model(data, model, near, scoring, resources.n_jobs, also=repaired[queue])
    scores = run.scores_while_relabelled(queue, repaired, counts, progress=resources.progress)
    settings = {
        "kind": "repair",
        "order": describe(order),
        "how": _describe_how(how),
        "n_train": len(given),
        **run.settings,
    }
    name = name_of(values, order) if label is None else label
    curve = Curve(counts, scores, label=name, settings=settings)
    return Repair(curve, queue, repaired, repaired[queue] != given[queue])


def _common_dtype(one: AnyArray, other: AnyArray) -> np.dtype[Any]:
    """Return a dtype that holds both, without turning numbers into text."""
    if (one.dtype.kind in "iufb") != (other.dtype.kind in "iufb"):
        return np.dtype(object)
    return np.promote_types(one.dtype, other.dtype)


def _describe_how(how: Any) -> str:
    """What the settings say of the source of new labels."""
    if isinstance(how, str):
        return how
    return str(getattr(how, "__name__", "asked")) if callable(how) else "given"
