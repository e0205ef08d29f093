"""The public face for lists of neighbours that were found elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.config import Resources
from pivotal.core.games import Convention, Game, Threshold
from pivotal.core.given import default, is_default
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.method_choice import MethodChoice
from pivotal.core.methods import Method
from pivotal.core.query_weights import QueryWeights, as_query_weights
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import DEFAULT_TOL, Spec
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_lists, check_not_own, check_votes
from pivotal.core.version import __version__
from pivotal.engine.build import check_votes as check_votes_allowed
from pivotal.engine.build import make_counter
from pivotal.engine.game_shape import GameShape
from pivotal.engine.passes import QueryCounter, count_queries
from pivotal.engine.sampling.drawing import check_sampled_votes
from pivotal.neighbors import Balls, as_balls, fitting_queries
from pivotal.results.ids import as_ids, ids_of
from pivotal.results.per_query import PerQueryRecorder
from pivotal.results.values import Values
from pivotal.valuation.group_valuation import GroupValuation

__all__ = ["value_from_neighbors"]

_SETTINGS = ("k", "utility", "semivalue", "tol", "classes", "method")  # those that go back in


def value_from_neighbors(
    indices: Any,
    y_train: Any,
    y_test: Any = None,
    *,
    k: int = default(5),
    votes: npt.ArrayLike | None = None,
    utility: str | Game | Convention = default("hard"),
    semivalue: str | Semivalue = default("banzhaf"),
    tol: float = default(DEFAULT_TOL),
    classes: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    query_weights: npt.ArrayLike | str | Mapping[Any, float] | QueryWeights | None = None,
    method: str | Method | MethodChoice = default("exact"),
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Values:
    """Value training points from lists of neighbours: a vector database, an index, a custom metric.

    Parameters
    ----------
    indices : int array of shape (n_queries, depth)
        Training points, nearest first, none twice in a row. Lists shorter than the training set are a truncation;
        the error bound says what it costs. Where all points within a radius vote, lists of any lengths and in any
        order: what scikit-learn's ``radius_neighbors`` or ``radius_neighbors_graph`` returns.
    y_train : array-like of shape (n_train,)
        Labels of the training points.
    y_test : array-like of shape (n_queries,), optional
        True labels of the queries. Without them this is self-valuation: `indices` then has a row for each training
        point, in their order, and no point is in its own row.
    k : int, default=5
        Number of neighbours that vote.
    votes : int array of shape (n_queries, depth), optional
        Non-negative integer votes; unweighted when None.
    utility : str, Game or Convention, default="hard"
        The utility of a coalition: ``"hard"``, ``"plurality"``, ``"soft"``, ``"soft-k"``, ``"regression"``,
        ``"threshold(0.5)"``, the name of a convention such as ``"jia2019"``, or an object.
    semivalue : str or Semivalue, default="banzhaf"
        How coalitions are drawn: ``"banzhaf"``, ``"shapley"``, ``"loo"``, ``"beta(4,1)"``, or an object.
    tol : float, default=1e-16
        Truncation: points that change no value by more than this, in units of the utility's range, are not looked at.
    classes : array-like, optional
        The label set, when it is larger than what y_train and y_test show.
    groups : array-like of shape (n_train,), optional
        Group of each training point, such as its owner; the groups are then the players, as in `pivotal.value`. Lists
        that hold the k nearest points of every group, or all it has, are enough for exact values. Of shorter ones the
        error bound says what they cost: often much, as a group that has all the near points is out of many coalitions.
    ids : array-like of shape (n_train,), optional
        Names of the training points; the index of a pandas `y_train` by default.
    query_weights : array-like of shape (n_queries,), "balanced", or mapping of classes to numbers, optional
        How much each query counts, as in `pivotal.value`.
    method : str or method object, default="exact"
        ``"exact"``, ``"coalitions"``, ``"permutations"``, an object such as ``pivotal.Exact(per_query=True)``, or a
        name of `pivotal.methods` that values a nearest-neighbour model.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise.
    progress : bool, optional
        Whether to show a progress bar; not by default, unless `pivotal.set_config` says otherwise.

    Returns
    -------
    Values
        Exact given these neighbours, or estimates with standard errors.

    Examples
    --------
    >>> import pivotal
    >>> pivotal.value_from_neighbors([[0, 1, 2]], ["a", "b", "a"], ["a"], k=1).values
    array([ 0.75, -0.25,  0.25])
    >>> lists, owners = [[0, 1, 2]], ["ann", "bob", "ann"]
    >>> pivotal.value_from_neighbors(lists, ["a", "b", "a"], ["a"], k=1, groups=owners).values
    array([1., 0.])
    """
    spec = Spec.of(
        k=k,
        utility=utility,
        semivalue=semivalue,
        tol=tol,
        classes=classes,
        method="auto" if groups is not None and is_default(method) else method,
    )
    _check_method(spec, votes_given=votes is not None)
    resources = Resources.of(n_jobs=n_jobs, progress=progress)
    counts = as_query_weights(query_weights)
    about: dict[str, Any] = {"settings": spec.settings(*_SETTINGS)}
    if groups is not None:
        if y_test is None or ids is not None:
            raise ValueError(
                "groups need y_test, and have names of their own; got "
                f"{'no y_test' if y_test is None else 'ids'}. {'Pass' if y_test is None else 'Omit'} it."
            )
        valuation = GroupValuation.of(spec, resources, groups, y_train, y_test, counts)
        return _value_groups(valuation, indices, votes, about)
    itself = y_test is None
    labels, targets, encoding = LabelEncoding.of(spec.game.task, y_train, y_test, classes=spec.classes)
    if itself:
        targets = labels
    weights = counts.of(targets, encoding.codes)
    about |= {"ids": as_ids(ids_of(y_train, ids), len(labels))}
    recorder = PerQueryRecorder(spec.k, encoding.classes, resources.budget) if spec.method.per_query else None
    details = {"neighbors": "precomputed", "self_valuation": itself, "version": __version__}
    n_players = len(labels) - itself
    if spec.game.radius is not None:
        if votes is not None:
            check_votes_allowed(spec.game, spec.plan)
        counter = make_counter(spec, labels, GameShape(n_players, encoding.n_classes, n_players), recorder=recorder)
        _count_balls(counter, as_balls(indices, len(labels), len(targets)), targets, weights, itself=itself)
        return counter.result(details=details, **about)
    lists, ballots = _read_lists(indices, votes, len(labels), len(targets))
    if itself:
        check_not_own(lists, np.arange(len(lists))[:, np.newaxis])
    if ballots is not None:
        check_votes_allowed(spec.game, spec.plan)
        details["weights"] = "votes"
    depth = lists.shape[1]
    shape = GameShape(
        n_players,
        encoding.n_classes,
        depth,
        None if ballots is None else max(1, int(ballots.max())),
        ballots is None or bool((np.diff(ballots, axis=1) <= 0).all()),
    )
    engine = make_counter(spec, labels, shape, n_jobs=resources.n_jobs, recorder=recorder)

    def listed(part: slice) -> tuple[IndexArray, CodeArray | None]:
        used = engine.depth if engine.suffices(lists[part, : engine.depth], targets[part]) else depth
        return lists[part, :used], None if ballots is None else ballots[part, :used]

    at_once = resources.block_size or fitting_queries(depth, resources.budget)
    count_queries(engine, targets, listed, at_once, weights=weights, progress=resources.progress)
    return engine.result(details=details, **about)


def _check_method(spec: Spec, *, votes_given: bool) -> None:
    """Raise unless the method can start from lists of neighbours, with votes or without."""
    method = spec.method.method
    if method.is_function:
        raise ValueError(
            f"method={method.name!r} needs the training points themselves; got lists of neighbours. Use pivotal.value."
        )
    fixed = {**method.suggests, **method.presets}.get("weights")
    if votes_given and method.presets.get("weights") == "uniform":
        raise ValueError(
            f"method={method.name!r} stands for unweighted votes; got votes. Omit them, or use method={method.run!r}."
        )
    if not votes_given and fixed not in (None, "uniform"):
        raise ValueError(
            f"method={method.name!r} stands for weighted votes; got none. Pass votes, or use method={method.run!r}."
        )


def _read_lists(indices: Any, votes: Any, n_train: int, n_queries: int) -> tuple[IndexArray, CodeArray | None]:
    """Return lists and votes, checked; votes that are all 1 are unweighted."""
    lists = check_lists(indices, n_train, n_queries)
    ballots = None if votes is None else check_votes(votes, lists.shape)
    return lists, None if ballots is None or (ballots == 1).all() else ballots


def _count_balls(
    counter: QueryCounter, balls: Balls, targets: AnyArray, weights: FloatArray | None, *, itself: bool
) -> None:
    """Count the queries of a game that all points within a radius play."""
    if itself:
        check_not_own(balls.members, np.repeat(np.arange(len(balls.sizes)), balls.sizes))
    for step in counter.passes(len(targets)):
        step.add([balls], None, targets, weights)


def _value_groups(valuation: GroupValuation, indices: Any, votes: Any, about: dict[str, Any]) -> Values:
    """Value groups from lists of neighbours."""
    spec, n_train, n_queries = valuation.spec, len(valuation.labels), len(valuation.targets)
    if isinstance(spec.game, Threshold):
        if votes is not None:
            check_sampled_votes(spec.game)
        return valuation.by_balls([as_balls(indices, n_train, n_queries)], spec.game, **about)
    lists, ballots = _read_lists(indices, votes, n_train, n_queries)
    details = {"neighbors": "precomputed"}
    if ballots is not None:
        check_sampled_votes(spec.game)
        details["weights"] = "votes"

    def listed(part: slice) -> tuple[IndexArray, CodeArray | None]:
        return lists[part], None if ballots is None else ballots[part]

    return valuation.by_lists(listed, fitting_queries(lists.shape[1]), details=details, **about)
