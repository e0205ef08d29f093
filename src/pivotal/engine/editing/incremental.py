"""The engine of points that change: what the queries say is kept, and asked again only where it changes.

Two things are kept. Who is near whom is exchanged whole, in one assignment. The values follow from it; while they are
brought up to date they count as unknown, so that an interruption costs nothing but time: the next call
has them computed from the lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.editing.edit_state import EditState, Finder, Search, as_kind, stacked
from pivotal.engine.editing.neighbor_lists import NeighborLists
from pivotal.engine.exact import Engine
from pivotal.engine.point_sums import PointSums
from pivotal.engine.totals import QueryTotals, Utilities
from pivotal.neighbors import Index, blocks, fitting_queries
from pivotal.results.values import Values


@dataclass
class _Answers:
    """What each query says, and the sums over them."""

    values: FloatArray
    full_utility: FloatArray
    dropped: FloatArray
    points: PointSums


@dataclass(frozen=True, eq=False)
class StartingPoints:
    """The training points at first, and their index; labels are codes of `classes`, or responses if there are none."""

    points: Any
    index: Index
    labels: AnyArray
    classes: Any


class EditableEngine:
    """Values of training points that may change, over queries that may change.

    `make` makes the engine for (labels, classes, n_players); `each_other` says whether the points are the queries.
    """

    def __init__(
        self,
        make: Callable[[AnyArray, Any, int], Engine],
        search: Search,
        spec: Spec,
        start: StartingPoints,
        *,
        each_other: bool,
        progress: bool,
    ) -> None:
        self._make, self._search, self._game, self._k = make, search, spec.game, spec.k
        self._progress = progress
        points, labels, classes = start.points, start.labels, start.classes
        self._finder = Finder(search, points, start.index)
        engine = make(labels, classes, len(labels) - each_other)
        empty_utility = NeighborLists.of(np.empty((0, 1), np.int32), np.empty((0, 1)))
        queries = None if each_other else points[:0]
        self._state = EditState(points, labels, classes, queries, labels[:0], np.empty(0), empty_utility, engine)
        self._answers: _Answers | None = None

    @property
    def depth(self) -> int:
        """How long lists should be."""
        return self._state.engine.depth

    @property
    def n_queries(self) -> int:
        """Queries at present."""
        return len(self._state.targets)

    @property
    def labels(self) -> AnyArray:
        """Labels of the training points at present."""
        return self._state.labels

    @property
    def targets(self) -> AnyArray:
        """Labels of the queries at present."""
        return self._state.targets

    @property
    def points(self) -> Any:
        """Training points at present."""
        return self._state.points

    def count(self, queries: Any, targets: AnyArray, weights: FloatArray | None, block_size: int) -> None:
        """Add queries; None asks the training points themselves. Each counts 1 where there are no weights."""
        old, depth = self._state, self._finder.list_length(self._state.engine)
        own = None if queries is None else as_kind(queries, old.points)
        asked = replace(old, queries=own, targets=targets)
        query_weights = np.ones(len(targets)) if weights is None else weights
        found: list[NeighborLists] = []

        def met() -> EditState:
            """Return the scene with the queries whose neighbours are found."""
            near = NeighborLists.together([old.near, *found])
            new = len(near.lengths) - len(old.targets)
            return replace(
                old,
                queries=None if own is None else stacked(old.queries, own[:new]),
                targets=np.concatenate([old.targets, targets[:new]]),
                weights=np.concatenate([old.weights, query_weights[:new]]),
                near=near,
            )

        try:
            with tqdm(total=len(targets), unit="query", disable=not self._progress, desc="searching") as bar:
                for part in blocks(len(targets), block_size):
                    found.append(self._finder.find(asked, np.arange(part.start, part.stop), depth))
                    bar.update(part.stop - part.start)
        except BaseException:
            if own is not None:  # whole blocks stay; points that are the queries are so all together or not at all
                self._answers, self._state = None, met()
            raise
        state = met()
        self._turn_to(state, np.arange(len(state.targets)) >= len(old.targets))

    def relabel(self, labels: AnyArray, targets: AnyArray, points: IndexArray, classes: Any) -> None:
        """Give points other labels; `labels` and `targets` are those of all, after the change."""
        old = self._state
        chosen = np.zeros(len(labels), np.bool_)
        chosen[points] = True
        touched = old.near.holding(chosen, self._seen)
        if old.queries is None:
            touched |= chosen
        engine = self._relabelled(labels, classes)
        state = replace(old, labels=labels, classes=classes, targets=targets, engine=engine)
        self._turn_to(state, self._touched(touched, engine))

    def add(self, points: Any, labels: AnyArray, targets: AnyArray, classes: Any) -> None:
        """Add training points, as the last ones; `labels` and `targets` are those of all, after the change."""
        old = self._state
        points = as_kind(points, old.points)
        together, n_new, each_other = stacked(old.points, points), points.shape[0], old.queries is None
        engine = self._make(labels, classes, len(labels) - each_other)
        weights = np.concatenate([old.weights, np.ones(n_new)]) if each_other else old.weights
        state = replace(
            old, points=together, labels=labels, classes=classes, targets=targets, weights=weights, engine=engine
        )
        full_utility = np.arange(len(old.targets))
        if self._search.alone is None:
            near, touched = self._finder.find_all(state, full_utility), np.ones(len(full_utility), np.bool_)
        else:
            near = self._finder.merge_new_points(old, points, self._finder.list_length(engine))
            touched = self._changed(old.near, near)
        if each_other:
            added = np.arange(len(old.labels), len(labels))
            near = NeighborLists.together([near, self._finder.find_all(state, added)])
            touched = np.concatenate([touched, np.ones(n_new, np.bool_)])
        self._turn_to(replace(state, near=near), self._touched(touched, engine))

    def remove(self, gone: AnyArray, labels: AnyArray, targets: AnyArray, classes: Any) -> None:
        """Remove training points, given as a mask; `labels` and `targets` are those of the others."""
        old, each_other = self._state, self._state.queries is None
        engine = self._make(labels, classes, len(labels) - each_other)
        stay = ~gone if each_other else None  # queries that are no points all stay
        state = replace(old, points=old.points[~gone], labels=labels, classes=classes, targets=targets, engine=engine)
        near, touched = old.near, old.near.holding(gone, self._seen)
        if each_other:
            near, touched = near.only(~gone), touched[~gone]
            state = replace(state, weights=old.weights[~gone])
        if self._search.alone is None:
            near = self._finder.find_all(state, np.arange(len(targets)))
            touched[:] = True
        else:
            near = near.without(gone)
        self._turn_to(replace(state, near=near), self._touched(touched, engine), stay, gone)

    def drop(self, gone: AnyArray, labels: AnyArray, targets: AnyArray, classes: Any) -> None:
        """Forget queries, given as a mask; `targets` are those of the others."""
        old, stay = self._state, ~gone
        engine = self._relabelled(labels, classes)
        state = replace(
            old,
            labels=labels,
            classes=classes,
            queries=old.queries[stay],
            targets=targets,
            weights=old.weights[stay],
            near=old.near.only(stay),
            engine=engine,
        )
        self._turn_to(state, self._touched(np.zeros(len(targets), np.bool_), engine), stay)

    def values(self) -> FloatArray:
        """Mean over the queries; shape (n_train,)."""
        answers = self._solved()
        return answers.points.means(self._query_totals(answers).divisor)

    def result(self, **about: Any) -> Values:
        """Values with their error bound."""
        answers, state = self._solved(), self._state
        lists = state.near.first(answers.values.shape[1])
        state.engine.set_totals(answers.points, self._query_totals(answers), lists, answers.values, state.targets)
        return state.engine.result(**about)

    @property
    def _seen(self) -> int:
        """How many neighbours a query's values depend on; where that is not known, all are valued again anyway."""
        return max(self._state.engine.depth, self._search.needed)

    def _suffice(self, state: EditState, depth: int) -> bool:
        """Return whether lists of this length are long enough for the tolerance."""
        if len(state.targets) == 0 or self._game.sees_only_top_k(state.engine.n_classes):
            return True
        return state.engine.suffices(state.near.first(depth), state.targets)

    def _changed(self, old: NeighborLists, new: NeighborLists) -> AnyArray:
        """Return which lists differ where it matters."""
        seen = self._seen
        one, two = old.widened(seen), new.widened(seen)
        changed: AnyArray = (one.indices[:, :seen] != two.indices[:, :seen]).any(axis=1)
        return changed

    def _relabelled(self, labels: AnyArray, classes: Any) -> Engine:
        """Return the engine for other labels of the same points; what it has computed beforehand stays."""
        state = self._state
        if classes is state.classes:
            return state.engine.with_labels(labels)
        return self._make(labels, classes, state.n_players)

    def _touched(self, touched: AnyArray, engine: Engine) -> AnyArray:
        """Return which queries must be valued again: those touched, or all where the game itself changes."""
        old = self._state.engine
        cut = max(old.depth, engine.depth) < min(old.n_players, engine.n_players) or old.n_players == engine.n_players
        if cut and old.n_classes == engine.n_classes and self._game.sees_only_top_k(engine.n_classes):
            return touched
        return np.ones(len(touched), np.bool_)

    def _turn_to(
        self, state: EditState, touched: AnyArray, stay: AnyArray | None = None, gone: AnyArray | None = None
    ) -> None:
        """Make a scene the present one, and bring the values up to date.

        `touched`, of the queries of the scene, says which must be valued again, new ones among them; `stay` which of
        the old queries are still there, all when None, and new ones come behind them; `gone` which old points no longer
        are.
        """
        old, answers = self._state, self._answers
        columns = state.engine.depth
        state = self._finder.lengthened(state, columns)
        while not self._suffice(state, columns):
            columns = min(2 * columns, state.n_players)
            state = self._finder.lengthened(state, columns)
        self._answers, self._state = None, state  # from here on lists count, and values are computed from them
        n_queries = len(state.targets)
        if answers is None or answers.values.shape[1] != columns or touched.all():
            sums = PointSums.nothing(len(state.labels))
            answers = _Answers(np.zeros((n_queries, columns)), np.zeros(n_queries), np.zeros(n_queries), sums)
            self._solve(state, np.arange(n_queries), answers)
            self._answers = answers
            return
        kept = np.ones(len(old.targets), np.bool_) if stay is None else stay
        before = np.flatnonzero(kept)
        points = answers.points.copy()
        outdated = ~kept
        outdated[before[touched[: len(before)]]] = True
        rows = np.flatnonzero(outdated)
        weights = old.weights[rows]
        points.take_back(old.near.first(columns, rows), answers.values[rows] * weights[:, np.newaxis], weights)
        still = np.ones(points.n_points, np.bool_) if gone is None else ~gone
        points = points.kept(still, len(state.labels) - int(still.sum()))
        same_queries = stay is None and n_queries == len(old.targets)
        if not same_queries:  # otherwise the arrays are written in place: they are not seen before they are whole
            new = n_queries - len(before)
            answers = _Answers(
                np.concatenate([answers.values[before], np.zeros((new, columns))]),
                np.concatenate([answers.full_utility[before], np.zeros(new)]),
                np.concatenate([answers.dropped[before], np.zeros(new)]),
                points,
            )
        answers.points = points
        self._solve(state, np.flatnonzero(touched), answers)
        self._answers = answers

    def _solved(self) -> _Answers:
        """Return the values, computed again if an interruption left them unknown."""
        if self._answers is None:
            self._turn_to(self._state, np.ones(self.n_queries, np.bool_))
            assert self._answers is not None
        return self._answers

    def _solve(self, state: EditState, queries: IndexArray, answers: _Answers) -> None:
        """Value some queries again and add what they say."""
        columns = answers.values.shape[1]
        seen = max(columns, min(self._search.needed, state.n_players))
        quiet = not self._progress
        for part in tqdm(list(blocks(len(queries), fitting_queries(seen))), disable=quiet, desc="valuing"):
            rows = queries[part]
            indices = state.near.first(columns, rows)
            votes = self._search.votes(state.near.distances[rows, :seen], rows)
            votes = None if votes is None else votes[:, :columns]
            block = state.engine.block(indices, votes, state.targets[rows])
            values, dropped = state.engine.solve(block)
            n_classes = state.engine.n_classes
            answers.values[rows], answers.dropped[rows] = values, dropped
            answers.full_utility[rows] = self._game.full_utility(
                block.labels, block.votes, block.targets, n_classes, self._k
            )
            weights = state.weights[rows]
            answers.points.add(indices, values * weights[:, np.newaxis], weights)

    def _query_totals(self, answers: _Answers) -> QueryTotals:
        state, n_classes = self._state, self._state.engine.n_classes
        empty_utility = self._game.empty_utility(state.targets, n_classes)
        utility_range = self._game.utility_range(n_classes, state.labels, state.targets)
        utilities = Utilities(answers.full_utility, empty_utility, answers.dropped, utility_range)
        return QueryTotals().add(utilities, state.weights)
