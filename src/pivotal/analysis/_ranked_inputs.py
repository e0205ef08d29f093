"""What the applications take in common: scores of points, an order of them, and how far to go."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.validation import is_integer, is_number
from pivotal.results.values import Values

ScoresLike: TypeAlias = Values | npt.ArrayLike

_ORDERS = ("lowest", "highest", "random")


def as_scores(values: Any, n_train: int | None = None) -> FloatArray:
    """Return one finite number per training point, from `Values` or an array."""
    scores = np.asarray(values)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"values must be one number per training point, at least one; got shape {scores.shape}.")
    if scores.dtype.kind not in "fiub":
        raise ValueError(f"values must be numbers, or a pivotal.Values; got dtype {scores.dtype}.")
    scores = scores.astype(np.float64)
    if n_train is not None and scores.size != n_train:
        raise ValueError(f"values must be one number for each of the {n_train} training points; got {scores.size}.")
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise ValueError(
            f"values must be finite; got {scores[bad[0]]} at training index {bad[0]}. Value that point first."
        )
    return scores


def lowest_first(scores: FloatArray) -> IndexArray:
    """Return training indices, least valuable first, in the order of `Values.bottom`."""
    return np.argsort(-scores, kind="stable")[::-1].astype(np.int64)


def as_order(order: Any, values: Any, n_train: int, rng: np.random.Generator) -> IndexArray:
    """Return training indices in the order that is meant: by its name, or of some of the points."""
    if values is not None:
        values = as_scores(values, n_train)
    if not isinstance(order, str):
        return as_indices(order, n_train, "order")
    if order not in _ORDERS:
        raise ValueError(f"order must be one of {', '.join(_ORDERS)}, or training indices; got {order!r}.")
    if order == "random":
        return rng.permutation(n_train)
    if values is None:
        raise ValueError(f'order="{order}" needs values; got None. Pass values, or order="random".')
    lowest = lowest_first(values)
    return lowest if order == "lowest" else lowest[::-1].copy()


def as_indices(chosen: Any, n_train: int, name: str) -> IndexArray:
    """Return training indices as an int64 array, each at most once; a boolean mask will do."""
    array = np.asarray(chosen)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.int64)
    if array.dtype == np.bool_ and array.shape == (n_train,):
        return np.flatnonzero(array).astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be training indices or a boolean mask of shape ({n_train},); "
            f"got dtype {array.dtype} and shape {array.shape}."
        )
    outside = array[(array < 0) | (array >= n_train)]
    if outside.size:
        raise ValueError(f"{name} must hold training indices from 0 to {n_train - 1}; got {outside[0]}.")
    named, times = np.unique(array, return_counts=True)
    if named.size < array.size:
        raise ValueError(f"{name} must name each training point at most once; got {named[times > 1][0]} twice.")
    return array.astype(np.int64)


def as_counts(steps: Any, total: int, n_train: int, *, default: int) -> IndexArray:
    """Return the numbers of points, of this total, after which to look, ascending.

    A number of steps, or the default for None, looks this many times at equal distances, and before the first, but at
    most after every point; of several, integers are counts and fractions are shares of the training points.
    """
    if steps is None:
        if default >= total:
            return np.arange(total + 1)
        steps = default
    array = np.asarray(steps)
    if array.ndim == 0:
        if not is_integer(steps, minimum=1):
            raise ValueError(f"steps must be an integer of at least 1, or counts or shares in a list; got {steps!r}.")
        return np.unique(np.rint(np.linspace(0, total, int(steps) + 1)).astype(np.int64))
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuf":
        raise ValueError(f"steps must be counts or shares in a list; got dtype {array.dtype} and shape {array.shape}.")
    if array.dtype.kind == "f":
        if not (array.min() >= 0.0 and array.max() <= 1.0):
            odd = array[~((array >= 0.0) & (array <= 1.0))][0]
            raise ValueError(f"steps as shares must lie in [0, 1]; got {odd}. Use integers for counts.")
        array = np.minimum(np.rint(array * n_train), total)
    elif array.min() < 0 or array.max() > total:
        odd = array[(array < 0) | (array > total)][0]
        raise ValueError(f"steps as counts must lie between 0 and {total}; got {odd}.")
    return np.unique(array).astype(np.int64)


def as_count(amount: Any, n_train: int, name: str) -> int:
    """Return a number of points, from a count or from a share of the training points."""
    if is_integer(amount, 0, n_train):
        return int(amount)
    if is_number(amount, 0.0, 1.0) and not is_integer(amount):
        return round(float(amount) * n_train)
    raise ValueError(
        f"{name} must be an integer up to the {n_train} training points, or a share in [0, 1]; got {amount!r}."
    )


def check_estimator(model: Any, needed: str, what: str) -> None:
    """Raise unless a model is an estimator, not a class of them, with `fit` and the method that is needed."""
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, needed)):
        kind = f"{model.__name__}, a class" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"model must be {what}; got {kind}.")


def name_of(values: Any, order: Any) -> str:
    """Name a curve: by the order where that says it all, else by how the values were computed."""
    if isinstance(order, str) and order == "random":
        return "random"
    if isinstance(values, Values):
        names = [values.settings[name] for name in ("semivalue", "utility") if values.settings.get(name)]
        return " ".join(str(name) for name in names) or str(values.settings.get("method", "values"))
    return "values" if isinstance(order, str) else "order"


def describe(order: Any) -> str:
    """What the settings say of an order."""
    return order if isinstance(order, str) else "given"
