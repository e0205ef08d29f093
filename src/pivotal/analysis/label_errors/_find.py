"""From features and labels to suspects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors._edit import EditableVoters, FittedVoters
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._many_labels import find_wrong_cells
from pivotal.analysis.label_errors._model import check_model
from pivotal.analysis.label_errors._request import Request, check_features_of, check_number, check_odds
from pivotal.analysis.label_errors._voters import DEFAULT_SPARSE, QUICK, as_voters_see, check_voters
from pivotal.analysis.label_errors._wrong_classes import find_wrong_classes
from pivotal.analysis.label_errors._wrong_numbers import find_wrong_numbers
from pivotal.core.config import Resources
from pivotal.core.indicators import as_indicators, is_indicators
from pivotal.core.labels import ClassCodes, as_array, as_labels, as_responses, look_like_amounts, numbers_among
from pivotal.core.random import as_generator
from pivotal.core.threads import count_threads
from pivotal.core.types import AnyArray
from pivotal.core.validation import check_count, check_k, check_same_length, is_sparse
from pivotal.neighbors.metrics import MetricLike
from pivotal.results.ids import as_ids, ids_of

TaskChoice = Literal["auto", "classification", "regression", "multilabel"]
_READERS: Final[dict[str, Callable[[Any, str], AnyArray]]] = {
    "classification": as_labels, "regression": as_responses, "multilabel": as_indicators,
}  # fmt: skip


def find_label_errors(
    X: Any,
    y: Any,
    *,
    task: TaskChoice = "auto",
    voters: str | Sequence[str] | None = None,
    k: int = 20,
    n_trees: int = 100,
    model: Any = None,
    odds: float = 2.0,
    share: float | None = None,
    n: int | None = None,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    progress: bool | None = None,
) -> LabelErrors:
    """Find rows whose label is probably wrong: classes, numbers to be predicted, or any of many labels.

    No clean data and no model are needed: rows vote on each other, none on itself. By default there are four voters:
    rows in the same leaf of a random forest's trees, ridge regression on the classes, and ridge regression on how
    alike rows are to some of them, by two kernels. How much say each has is found from the data. The score of a row
    compares the votes for its label with those for the best other one. An estimate of how many labels are wrong comes
    with it. Opinions take 4 bytes per row, class and voter.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix or path, of shape (n_rows, n_features)
        Features, scaled as for a nearest-neighbour model: standardised, as a rule. A file, or a memmap, is read chunk
        by chunk and goes with ``n_trees=0`` and no model.
    y : array-like of shape (n_rows,) or (n_rows, n_labels)
        Labels of any type, some of them wrong; numbers to be predicted; or a table of 0 and 1, a column per label.
    task : {"auto", "classification", "regression", "multilabel"}, default="auto"
        What y holds. Fractions are numbers to be predicted, a table of several columns holds many labels, and all
        else holds classes.
    voters : str or sequence of str, optional
        Some of "neighbors", "forest", "linear", "rbf", "laplace"; all but the neighbours by default. For sparse
        features all but "rbf", which says much what "linear" does there.
    k : int, default=20
        Number of nearest neighbours that vote, or that are shown.
    n_trees : int, default=100
        Trees of the forest; of more than 10 000 rows, as many as give each row as many votes. 0 asks the nearest
        neighbours alone, unless `voters` says otherwise: quicker.
    model : estimator, optional
        A scikit-learn classifier, or regressor for numbers, whose out-of-fold predictions are one voter more.
    odds : float, default=2.0
        A row is a suspect if another label has at least this many times the votes of its own, at least 1; a number,
        if it is this many times as likely wrong as right. Lower it where many labels are wrong.
    share, n : float, int, optional
        How many suspects to name instead: a share of the rows, or a number; those with the lowest scores, whether or
        not they are probably wrong (`probable` says so).
    metric, metric_params, neighbors, max_memory
        As in `KNNValuation`.
    ids : array-like of shape (n_rows,), optional
        Names of the rows; a pandas index by default.
    random_state : int, Generator or None, default=0
        Seed of the forest, of landmarks and of folds.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise. Results
        do not depend on it.
    progress : bool, optional
        Whether to show progress bars; not by default, unless `pivotal.set_config` says otherwise.

    Returns
    -------
    LabelErrors
        Scores, suspects, suggested labels, how many are wrong, and a sentence about any row. `NumberErrors` for
        numbers, and `ManyLabelErrors` for many labels, are of this kind.

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
    seed = int(as_generator(random_state).integers(2**31))
    return _find(
        X, y, None, seed, task=task, voters=voters, k=k, n_trees=n_trees, model=model, odds=odds, share=share, n=n,
        metric=metric, metric_params=metric_params, neighbors=neighbors, ids=ids, n_jobs=n_jobs,
        max_memory=max_memory, progress=progress,
    )  # fmt: skip


