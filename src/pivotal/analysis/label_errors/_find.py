"""From features and labels to suspects."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._leaves import ask_leaves
from pivotal.analysis.label_errors._model import ask_model, check_model
from pivotal.analysis.label_errors._nearest import ask_nearest
from pivotal.core.labels import ClassCodes, as_array, as_labels
from pivotal.core.threads import count_threads
from pivotal.core.types import AnyArray, CodeArray, IndexArray
from pivotal.core.validation import check_features, check_k, check_probability, check_same_length, is_sparse
from pivotal.core.version import __version__
from pivotal.neighbors import NeighborAudit, as_bytes, as_index, is_source, open_source
from pivotal.neighbors.metrics import Metric
from pivotal.results.ids import as_ids, ids_of

__all__ = ["find_label_errors"]


def find_label_errors(
    X: Any,
    y: Any,
    *,
    k: int = 20,
    n_trees: int = 100,
    model: Any = None,
    odds: float = 2.0,
    share: float | None = None,
    n: int | None = None,
    metric: Metric = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = -1,
    max_memory: int | str | None = None,
    progress: bool = False,
) -> LabelErrors:
    """Find rows whose label is probably wrong, by what their neighbours say.

    No clean data and no model are needed: rows vote on each other. A row's neighbours vote for their own label, and the
    rows that have it among their neighbours vote too. Neighbours are of two kinds, with equal say: the nearest by
    distance, each counted by its chance to be among the k nearest in a random half of the rows, and those in the same
    leaf of a random forest's trees. The score of a row is the share of all these votes that agree with its label.
    They are counted in 8 bytes per row and class.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix or path, of shape (n_rows, n_features)
        Features, scaled as for a nearest-neighbour model: standardised, as a rule. A file, or a memmap, is read chunk
        by chunk and goes with ``n_trees=0`` and no model.
    y : array-like of shape (n_rows,)
        Labels of any type, some of them wrong.
    k : int, default=20
        Number of nearest neighbours that vote.
    n_trees : int, default=100
        Trees of the forest; 0 asks the nearest neighbours alone, which is quicker.
    model : classifier, optional
        A scikit-learn classifier whose out-of-fold probabilities have as much say as either kind of neighbour. Gradient
        boosting is a good choice for tables of numbers.
    odds : float, default=2.0
        A row is a suspect if another label has at least this many times the votes of its own: at least 1. Lower it
        where many labels are wrong.
    share, n : float, int, optional
        How many suspects to name instead: a share of the rows, or a number; those with the lowest scores, whether or
        not they are probably wrong (`probable` says so).
    metric, metric_params, neighbors, max_memory
        As in `KNNValuation`.
    ids : array-like of shape (n_rows,), optional
        Names of the rows; a pandas index by default.
    random_state : int, Generator or None, default=0
        Seed of the forest and of the folds.
    n_jobs : int, default=-1
        Threads; -1 is one per processor. Results do not depend on it.
    progress : bool, default=False
        Whether to show progress bars.

    Returns
    -------
    LabelErrors
        Scores, suspects, suggested labels, and a sentence about any row.

    Examples
    --------
    >>> from pivotal.analysis.label_errors import find_label_errors
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> y = ["cat", "cat", "dog", "cat", "dog", "dog", "dog", "dog"]
    >>> errors = find_label_errors(X, y, k=2, n_trees=0)
    >>> errors.suspects
    array([2])
    >>> errors.explain(2)
    'row 2 is labelled dog; 3 of its 5 nearest neighbours say cat; it hurts the predictions for rows 0, 1 and 3'
    >>> errors.corrected().tolist()
    ['cat', 'cat', 'cat', 'cat', 'dog', 'dog', 'dog', 'dog']
    """
    k, n_trees, odds = check_k(k), _check_trees(n_trees), _check_odds(odds)
    count_threads(n_jobs)
    if model is not None:
        check_model(model)
    labels = _classes(y)
    features = _features(X, n_trees, model, metric)
    check_same_length(features, labels, "X", "y")
    n_rows = len(labels)
    if n_rows < 2:
        raise ValueError("label errors need at least two rows, which vote on each other; got 1. Add rows.")
    n_suspects = _check_number(share, n, n_rows)
    names = as_ids(ids_of(X, ids), n_rows)
    known = ClassCodes.of(labels)
    codes, n_classes = known.encode(labels, "y"), len(known.classes)
    seed = int(np.random.default_rng(random_state).integers(2**31))

    index = as_index(
        neighbors, features, metric=metric, metric_params=metric_params, n_jobs=n_jobs, max_memory=max_memory
    )
    budget = None if max_memory is None else as_bytes(max_memory)
    near = ask_nearest(index, codes, n_classes, k, max_memory=budget, progress=progress)
    audit = NeighborAudit(neighbors, index, features, metric=metric, metric_params=metric_params, n_jobs=n_jobs)
    audit.check_lists(None, n_rows, near.indices.shape[1], weighted=False)
    verdict = audit.verdict(min(k, near.indices.shape[1]), weighted=False)
    votes = near.votes
    if n_trees and n_classes > 1:
        votes += ask_leaves(features, codes, n_classes, n_trees=n_trees, seed=seed, n_jobs=n_jobs, progress=progress)
    if model is not None and n_classes > 1:
        # Neighbours give a row one vote in all and cast, on average, one more.
        votes += 2.0 * ask_model(model, features, codes, n_classes, seed=seed, progress=progress)
    votes /= votes.sum(axis=1, keepdims=True)

    rows = np.arange(n_rows)
    own = votes[rows, codes]
    votes[rows, codes] = 0.0
    rival, rival_votes = votes.argmax(axis=1), votes.max(axis=1)
    outvoted = rival_votes > own
    order = np.argsort(own, kind="stable").astype(np.int64, copy=False)
    probable = outvoted & (rival_votes >= odds * own)
    suspects = order[probable[order]] if n_suspects is None else order[:n_suspects]
    return LabelErrors(
        scores=own,
        order=order,
        suspects=suspects,
        given=labels.copy(),
        suggested=labels[_first_of_each(codes, n_classes)][np.where(outvoted, rival, codes)],
        confidence=np.maximum(own, rival_votes),
        values=near.values,
        nearest=near.indices,
        spoiled=near.spoiled,
        probable=probable,
        ids=names,
        settings={
            "k": k,
            "n_trees": n_trees,
            "model": None if model is None else type(model).__name__,
            "odds": odds,
            "n_classes": n_classes,
            "neighbors_exact": verdict.exact,
            "recall": verdict.recall,
            "version": __version__,
        },
    )


def _classes(y: Any) -> AnyArray:
    """Return labels that are classes; numbers to be predicted have no wrong labels among them."""
    array = as_array(y)
    if array.ndim == 1 and array.dtype.kind == "f":
        odd = array[np.isfinite(array) & (array != np.floor(array))]
        if odd.size:
            raise ValueError(
                f"y must hold class labels, as label errors are found among classes; got the non-integer {odd[0]}. "
                'Rank numbers with pivotal.value(X, y, utility="regression") instead, and look at the lowest values.'
            )
    return as_labels(y, "y")


def _first_of_each(codes: CodeArray, n_classes: int) -> IndexArray:
    """Return a row of each class, so that labels keep their type."""
    rows = np.empty(n_classes, dtype=np.int64)
    rows[codes[::-1]] = np.arange(len(codes))[::-1]
    return rows


def _features(X: Any, n_trees: int, model: Any, metric: Metric) -> Any:
    """Return checked features, or a file to be read chunk by chunk."""
    who = "a forest" if n_trees else "a model"
    alone = "use n_trees=0 and no model"
    if is_source(X):
        if n_trees or model is not None:
            raise ValueError(f"{who} needs X in memory, and this is in a file; load it first, or {alone}.")
        return open_source(X, "X")
    features = check_features(X, "X")
    if metric == "precomputed" and (n_trees or model is not None):
        raise ValueError(f"{who} needs features, and with a precomputed metric X holds distances; {alone}.")
    if n_trees:
        largest = float(abs(features.data if is_sparse(features) else features).max(initial=0.0))
        most = float(np.finfo(np.float32).max)  # trees are grown in single precision
        if largest > most:
            raise ValueError(
                f"a forest needs numbers within ±{most:.1e}; got {largest:.1e}. Rescale the features, or use n_trees=0."
            )
    return features


def _check_trees(n_trees: object) -> int:
    if isinstance(n_trees, numbers.Integral) and not isinstance(n_trees, bool) and int(n_trees) >= 0:
        return int(n_trees)
    raise ValueError(f"n_trees must be an integer of at least 0; got {n_trees!r}.")


def _check_odds(odds: object) -> float:
    if isinstance(odds, numbers.Real) and math.isfinite(float(odds)) and float(odds) >= 1.0:
        return float(odds)
    raise ValueError(f"odds must be a finite number of at least 1; got {odds!r}.")


def _check_number(share: float | None, n: int | None, n_rows: int) -> int | None:
    """Return how many suspects were asked for; None leaves it to the votes."""
    if share is not None and n is not None:
        raise ValueError(f"share and n both say how many suspects to name; got share={share!r} and n={n!r}. Pass one.")
    if share is not None:
        return round(check_probability(share, "share") * n_rows)
    if n is None:
        return None
    if isinstance(n, numbers.Integral) and not isinstance(n, bool) and 0 <= int(n) <= n_rows:
        return int(n)
    raise ValueError(f"n must be an integer from 0 to {n_rows}, the number of rows; got {n!r}.")
