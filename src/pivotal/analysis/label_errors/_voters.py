"""The voters: the nearest rows, rows in the same leaves, and regressions that omit the row they speak about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array

from pivotal.analysis.label_errors._landmarks import Columns, Kernel, Landmarks, column_scale
from pivotal.analysis.label_errors._ridge import LeaveOneOutRidge
from pivotal.core.progress import tqdm
from pivotal.core.threads import count_threads, run_all, single_threaded_blas
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import is_sparse

VOTERS: Final = ("neighbors", "forest", "linear", "rbf", "laplace")
DEFAULT: Final = ("forest", "linear", "rbf", "laplace")
# Between rows of text, rbf says much what linear does; and the nearest of them say more than those of tables do.
DEFAULT_SPARSE: Final = ("neighbors", "forest", "linear", "laplace")
QUICK: Final = ("neighbors",)
REGRESSIONS: Final[tuple[Kernel, ...]] = ("linear", "rbf", "laplace")
_LANDMARKS: Final = 1000
_SPARSE_LANDMARKS: Final = 800  # of few rows, more than half: text has many directions
_FEW_LANDMARKS: Final = 600  # where rows are few, all of them; then half of them
_FITTED: Final = 20_000  # rows that regressions are fitted to
_WIDEST: Final = 1000  # features that a linear regression takes as they are
_ROWS_FOR_SCALE: Final = 5000  # more would not choose another one
_ALIKE: Final = 1.01  # ratio of the largest to the smallest deviation of columns up to which they are equally spread
_DENSE: Final = 0.25  # share of entries other than 0 from which a sparse matrix is a dense one
_MOST_DENSE: Final = 2**27  # entries that are made dense
_TEXT: Final = 0.05  # share of entries other than 0 up to which a wide dense matrix is a sparse one
_TEXT_WIDTH: Final = 500


def check_voters(voters: str | Sequence[str] | None, n_trees: int) -> tuple[str, ...]:
    """Return the voters, in the usual order."""
    if voters is None:
        return DEFAULT if n_trees else QUICK
    asked = (voters,) if isinstance(voters, str) else tuple(voters)
    unknown = [name for name in asked if name not in VOTERS]
    if unknown or not asked:
        got = f"got {unknown[0]!r}" if unknown else "got none"
        raise ValueError(f"voters must be some of {', '.join(VOTERS)}; {got}. Omit them for the usual ones.")
    if "forest" in asked and not n_trees:
        raise ValueError("a forest needs trees to vote; got n_trees=0. Set n_trees=100, or omit it from voters.")
    return tuple(name for name in VOTERS if name in asked)


def as_voters_see(X: Any) -> Any:
    """Return features dense or sparse by what they hold, not by how they came: text is sparse, embeddings are not."""
    n_rows, width = X.shape
    if is_sparse(X):
        dense = X.nnz >= _DENSE * n_rows * width and n_rows * width <= _MOST_DENSE
        return X.toarray() if dense else X
    if width >= _TEXT_WIDTH and np.count_nonzero(X) <= _TEXT * n_rows * width:
        return csr_array(X)
    return np.ascontiguousarray(X)  # one memory layout, as it decides in which order sums are made


def make_regressions(
    X: Any,
    names: Sequence[Kernel],
    importance: FloatArray | None,
    targets: AnyArray,
    seed: int,
    n_jobs: int | None,
    *,
    progress: bool,
) -> dict[str, LeaveOneOutRidge]:
    """Decompose the features once for each of these regressions.

    By the importance of features, shape (n_features,), those of the Laplace kernel are scaled; by targets, shape
    (n_rows, n_targets), the scale of the linear regression's columns is chosen. Landmarks, and the rows that
    regressions are fitted to, are drawn.
    """
    n_rows = X.shape[0]
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    chosen, fitted = shuffled[: count_landmarks(n_rows, sparse=is_sparse(X))], np.sort(shuffled[:_FITTED])
    made: dict[str, LeaveOneOutRidge] = {}
    with tqdm(total=len(names), unit="regression", disable=not progress, desc="asking regressions") as bar:

        def make(name: Kernel) -> None:
            made[name] = LeaveOneOutRidge(_features(X, name, importance, targets, chosen, fitted), fitted)
            bar.update()

        with single_threaded_blas():
            run_all(make, names, count_threads(n_jobs))
    return {name: made[name] for name in names}


def count_landmarks(n_rows: int, *, sparse: bool) -> int:
    """Return how many landmarks serve this many rows: all of few, half of more, and never more than some."""
    return min(n_rows, _SPARSE_LANDMARKS) if sparse else min(n_rows, max(_FEW_LANDMARKS, n_rows // 2), _LANDMARKS)


def _features(
    X: Any, name: Kernel, importance: FloatArray | None, targets: AnyArray, chosen: IndexArray, fitted: IndexArray
) -> Columns | Landmarks:
    if name == "linear" and not is_sparse(X) and X.shape[1] <= _WIDEST:
        return Columns(X, _linear_scale(X, targets, fitted))
    return Landmarks(X, name, chosen, column_scale(X, importance) if name == "laplace" else None)


def _linear_scale(X: AnyArray, targets: AnyArray, fitted: IndexArray) -> FloatArray | None:
    """Return what columns are multiplied with: what makes them equally spread, or None for nothing.

    The one that predicts the targets better. Columns of different units must be made alike; principal components and
    embeddings must not, as the last of them, which are mostly noise, would have as much say as the first. The
    regression is fitted to the rows `fitted`.
    """
    scale = column_scale(X, None)
    varying = scale[scale > 0.0] if scale is not None else np.empty(0)
    if len(varying) < 2 or varying.max() <= _ALIKE * varying.min():
        return scale
    some = fitted[:: max(1, -(-len(fitted) // _ROWS_FOR_SCALE))]
    errors = [LeaveOneOutRidge(Columns(X, one), some).error(targets) for one in (scale, None)]
    return scale if errors[0] <= errors[1] else None
