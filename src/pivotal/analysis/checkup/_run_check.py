"""From features and labels to findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis.checkup._check_up import CheckUp
from pivotal.analysis.checkup._class_balance import find_imbalance
from pivotal.analysis.checkup._column_faults import find_column_faults, find_missing
from pivotal.analysis.checkup._copies import find_conflicts, find_copies, find_leakage
from pivotal.analysis.checkup._finding import Finding, count_of, skipped
from pivotal.analysis.checkup._kinds import KINDS, as_names, as_thresholds
from pivotal.analysis.checkup._nearest_rows import KEPT, N_NEAR
from pivotal.analysis.checkup._outliers import find_outliers
from pivotal.analysis.checkup._row_order import find_order
from pivotal.analysis.checkup._weak_groups import find_clusters, find_weak_groups, how_good
from pivotal.analysis.checkup._worth import find_harmful, find_idle
from pivotal.analysis.label_errors import LabelErrors, find_label_errors
from pivotal.analysis.label_errors._find import classes_among
from pivotal.core.config import Resources
from pivotal.core.labels import ClassCodes, as_array, as_labels, as_responses
from pivotal.core.random import as_generator
from pivotal.core.threads import count_threads
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_features, check_k, check_same_length, is_sparse
from pivotal.core.version import __version__
from pivotal.neighbors import KeptLists, as_index, blocks
from pivotal.neighbors.metrics import MetricLike
from pivotal.results.ids import as_ids, ids_of
from pivotal.valuation.from_neighbors import value_from_neighbors

_NEEDS_LABELS: Final = ("label_errors", "conflicts", "class_imbalance", "weak_groups", "harmful")
_TOLERANCE: Final = 1e-9  # lists of what is kept suffice for it
_ABOUT_COLUMNS: Final = frozenset({"missing", "empty_columns", "constant_columns", "id_columns"})
_NEEDS_LISTS: Final = frozenset(KINDS) - _ABOUT_COLUMNS - {"class_imbalance"}


@dataclass(frozen=True, eq=False)
class _Given:
    """What was passed, checked."""

    X: Any
    content: pd.DataFrame
    y: AnyArray | None
    codes: CodeArray
    classes: AnyArray
    regression: bool
    ids: AnyArray
    owners: AnyArray | None = None
    test: Any = None
    targets: AnyArray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.ids)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 where numbers are predicted, or nothing."""
        return len(self.classes)


