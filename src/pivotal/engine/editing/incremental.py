"""The engine of points that change: what the queries say is kept, and asked again only where it changes.

Two things are kept. Who is near whom is exchanged whole, in one assignment. The values follow from it; while they are
brought up to date they count as unknown, so that an interruption costs nothing but time: the next who asks for them
has them computed from the lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pivotal.core.games import Game
from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.editing.edit_state import Finder, Scene, Search, as_kind, stacked
from pivotal.engine.editing.neighbor_lists import Near
from pivotal.engine.exact import Engine
from pivotal.engine.point_sums import PointSums
from pivotal.engine.totals import Tally
from pivotal.neighbors import Index, blocks, fitting_queries
from pivotal.results.values import Values

__all__ = ["EditableEngine"]


@dataclass
class _Answers:
    """What each query says, and the sums over them."""

    values: FloatArray
    everyone: FloatArray
    dropped: FloatArray
    points: PointSums


class EditableEngine:
    """Values of training points that may change, over queries that may change.

    Parameters
    ----------
    make : callable
        Makes the engine for (labels, classes, n_players).
    search : Search
        How neighbours are found.
    game : Game
        What a coalition earns.
    k : int
        Number of neighbours that vote.
    points : array or CSR matrix of shape (n_train, n_features)
        Training points.
    index : Index
        Their index.
    labels : int32 or float64 array of shape (n_train,)
        Class codes or responses.
    classes : sequence
        The label set in the order of its codes; empty for regression.
    each_other : bool
        Whether the points are the queries.
    progress : bool
        Whether to show progress bars.

    Attributes
    ----------
    depth : int
        How long lists should be.
    """

    def __init__(
        self,
        make: Callable[[AnyArray, Any, int], Engine],
        search: Search,
        game: Game,
        k: int,
        points: Any,
        index: Index,
        labels: AnyArray,
        classes: Any,
        *,
        each_other: bool,
        progress: bool,
    ) -> None:
        self._make, self._search, self._game, self._k = make, search, game, k
        self._progress = progress
        self._finder = Finder(search, points, index)
        engine = make(labels, classes, len(labels) - each_other)
        nobody = Near.of(np.empty((0, 1), np.int32), np.empty((0, 1)))
        queries = None if each_other else points[:0]
        self._scene = Scene(points, labels, classes, queries, labels[:0], np.empty(0), nobody, engine)
        self._answers: _Answers | None = None

    @property
    def depth(self) -> int:
        """How long lists should be."""
        return self._scene.engine.depth

    @property
    def n_queries(self) -> int:
        """Queries at present."""
        return len(self._scene.targets)

    @property
    def labels(self) -> AnyArray:
        """Labels of the training points at present."""
        return self._scene.labels

    @property
    def targets(self) -> AnyArray:
        """Labels of the queries at present."""
        return self._scene.targets

    @property
    def points(self) -> Any:
        """Training points at present."""
        return self._scene.points

    def count(self, queries: Any, targets: AnyArray, weights: FloatArray | None, block_size: int) -> None:
        """Add queries; None asks the training points themselves.

        Parameters
        ----------
        queries : array or CSR matrix of shape (n_queries, n_features), or None
            Queries.
        targets : int32 or float64 array of shape (n_queries,)
            Their labels.
        weights : float64 array of shape (n_queries,), optional
            How much each counts; 1 each when None.
        block_size : int
            Queries per block.
        """
        old, depth = self._scene, self._finder.list_length(self._scene.engine)
        own = None if queries is None else as_kind(queries, old.points)
        asked = replace(old, queries=own, targets=targets)
        loud = np.ones(len(targets)) if weights is None else weights
        found: list[Near] = []

        def met() -> Scene:
            """Return the scene with the queries whose neighbours are found."""
            near = Near.together([old.near, *found])
            new = len(near.lengths) - len(old.targets)
            return replace(
                old,
                queries=None if own is None else stacked(old.queries, own[:new]),
                targets=np.concatenate([old.targets, targets[:new]]),
                weights=np.concatenate([old.weights, loud[:new]]),
                near=near,
            )

        try:
            with tqdm(total=len(targets), unit="query", disable=not self._progress, desc="searching") as bar:
                for part in blocks(len(targets), block_size):
                    found.append(self._finder.find(asked, np.arange(part.start, part.stop), depth))
                    bar.update(part.stop - part.start)
        except BaseException:
            if own is not None:  # whole blocks stay; points that are the queries are so all together or not at all
                self._answers, self._scene = None, met()
            raise
        scene = met()
        self._turn_to(scene, np.arange(len(scene.targets)) >= len(old.targets))

    def relabel(self, labels: AnyArray, targets: AnyArray, points: IndexArray, classes: Any) -> None:
        """Give points other labels; `labels` and `targets` are those of all, after the change."""
        old = self._scene
        chosen = np.zeros(len(labels), np.bool_)
        chosen[points] = True
        touched = old.near.holding(chosen, self._seen)
        if old.queries is None:
            touched |= chosen
        engine = self._relabelled(labels, classes)
        scene = replace(old, labels=labels, classes=classes, targets=targets, engine=engine)
        self._turn_to(scene, self._touched(touched, engine))

    def add(self, points: Any, labels: AnyArray, targets: AnyArray, classes: Any) -> None:
        """Add training points, as the last ones; `labels` and `targets` are those of all, after the change."""
        old = self._scene
        points = as_kind(points, old.points)
        together, n_new, each_other = stacked(old.points, points), points.shape[0], old.queries is None
        engine = self._make(labels, classes, len(labels) - each_other)
        weights = np.concatenate([old.weights, np.ones(n_new)]) if each_other else old.weights
        scene = replace(
            old, points=together, labels=labels, classes=classes, targets=targets, weights=weights, engine=engine
        )
        everyone = np.arange(len(old.targets))
        if self._search.alone is None:
            near, touched = self._finder.find_all(scene, everyone), np.ones(len(everyone), np.bool_)
        else:
            near = self._finder.meet(old, points, self._finder.list_length(engine))
            touched = self._changed(old.near, near)
        if each_other:
            newcomers = np.arange(len(old.labels), len(labels))
            near = Near.together([near, self._finder.find_all(scene, newcomers)])
            touched = np.concatenate([touched, np.ones(n_new, np.bool_)])
        self._turn_to(replace(scene, near=near), self._touched(touched, engine))

    def remove(self, gone: AnyArray, labels: AnyArray, targets: AnyArray, classes: Any) -> None:
        """Remove training points, given as a mask; `labels` and `targets` are those of the others."""
        old, each_other = self._scene, self._scene.queries is None
        engine = self._make(labels, classes, len(labels) - each_other)
        stay = ~gone if each_other else None  # queries that are no points all stay
        scene = replace(old, points=old.points[~gone], labels=labels, classes=classes, targets=targets, engine=engine)
        near, touched = old.near, old.near.holding(gone, self._seen)
        if each_other:
            near, touched = near.only(~gone), touched[~gone]
            scene = replace(scene, weights=old.weights[~gone])
        if self._search.alone is None:
            near = self._finder.find_all(scene, np.arange(len(targets)))
            touched[:] = True
        else:
            near = near.without(gone)
        self._turn_to(replace(scene, near=near), self._touched(touched, engine), stay, gone)

    def drop(self, gone: AnyArray, labels: AnyArray, targets: AnyArray, classes: Any) -> None:
        """Forget queries, given as a mask; `targets` are those of the others."""
        old, stay = self._scene, ~gone
        engine = self._relabelled(labels, classes)
        scene = replace(
            old,
            labels=labels,
            classes=classes,
            queries=old.queries[stay],
            targets=targets,
            weights=old.weights[stay],
            near=old.near.only(stay),
            engine=engine,
        )
        self._turn_to(scene, self._touched(np.zeros(len(targets), np.bool_), engine), stay)

    def values(self) -> FloatArray:
        """Mean over the queries; shape (n_train,)."""
        answers = self._solved()
        return answers.points.means(self._tally(answers).divisor)

    def result(self, **about: Any) -> Values:
        """Values with their error bound."""
        answers, scene = self._solved(), self._scene
        lists = scene.near.first(answers.values.shape[1])
        scene.engine.adopt(answers.points, self._tally(answers), lists, answers.values, scene.targets)
        return scene.engine.result(**about)

    @property
    def _seen(self) -> int:
        """How many neighbours a query's values depend on; where that is not known, everyone is valued again anyway."""
        return max(self._scene.engine.depth, self._search.needed)

    def _suffice(self, scene: Scene, depth: int) -> bool:
        """Return whether lists of this length are long enough for the tolerance."""
        if len(scene.targets) == 0 or self._game.sees_only_top_k(scene.engine.n_classes):
            return True
        return scene.engine.suffices(scene.near.first(depth), scene.targets)

    def _changed(self, old: Near, new: Near) -> AnyArray:
        """Return which lists differ where it matters."""
        seen = self._seen
        one, two = old.widened(seen), new.widened(seen)
        changed: AnyArray = (one.indices[:, :seen] != two.indices[:, :seen]).any(axis=1)
        return changed

    def _relabelled(self, labels: AnyArray, classes: Any) -> Engine:
        """Return the engine for other labels of the same points; what it has computed beforehand stays."""
        scene = self._scene
        if classes is scene.classes:
            return scene.engine.with_labels(labels)
        return self._make(labels, classes, scene.n_players)

    def _touched(self, touched: AnyArray, engine: Engine) -> AnyArray:
        """Return which queries must be valued again: those touched, or all where the game itself changes."""
        old = self._scene.engine
        cut = max(old.depth, engine.depth) < min(old.n_players, engine.n_players) or old.n_players == engine.n_players
        if cut and old.n_classes == engine.n_classes and self._game.sees_only_top_k(engine.n_classes):
            return touched
        return np.ones(len(touched), np.bool_)

    def _turn_to(
        self, scene: Scene, touched: AnyArray, stay: AnyArray | None = None, gone: AnyArray | None = None
    ) -> None:
        """Make a scene the present one, and bring the values up to date.

        Parameters
        ----------
        scene : Scene
            Who is there from now on.
        touched : bool array of shape (n_queries,)
            Which queries of the scene must be valued again, new ones among them.
        stay : bool array of shape (n_old_queries,), optional
            Which of the old queries are still there; all when None. New ones come behind them.
        gone : bool array of shape (n_old_points,), optional
            Which of the old points are no longer there.
        """
        old, answers = self._scene, self._answers
        columns = scene.engine.depth
        scene = self._finder.lengthened(scene, columns)
        while not self._suffice(scene, columns):
            columns = min(2 * columns, scene.n_players)
            scene = self._finder.lengthened(scene, columns)
        self._answers, self._scene = None, scene  # from here on lists count, and values are computed from them
        n_queries = len(scene.targets)
        if answers is None or answers.values.shape[1] != columns or touched.all():
            self._answers = self._solve_all(scene, columns)
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
        points = points.kept(still, len(scene.labels) - int(still.sum()))
        same_queries = stay is None and n_queries == len(old.targets)
        if not same_queries:  # otherwise the arrays are written in place: nobody sees them before they are whole
            new = n_queries - len(before)
            answers = _Answers(
                np.concatenate([answers.values[before], np.zeros((new, columns))]),
                np.concatenate([answers.everyone[before], np.zeros(new)]),
                np.concatenate([answers.dropped[before], np.zeros(new)]),
                points,
            )
        answers.points = points
        self._solve(scene, np.flatnonzero(touched), answers)
        self._answers = answers

    def _solved(self) -> _Answers:
        """Return the values, computed again if an interruption left them unknown."""
        if self._answers is None:
            self._turn_to(self._scene, np.ones(self.n_queries, np.bool_))
            assert self._answers is not None
        return self._answers

    def _solve_all(self, scene: Scene, columns: int) -> _Answers:
        n_queries, points = len(scene.targets), PointSums.nothing(len(scene.labels))
        answers = _Answers(np.zeros((n_queries, columns)), np.zeros(n_queries), np.zeros(n_queries), points)
        self._solve(scene, np.arange(n_queries), answers)
        return answers

    def _solve(self, scene: Scene, queries: IndexArray, answers: _Answers) -> None:
        """Value some queries again and add what they say."""
        columns = answers.values.shape[1]
        seen = max(columns, min(self._search.needed, scene.n_players))
        quiet = not self._progress
        for part in tqdm(list(blocks(len(queries), fitting_queries(seen))), disable=quiet, desc="valuing"):
            rows = queries[part]
            indices = scene.near.first(columns, rows)
            votes = self._search.votes(scene.near.distances[rows, :seen], rows)
            votes = None if votes is None else votes[:, :columns]
            block, values, dropped = scene.engine.solve(indices, votes, scene.targets[rows])
            n_classes = scene.engine.n_classes
            answers.values[rows], answers.dropped[rows] = values, dropped
            answers.everyone[rows] = self._game.everyone(block.labels, block.votes, block.targets, n_classes, self._k)
            weights = scene.weights[rows]
            answers.points.add(indices, values * weights[:, np.newaxis], weights)

    def _tally(self, answers: _Answers) -> Tally:
        scene, n_classes = self._scene, self._scene.engine.n_classes
        nobody = self._game.nobody(scene.targets, n_classes)
        spread = self._game.spread(n_classes, scene.labels, scene.targets)
        return Tally().counting(answers.everyone, nobody, answers.dropped, spread, scene.weights)
