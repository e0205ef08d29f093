"""Every input check and its message: the rule, what was received, how to fix it."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pivotal.core.types import AnyArray, CodeArray, IndexArray

_LARGEST_VOTE = 2**16 - 1
_LARGEST_K = 2**31 - 1


def is_integer(number: object, minimum: float = -math.inf, maximum: float = math.inf) -> TypeGuard[int]:
    """Whether this is an integer in a range, of any type but bool."""
    return isinstance(number, numbers.Integral) and not isinstance(number, bool) and minimum <= int(number) <= maximum


def is_number(number: object, minimum: float = -math.inf, maximum: float = math.inf) -> TypeGuard[float]:
    """Whether this is a finite number in a range, of any real type but bool."""
    if not isinstance(number, numbers.Real) or isinstance(number, bool):
        return False
    return math.isfinite(float(number)) and minimum <= float(number) <= maximum


def check_probability(p: object, name: str) -> float:
    """Return p as a float in [0, 1]."""
    if is_number(p, 0.0, 1.0):
        return float(p)
    raise ValueError(f"{name} must lie in [0, 1]; got {p!r}.")


def check_count(n: object, name: str, minimum: int = 1) -> int:
    """Return a count as an int of at least `minimum`."""
    if is_integer(n, minimum):
        return int(n)
    raise ValueError(f"{name} must be an integer of at least {minimum}; got {name}={n!r}.")


def check_positive(number: object, name: str, *, or_zero: bool = False, fix: str = "") -> float:
    """Return a finite float above 0, or of at least 0."""
    if is_number(number, 0.0) and (or_zero or float(number) > 0.0):
        return float(number)
    rule = f"{name} must be a finite number {'of at least' if or_zero else 'above'} 0"
    raise ValueError(f"{rule}; got {number!r}. {fix}".rstrip())


def check_share(share: object, name: str) -> float:
    """Return a share as a float more than 0 and less than 1."""
    if is_number(share) and 0.0 < float(share) < 1.0:
        return float(share)
    raise ValueError(f"{name} must be more than 0 and less than 1; got {name}={share!r}.")


def check_k(k: object) -> int:
    """Return the number of neighbours as an int of at least 1 that an index can count."""
    number = check_count(k, "k")
    if number > _LARGEST_K:
        raise ValueError(f"k must be at most {_LARGEST_K}; got k={k!r}. No more points vote than there are.")
    return number


def check_tol(tol: object) -> float:
    """Return the truncation tolerance as a finite float of at least 0."""
    if is_number(tol, 0.0):
        return float(tol)
    raise ValueError(f"tol must be a finite number of at least 0; got tol={tol!r}. Use tol=0 to keep every point.")


@dataclass(frozen=True, eq=False)
class Checked:
    """Features that `check_features` returned, or rows of them: they are not looked at again on their way."""

    features: Any

    @staticmethod
    def content(X: Any) -> Any:
        """Return features as they are, whether or not they were checked."""
        return X.features if isinstance(X, Checked) else X


def check_features(X: Any, name: str, like: Any = None) -> Any:
    """Return features as a finite float array or CSR matrix of shape (n, d), without copying where possible.

    The number of columns must be that of `like`; of what is `Checked` only that may be wrong.
    """
    features = X.features if isinstance(X, Checked) else _as_finite(X, name)
    if like is not None and features.shape[1] != like.shape[1]:
        raise ValueError(
            f"{name} must have as many columns as the training points, {like.shape[1]}; got {features.shape[1]}."
        )
    return features


def _as_finite(X: Any, name: str) -> Any:
    """Return features as finite floats, an array or a CSR matrix."""
    if is_sparse(X):
        features = _with_small_indices(X.tocsr())
    else:
        _check_columns(X, name)
        try:
            features = np.asarray(X)
        except ValueError:
            raise ValueError(
                f"{name} must be a table with rows of one length; got rows of different lengths."
            ) from None
    if features.ndim != 2:
        fix = f" Use {name}.reshape(-1, 1) for one feature." if features.ndim == 1 else ""
        raise ValueError(f"{name} must be two-dimensional, a row per point; got shape {features.shape}.{fix}")
    if 0 in features.shape:
        raise ValueError(f"{name} must have at least one row and one column; got shape {features.shape}.")
    if features.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers; got dtype {features.dtype}. Take real and imaginary parts.")
    if features.dtype not in (np.float32, np.float64):
        try:
            features = features.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must hold numbers; got dtype {features.dtype}. Encode text and categories as numbers first."
            ) from None
    bad = count_not_finite(features.data if is_sparse(features) else features)
    if bad:
        raise ValueError(
            f"{name} must be finite (no NaN, no infinity); got {bad} such entries. Impute them or drop their rows."
        )
    return features


def _with_small_indices(X: Any) -> Any:
    """Return a CSR matrix whose indices have 32 bits where these are enough: scikit-learn's trees take no others."""
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of scipy's."""
    return bool(sparse.issparse(X))