def check(
    X: Any,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    owners: npt.ArrayLike | None = None,
    columns: pd.DataFrame | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    only: Collection[str] | str | None = None,
    skip: Collection[str] | str = (),
    thresholds: Mapping[str, float] | None = None,
    k: int = 5,
    label_options: Mapping[str, Any] | None = None,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    progress: bool | None = None,
) -> CheckUp:
    """Look for everything that neighbours, labels and columns can tell about a data set, with one search.

    Wrong labels; exact and near duplicates, and those with different labels; training rows in the test set; outliers;
    rare classes; classes, owners and clusters that are predicted badly; an order that is not random; rows of no value,
    and rows that do harm; missing cells; empty, constant and id-like columns.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        Features, scaled as for a nearest-neighbour model. Gaps are a finding, and filled with medians for the others.
    y : array-like of shape (n_rows,), optional
        Labels: classes, or numbers to be predicted. Without them, what needs them is not looked for.
    X_test : array-like of shape (n_test, n_features), optional
        Test rows, prepared as X was: training rows among them are leakage, and they say which rows have no value.
    y_test : array-like of shape (n_test,), optional
        Their labels: with them, rows do harm to the predictions of the test rows; otherwise to those of each other.
    owners : array-like of shape (n_rows,), optional
        Whose row it is: a way to group rows.
    columns : pandas DataFrame of n_rows rows, optional
        The columns as they were before they became features, for what is said about columns; X itself by default.
    task : {"auto", "classification", "regression"}, default="auto"
        What y holds. Fractions are numbers to be predicted, and all else holds classes.
    only, skip : names of findings, optional
        What to look for, and what not; see `pivotal.analysis.checkup.KINDS`.
    thresholds : mapping of str to float, optional
        By name of the finding, in place of the usual ones: what scores below is found.
    k : int, default=5
        Neighbours that vote, for groups and rows of no value.
    label_options : mapping, optional
        What else to pass to `find_label_errors`.
    metric, metric_params, neighbors, max_memory
        As in `KNNValuation`; a precomputed metric has no rows to look at.
    ids : array-like of shape (n_rows,), optional
        Names of the rows; a pandas index by default.
    random_state : int, Generator or None, default=0
        Seed of everything drawn.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise.
    progress : bool, optional
        Whether to show progress bars; not by default, unless `pivotal.set_config` says otherwise.

    Returns
    -------
    CheckUp
        A mapping from names to findings, each with scores, a threshold, a sentence and advice.

    Examples
    --------
    >>> import pivotal
    >>> X = [[0.0], [0.0], [0.4], [1.0], [5.0], [5.5], [6.0], [6.6]]
    >>> y = ["cat", "dog", "cat", "cat", "dog", "dog", "dog", "dog"]
    >>> check = pivotal.check(X, y, skip=["label_errors"])
    >>> check["conflicts"].rows
    array([0, 1])
    >>> print(check["conflicts"].sentence)
    2 rows in 1 group of copies have different labels; 2 of them are equal to another to the last digit.
    """
    wanted = tuple(name for name in as_names(only, "only") if name not in as_names(skip, "skip"))
    limits, k = as_thresholds(thresholds), check_k(k)
    resources = Resources.of(n_jobs=n_jobs, max_memory=max_memory, progress=progress)
    count_threads(resources.n_jobs)
    if metric == "precomputed":
        raise ValueError('a check-up compares rows of features; got metric="precomputed". Use another metric.')
    given = _read(X, y, columns, ids, task)
    given = replace(
        given,
        owners=None if owners is None else as_ids(owners, given.n_rows),
        test=None if X_test is None else check_features(_without_gaps(X_test, given.X), "X_test", like=given.X),
        targets=None if y_test is None or X_test is None else as_array(y_test),
    )
    if given.targets is not None:
        check_same_length(given.test, given.targets, "X_test", "y_test")
    rng = as_generator(random_state)
    findings: list[Finding] = []
    errors: LabelErrors | None = None
    if not given.content.empty and _ABOUT_COLUMNS.intersection(wanted):
        findings += [find_missing(given.content, given.ids, limits["missing"] or 0.0)]
        findings += find_column_faults(given.content, limits)
    if given.n_classes:
        findings.append(find_imbalance(given.codes, given.classes, given.ids, limits["class_imbalance"] or 0.0))
    if _NEEDS_LISTS.intersection(wanted) and given.n_rows > 1:
        machine: dict[str, Any] = {"n_jobs": resources.n_jobs, "max_memory": resources.max_memory}
        index = as_index(neighbors, given.X, metric=metric, metric_params=metric_params, **machine)
        kept = KeptLists(index, min(KEPT, given.n_rows - 1))
        if "label_errors" in wanted and given.y is not None:
            how = {
                "task": "regression" if given.regression else "classification",
                "metric": metric,
                "metric_params": metric_params,
                "random_state": int(rng.integers(2**31)),
                "progress": resources.progress,
                **machine,
                **(label_options or {}),
            }
            finding, errors = _label_errors(given, kept, limits["label_errors"], how)
            findings.append(finding)
        kept.fill(resources.budget, progress=resources.progress)
        findings += _of_lists(given, kept, wanted, limits, k, rng, resources.budget)
        if "harmful" in wanted and given.y is not None:
            findings.append(_harmful(given, kept, limits["harmful"] or 0.0, k, resources))
    findings = _with_reason(findings)
    for name in wanted:
        if name not in {finding.name for finding in findings}:
            findings.append(skipped(name, given.ids if KINDS[name].about == "rows" else np.empty(0), _why(name, given)))
    settings = {
        "k": k,
        "metric": metric if isinstance(metric, str) else getattr(metric, "__name__", "function"),
        "n_features": int(given.X.shape[1]),
        "n_classes": given.n_classes,
        "task": "none" if given.y is None else "regression" if given.regression else "classification",
        "n_test": 0 if given.test is None else int(given.test.shape[0]),
        "version": __version__,
    }
    return CheckUp(
        [finding for finding in findings if finding.name in wanted],
        ids=given.ids,
        settings=settings,
        label_errors=errors,
    )