def find_with_voters(
    X: Any, y: Any, *, random_state: int | None = 0, seed: int | None = None, **how: Any
) -> tuple[LabelErrors, EditableVoters]:
    """Find wrong classes, and return the voters too, which can follow edits.

    Parameters
    ----------
    X, y, random_state, **how
        As in `find_label_errors`; y holds classes.
    seed : int, optional
        Of `settings`, to find what was found before.
    """
    if seed is None:
        seed = int(as_generator(random_state).integers(2**31))
    kept = FittedVoters()
    asked = signature(find_label_errors).bind(X, y, **how)
    asked.apply_defaults()
    errors = _find(X, y, kept, seed, **asked.kwargs)
    return errors, EditableVoters(kept, errors.settings["weights"])


def _find(X: Any, y: Any, kept: FittedVoters | None, seed: int, **how: Any) -> LabelErrors:
    """Find label errors with all that `find_label_errors` takes, and keep the voters if asked for."""
    k, n_trees, odds = check_k(how["k"]), check_count(how["n_trees"], "n_trees", minimum=0), check_odds(how["odds"])
    asked = check_voters(how["voters"], n_trees)
    kind = _task_of(y, how["task"])
    resources = Resources.of(n_jobs=how["n_jobs"], max_memory=how["max_memory"], progress=how["progress"])
    count_threads(resources.n_jobs)
    model = how["model"]
    if model is not None:
        check_model(model, kind)
    labels = _READERS[kind](y, "y")
    features = check_features_of(X, asked, model, how["metric"])
    check_same_length(features, labels, "X", "y")
    n_rows = len(labels)
    if n_rows < 2:
        raise ValueError("label errors need at least two rows, which vote on each other; got 1. Add rows.")
    seen = None if asked == QUICK else as_voters_see(features)
    if how["voters"] is None and is_sparse(seen):
        asked = DEFAULT_SPARSE
    request = Request(
        X=features,
        seen=seen,
        ids=as_ids(ids_of(X, how["ids"]), n_rows),
        k=k,
        n_trees=n_trees,
        voters=asked,
        model=model,
        odds=odds,
        n_suspects=check_number(how["share"], how["n"], labels.size),
        seed=seed,
        neighbors=how["neighbors"],
        metric={name: how[name] for name in ("metric", "metric_params")},
        resources=resources,
    )
    if kind == "regression":
        return find_wrong_numbers(request, labels)
    if kind == "multilabel":
        columns = getattr(y, "columns", None)
        return find_wrong_cells(request, labels, np.arange(labels.shape[1]) if columns is None else np.asarray(columns))
    known, codes, _ = ClassCodes.encoding(labels, classes=classes_among(labels, said=how["task"] != "auto"))
    if kept is not None:
        kept.codes, kept.labels = codes, known.classes.to_numpy()
    return find_wrong_classes(request, labels, codes, len(known.classes), kept)


def _task_of(y: Any, task: object) -> str:
    """Return what y holds."""
    if task not in ("auto", *_READERS):
        raise ValueError(f"task must be one of auto, {', '.join(_READERS)}; got {task!r}.")
    if task != "auto":
        return str(task)
    if is_indicators(y):
        return "multilabel"
    array = as_array(y)
    numbers = array.ndim == 1 and array.dtype.kind == "f" and np.isfinite(array).all()
    return "regression" if numbers and (array != np.floor(array)).any() else "classification"


def classes_among(labels: AnyArray, *, said: bool) -> AnyArray | None:
    """Turn down integers that look like amounts, unless they were said to be classes; return these, or None for all."""
    numbers = numbers_among(labels)
    if numbers is None:
        return None
    if said:
        return np.unique(labels)
    found, counts = np.unique(numbers, return_counts=True)
    if look_like_amounts(found, counts):
        raise ValueError(
            f"labels must be classes, and {len(found)} different numbers among {len(labels)} labels look like amounts. "
            'Pass task="regression" to find wrong numbers; if each of them names a class, task="classification", or '
            "text such as y.astype(str)."
        )
    return None
