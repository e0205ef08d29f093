"""Votes of the rows that share a leaf of a random forest: a neighbourhood that knows which features matter."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.types import CodeArray, FloatArray
from pivotal.core.validation import is_sparse

__all__ = ["as_trees_have_it", "ask_leaves", "grow_forest", "votes_of_leaves"]

_SMALLEST_LEAF: Final = 5
_ROWS_PER_TREE: Final = 20_000  # more rows than that make trees slow and hardly better


def ask_leaves(
    X: Any, codes: CodeArray, n_classes: int, *, n_trees: int, seed: int, n_jobs: int | None, progress: bool
) -> FloatArray:
    """Return votes for each class, received and cast; shape (n_rows, n_classes).

    A tree is grown on some rows, drawn with replacement. A row that was not drawn receives one vote in all, spread over
    the drawn rows of its leaf, and each of these has as much cast on it, for the label of the row outside. Votes are
    averaged over the trees a row is outside of.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Features.
    codes : int32 array of shape (n_rows,)
        Class codes of the labels as given.
    n_classes, n_trees : int
        Number of classes and of trees.
    seed : int
        Seed of the forest.
    n_jobs : int or None
        Threads that grow trees.
    progress : bool
        Whether to show a progress bar.
    """
    X = as_trees_have_it(X)
    forest = grow_forest(X, codes, n_trees=n_trees, seed=seed, n_jobs=n_jobs)
    return votes_of_leaves(forest, X, codes, n_classes, progress=progress)


def votes_of_leaves(forest: Any, X: Any, codes: CodeArray, n_classes: int, *, progress: bool) -> FloatArray:
    """Return what `ask_leaves` does, of a forest that was grown on the rows."""
    n_rows, n_trees = len(codes), len(forest.estimators_)
    draws = forest.estimators_samples_
    n_outside = np.full(n_rows, len(draws))
    for drawn in draws:
        n_outside[np.unique(drawn)] -= 1
    votes = np.zeros((n_rows, n_classes))
    trees = zip(forest.estimators_, draws, strict=True)
    for tree, drawn in tqdm(trees, total=n_trees, unit="tree", disable=not progress, desc="asking leaves"):
        leaf = tree.apply(X)
        cells, size = leaf * n_classes + codes, (leaf.max() + 1) * n_classes
        copies = np.bincount(drawn, minlength=n_rows)
        outside = np.flatnonzero(copies == 0)
        inside = np.flatnonzero(copies)
        shares = 1.0 / n_outside[outside]
        residents = np.bincount(cells[inside], weights=copies[inside], minlength=size).reshape(-1, n_classes)
        guests = np.bincount(cells[outside], weights=shares, minlength=size).reshape(-1, n_classes)
        residents_in_all = residents.sum(axis=1)
        votes[outside] += residents[leaf[outside]] * (shares / residents_in_all[leaf[outside]])[:, np.newaxis]
        votes[inside] += guests[leaf[inside]] * (copies[inside] / residents_in_all[leaf[inside]])[:, np.newaxis]
    return votes


def as_trees_have_it(X: Any) -> Any:
    """Return features in single precision, in which trees are grown."""
    return X.astype(np.float32) if is_sparse(X) else np.ascontiguousarray(X, dtype=np.float32)


def grow_forest(X: Any, codes: CodeArray, *, n_trees: int, seed: int, n_jobs: int | None) -> Any:
    """Return a fitted random forest whose leaves are neighbourhoods: no leaf is very small.

    Arguments as in `ask_leaves`, with features as trees have them.
    """
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        n_trees,
        min_samples_leaf=_SMALLEST_LEAF,
        max_samples=min(len(codes), _ROWS_PER_TREE),
        random_state=seed,
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings():
        # Many classes of few rows each are no mistake here.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        forest.fit(X, codes)
    return forest