def _of_lists(
    given: _Given,
    kept: KeptLists,
    wanted: Collection[str],
    limits: Mapping[str, float | None],
    k: int,
    rng: np.random.Generator,
    budget: int | None,
) -> list[Finding]:
    """Return what the lists of nearest rows say."""
    near, distances, ids = kept.indices, kept.distances, given.ids
    k = min(k, kept.depth)
    copies = find_copies(given.X, near, distances, ids, limits["near_duplicates"])
    findings = [copies.exact, copies.near, find_outliers(near, distances, ids, limits["outliers"])]
    if "order" in wanted:
        labels = None if given.regression else given.y
        findings.append(find_order(near, distances, labels, ids, limits["order"] or 0.0, rng))
    if given.y is not None:
        findings.append(find_conflicts(copies, given.y, ids, limits["conflicts"] or 0.0, regression=given.regression))
    if given.y is not None and "weak_groups" in wanted:
        groups = _groups(given, int(rng.integers(2**31)))
        y = given.y if given.regression else given.codes
        good = how_good(near[:, :k], y, given.n_classes)
        findings.append(find_weak_groups(good, groups, ids, limits["weak_groups"] or 0.0, regression=given.regression))
    asked: AnyArray = near
    if given.test is not None:
        found, far = _search(kept, given.test, min(max(k, N_NEAR), given.n_rows), budget)
        findings.append(find_leakage(given.X, given.test, found, far, ids, copies, limits["leakage"]))
        asked = found
    findings.append(find_idle(asked, ids, k, limits["no_value"], by_test=given.test is not None))
    return findings


def _with_reason(findings: list[Finding]) -> list[Finding]:
    """Say where columns that name the rows may be what puts them in order."""
    named = [finding for finding in findings if finding.name == "id_columns" and finding.present]
    if not named:
        return findings
    few = ", ".join(map(str, named[0].ids[named[0].rows[:3]]))
    more = f" Columns that name the rows may be the reason: {few}."
    return [
        replace(finding, sentence=finding.sentence + more) if finding.name == "order" and finding.present else finding
        for finding in findings
    ]


def _harmful(given: _Given, kept: KeptLists, threshold: float, k: int, resources: Resources) -> Finding:
    """Return the rows that do harm to the test rows, where these have labels, or to each other."""
    assert given.y is not None
    near: AnyArray = kept.indices
    if given.targets is not None:
        near, _ = _search(kept, given.test, kept.depth, resources.budget)
    how: dict[str, Any] = {"utility": "regression" if given.regression else "soft", "tol": _TOLERANCE}
    how |= {"n_jobs": resources.n_jobs, "progress": resources.progress}
    values = value_from_neighbors(near.astype(np.int64), given.y, given.targets, k=min(k, kept.depth), **how)
    return find_harmful(values, given.ids, threshold)


def _label_errors(
    given: _Given, kept: KeptLists, threshold: float | None, how: dict[str, Any]
) -> tuple[Finding, LabelErrors | None]:
    try:
        errors = find_label_errors(given.X, given.y, neighbors=kept, ids=given.ids, **how)
    except ValueError as error:
        if not given.regression:
            raise
        return skipped("label_errors", given.ids, str(error)), None
    flagged = np.zeros(given.n_rows, np.bool_)
    flagged[errors.suspects] = True
    if threshold is not None:
        flagged = errors.scores < threshold
    n = int(flagged.sum())
    what = count_of(n, "number" if given.regression else "label")
    looks = f"{'looks' if n == 1 else 'look'} wrong by the votes of the other rows"
    sentence = f"{what} of {given.n_rows} {looks}; {errors.n_wrong.sentence}."
    if threshold is not None:
        sentence = f"{what} of {given.n_rows} {'scores' if n == 1 else 'score'} below {threshold:.3g}."
    details: dict[str, AnyArray] = {"label": np.array(errors.given), "suggested": np.array(errors.suggested)}
    finding = Finding(
        "label_errors", errors.scores, flagged, given.ids.view(), threshold, sentence, details, present=n > 0
    )
    return finding, errors


