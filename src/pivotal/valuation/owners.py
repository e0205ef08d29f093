"""The public face: points with their owners in, values of owners out."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.conventions import Convention
from pivotal.core.games import Game, Threshold, as_game, check_classes
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.metric_settings import describe_choice, record_metric
from pivotal.core.query_weights import QueryWeights
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_features, check_k, check_lists, check_same_length, check_tol, check_votes
from pivotal.core.version import __version__
from pivotal.core.voting import as_votes
from pivotal.core.weights import Weights, as_bits, as_weights, resolution
from pivotal.engine.joblib_backend import say_here
from pivotal.engine.owners.owner_balls import BallGame, Holdings, search_balls
from pivotal.engine.owners.owner_codes import Owners
from pivotal.engine.owners.owner_engines import ExactOwners, SampledOwners
from pivotal.engine.owners.owner_game import OwnerGame, make_owner_game
from pivotal.engine.owners.owner_lists import keep_nearest, search_cells
from pivotal.engine.passes import QueryCounter, count_queries
from pivotal.engine.sampling import METHODS, as_plan
from pivotal.engine.sampling.drawing import check_sampled_votes
from pivotal.neighbors import (
    NeighborAudit,
    Verdict,
    as_balls,
    as_index,
    fitting_queries,
    is_source,
    open_source,
)
from pivotal.neighbors.metrics import Metric
from pivotal.results.values import Values
from pivotal.valuation.estimator import DEFAULT_TOL

__all__ = ["value_owners", "value_owners_from_neighbors"]

# Cases per query that are told apart without being asked to: all coalitions of 20 owners. And when asked to.
_BRANCHES, _MOST_BRANCHES = 2**20, 2**24


def value_owners(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    owners: npt.ArrayLike,
    *,
    k: int = 5,
    utility: str | Game | Convention = "hard",
    semivalue: str | Semivalue = "banzhaf",
    weights: str | Weights | Callable[..., Any] | None = "uniform",
    bits: int | None = None,
    metric: Metric = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    tol: float = DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    query_weights: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    method: str = "auto",
    n_samples: int | None = None,
    target_se: float | None = None,
    max_time: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    progress: bool = False,
) -> Values:
    """Return what each owner is worth who joins with all their training points at once.

    The players are the owners: a coalition of them earns what all their points earn together. `Values.by_owner` gives
    another number, the sum of the values that the points have as players of their own.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As in `pivotal.value`.
    owners : array-like of shape (n_train,)
        Owner of each training point: text, numbers, anything that can be compared.
    k, utility, semivalue, weights, bits, metric, metric_params, neighbors, classes, query_weights, class_weight
        As in `pivotal.value`. Any votes go with every game but ``"soft-k"`` and ``"threshold(0.5)"``, which take one
        vote each.
    tol : float, default=1e-16
        Truncation: owners whose nearest point comes so late that they change no value by more than this, in units of
        the utility's range, are not looked at.
    method : {"auto", "exact", "coalitions", "permutations"}, default="auto"
        Exact values, or estimates from random coalitions of owners or from random orders in which they join.
        ``"auto"`` is exact for up to 20 owners, and for more while no query has more than 2^20 cases to tell apart, as
        when k is small; otherwise it draws coalitions, or orders where a semivalue has no p to draw. Where everyone
        within a radius votes, only the owners with points in the ball of a query count.
    n_samples, target_se, max_time, random_state
        As in `pivotal.value`.
    n_jobs, block_size, progress
        As in `pivotal.value`.

    Returns
    -------
    Values
        One value per owner, in the order in which they first appear; their names are the ids, and
        ``settings["points"]`` says how many points each has.

    Examples
    --------
    >>> import pivotal
    >>> X_train, y_train, X_test, y_test = [[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0]
    >>> values = pivotal.value_owners(X_train, y_train, X_test, y_test, ["ann", "ann", "bob"], k=1)
    >>> values.ids, values.values
    (array(['ann', 'bob'], dtype='<U3'), array([0.5, 0.5]))
    """
    k, tol = check_k(k), check_tol(tol)
    game, measure, loud = as_game(utility), as_semivalue(semivalue), as_weights(weights)
    precision = as_bits(bits)
    if loud.weighted:
        check_sampled_votes(game)
    say_here(n_jobs, "owners are valued here")
    features = open_source(X_train, "X_train") if is_source(X_train) else check_features(X_train, "X_train")
    if isinstance(X_test, str | os.PathLike):
        X_test = open_source(X_test, "X_test")[:]
    queries = check_features(X_test, "X_test", like=features)
    check_classes(game, classes)
    labels, encoding = LabelEncoding.of(game.task, y_train, y_test, classes=classes, tables=False)
    targets, n_classes = encoding.encode(y_test, "y_test"), encoding.n_classes
    check_same_length(features, labels, "X_train", "y_train")
    check_same_length(queries, targets, "X_test", "y_test")
    named = Owners.of(owners, len(labels))
    how = (method, n_samples, target_se, max_time, random_state)
    _check_how(how)
    counts = QueryWeights(query_weights, class_weight).of(targets, encoding.codes)
    settings = {
        "k": k,
        "utility": str(game),
        "semivalue": str(measure),
        "weights": str(loud),
        "bits": precision if loud.weighted else None,
        **record_metric(metric, metric_params),
        "neighbors": describe_choice(neighbors),
        **_about(named, tol),
    }
    if isinstance(game, Threshold):
        search: dict[str, Any] = {"metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
        index = as_index(neighbors, features, **search)
        balls = search_balls(index, queries, game, describe_choice(neighbors))
        ball_game = BallGame(game, measure, named, Holdings.of(balls, named, labels, targets), n_classes)
        values = _value_balls(ball_game, measure, how, counts, settings, n_jobs, block_size, progress=progress)
        audit = NeighborAudit(neighbors, index, features, **search)
        audit.check_balls(queries, queries.shape[0], game.radius)
        return _with_verdict(values, audit.verdict(k, weighted=False))
    players = make_owner_game(game, measure, named, labels, k=k, n_classes=n_classes, tol=tol)
    counter = _make_counter(labels, game, measure, players, k, n_classes, n_jobs, how)
    cells = players.cells
    needed = max(k, loud.depth(k)) if loud.weighted else k
    found = search_cells(neighbors, features, cells, needed, metric=metric, metric_params=metric_params, n_jobs=n_jobs)

    def lists(part: slice) -> tuple[IndexArray, CodeArray | None]:
        indices, distances = found.search(queries[part])
        votes = as_votes(loud, distances, k, precision, part.start)
        if needed == k:
            return indices, votes
        kept, n_queries = keep_nearest(cells[indices], k), len(indices)
        return indices[kept].reshape(n_queries, -1), None if votes is None else votes[kept].reshape(n_queries, -1)

    at_once = found.block_size() if block_size is None else block_size
    count_queries(counter, targets, lists, at_once, weights=counts, progress=progress)
    rounding = resolution(precision) if loud.weighted else 0.0
    values = counter.result(ids=named.names, vote_resolution=rounding, settings=settings)
    return _with_verdict(values, found.audit(queries, k, weighted=loud.weighted))


def value_owners_from_neighbors(
    indices: npt.ArrayLike,
    owners: npt.ArrayLike,
    y_train: Any,
    y_test: Any,
    *,
    k: int = 5,
    votes: npt.ArrayLike | None = None,
    utility: str | Game | Convention = "hard",
    semivalue: str | Semivalue = "banzhaf",
    tol: float = DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    query_weights: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    method: str = "auto",
    n_samples: int | None = None,
    target_se: float | None = None,
    max_time: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    progress: bool = False,
) -> Values:
    """Value owners from lists of neighbours that were found elsewhere.

    Parameters
    ----------
    indices : int array of shape (n_queries, depth)
        Training points, nearest first, none twice in a row. Lists that hold the k nearest points of every owner, or
        all they have, are enough for exact values. Of shorter ones the error bound says what they cost: often much, as
        an owner who has all the near points is out of many coalitions. Where everyone within a radius votes, lists of
        any lengths and in any order, as in `pivotal.value_from_neighbors`.
    owners : array-like of shape (n_train,)
        Owner of each training point.
    y_train, y_test, k, votes, classes, query_weights, class_weight
        As in `pivotal.value_from_neighbors`.
    utility, semivalue, tol, method, n_samples, target_se, max_time, random_state, n_jobs, block_size, progress
        As in `value_owners`.

    Examples
    --------
    >>> import pivotal
    >>> lists = [[0, 1, 2]]
    >>> pivotal.value_owners_from_neighbors(lists, ["ann", "bob", "ann"], ["a", "b", "a"], ["a"], k=1).values
    array([1., 0.])
    """
    k, tol = check_k(k), check_tol(tol)
    game, measure = as_game(utility), as_semivalue(semivalue)
    check_classes(game, classes)
    labels, encoding = LabelEncoding.of(game.task, y_train, y_test, classes=classes, tables=False)
    targets, n_classes = encoding.encode(y_test, "y_test"), encoding.n_classes
    how = (method, n_samples, target_se, max_time, random_state)
    _check_how(how)
    named = Owners.of(owners, len(labels))
    counts = QueryWeights(query_weights, class_weight).of(targets, encoding.codes)
    settings = {
        "k": k,
        "utility": str(game),
        "semivalue": str(measure),
        "weights": "uniform",
        "neighbors": "precomputed",
        **_about(named, tol),
    }
    if isinstance(game, Threshold):
        if votes is not None:
            check_sampled_votes(game)
        balls = [as_balls(indices, len(labels), len(targets))]
        ball_game = BallGame(game, measure, named, Holdings.of(balls, named, labels, targets), n_classes)
        return _value_balls(ball_game, measure, how, counts, settings, n_jobs, block_size, progress=progress)
    lists = check_lists(indices, len(labels), len(targets))
    ballots = None if votes is None else check_votes(votes, lists.shape)
    if ballots is not None and (ballots == 1).all():
        ballots = None  # one vote each, in other words
    if ballots is not None:
        check_sampled_votes(game)
        settings["weights"] = "votes"
    players = make_owner_game(game, measure, named, labels, k=k, n_classes=n_classes, tol=tol)
    counter = _make_counter(labels, game, measure, players, k, n_classes, n_jobs, how)

    def listed(part: slice) -> tuple[IndexArray, CodeArray | None]:
        return lists[part], None if ballots is None else ballots[part]

    at_once = fitting_queries(lists.shape[1]) if block_size is None else block_size
    count_queries(counter, targets, listed, at_once, weights=counts, progress=progress)
    return counter.result(ids=named.names, vote_resolution=0.0, settings=settings)


def _value_balls(
    players: BallGame,
    semivalue: Semivalue,
    how: tuple[Any, ...],
    weights: FloatArray | None,
    settings: Mapping[str, Any],
    n_jobs: int | None,
    block_size: int | None,
    *,
    progress: bool,
) -> Values:
    """Value owners by what they hold in the balls of the queries."""
    game, k, n_classes, holdings = players.game, players.k, players.n_classes, players.holdings
    counter = _make_counter(players.labels, game, semivalue, players, k, n_classes, n_jobs, how)
    at_once = fitting_queries(2 * players.n_owners) if block_size is None else block_size
    count_queries(counter, holdings.targets, holdings.lists, at_once, weights=weights, progress=progress)
    told = {**settings, "k": None, **holdings.told()}
    return counter.result(ids=players.names, vote_resolution=0.0, settings=told)


def _check_how(how: tuple[Any, ...]) -> None:
    """Raise unless `as_plan` takes this, or "auto" for the method: a search may take long."""
    method, *limits = how
    known = ("auto", *METHODS)
    if not isinstance(method, str) or method not in known:
        near = difflib.get_close_matches(method, known, n=1) if isinstance(method, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"method must be one of {', '.join(map(repr, known))}; got {method!r}.{hint}")
    as_plan("coalitions" if method == "auto" else method, *limits)


def _make_counter(
    labels: AnyArray,
    game: Game,
    semivalue: Semivalue,
    players: OwnerGame,
    k: int,
    n_classes: int,
    n_jobs: int | None,
    how: tuple[Any, ...],
) -> QueryCounter:
    """Return the engine of a method; `how` is what `as_plan` takes, or "auto" for the method."""
    method, *limits = how
    if method == "auto":
        drawable = hasattr(semivalue, "nodes") or hasattr(semivalue, "alpha")
        sampled = "coalitions" if drawable else "permutations"
        exact = players.branches <= _BRANCHES and all(limit is None for limit in limits[:3])
        method = "exact" if exact else sampled
    plan = as_plan(method, *limits)
    if plan.method == "exact":
        if players.branches > _MOST_BRANCHES:
            raise ValueError(
                f"exact values of owners take at most {_MOST_BRANCHES} cases per query; {players.too_many()}"
            )
        return ExactOwners(labels, game, players, k=k, n_classes=n_classes, n_jobs=n_jobs)
    return SampledOwners(labels, game, semivalue, players, k=k, n_classes=n_classes, n_jobs=n_jobs, plan=plan)


def _about(owners: Owners, tol: float) -> dict[str, Any]:
    """What the settings say of the players."""
    return {
        "players": "owners",
        "points": owners.points.tolist(),
        "n_train": len(owners.codes),
        "tol": tol,
        "version": __version__,
    }


def _with_verdict(values: Values, verdict: Verdict) -> Values:
    return replace(values, neighbors_exact=verdict.exact, recall=verdict.recall)
