"""Votes of the rows that share a leaf of a random forest: a neighbourhood that knows which features matter."""

from __future__ import annotations

import math
import warnings
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.config import Resources
from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import is_sparse

_SMALLEST_LEAF: Final = 5
_ROWS_PER_TREE: Final = 20_000  # more rows than that make trees slow and hardly better
_ROWS_OF_VOTES: Final = 10_000  # the same where trees only vote


class Leaves(NamedTuple):
    """Where the rows are in the trees."""

    leaves: AnyArray
    """The leaf of each row in each tree; shape (n_trees, n_rows)."""

    copies: AnyArray
    """How often each row was drawn to grow each tree; shape (n_trees, n_rows)."""


class LeafVotes(NamedTuple):
    """What the rows in the same leaves say."""

    votes: FloatArray
    """Sums of what was voted for, received and cast; shape (n_rows, n_columns)."""

    importance: FloatArray
    """How much the forest uses each feature; shape (n_features,)."""

    places: Leaves | None
    """Where the rows are, if that was to be kept."""


def ask_leaves(
    X: Any,
    targets: AnyArray,
    columns: FloatArray,
    *,
    n_trees: int,
    seed: int,
    resources: Resources,
    keep: bool = False,
) -> LeafVotes:
    """Return votes received and cast.

    A tree is grown on some rows, drawn with replacement. A row that was not drawn receives one vote in all, spread over
    the drawn rows of its leaf, and each of these has as much cast on it, by the row outside. Votes are averaged over
    the trees a row is outside of. To `keep` where the rows are takes up to 3 bytes per row and tree, as a rule.

    Parameters
    ----------
    targets : array of shape (n_rows,) or (n_rows, n_labels)
        What trees are grown for: class codes or 0 and 1 (integers), or numbers (floats).
    columns : float64 array of shape (n_rows, n_columns)
        What each row votes for: 1 in the column of its class, say.
    n_trees : int
        Trees where rows are few; see `count_trees`.
    """
    X = as_trees_have_it(X)
    n_trees = count_trees(len(targets), n_trees)
    forest = grow_forest(X, targets, n_trees=n_trees, seed=seed, n_jobs=resources.n_jobs, max_rows=_ROWS_OF_VOTES)
    places = _room_for_places(forest, len(columns)) if keep else None
    votes = votes_of_leaves(forest, X, columns, progress=resources.progress, places=places)
    return LeafVotes(votes, np.asarray(forest.feature_importances_, dtype=np.float64), places)


def votes_of_leaves(
    forest: Any, X: Any, columns: FloatArray, *, progress: bool, places: Leaves | None = None
) -> FloatArray:
    """Return the votes that `ask_leaves` does, of a forest that was grown on the rows; fill `places`, if passed."""
    from scipy.sparse import csr_array

    n_rows, n_trees = len(columns), len(forest.estimators_)
    draws = forest.estimators_samples_
    n_outside = np.full(n_rows, len(draws))
    for drawn in draws:
        n_outside[np.unique(drawn)] -= 1
    votes = np.zeros(columns.shape)
    trees = zip(forest.estimators_, draws, strict=True)
    for number, (tree, drawn) in enumerate(
        tqdm(trees, total=n_trees, unit="tree", disable=not progress, desc="asking leaves")
    ):
        leaf = tree.apply(X)
        copies = np.bincount(drawn, minlength=n_rows)
        if places is not None:
            places.leaves[number], places.copies[number] = leaf, copies
        outside, inside = np.flatnonzero(copies == 0), np.flatnonzero(copies)
        shares, n_leaves = 1.0 / n_outside[outside], int(leaf.max()) + 1

        def gather(weights: AnyArray, rows: AnyArray, leaf: AnyArray = leaf, n_leaves: int = n_leaves) -> FloatArray:
            """Sums over the rows of each leaf."""
            places = csr_array((weights, (leaf[rows], np.arange(len(rows)))), shape=(n_leaves, len(rows)))
            sums: FloatArray = places @ columns[rows]
            return sums

        inside_votes, outside_votes = gather(copies[inside].astype(np.float64), inside), gather(shares, outside)
        residents_in_all = np.bincount(leaf[inside], weights=copies[inside], minlength=n_leaves)
        votes[outside] += inside_votes[leaf[outside]] * (shares / residents_in_all[leaf[outside]])[:, np.newaxis]
        votes[inside] += outside_votes[leaf[inside]] * (copies[inside] / residents_in_all[leaf[inside]])[:, np.newaxis]
    return votes


def count_trees(n_rows: int, n_trees: int) -> int:
    """Return how many trees give every row as many votes as this many would where rows are few.

    A tree votes on the rows that were not drawn for it: 37 % of few rows, and nearly all of many, of which it is grown
    on some.

    Examples
    --------
    >>> count_trees(1000, 100), count_trees(100_000, 100), count_trees(1_000_000, 100)
    (100, 41, 38)
    """
    drawn = min(n_rows, _ROWS_OF_VOTES) / n_rows
    return math.ceil(n_trees * math.exp(drawn - 1.0))


def _room_for_places(forest: Any, n_rows: int) -> Leaves:
    largest = max(tree.tree_.node_count for tree in forest.estimators_)
    often = max(int(np.bincount(drawn).max()) for drawn in forest.estimators_samples_)
    shape = len(forest.estimators_), n_rows
    return Leaves(np.empty(shape, np.min_scalar_type(largest)), np.empty(shape, np.min_scalar_type(often)))


def as_trees_have_it(X: Any) -> Any:
    """Return features in single precision, in which trees are grown."""
    return X.astype(np.float32) if is_sparse(X) else np.ascontiguousarray(X, dtype=np.float32)


def grow_forest(
    X: Any, targets: AnyArray, *, n_trees: int, seed: int, n_jobs: int | None, max_rows: int = _ROWS_PER_TREE
) -> Any:
    """Return a fitted random forest whose leaves are neighbourhoods: no leaf is very small.

    Arguments as in `ask_leaves`, with features as trees have them, and at most this many rows drawn for a tree.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    common: dict[str, Any] = {
        "n_estimators": n_trees,
        "min_samples_leaf": _SMALLEST_LEAF,
        "max_samples": min(len(targets), max_rows),
        "random_state": seed,
        "n_jobs": n_jobs,
    }
    numbers = targets.dtype.kind == "f"
    forest = RandomForestRegressor(max_features=1 / 3, **common) if numbers else RandomForestClassifier(**common)
    with warnings.catch_warnings():
        # Many classes of few rows each are no mistake here.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        forest.fit(X, targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets)
    return forest
