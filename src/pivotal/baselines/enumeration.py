"""`enumeration`: the definition of the value, every coalition of the training points for every query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.games import Convention, Game
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.progress import tqdm
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import Spec
from pivotal.core.validation import check_features, check_same_length
from pivotal.core.verify import verify
from pivotal.core.version import __version__
from pivotal.core.weights import Weights
from pivotal.engine.solvers import check_votes_allowed
from pivotal.neighbors import NeighborAudit, as_index
from pivotal.neighbors.metrics import MetricLike
from pivotal.results.ids import as_ids, ids_of
from pivotal.results.values import Values

__all__ = ["enumerate_coalitions"]

_MOST_POINTS = 20
_EPS = float(np.finfo(np.float64).eps)


def enumerate_coalitions(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    k: int = 5,
    utility: str | Game | Convention = "hard",
    semivalue: str | Semivalue = "banzhaf",
    weights: str | Weights | Callable[..., Any] | None = "uniform",
    bits: int | None = None,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    random_state: object = None,  # noqa: ARG001  # every baseline takes it
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Values:
    """Value at most 20 training points of a neighbour model by letting every coalition of them play.

    Parameters
    ----------
    X_train, y_train, X_test, y_test, ids
        As in `pivotal.value`.
    k, utility, semivalue, weights, bits, metric, metric_params, neighbors, classes
        As in `pivotal.value`.
    n_jobs, progress
        As in `pivotal.value`; only the search for neighbours uses threads.
    random_state : ignored
        Nothing is drawn.

    Examples
    --------
    >>> enumerate_coalitions([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=1).values
    array([0.25, 0.25, 0.5 ])
    """
    spec = Spec.of(
        k=k,
        utility=utility,
        semivalue=semivalue,
        weights=weights,
        bits=bits,
        metric=metric,
        metric_params=metric_params,
        neighbors=neighbors,
        classes=classes,
        method="enumeration",
    )
    game, weighted = spec.game, spec.weights.weighted
    if weighted:
        check_votes_allowed(game)
    if game.radius is not None:
        raise ValueError(
            f'enumeration plays games of the k nearest; got {game}. Use method="exact", or pivotal.verify with the '
            "labels of the points within the radius."
        )
    features = check_features(X_train, "X_train")
    queries = check_features(X_test, "X_test", like=features)
    labels, targets, encoding = LabelEncoding.of(game.task, y_train, y_test, classes=classes, tables=False)
    n_classes = encoding.n_classes
    check_same_length(features, labels, "X_train", "y_train")
    check_same_length(queries, targets, "X_test", "y_test")
    n = len(labels)
    if n > _MOST_POINTS:
        raise ValueError(
            f"enumeration takes at most {_MOST_POINTS} training points, for each doubles the work; got {n}. "
            'Use method="exact", which computes the same values.'
        )
    search: dict[str, Any] = {"metric": spec.metric.name, "metric_params": spec.metric.parameters, "n_jobs": n_jobs}
    index = as_index(spec.neighbors, features, **search)
    indices, distances = index.search(queries, n)
    audit = NeighborAudit(spec.neighbors, index, features, **search)
    audit.check_lists(queries, len(targets), n, weighted=weighted)
    verdict = audit.verdict(spec.k, weighted=weighted)
    votes = spec.votes(distances)
    values = np.zeros(n)
    label_set = range(n_classes) if n_classes else None
    for q in tqdm(range(len(targets)), unit="query", disable=not progress, desc="enumerating"):
        values[indices[q]] += verify(
            labels[indices[q]].tolist(),
            targets[q].item(),
            k=spec.k,
            utility=game,
            semivalue=spec.semivalue,
            votes=None if votes is None else votes[q],
            classes=label_set,
        ).exact
    near_labels = labels[indices]
    ballots = np.ones_like(indices) if votes is None else votes
    full_utility = game.full_utility(near_labels, ballots, targets, n_classes, spec.k)
    empty_utility = game.empty_utility(targets, n_classes)
    return Values(
        values / len(targets),
        n_queries=len(targets),
        full_utility=float(full_utility.mean()),
        empty_utility=float(empty_utility.mean()),
        # As many additions as coalitions and queries, of terms within the range of the utility.
        proved_bound=0.0,  # every coalition is played
        rounding_allowance=(2.0**n + len(targets)) * _EPS * game.utility_range(n_classes, labels, targets),
        neighbors_exact=verdict.exact,
        recall=verdict.recall,
        ids=as_ids(ids_of(X_train, ids), n),
        vote_resolution=spec.vote_resolution,
        settings={name: own for name, own in spec.settings().items() if name != "tol"},
        details={"version": __version__},
    )
