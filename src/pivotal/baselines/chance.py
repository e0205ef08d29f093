"""Random values: what any method has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.random import as_generator, kept_seed
from pivotal.core.threads import count_threads
from pivotal.core.validation import check_features, check_same_length
from pivotal.core.version import __version__
from pivotal.neighbors import is_source, open_source
from pivotal.results.ids import ids_of
from pivotal.results.values import Values

__all__ = ["chance"]


def chance(
    X_train: Any,
    y_train: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,  # noqa: ARG001
) -> Values:
    """Give every training point a random value between 0 and 1.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As in `pivotal.value`. Only their numbers of rows matter.
    ids
        As in `pivotal.value`.
    random_state : int, Generator or None
        The same seed gives the same values.
    n_jobs, progress
        Part of the signature that all baselines share.

    Returns
    -------
    Values
        Without utilities and error bound, as this is not a game.

    Examples
    --------
    >>> from pivotal.baselines.chance import chance
    >>> chance([[0.0], [1.0], [2.0]], [0, 1, 1], random_state=0).values.round(3)
    array([0.637, 0.27 , 0.041])
    """
    n_train = _count_rows(X_train, y_train, "X_train", "y_train")
    n_queries = n_train if X_test is None else _count_rows(X_test, y_test, "X_test", "y_test")
    count_threads(n_jobs)
    return Values(
        as_generator(random_state).random(n_train),
        n_queries=n_queries,
        ids=ids_of(X_train, ids),
        settings={"method": "random", "random_state": kept_seed(random_state), "version": __version__},
    )


def _count_rows(X: Any, y: Any, x_name: str, y_name: str) -> int:
    rows = open_source(X, x_name) if is_source(X) else check_features(X, x_name)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"{y_name} must be one-dimensional, a label per point; got shape {labels.shape}.")
    check_same_length(rows, labels, x_name, y_name)
    return int(rows.shape[0])