def _groups(given: _Given, seed: int) -> dict[str, AnyArray]:
    """Return ways to group the rows."""
    groups: dict[str, AnyArray] = {}
    if not given.regression:
        groups["class"] = as_array(given.y)
    if given.owners is not None:
        groups["owner"] = given.owners
    clusters = find_clusters(given.X, seed)
    if clusters is not None:
        groups["cluster"] = clusters
    return groups


def _search(kept: KeptLists, queries: Any, depth: int, budget: int | None) -> tuple[IndexArray, FloatArray]:
    parts = [kept.search(queries[rows], depth) for rows in blocks(queries.shape[0], kept.block_size(depth, budget))]
    return np.concatenate([near for near, _ in parts]), np.concatenate([far for _, far in parts])


def _why(name: str, given: _Given) -> str:
    """Say why something was not looked for."""
    if name == "leakage":
        return "there are no test rows; pass X_test."
    if given.y is None and name in _NEEDS_LABELS:
        return "there are no labels; pass y."
    if name == "class_imbalance":
        return "the labels are numbers, not classes."
    if given.n_rows < 2:
        return "there is only one row."
    return "the columns of sparse features are not looked at one by one; pass columns."


def _read(X: Any, y: Any, columns: pd.DataFrame | None, ids: npt.ArrayLike | None, task: str) -> _Given:
    """Check what was passed, and fill the gaps."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be one of auto, classification, regression; got {task!r}.")
    content = columns
    if content is None:
        content = pd.DataFrame() if is_sparse(X) else X if isinstance(X, pd.DataFrame) else _as_frame(X)
    features = check_features(_without_gaps(X, None), "X")
    n_rows = features.shape[0]
    if len(content) != n_rows and not content.empty:
        raise ValueError(f"columns must have a line for each of the {n_rows} rows of X; got {len(content)}.")
    names, nothing = as_ids(ids_of(X, ids), n_rows), np.zeros(n_rows, np.int32)
    given = _Given(features, content, None, nothing, np.empty(0), regression=False, ids=names)
    if y is None:
        return given
    array = as_array(y)
    fractions = array.dtype.kind == "f" and bool((array[np.isfinite(array)] % 1.0 != 0.0).any())
    regression = task == "regression" or (task == "auto" and fractions)
    labels = as_responses(y, "y") if regression else as_labels(y, "y")
    check_same_length(features, labels, "X", "y")
    if regression:
        return replace(given, y=labels, regression=True)
    known, codes, _ = ClassCodes.encoding(labels, classes=classes_among(labels, said=task != "auto"))
    return replace(given, y=labels, codes=codes, classes=np.asarray(known.classes))


def _as_frame(X: Any) -> pd.DataFrame:
    try:
        array = np.asarray(X)
        return pd.DataFrame(array) if array.ndim == 2 else pd.DataFrame()
    except ValueError:  # rows of different lengths, about which more is said elsewhere
        return pd.DataFrame()


def _without_gaps(X: Any, like: Any) -> Any:
    """Return features with NaN replaced by the median of the column, or of that of other rows."""
    if is_sparse(X):
        return X
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "fO":
        return X
    try:
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError):
        return X
    gaps = np.isnan(array)
    if not gaps.any():
        return X
    source = array if like is None or is_sparse(like) else np.asarray(like)
    some = ~np.isnan(source).all(axis=0)
    middle = np.zeros(array.shape[1])
    middle[some] = np.nanmedian(source[:, some], axis=0)
    return np.where(gaps, middle, array)
