"""LAVA: values without a model, from the distance between the training set and the test set.

Just, Kang, Wang, Zeng, Ko, Jin and Jia, "LAVA: Data Valuation without Pre-Specified Learning Algorithms", ICLR 2023.
The distance is that of optimal transport between points with labels (Alvarez-Melis and Fusi, "Geometric Dataset
Distances via Optimal Transport", NeurIPS 2020). A training point is worth as much as the distance shrinks when its mass
grows at the expense of all others alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from pivotal.baselines._baseline_inputs import classification
from pivotal.core.metric_settings import as_metric
from pivotal.core.progress import tqdm
from pivotal.core.random import as_generator, kept_seed
from pivotal.core.threads import count_threads, run_all, single_threaded_blas
from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.core.validation import check_count, check_positive, is_sparse
from pivotal.core.version import __version__
from pivotal.results.values import Values

__all__ = ["lava"]

_ROWS = 256  # of a table of costs that are filled at once; the same for any number of threads


def lava(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    label_weight: float = 1.0,
    regularization: float = 0.0,
    p: float = 2.0,
    metric: str | Callable[..., float] = "euclidean",
    max_pairs: int = 10_000_000,
    max_iter: int = 1000,
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Values:
    """Value training points by how much they bring the training set closer to the test set.

    Moving (x, y) to (x', y') costs d(x, x')^p + label_weight · W(y, y'), where W(y, y') is what it costs to move the
    training points of class y onto the test points of class y'. The value of point i is minus the calibrated gradient
    of the cheapest way to move one set onto the other: the mean dual potential of the other points, minus that of i.
    Values are in units of the cost, add up to 0 and say nothing about any particular model.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As in `pivotal.value`; class labels of any type. A class may be missing on either side.
    label_weight : float, default=1.0
        What a difference of labels weighs beside one of features; 0 looks at features alone.
    regularization : float, default=0.0
        Weight of the entropy of the plan, in units of the cost; 0 solves the transport problem exactly. Above 0 the
        values are smoothed.
    p : float, default=2.0
        Power of the distance, at least 1.
    metric : str or callable, default="euclidean"
        Distance between features, as in scikit-learn's `pairwise_distances`. Scale the features first if their units
        differ.
    max_pairs : int, default=10_000_000
        Most pairs of a training and a test point that are held in memory, at 50 to 80 bytes each. Beyond that
        the problem is solved for random samples of both sets, and all other training points get the potentials that
        follow from those of the sampled test points. `settings["sampled"]` tells the sizes, or is `None`.
    max_iter : int, default=1000
        Most rounds of Sinkhorn's algorithm, where there is a regularisation.
    ids, n_jobs, progress
        As in `pivotal.value`.
    random_state : int, Generator or None
        Draws the samples, where there are any.

    Returns
    -------
    Values
        Without utilities and error bound, as this is not a game.

    Notes
    -----
    The cost as a function of the masses has kinks wherever the optimal plan falls apart into groups that exchange no
    mass, as it does when one set is a multiple of the other in size. There the potentials are not unique, not even up
    to a constant. The mean of the slopes to both sides is taken, for every exchange of mass between two points: that
    is one of the optimal solutions, and depends neither on the solver nor on the order of the points.

    A single training point has no others to be compared with; its value is 0.

    Examples
    --------
    >>> from pivotal.baselines.lava import lava
    >>> X, y = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [5.15]], ["a", "a", "a", "b", "b", "b", "a"]
    >>> int(lava(X, y, [[0.1], [0.15], [5.05], [5.1]], ["a", "a", "b", "b"]).order()[-1])  # the last is worth least
    6
    """
    from pivotal.baselines._transport import equal_masses, extend, solver, target_potentials
    from pivotal.neighbors.metrics import check_metric, check_size, with_estimates

    task = classification(X_train, y_train, X_test, y_test, ids, "lava")
    label_weight = check_positive(label_weight, "label_weight", or_zero=True)
    regularization = check_positive(regularization, "regularization", or_zero=True)
    max_pairs, max_iter = check_count(max_pairs, "max_pairs"), check_count(max_iter, "max_iter")
    p = check_positive(p, "p")
    if p < 1.0:
        raise ValueError(f"p must be at least 1, or the cost is no distance; got {p}.")
    rng = as_generator(random_state)
    check_metric(metric, sparse_points=is_sparse(task.X_train))
    if metric == "precomputed":
        raise ValueError("lava needs features, not distances; got metric='precomputed'. Pass the features themselves.")
    check_size(task.X_train, "X_train")
    check_size(task.X_test, "X_test")
    solver()  # what is not installed is said before any work
    ground = _Cost(metric, with_estimates(task.X_train, metric, None), p, count_threads(n_jobs))
    between = np.zeros((task.n_known, int(task.y_test.max()) + 1))
    if label_weight > 0.0:
        between = label_weight * _between_classes(task, ground, regularization, max_iter, max_pairs, rng, progress)

    def costs(sources: AnyArray | slice, targets: AnyArray | slice) -> FloatArray:
        features = ground(task.X_train[sources], task.X_test[targets])
        return features + between[np.ix_(task.y_train[sources], task.y_test[targets])]

    n_train, n_test = task.y_train.size, task.y_test.size
    sampled = None
    if n_train * n_test <= max_pairs:
        cost = costs(slice(None), slice(None))
        of_targets = target_potentials(cost, equal_masses(n_train, n_test), regularization, max_iter)
        potentials = extend(cost, of_targets, regularization)
    else:
        n_targets = min(n_test, max(isqrt(max_pairs), max_pairs // n_train))
        sampled = (min(n_train, max_pairs // n_targets), n_targets)
        sources, source_masses = _sample(task.y_train, sampled[0], rng)
        targets, target_masses = _sample(task.y_test, sampled[1], rng)
        masses = source_masses, target_masses
        of_targets = target_potentials(costs(sources, targets), masses, regularization, max_iter)
        potentials = np.empty(n_train)
        starts = range(0, n_train, max_pairs // n_targets)
        for start in tqdm(starts, unit="block", disable=not progress, desc="extending"):
            rows = slice(start, start + starts.step)
            potentials[rows] = extend(costs(rows, targets), of_targets, regularization)
    return Values(
        _calibrated(potentials),
        n_queries=n_test,
        ids=task.ids,
        settings={
            "method": "lava",
            "label_weight": label_weight,
            "regularization": regularization,
            "p": p,
            "metric": str(as_metric(metric)),
            "sampled": sampled,
            "random_state": kept_seed(random_state),
            "version": __version__,
        },
    )


def _calibrated(potentials: FloatArray) -> FloatArray:
    """Mean potential of the other points, minus that of each: the constant that potentials leave open is gone."""
    n_train = potentials.size
    if n_train == 1:
        return np.zeros(1)
    centred = potentials - potentials.mean()
    return np.asarray(-centred * (n_train / (n_train - 1)))


@dataclass(frozen=True)
class _Cost:
    """The p-th power of the distance between points, in threads."""

    metric: str | Callable[..., float]
    parameters: dict[str, Any]
    p: float
    n_threads: int

    def __call__(self, sources: Any, targets: Any) -> FloatArray:
        cost = np.empty((sources.shape[0], targets.shape[0]))

        def fill(start: int) -> None:
            rows = slice(start, start + _ROWS)
            with np.errstate(over="ignore", invalid="ignore"):  # checked below
                cost[rows] = self._measure(sources[rows], targets)

        with single_threaded_blas():
            run_all(fill, range(0, cost.shape[0], _ROWS), self.n_threads)
        if not np.isfinite(cost.sum()) and not np.isfinite(cost).all():
            raise ValueError(
                f"the cost of moving a point must be finite; got {cost[~np.isfinite(cost)][0]} from the metric and "
                f"p={self.p:g}. Rescale the features or choose another metric."
            )
        return cost

    def _measure(self, sources: Any, targets: Any) -> FloatArray:
        if self.metric in ("euclidean", "l2") and not is_sparse(sources):
            if self.p == 2.0:
                return np.asarray(cdist(sources, targets, "sqeuclidean"))
            return np.asarray(cdist(sources, targets) ** self.p)
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, pairwise_distances

        if self.metric in PAIRWISE_BOOLEAN_FUNCTIONS:
            sources, targets = sources != 0, targets != 0
        return np.asarray(pairwise_distances(sources, targets, metric=self.metric, **self.parameters) ** self.p)


def _between_classes(
    task: Any,
    ground: _Cost,
    regularization: float,
    max_iter: int,
    max_pairs: int,
    rng: np.random.Generator,
    progress: bool,
) -> FloatArray:
    """What it costs to move each class of the training points onto each class of the test points."""
    from pivotal.baselines._transport import transport_cost

    max_points = isqrt(max_pairs)
    train, test = _members(task.y_train, max_points, rng), _members(task.y_test, max_points, rng)
    table = np.zeros((task.n_known, int(task.y_test.max()) + 1))
    pairs = list(product(train, test))
    for one, other in tqdm(pairs, unit="pair", disable=not progress, desc="comparing classes"):
        cost = ground(task.X_train[train[one]], task.X_test[test[other]])
        table[one, other] = transport_cost(cost, regularization, max_iter)
    return table


def _members(codes: CodeArray, max_points: int, rng: np.random.Generator) -> dict[int, AnyArray]:
    """Points of each class, or some of them where they are many."""
    members = {int(code): np.flatnonzero(codes == code) for code in np.unique(codes)}
    return {
        code: points if points.size <= max_points else rng.choice(points, max_points, replace=False)
        for code, points in members.items()
    }


def _sample(codes: CodeArray, wanted: int, rng: np.random.Generator) -> tuple[AnyArray, FloatArray]:
    """Draw points class by class, and give those of a class the mass of all its points.

    Each class has its share of the sample. What rounding takes from it would look like classes that the two sets hold
    in different shares, which moves potentials far; the masses make up for it.
    """
    shuffled = rng.permutation(codes.size)
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    chosen = by_class[np.arange(wanted) * codes.size // wanted + codes.size // (2 * wanted)]
    masses = (np.bincount(codes) / np.maximum(np.bincount(codes[chosen], minlength=codes.max() + 1), 1))[codes[chosen]]
    return chosen, masses / masses.sum()
