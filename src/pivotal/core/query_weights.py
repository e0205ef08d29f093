"""How much each query counts: a weight of its own, a weight of its class, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.labels import ClassCodes
from pivotal.core.types import AnyArray, FloatArray

__all__ = ["ALIKE", "QueryWeights", "as_query_weights"]

_LEAST, _MOST = 1e-100, 1e100  # whose squares, for variances, are numbers too


class QueryWeights(NamedTuple):
    """How much queries count, by themselves and by their class; every one counts the same if nothing is said."""

    weights: Any = None
    """A number for each query: finite, at least 0, not all 0."""

    by_class: Any = None
    """``"balanced"``, or a number for each class of queries; classes that are not named have 1."""

    def of(self, targets: AnyArray, codes: ClassCodes | None) -> FloatArray | None:
        """Return the weight of each query; None means that all are the same.

        Parameters
        ----------
        targets : array of shape (n_queries,), or (n_queries, n_labels)
            Class codes of the queries, responses for regression, or indicators of many labels.
        codes : ClassCodes or None
            The label set; None for regression.
        """
        if self.by_class is None and self.weights is None:
            return None
        weights = np.ones(len(targets)) if self.weights is None else _check_weights(self.weights, len(targets))
        if self.by_class is not None:
            if codes is None or targets.ndim > 1:
                got = "regression" if codes is None else "many labels per point"
                raise ValueError(
                    f"weights of classes need one class per query; got {got}. Use a weight for each query."
                )
            weights = weights * _of_classes(self.by_class, targets, codes)[targets]
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if not _LEAST <= total <= _MOST:
            raise ValueError(
                f"the weights of the queries must add up to a number above 0, from {_LEAST:g} to {_MOST:g}; "
                f"got {total:g}. Give some query a weight, or scale them all."
            )
        return weights


ALIKE = QueryWeights()


def as_query_weights(query_weights: Any) -> QueryWeights:
    """Return how much queries count: numbers, what classes count, or an object that says both.

    Examples
    --------
    >>> as_query_weights("balanced")
    QueryWeights(weights=None, by_class='balanced')
    """
    if isinstance(query_weights, QueryWeights):
        return query_weights
    if isinstance(query_weights, str | Mapping):
        return QueryWeights(None, query_weights)
    return QueryWeights(query_weights)


def _check_weights(given: Any, n_queries: int) -> FloatArray:
    weights = np.asarray(given)
    if weights.shape != (n_queries,):
        raise ValueError(
            f"query_weights must have one number per query, shape ({n_queries},); got shape {weights.shape}."
        )
    if weights.dtype.kind not in "fiub":
        raise ValueError(f"query_weights must be numbers; got dtype {weights.dtype}. Convert them first.")
    return _check_range(weights.astype(np.float64), "query_weights")


def _check_range(weights: FloatArray, name: str) -> FloatArray:
    bad = np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights)))
    if bad.size:
        raise ValueError(
            f"{name} must be finite and at least 0; got {weights[bad[0]]} at position {bad[0]}. "
            "Use 0 for what should not count."
        )
    return weights


def _of_classes(class_weight: Any, targets: AnyArray, codes: ClassCodes) -> FloatArray:
    """Return the weight of each class, in the order of the codes."""
    n_classes = len(codes.classes)
    if isinstance(class_weight, Mapping):
        named = codes.classes.get_indexer(pd.Index(list(class_weight)))
        unknown = [label for label, code in zip(class_weight, named, strict=True) if code < 0]
        if unknown:
            raise ValueError(
                f"query_weights must name classes; got {unknown[0]!r}, which no point has. Omit it, or correct it."
            )
        weights = np.ones(n_classes)
        try:
            weights[named] = np.array(list(class_weight.values()), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"query_weights must map classes to numbers; got {dict(class_weight)!r}.") from None
        return _check_range(weights, "query_weights")
    if not isinstance(class_weight, str) or class_weight != "balanced":
        raise ValueError(
            f'weights of queries must be "balanced", a mapping of classes to numbers, or a number per query; '
            f"got {class_weight!r}."
        )
    # Classes without queries have no part in it.
    counts = np.bincount(targets, minlength=n_classes)
    return len(targets) / (np.count_nonzero(counts) * np.maximum(counts, 1.0))