def is_lazy(candidate: Any) -> bool:
    """Whether something is a collection of Dask's, which is not to be computed before its time."""
    return hasattr(candidate, "__dask_graph__")


def count_not_finite(table: AnyArray) -> int:
    """Return how many entries are NaN or infinite."""
    # A finite sum has finite terms: one pass without a table of booleans, unless something is wrong or huge.
    with np.errstate(over="ignore", invalid="ignore"):
        total = table.sum(dtype=np.float64)
    return 0 if np.isfinite(total) else int(np.count_nonzero(~np.isfinite(table)))


def _check_columns(X: Any, name: str) -> None:
    """Name the columns of a data frame that hold no numbers."""
    dtypes = getattr(X, "dtypes", None)
    columns = getattr(X, "columns", None)
    if dtypes is None or columns is None:
        return
    text = [
        str(column)
        for column, dtype in zip(columns, dtypes, strict=True)
        if str(dtype).lower() in ("object", "str", "string", "category", "categorical", "enum")
    ]
    if text:
        shown = ", ".join(text[:3]) + (", ..." if len(text) > 3 else "")
        raise ValueError(f"{name} must hold numbers; the columns {shown} do not. Encode them as numbers first.")


def check_same_length(X: Any, y: AnyArray, x_name: str, y_name: str) -> None:
    """Raise unless there is a label for every row."""
    if X.shape[0] != y.shape[0]:
        raise ValueError(
            f"{x_name} and {y_name} must have the same length; got {X.shape[0]} rows and {y.shape[0]} labels."
        )


def check_lists(indices: npt.ArrayLike, n_train: int, n_queries: int) -> IndexArray:
    """Return lists of neighbours as an int64 array of shape (n_queries, depth)."""
    lists = np.asarray(indices)
    if lists.ndim != 2 or lists.shape[0] != n_queries or lists.shape[1] == 0:
        raise ValueError(
            f"indices must have a row per query and a column per neighbour, shape ({n_queries}, depth); "
            f"got shape {lists.shape}."
        )
    if lists.dtype.kind not in "iu":
        raise ValueError(f"indices must be integers; got dtype {lists.dtype}. Use indices.astype(int).")
    if lists.min() < 0 or lists.max() >= n_train:
        raise ValueError(
            f"indices must lie between 0 and {n_train - 1}, the last training point; "
            f"got {lists.min() if lists.min() < 0 else lists.max()}."
        )
    lists = np.ascontiguousarray(lists, dtype=np.int64)
    ordered = np.sort(lists, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if twice.size:
        raise ValueError(f"indices must name each training point at most once per query; query {twice[0]} does not.")
    return lists


def check_not_own(points: IndexArray, owners: IndexArray) -> None:
    """Raise if a point is its own neighbour, given whose neighbour each of the points is."""
    own = points[points == owners]
    if own.size:
        raise ValueError(
            f"in self-valuation a point must not be among its own neighbours; point {own[0]} is. "
            "Leave each point out of its own list, or pass y_test."
        )


def check_votes(votes: npt.ArrayLike, shape: tuple[int, ...]) -> CodeArray:
    """Return votes as an int32 array of the shape of the lists."""
    ballots = np.asarray(votes)
    if ballots.shape != shape:
        raise ValueError(f"votes must have the shape of indices, {shape}; got {ballots.shape}.")
    if ballots.dtype.kind not in "iub" or ballots.min() < 0 or ballots.max() > _LARGEST_VOTE:
        raise ValueError(
            f"votes must be integers from 0 to {_LARGEST_VOTE}; got dtype {ballots.dtype} "
            f"between {ballots.min()} and {ballots.max()}. Scale and round real weights first."
        )
    return np.ascontiguousarray(ballots, dtype=np.int32)
