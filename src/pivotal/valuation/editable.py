"""What the estimator offers of edits: points by their current index, labels of any kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from pivotal.core.games import Game
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.labels import ClassCodes, as_labels, as_responses
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_same_length
from pivotal.core.voting import as_votes
from pivotal.core.weights import Weights
from pivotal.engine.editing.edit_state import Search
from pivotal.engine.editing.incremental import EditableEngine
from pivotal.engine.exact import Engine
from pivotal.engine.sampling import Plan
from pivotal.neighbors import Index, as_index, is_source
from pivotal.results.ids import as_ids
from pivotal.results.per_query import Keeper

__all__ = ["EditsPoints"]


class EditsPoints:
    """Adds, removes and relabels training points, and drops queries, for an estimator with ``editable=True``.

    Training points are named by their current index. Removing points keeps the order of the others, which move up;
    added points come last. The ids of the points stay with them.
    """

    # What the estimator has anyway.
    classes: Any
    editable: bool
    metric: Any
    metric_params: Mapping[str, Any] | None
    n_jobs: int | None
    neighbors: Any
    per_query: bool
    progress: bool
    _bits: int
    _encoding: LabelEncoding
    _engine: Any
    _features: Any
    _game: Game
    _ids: AnyArray
    _index: Index
    _k: int
    _labels: AnyArray
    _plan: Plan
    _self_queries: bool
    _semivalue: Semivalue
    _tol: float
    _weights: Weights

    def relabel(self, points: npt.ArrayLike, labels: Any) -> Self:
        """Give training points other labels, and value again the queries that this changes.

        Parameters
        ----------
        points : int or array-like of int
            Current training indices, each once.
        labels : label or array-like of the same length
            Their labels from now on, or the one label of all of them. A label never seen before joins the label set,
            unless `classes` fixed it.

        Examples
        --------
        >>> import pivotal
        >>> model = pivotal.KNNValuation(k=1, editable=True).fit([[0.0], [1.0], [2.0]], ["cat", "dog", "dog"])
        >>> model.update([[0.1]], ["cat"]).values_
        array([1., 0., 0.])
        >>> model.relabel(1, "cat").values_
        array([0.5, 0.5, 0. ])
        """
        engine = self._edited("relabel")
        chosen = _as_chosen(points, len(self._labels), "points", "training")
        given = [labels] * len(chosen) if np.ndim(labels) == 0 else labels
        codes, known = self._encoded(given, "labels")
        check_same_length(chosen, codes, "points", "labels")
        updated = self._labels.copy()
        updated[chosen] = codes
        targets = updated if self._self_queries else engine.targets
        updated, targets, known = self._compact(updated, targets, known)
        with _Commit(self, updated, known, self._ids):
            engine.relabel(updated, targets, chosen, _names(known))
        return self

    def add(self, X: Any, y: Any, ids: npt.ArrayLike | None = None) -> Self:
        """Add training points behind the others; where the points are the queries, each new one is also a query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            The new points.
        y : array-like of shape (n_new,)
            Their labels.
        ids : array-like of shape (n_new,), optional
            Their names; needed if the other points have names. Otherwise they get the next numbers never used.
        """
        engine = self._edited("add")
        if ids is None and self._named and isinstance(getattr(X, "index", None), pd.Index):
            ids = X.index.to_numpy()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        codes, known = self._encoded(y, "y")
        check_same_length(X, codes, "X", "y")
        if ids is None and self._named:
            raise ValueError("new points need ids, as the other points have ids; got none. Pass ids=.")
        fresh = np.arange(self._next_id, self._next_id + len(codes)) if ids is None else as_ids(ids, len(codes))
        labels = np.concatenate([self._labels, codes])
        targets = labels if self._self_queries else engine.targets
        labels, targets, known = self._compact(labels, targets, known)
        with _Commit(self, labels, known, np.concatenate([self._ids, fresh])):
            self._next_id += len(codes)
            engine.add(X, labels, targets, _names(known))
        return self

    def remove(self, points: npt.ArrayLike) -> Self:
        """Remove training points; where the points are the queries, theirs go with them.

        Parameters
        ----------
        points : int or array-like of int
            Current training indices, each once. Points behind those that are removed move up.
        """
        engine = self._edited("remove")
        gone = np.zeros(len(self._labels), np.bool_)
        gone[_as_chosen(points, len(gone), "points", "training")] = True
        least = 2 if self._self_queries else 1
        if (~gone).sum() < least:
            raise ValueError(
                f"at least {least} training point{'s' if least > 1 else ''} must stay; got {gone.sum()} of {len(gone)} "
                "to remove. Fit new points instead."
            )
        labels = self._labels[~gone]
        targets = labels if self._self_queries else engine.targets
        labels, targets, known = self._compact(labels, targets, self._encoding.codes)
        with _Commit(self, labels, known, self._ids[~gone]):
            engine.remove(gone, labels, targets, _names(known))
        return self

    def drop_queries(self, queries: npt.ArrayLike) -> Self:
        """Forget queries of a test set.

        Parameters
        ----------
        queries : int or array-like of int
            Their current numbers, from 0 in the order in which they were counted, each once. Those behind move up.
        """
        engine = self._edited("drop_queries")
        if self._self_queries:
            raise ValueError(
                "drop_queries is for queries of a test set; here every training point is a query. "
                "Use remove to take a point out altogether."
            )
        gone = np.zeros(engine.n_queries, np.bool_)
        gone[_as_chosen(queries, len(gone), "queries", "query")] = True
        labels, targets, known = self._compact(self._labels, engine.targets[~gone], self._encoding.codes)
        with _Commit(self, labels, known, self._ids):
            engine.drop(gone, labels, targets, _names(known))
        return self

    def _prepare_edits(self, *, named: bool) -> None:
        """Check, once fitted, that edits will be possible if they are wanted."""
        self._named, self._next_id = named, len(self._ids)
        if not self.editable:
            return
        received = {
            f"method={self._plan.method!r}": self._plan.method != "exact",
            f"utility={str(self._game)!r}": self._game.radius is not None,
            "many labels per point": self._labels.ndim == 2,
            "training points in a file": is_source(self._features),
            f"neighbors={self.neighbors!r}": not (isinstance(self.neighbors, str) and self._index.exact),
            "metric='precomputed'": isinstance(self.metric, str) and self.metric == "precomputed",
        }
        wrong = next((name for name, found in received.items() if found), None)
        if wrong is not None:
            raise ValueError(
                "editable=True needs an exact game of the k nearest, one label per point, points in memory, and "
                f"neighbours that can be found again among other points; got {wrong}. Leave out editable."
            )

    def _count_editable(self, X: Any, targets: AnyArray, weights: FloatArray | None) -> Self:
        """Count checked queries, or the training points themselves when X is None."""
        each_other = X is None
        if self._engine is not None and self._engine.n_queries and (each_other or self._self_queries):
            raise ValueError(
                "points that may be edited are queries once, and not along with a test set; got another update. "
                "Fit anew, or use a second KNNValuation."
            )
        if each_other and len(self._labels) < 2:
            raise ValueError("points that value each other must be at least two; got 1. Pass a test set.")
        if each_other and weights is not None:
            raise ValueError(
                "points that may be edited and are the queries count the same; got weights. Leave out query_weights."
            )
        if self._engine is None or self._self_queries != each_other:
            self._engine = EditableEngine(
                self._make_engine,
                Search(
                    self._make_index, self._make_small_index if self._is_local() else None, self._votes, self._needed()
                ),
                self._game,
                self._k,
                self._features,
                self._index,
                self._labels,
                _names(self._encoding.codes),
                each_other=each_other,
                progress=self.progress,
            )
            self._self_queries = each_other
        self._engine.count(X, targets, weights, self._block_size(max(self._engine.depth, self._needed())))
        return self

    def _make_engine(self, labels: AnyArray, classes: Sequence[Any], n_players: int) -> Engine:
        return Engine(
            labels,
            self._game,
            self._semivalue,
            k=self._k,
            n_classes=len(classes),
            n_players=n_players,
            most=n_players,
            tol=self._tol,
            largest_vote=2**self._bits - 1 if self._weights.weighted else None,
            n_jobs=self.n_jobs,
            keeper=Keeper(self._k, classes, self._budget()) if self.per_query else None,
        )

    def _make_index(self, points: Any) -> Index:
        return as_index(
            self.neighbors, points, metric=self.metric, metric_params=self.metric_params, n_jobs=self.n_jobs
        )

    def _make_small_index(self, points: Any) -> Index:
        return as_index("brute", points, metric=self.metric, metric_params=self.metric_params, n_jobs=self.n_jobs)

    def _is_local(self) -> bool:
        """Whether a distance depends on its two points alone, to the last bit, and not on who else is there."""
        parameters = dict(self.metric_params or {})
        euclidean = self.metric in ("euclidean", "l2", "sqeuclidean", "cosine") and not parameters
        minkowski = self.metric == "minkowski" and parameters.get("p", 2) == 2 and parameters.get("w") is None
        return self.neighbors in ("auto", "brute") and bool(euclidean or minkowski)

    def _votes(self, distances: FloatArray, queries: IndexArray) -> CodeArray | None:
        return as_votes(self._weights, distances, self._k, self._bits, queries)

    def _needed(self) -> int:
        return self._weights.depth(self._k)

    @abstractmethod
    def _block_size(self, depth: int) -> int:
        """Queries per block."""

    @abstractmethod
    def _budget(self) -> int | None:
        """Bytes that lists and values of single queries may take, if that was said."""

    def _edited(self, method: str) -> EditableEngine:
        check_is_fitted(self)
        if not self.editable:
            raise ValueError(
                f"{method} needs the lists of neighbours, which are kept with editable=True; got editable=False. "
                "Make a KNNValuation(editable=True) and fit it."
            )
        if self._engine is None:
            raise ValueError(
                f"{method} changes what queries were counted with; got no queries yet. Call update first, or fit the "
                "points as they should be."
            )
        engine: EditableEngine = self._engine
        return engine

    def _encoded(self, y: Any, name: str) -> tuple[AnyArray, ClassCodes | None]:
        """Return labels as codes, and the label set with those that are new."""
        if self._encoding.codes is None:
            return as_responses(y, name), None
        labels = as_labels(y, name)
        known = self._encoding.codes
        if self.classes is None:
            new = pd.Index(pd.unique(labels))
            new = new[~new.isin(known.classes)]
            if len(new):
                known = ClassCodes(known.classes.append(new))
        return known.encode(labels, name), known

    def _compact(
        self, labels: AnyArray, targets: AnyArray, known: ClassCodes | None
    ) -> tuple[AnyArray, AnyArray, ClassCodes | None]:
        """Leave out classes that no point and no query has any more, as a fresh computation would."""
        if known is None or self.classes is not None:
            return labels, targets, known
        size = len(known.classes)
        used = (np.bincount(labels, minlength=size) + np.bincount(targets, minlength=size)) > 0
        if used.all():
            return labels, targets, known
        code = (np.cumsum(used) - 1).astype(np.int32)
        same = targets is labels
        labels = code[labels]
        return labels, labels if same else code[targets], ClassCodes(known.classes[used])


class _Commit:
    """Keeps the estimator in step with its engine, also when an edit is interrupted half way."""

    def __init__(self, estimator: EditsPoints, labels: AnyArray, known: ClassCodes | None, ids: AnyArray) -> None:
        self._estimator, self._labels, self._known, self._ids = estimator, labels, known, ids

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        estimator, engine = self._estimator, self._estimator._engine
        if engine.labels is self._labels:  # the engine has turned to the new points
            estimator._labels, estimator._encoding, estimator._ids = self._labels, LabelEncoding(self._known), self._ids
            estimator._features = engine.points


def _names(known: ClassCodes | None) -> Any:
    return () if known is None else known.classes


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
