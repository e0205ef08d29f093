"""Training points that change after they were valued, and how labels, ids and the engine keep in step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.labels import ClassCodes, as_labels, as_responses
from pivotal.core.query_weights import QueryWeights
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_same_length
from pivotal.engine.editing.edit_state import Search
from pivotal.engine.editing.incremental import EditableEngine, StartingPoints
from pivotal.engine.exact import Engine
from pivotal.engine.joblib_backend import warn_backend_unused
from pivotal.neighbors import Index, as_index, is_source
from pivotal.results.ids import as_ids
from pivotal.valuation.point_valuation import PointValuation


class EditablePoints(PointValuation):
    """Values training points that may be added, removed and relabelled, over queries that may be dropped."""

    engine: EditableEngine | None

    def __init__(self, *points: Any, ids: Any = None, **more: Any) -> None:
        super().__init__(*points, ids=ids, **more)
        self.named, self._next_id = ids is not None, len(self.ids)
        spec = self.spec
        received = {
            f"method={spec.method.name!r}": spec.plan.method != "exact",
            f"utility={str(spec.game)!r}": spec.game.radius is not None,
            "many labels per point": self.labels.ndim == 2,
            "training points in a file": is_source(self.features),
            f"neighbors={spec.neighbors!r}": not (isinstance(spec.neighbors, str) and self.index.exact),
            "metric='precomputed'": spec.metric.name == "precomputed",
        }
        wrong = next((name for name, found in received.items() if found), None)
        if wrong is not None:
            raise ValueError(
                "EditableKNNValuation needs an exact game of the k nearest, one label per point, points in memory, and "
                f"neighbours that can be found again among other points; got {wrong}. Use KNNValuation."
            )

    def count(
        self, X: Any, targets: AnyArray, query_weights: QueryWeights, names: tuple[str, str] = ("X_test", "y_test")
    ) -> Self:
        """Count checked queries with labels as numbers, or the training points themselves when X is `None`."""
        batch, itself = self.batch(X, targets, query_weights, names), X is None
        warn_backend_unused(self.resources.n_jobs, "points that may be edited are valued here")
        if self.n_queries and (itself or self.self_valuation):
            raise ValueError(
                "points that may be edited are queries once, and not along with a test set; got another update. "
                "Fit anew, or use a second EditableKNNValuation."
            )
        if itself and batch.weights is not None:
            raise ValueError(
                "points that may be edited and are the queries count the same; got weights. Omit query_weights."
            )
        self.shape(len(self.labels), self.encoding, self_valuation=itself)  # which refuses a point alone
        if self.engine is None or self.self_valuation != itself:
            alone = partial(self._index_of, "brute") if self._is_local() else None
            self.engine = EditableEngine(
                self._make_engine,
                Search(partial(self._index_of, self.spec.neighbors), alone, self.spec.votes, self._needed()),
                self.spec,
                StartingPoints(self.features, self.index, self.labels, self.encoding.classes),
                each_other=itself,
                progress=self.resources.progress,
            )
            self.self_valuation = itself
        at_once = batch.queries_at_once(max(self.engine.depth, self._needed()))
        self.engine.count(X, batch.targets, batch.weights, at_once)
        return self

    def relabel(self, points: npt.ArrayLike, labels: Any) -> None:
        """Give training points other labels, and value again the queries that this changes."""
        chosen = _as_chosen(points, len(self.labels), "points", "training")
        given = [labels] * len(chosen) if np.ndim(labels) == 0 else labels
        codes, known = self._encoded(given, "labels")
        check_same_length(chosen, codes, "points", "labels")
        updated = self.labels.copy()
        updated[chosen] = codes
        with self._edit(updated, known, self.ids) as (engine, updated, targets, classes):
            engine.relabel(updated, targets, chosen, classes)

    def add(self, X: Any, y: Any, ids: npt.ArrayLike | None) -> None:
        """Add checked training points behind the others."""
        codes, known = self._encoded(y, "y")
        check_same_length(X, codes, "X", "y")
        if ids is None and self.named:
            raise ValueError("new points need ids, as the other points have ids; got none. Pass ids=.")
        fresh = np.arange(self._next_id, self._next_id + len(codes)) if ids is None else as_ids(ids, len(codes))
        labels, names = np.concatenate([self.labels, codes]), np.concatenate([self.ids, fresh])
        with self._edit(labels, known, names) as (engine, labels, targets, classes):
            self._next_id += len(codes)
            engine.add(X, labels, targets, classes)

    def remove(self, points: npt.ArrayLike) -> None:
        """Remove training points; in self-valuation their queries go with them."""
        gone = np.zeros(len(self.labels), np.bool_)
        gone[_as_chosen(points, len(gone), "points", "training")] = True
        minimum = 2 if self.self_valuation else 1
        if (~gone).sum() < minimum:
            raise ValueError(
                f"at least {minimum} training point{'s' if minimum > 1 else ''} must stay; got {gone.sum()} of "
                f"{len(gone)} to remove. Fit new points instead."
            )
        with self._edit(self.labels[~gone], self.encoding, self.ids[~gone]) as (engine, labels, targets, classes):
            engine.remove(gone, labels, targets, classes)

    def drop_queries(self, queries: npt.ArrayLike) -> None:
        """Forget queries of a test set."""
        assert self.engine is not None
        if self.self_valuation:
            raise ValueError(
                "drop_queries is for queries of a test set; here every training point is a query. "
                "Use remove to take a point out altogether."
            )
        gone = np.zeros(self.engine.n_queries, np.bool_)
        gone[_as_chosen(queries, len(gone), "queries", "query")] = True
        targets = self.engine.targets[~gone]
        with self._edit(self.labels, self.encoding, self.ids, targets) as (engine, labels, targets, classes):
            engine.drop(gone, labels, targets, classes)

    def _make_engine(self, labels: AnyArray, classes: Sequence[Any], n_players: int) -> Engine:
        encoding = self.encoding if self.encoding.codes is None else LabelEncoding(ClassCodes(pd.Index(classes)))
        shape = self.shape(n_players, encoding, self_valuation=False)
        return Engine(self.spec, labels, shape, n_jobs=self.n_threads, recorder=self.recorder(encoding))

    def _index_of(self, neighbors: Any, points: Any) -> Index:
        metric, n_jobs = self.spec.metric, self.n_threads
        return as_index(neighbors, points, metric=metric.name, metric_params=metric.parameters, n_jobs=n_jobs)

    def _is_local(self) -> bool:
        """Whether a distance depends on its two points alone, to the last bit, and not on what else is there."""
        metric, parameters = self.spec.metric.name, self.spec.metric.parameters or {}
        euclidean = metric in ("euclidean", "l2", "sqeuclidean", "cosine") and not parameters
        minkowski = metric == "minkowski" and parameters.get("p", 2) == 2 and parameters.get("w") is None
        return self.spec.neighbors in ("auto", "brute") and bool(euclidean or minkowski)

    def _needed(self) -> int:
        return self.spec.weights.depth(self.spec.k)

    def _encoded(self, y: Any, name: str) -> tuple[AnyArray, LabelEncoding]:
        """Return labels as codes, and the label set with those that are new."""
        known = self.encoding.codes
        if known is None:
            return as_responses(y, name), self.encoding
        labels = as_labels(y, name)
        if self.spec.classes is None:
            new = pd.Index(pd.unique(labels))
            new = new[~new.isin(known.classes)]
            if len(new):
                known = ClassCodes(known.classes.append(new))
        same = known is self.encoding.codes
        return known.encode(labels, name), self.encoding if same else LabelEncoding(known)

    def _compact(
        self, labels: AnyArray, targets: AnyArray, encoding: LabelEncoding
    ) -> tuple[AnyArray, AnyArray, LabelEncoding]:
        """Drop classes that no point and no query has any more, as a fresh computation would."""
        if encoding.codes is None or self.spec.classes is not None:
            return labels, targets, encoding
        size = encoding.n_classes
        used = (np.bincount(labels, minlength=size) + np.bincount(targets, minlength=size)) > 0
        if used.all():
            return labels, targets, encoding
        code = (np.cumsum(used) - 1).astype(np.int32)
        same = targets is labels
        labels = code[labels]
        return labels, labels if same else code[targets], LabelEncoding(ClassCodes(encoding.classes[used]))

    @contextmanager
    def _edit(
        self, labels: AnyArray, known: LabelEncoding, ids: AnyArray, targets: AnyArray | None = None
    ) -> Iterator[tuple[EditableEngine, AnyArray, AnyArray, pd.Index[Any]]]:
        """Yield the engine, and labels, targets and classes to edit it with; those of the queries stay unless given.

        Labels and ids are kept in step with the engine, also when an edit is interrupted half way.
        """
        engine = self.engine
        assert engine is not None
        if targets is None:
            targets = labels if self.self_valuation else engine.targets
        labels, targets, encoding = self._compact(labels, targets, known)
        try:
            yield engine, labels, targets, encoding.classes
        finally:
            if engine.labels is labels:  # the engine has turned to the new points
                self.labels, self.encoding, self.ids, self.features = labels, encoding, ids, engine.points


def _as_chosen(chosen: npt.ArrayLike, count: int, name: str, kind: str) -> IndexArray:
    """Return indices as a one-dimensional array, each once and in range."""
    indices = np.atleast_1d(np.asarray(chosen))
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or indices.size == 0:
        raise ValueError(
            f"{name} must be {kind} indices, at least one; got shape {indices.shape} and dtype {indices.dtype}."
        )
    if indices.min() < 0 or indices.max() >= count:
        outside = indices[(indices < 0) | (indices >= count)][0]
        raise ValueError(f"{name} must be {kind} indices from 0 to {count - 1}; got {outside}.")
    unique, counts = np.unique(indices, return_counts=True)
    if len(unique) < len(indices):
        raise ValueError(f"{name} must name each {kind} index once; got {unique[counts > 1][0]} twice.")
    return indices.astype(np.int64)
