"""Groups of training points as the players: owners, sources, anything that joins with all its points at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pivotal.core.config import Resources
from pivotal.core.games import Threshold
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.query_weights import QueryWeights
from pivotal.core.settings_text import describe_choice
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_same_length
from pivotal.core.version import __version__
from pivotal.engine.joblib_backend import warn_backend_unused
from pivotal.engine.owners.owner_balls import BallGame, Holdings, search_balls
from pivotal.engine.owners.owner_engines import ExactOwners, SampledOwners
from pivotal.engine.owners.owner_game import OwnerGame, make_owner_game
from pivotal.engine.owners.owner_lists import keep_nearest, search_cells
from pivotal.engine.passes import QueryCounter, count_queries
from pivotal.engine.sampling.drawing import check_sampled_votes
from pivotal.neighbors import NeighborAudit, Verdict, as_index, fitting_queries
from pivotal.results.owner_codes import Owners
from pivotal.results.values import Values
from pivotal.valuation.point_valuation import read_points, read_queries

# Cases per query that are distinguished without being asked to: all coalitions of 20 groups. And when asked to.
_BRANCHES, _MOST_BRANCHES = 2**20, 2**24


@dataclass(frozen=True, eq=False)
class GroupValuation:
    """What is known of groups before any neighbour is; labels of points and queries, `targets`, are numbers."""

    spec: Spec
    resources: Resources
    groups: Owners
    labels: AnyArray
    targets: AnyArray
    n_classes: int
    weights: FloatArray | None

    @staticmethod
    def of(
        spec: Spec, resources: Resources, groups: Any, y_train: Any, y_test: Any, query_weights: QueryWeights
    ) -> GroupValuation:
        """Check what was given."""
        if spec.method.method.is_function or spec.method.per_query:
            raise ValueError(
                "groups are valued by the methods exact, coalitions and permutations, for all queries together; got "
                f"method={str(spec.method)!r}. Use one of these."
            )
        labels, targets, encoding = LabelEncoding.of(
            spec.game.task, y_train, y_test, classes=spec.classes, tables=False
        )
        owners = Owners.of(groups, len(labels), "groups")
        spec.method.plan  # noqa: B018  # a search may take long: what cannot be sampled is said before
        weights = query_weights.of(targets, encoding.codes)
        return GroupValuation(spec, resources, owners, labels, targets, encoding.n_classes, weights)

    def by_balls(self, balls: Any, game: Threshold, **about: Any) -> Values:
        """Value groups by what they hold in the balls of the queries."""
        holdings = Holdings.of(balls, self.groups, self.labels, self.targets)
        players = BallGame(game, self.spec.semivalue, self.groups, holdings, self.n_classes)
        spec = replace(self.spec, game=players.game, k=players.k)
        counter = self._counter(spec, players.labels, players, players.n_classes)
        at_once = self.resources.block_size or fitting_queries(2 * players.n_owners)
        self._count(counter, holdings.targets, holdings.lists, at_once)
        return self._result(counter, {**about, "details": {**about.get("details", {}), **holdings.summary()}})

    def by_lists(
        self, lists: Callable[[slice], tuple[IndexArray, CodeArray | None]], at_once: int, **about: Any
    ) -> Values:
        """Value groups by lists of neighbours, which a slice of the queries is turned into."""
        counter = self._counter(self.spec, self.labels, self.game(), self.n_classes)
        self._count(counter, self.targets, lists, self.resources.block_size or at_once)
        return self._result(counter, about)

    def game(self) -> OwnerGame:
        """Return the game whose players are the groups."""
        return make_owner_game(self.spec, self.groups, self.labels, self.n_classes)

    def _count(self, counter: QueryCounter, targets: AnyArray, lists: Any, at_once: int) -> None:
        count_queries(counter, targets, lists, at_once, weights=self.weights, progress=self.resources.progress)

    def _counter(self, spec: Spec, labels: AnyArray, players: OwnerGame, n_classes: int) -> QueryCounter:
        """Return the engine of the method; "auto" is exact where that is affordable."""
        method, n_jobs = spec.method, self.resources.n_jobs
        run = str(method.method.run)
        if run == "auto":
            drawable = hasattr(spec.semivalue, "nodes") or hasattr(spec.semivalue, "alpha")
            sampled = "coalitions" if drawable else "permutations"
            run = "exact" if players.branches <= _BRANCHES and not method.limited else sampled
        plan = method.run_as(run)
        if plan.method == "exact":
            if players.branches > _MOST_BRANCHES:
                raise ValueError(
                    f"exact values of groups take at most {_MOST_BRANCHES} cases per query; {players.too_many()}"
                )
            return ExactOwners(spec, labels, players, n_classes=n_classes, n_jobs=n_jobs)
        return SampledOwners(spec, labels, players, n_classes=n_classes, n_jobs=n_jobs, plan=plan)

    def _result(self, counter: QueryCounter, about: dict[str, Any]) -> Values:
        groups = self.groups
        known = {"players": "groups", "points": groups.points.tolist(), "n_train": len(groups.codes)}
        details = {**known, "version": __version__, **about.pop("details", {})}
        return counter.result(ids=groups.names, details=details, **about)


def value_groups(
    spec: Spec, resources: Resources, data: tuple[Any, Any, Any, Any], groups: Any, query_weights: QueryWeights
) -> Values:
    """Return what each group is worth that joins with all its training points at once.

    The data are X_train, y_train, X_test and y_test, as in `pivotal.value`; each point has a group.
    """
    X_train, y_train, X_test, y_test = data
    if X_test is None:
        raise ValueError("groups are valued by a test set; got none. Pass X_test and y_test.")
    if spec.weights.weighted:
        check_sampled_votes(spec.game)
    warn_backend_unused(resources.n_jobs, "groups are valued here")
    features = read_points(X_train)
    queries = read_queries(X_test, features)
    valuation = GroupValuation.of(spec, resources, groups, y_train, y_test, query_weights)
    check_same_length(features, valuation.labels, "X_train", "y_train")
    check_same_length(queries, valuation.targets, "X_test", "y_test")
    settings, neighbors, metric = spec.settings(), spec.neighbors, spec.metric
    how: dict[str, Any] = {"metric": metric.name, "metric_params": metric.parameters, "n_jobs": resources.n_jobs}
    if isinstance(spec.game, Threshold):
        index = as_index(neighbors, features, **how)
        balls = search_balls(index, queries, spec.game, describe_choice(neighbors))
        values = valuation.by_balls(balls, spec.game, settings=settings)
        audit = NeighborAudit(neighbors, index, features, **how)
        audit.check_balls(queries, queries.shape[0], spec.game.radius)
        return _with_verdict(values, audit.verdict(spec.k, weighted=False))
    cells, k, weighted = valuation.game().cells, spec.k, spec.weights.weighted
    needed = max(k, spec.weights.depth(k)) if weighted else k
    found = search_cells(neighbors, features, cells, needed, **how)

    def lists(part: slice) -> tuple[IndexArray, CodeArray | None]:
        indices, distances = found.search(queries[part])
        votes = spec.votes(distances, part.start)
        if needed == k:
            return indices, votes
        kept, n_queries = keep_nearest(cells[indices], k), len(indices)
        return indices[kept].reshape(n_queries, -1), None if votes is None else votes[kept].reshape(n_queries, -1)

    values = valuation.by_lists(lists, found.block_size(), vote_resolution=spec.vote_resolution, settings=settings)
    return _with_verdict(values, found.audit(queries, k, weighted=weighted))


def _with_verdict(values: Values, verdict: Verdict) -> Values:
    return replace(values, neighbors_exact=verdict.exact, recall=verdict.recall)
