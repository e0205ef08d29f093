"""The estimator whose points can be edited: added, removed, relabelled, by their current index."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from pivotal.core.config import Resources
from pivotal.core.spec import Spec
from pivotal.valuation.editable_points import EditablePoints
from pivotal.valuation.estimator import KNNValuation
from pivotal.valuation.point_valuation import PointValuation

__all__ = ["EditableKNNValuation"]


class EditableKNNValuation(KNNValuation):
    """A `KNNValuation` whose training points can be edited: values follow without being computed again.

    Training points are named by their current index. Removing points keeps the order of the others, which move up;
    added points come last. The ids of the points stay with them. The neighbours of every query are kept, 20 bytes for
    each of them, and the queries themselves.

    Parameters
    ----------
    k, utility, semivalue, weights, bits, metric, metric_params, neighbors, tol, classes, method
        As in `KNNValuation`: exact games of the k nearest, one label per point, points in memory, and neighbours that
        can be found again among other points.
    n_jobs, block_size, max_memory, progress
        As in `KNNValuation`.

    Examples
    --------
    >>> import pivotal
    >>> model = pivotal.EditableKNNValuation(k=1).fit([[0.0], [1.0], [2.0]], ["cat", "dog", "dog"])
    >>> model.update([[0.1]], ["cat"]).values_
    array([1., 0., 0.])
    >>> model.relabel(1, "cat").values_
    array([0.5, 0.5, 0. ])
    """

    def relabel(self, points: npt.ArrayLike, labels: Any) -> Self:
        """Give training points other labels, and value again the queries that this changes.

        Parameters
        ----------
        points : int or array-like of int
            Current training indices, each once.
        labels : label or array-like of the same length
            Their labels from now on, or the one label of all of them. A label never seen before joins the label set,
            unless `classes` fixed it.
        """
        self._edited("relabel").relabel(points, labels)
        return self

    def add(self, X: Any, y: Any, ids: npt.ArrayLike | None = None) -> Self:
        """Add training points behind the others; in self-valuation each new one is also a query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            The new points.
        y : array-like of shape (n_new,)
            Their labels.
        ids : array-like of shape (n_new,), optional
            Their names; needed if the other points have names. Otherwise they get the next numbers never used.
        """
        points = self._edited("add")
        if ids is None and points.named and isinstance(getattr(X, "index", None), pd.Index):
            ids = X.index.to_numpy()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        points.add(X, y, ids)
        return self

    def remove(self, points: npt.ArrayLike) -> Self:
        """Remove training points; in self-valuation their queries go with them.

        Parameters
        ----------
        points : int or array-like of int
            Current training indices, each once. Points behind those that are removed move up.
        """
        self._edited("remove").remove(points)
        return self

    def drop_queries(self, queries: npt.ArrayLike) -> Self:
        """Forget queries of a test set.

        Parameters
        ----------
        queries : int or array-like of int
            Their current numbers, from 0 in the order in which they were counted, each once. Those behind move up.
        """
        self._edited("drop_queries").drop_queries(queries)
        return self

    def _value_points(self, spec: Spec, resources: Resources, X: Any, y: Any, ids: Any) -> PointValuation:
        return EditablePoints(spec, resources, X, y, ids=ids, names=("X", "y"))

    def _edited(self, method: str) -> EditablePoints:
        check_is_fitted(self)
        points = cast(EditablePoints, self._points)
        if points.engine is None:
            raise ValueError(
                f"{method} changes what queries were counted with; got no queries yet. Call update first, or fit the "
                "points as they should be."
            )
        return points
