"""Training points that are fitted, and queries counted so far: what the estimator, sweeps and single calls share."""

from __future__ import annotations

import os
from copy import copy
from typing import Any, Self, cast

from pivotal.core.config import Resources
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.query_weights import QueryWeights
from pivotal.core.settings_text import describe_choice
from pivotal.core.spec import Spec
from pivotal.core.threads import count_threads
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import Checked, check_features, check_same_length
from pivotal.core.version import __version__
from pivotal.engine.build import check_votes, make_counter
from pivotal.engine.game_shape import GameShape
from pivotal.engine.passes import QueryCounter
from pivotal.engine.truncation import NeighborVotes
from pivotal.neighbors import ApproximateIndex, Index, NeighborAudit, as_index, is_source, open_source
from pivotal.results.ids import as_ids
from pivotal.results.per_query import PerQueryRecorder
from pivotal.results.values import Values
from pivotal.valuation.batch import Batch


class PointValuation:
    """Values training points over any number of batches of queries.

    The points are checked, and may be a source of rows; `y_test` may bring classes that training does not show, and
    `names` are what the caller calls X and y.
    """

    def __init__(
        self,
        spec: Spec,
        resources: Resources,
        X: Any,
        y: Any,
        *,
        y_test: Any = None,
        ids: Any = None,
        names: tuple[str, str] = ("X_train", "y_train"),
    ) -> None:
        self.spec, self.resources = spec, resources
        self.n_threads = count_threads(resources.n_jobs)  # once: the system is asked how many processors there are
        self.check(spec)
        self.labels, self.targets, self.encoding = LabelEncoding.of(
            spec.game.task, y, y_test, classes=spec.classes, name=names[1]
        )
        check_same_length(X, self.labels, *names)
        self.ids = as_ids(ids, len(self.labels))
        metric = spec.metric
        how: dict[str, Any] = {"metric": metric.name, "metric_params": metric.parameters, "n_jobs": self.n_threads}
        self.features = X
        self.index: Index = as_index(spec.neighbors, Checked(X), max_memory=resources.max_memory, **how)
        self.audit = NeighborAudit(spec.neighbors, self.index, X, **how)
        self.engine: Any = None  # made for the first query
        self.self_valuation = False

    def use(self, resources: Resources) -> None:
        """Continue with other resources."""
        if resources.n_jobs != self.resources.n_jobs:
            self.n_threads = count_threads(resources.n_jobs)
        self.resources = resources

    @staticmethod
    def check(spec: Spec) -> None:
        """Raise where the game cannot be valued with the weights, or the method cannot be run by an engine."""
        if spec.weights.weighted:
            check_votes(spec.game, spec.plan)

    def with_spec(self, spec: Spec) -> PointValuation:
        """Return the same points, labels and index with another spec of the same kind of game, and no queries yet."""
        other = copy(self)
        other.spec, other.engine = spec, None
        return other

    @property
    def n_queries(self) -> int:
        """Queries so far."""
        return 0 if self.engine is None else int(self.engine.n_queries)

    def values(self) -> FloatArray:
        """Mean over all queries so far."""
        return self._counted().values()

    def result(self) -> Values:
        """Return the values with error bound, ids and settings."""
        spec = self.spec
        exact, recall = self.audit.verdict(spec.k, weighted=spec.weights.weighted)
        return self._counted().result(
            ids=self.ids,
            neighbors_exact=exact,
            recall=recall,
            vote_resolution=spec.vote_resolution,
            settings=spec.settings(),
            details={"self_valuation": self.self_valuation, "version": __version__},
        )

    def update(self, X: Any, y: Any, query_weights: QueryWeights, names: tuple[str, str]) -> Self:
        """Count checked queries with labels as users have them, or the training points themselves when X is `None`."""
        targets = self.labels if X is None else self.encoding.encode(y, names[1])
        return self.count(X, targets, query_weights, names)

    def count(
        self, X: Any, targets: AnyArray, query_weights: QueryWeights, names: tuple[str, str] = ("X_test", "y_test")
    ) -> Self:
        """Count checked queries with labels as numbers."""
        batch = self.batch(X, targets, query_weights, names)
        engine = self.engine_for(self_valuation=X is None)
        if (radius := self.spec.game.radius) is not None:
            self._check_finds_all()
            batch.count_balls(engine, radius)
            self.audit.check_balls(X, len(batch.targets), radius)
            return self
        depth = self.depth(engine)
        batch.count(engine, self.voters(engine), depth)
        self.audit.check_lists(X, len(batch.targets), depth, weighted=self.spec.weights.weighted)
        return self

    def batch(
        self, X: Any, targets: AnyArray, query_weights: QueryWeights, names: tuple[str, str] = ("X_test", "y_test")
    ) -> Batch:
        """Return checked queries with their labels and weights; the training points when X is `None`."""
        if X is None:
            targets = self.labels
        else:
            check_same_length(X, targets, *names)
        weights = query_weights.of(targets, self.encoding.codes)
        return Batch(self.index, self.features, X, targets, weights, self.resources)

    def engine_for(self, *, self_valuation: bool) -> QueryCounter:
        """Return the engine, made when it is first needed."""
        engine: QueryCounter | None = self.engine
        if engine is not None:
            if self.self_valuation != self_valuation:
                raise ValueError(
                    "queries of a test set and leave-one-out queries are different games and cannot be mixed; "
                    "fit anew, or use a second KNNValuation."
                )
            return engine
        shape = self.shape(len(self.labels), self.encoding, self_valuation=self_valuation)
        recorder = self.recorder(self.encoding)
        engine = make_counter(self.spec, self.labels, shape, n_jobs=self.n_threads, recorder=recorder)
        self.engine, self.self_valuation = engine, self_valuation
        return engine

    def shape(self, n_train: int, encoding: LabelEncoding, *, self_valuation: bool) -> GameShape:
        """Return the players in the game of one query."""
        n_players = n_train - self_valuation
        if n_players < 1:
            raise ValueError("self-valuation needs at least two points; got 1. Pass a test set.")
        return GameShape(n_players, encoding.n_classes, n_players, self.spec.largest_vote)

    def recorder(self, encoding: LabelEncoding) -> PerQueryRecorder | None:
        """Return what keeps the values of single queries, if they are asked for."""
        if not self.spec.method.per_query:
            return None
        return PerQueryRecorder(self.spec.k, encoding.classes, self.resources.budget)

    def depth(self, engine: QueryCounter) -> int:
        """Return how many neighbours to search for at first."""
        return max(engine.depth, min(len(self.labels) - self.self_valuation, self.spec.weights.depth(self.spec.k)))

    def voters(self, engine: QueryCounter) -> NeighborVotes:
        """Return what finds neighbours, as many as the engine wants, and their votes."""
        return NeighborVotes(engine, self.spec, n_players=len(self.labels) - self.self_valuation)

    def _check_finds_all(self) -> None:
        """Raise unless the index finds all points within a radius."""
        if isinstance(self.index, ApproximateIndex) and not self.index.exact:
            raise ValueError(
                f"{self.spec.game} needs every point within the radius, and "
                f'neighbors={describe_choice(self.spec.neighbors)!r} may miss some. Use neighbors="auto".'
            )

    def _counted(self) -> QueryCounter:
        if self.n_queries == 0:
            raise AttributeError("there are no values before the first query; call update with queries first.")
        return cast(QueryCounter, self.engine)


def read_points(X_train: Any) -> Any:
    """Return training points checked, or the file that holds them opened."""
    return open_source(X_train, "X_train") if is_source(X_train) else check_features(X_train, "X_train")


def read_queries(X_test: Any, features: Any) -> Any:
    """Return queries checked and in memory; None where there are none."""
    if X_test is None:
        return None
    if isinstance(X_test, str | os.PathLike):
        X_test = open_source(X_test, "X_test")[:]
    return check_features(X_test, "X_test", like=features)
