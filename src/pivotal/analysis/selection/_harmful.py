"""Rows that do harm: which they are, and whether a model is better off without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis._linked_rows import count_classes
from pivotal.analysis.selection._expectation import Estimation
from pivotal.analysis.selection._rivals import RankedMethod
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.analysis.selection._wishes import Wishes, as_number
from pivotal.core.config import Resources
from pivotal.core.frozen import freeze_arrays
from pivotal.core.games import Soft
from pivotal.core.progress import tqdm
from pivotal.core.query_weights import QueryWeights
from pivotal.core.random import as_generator
from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_k
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.neighbors import blocks
from pivotal.neighbors.metrics import MetricLike
from pivotal.results.ids import as_ids, ids_of

_GRAIN: Final = 2.0**-24  # chance of having a say below which a neighbour is not asked
_RELIABLE: Final = 2.0  # standard errors by which a model must be better off


@dataclass(frozen=True, eq=False, repr=False)
class Removal:
    """Rows to omit, and why. Made by `pivotal.remove_harmful`; all arrays are read-only.

    Parameters
    ----------
    indices : int64 array
        Rows to omit, least valuable first; empty where nothing is reliably harmful.
    ids : array
        Their names.
    values, standard_errors : float64 arrays of shape (n_rows,)
        Soft Banzhaf value of each row, and its standard error over the queries.
    rejected : bool array of shape (n_rows,)
        Rows whose label fewer of the nearest have than another label.
    suspects : int64 array
        Rows of a value below 0 beyond its standard error whose label is rejected, least valuable first.
    gain, gain_error : float
        What 1 and 5 nearest neighbours gain in accuracy, on rows that took no part, when such rows are omitted, and
        the standard error; 0 if there are none or a number was asked for.
    requested : bool
        Whether a number of rows was asked for.
    """

    indices: IndexArray
    ids: AnyArray
    values: FloatArray
    standard_errors: FloatArray
    rejected: npt.NDArray[np.bool_]
    suspects: IndexArray
    gain: float
    gain_error: float
    requested: bool

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def kept(self) -> IndexArray:
        """Rows that stay, in their order."""
        return np.setdiff1d(np.arange(len(self.values)), self.indices)

    @property
    def order(self) -> IndexArray:
        """All rows, least valuable first."""
        return np.argsort(self.values, kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """One line per row to omit, least valuable first."""
        rows = self.indices
        return pd.DataFrame(
            {
                "row": rows,
                "id": self.ids,
                "value": self.values[rows],
                "standard_error": self.standard_errors[rows],
                "rejected": self.rejected[rows],
            }
        )

    def __len__(self) -> int:
        return len(self.indices)

    def __str__(self) -> str:
        n_rows, n = len(self.values), len(self.suspects)
        gained = f"{100 * self.gain:+.1f} ± {100 * self.gain_error:.1f} points of accuracy"
        if self.requested:
            return (
                f"the {len(self)} least valuable of {n_rows} rows, as asked for; {n} rows are of negative value and "
                "rejected by their neighbours"
            )
        if n == 0:
            return f"nothing is reliably harmful among {n_rows} rows"
        if len(self) == 0:
            return (
                f"nothing is reliably harmful among {n_rows} rows: {n} of negative value and rejected by their "
                f"neighbours, but without such rows nearest neighbours gain {gained} on rows that took no part"
            )
        return f"{len(self)} of {n_rows} rows do harm: without such rows nearest neighbours gain {gained}"

    def __repr__(self) -> str:
        return f"Removal({self})"


def remove_harmful(
    X: Any,
    y: Any,
    size: float | str | None = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    k: int = 5,
    query_weights: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    progress: bool | None = None,
) -> Removal:
    """Say which rows a model is better off without, if any.

    A row is suspected if its soft Banzhaf value to the predictions of the others is below 0 beyond its standard error,
    and another label is more frequent than its own among its nearest k. Such rows are omitted if that is shown to
    help: nearest-neighbour models (1 and 5 neighbours) must be more accurate on rows that took no part, in 5-fold
    cross-validation, by more than 2 standard errors. On clean data they rarely are, and nothing is removed.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        Features, scaled as for a nearest-neighbour model.
    y : array-like of shape (n_rows,)
        Labels of any type, some of them perhaps wrong.
    size : int, float or str, optional
        How many rows to remove in any case, those of lowest value: a number, a share, or a percentage.
    X_test, y_test : array-like, optional
        Queries by whose predictions rows are valued; by default the rows themselves.
    k : int, default=5
        Number of neighbours that vote.
    query_weights, class_weight
        How much queries count, as in `select`.
    metric, metric_params, neighbors, max_memory
        As in `KNNValuation`.
    ids : array-like of shape (n_rows,), optional
        Names of the rows; a pandas index by default.
    random_state : int, Generator or None, default=0
        Seed of the folds.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise.
    progress : bool, optional
        Whether to show progress bars; not by default, unless `pivotal.set_config` says otherwise.

    Returns
    -------
    Removal
        Rows to omit and rows to keep, with values, errors, and what is gained.

    Examples
    --------
    >>> import numpy as np
    >>> import pivotal
    >>> X = np.concatenate([np.linspace(0, 1, 40), np.linspace(5, 6, 40)])[:, np.newaxis]
    >>> y = np.repeat([0, 1], 40)
    >>> print(pivotal.remove_harmful(X, y))
    nothing is reliably harmful among 80 rows
    >>> y[[3, 14, 25, 36, 47, 58, 69]] ^= 1
    >>> pivotal.remove_harmful(X, y).kept.size
    73
    """
    resources = Resources.of(n_jobs=n_jobs, max_memory=max_memory, progress=progress)
    data = SelectionData.of(
        X,
        y,
        test=(X_test, y_test),
        weights=QueryWeights(query_weights, class_weight),
        metric=metric,
        metric_params=metric_params,
        neighbors=neighbors,
        resources=resources,
    )
    number = None if size is None else as_number(size, data.n_rows)
    if number == data.n_rows:
        raise ValueError(f"size must leave at least one of the {data.n_rows} rows; got {size!r}. Lower it.")
    names = as_ids(ids_of(X, ids), data.n_rows)
    found = _Found.of(data, check_k(k), progress=resources.progress)
    suspects = found.suspects
    gain = error = 0.0
    if number is not None:
        indices = np.argsort(found.values, kind="stable")[:number]
    elif suspects.size == 0:
        indices = suspects
    else:
        seed = int(as_generator(random_state).integers(2**31))
        gain, error = _gain(data, k, seed, progress=resources.progress)
        indices = suspects if gain > _RELIABLE * error else suspects[:0]
    asked, ids = number is not None, names[indices]
    return Removal(indices, ids, found.values, found.errors, found.rejected, suspects, gain, error, asked)


@dataclass(frozen=True, eq=False)
class _Found:
    """Values, their standard errors, and whose label is rejected."""

    values: FloatArray
    errors: FloatArray
    rejected: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, data: SelectionData, k: int, *, progress: bool) -> _Found:
        index, n_rows = data.index(), data.n_rows
        n_queries, most = len(data.targets), n_rows - data.each_other
        k = min(k, most)
        depth = max(k, Banzhaf().depth(k, _GRAIN, most))
        solver = make_solver(Soft(), Banzhaf(), k, depth, data.n_classes + 1)
        sums, squares = np.zeros(n_rows), np.zeros(n_rows)
        total = float(data.weights.sum())
        with tqdm(total=n_queries, unit="query", disable=not progress, desc="valuing") as bar:
            for part in blocks(n_queries, index.block_size(depth, data.max_memory)):
                if data.each_other:
                    near = index.search_self(part.start, part.stop, depth)[0]
                else:
                    near = index.search(data.queries[part], depth)[0]
                near = np.ascontiguousarray(near)
                values = np.empty(near.shape)
                solver.solve(Block(data.codes[near], None, data.targets[part]), solver.scratch(), values)
                values *= data.weights[part, np.newaxis]
                sums += np.bincount(near.ravel(), values.ravel(), minlength=n_rows)
                squares += np.bincount(near.ravel(), (values**2).ravel(), minlength=n_rows)
                bar.update(part.stop - part.start)
        means = sums / total
        # Of a mean over queries; a row is worth nothing to most of them, and to itself it is no query.
        asked = n_queries - data.each_other
        variance = np.maximum(squares / asked - (sums / asked) ** 2, 0.0)
        return cls(means, np.sqrt(variance / asked), _rejected(data, k))

    @property
    def suspects(self) -> IndexArray:
        """Rows that seem to do harm, least valuable first."""
        order = np.argsort(self.values, kind="stable")
        harmful = (self.values + self.errors < 0.0) & self.rejected
        return order[harmful[order]]


def _rejected(data: SelectionData, k: int) -> npt.NDArray[np.bool_]:
    """Return which rows have a label that fewer of their nearest others have than another label."""
    index, n_rows = data.index(), data.n_rows
    k = min(k, n_rows - 1)
    rejected = np.empty(n_rows, np.bool_)
    for part in blocks(n_rows, index.block_size(k, data.max_memory)):
        near = data.codes[index.search_self(part.start, part.stop, k)[0]]
        votes = count_classes(near, data.n_classes)
        rejected[part] = votes[np.arange(len(near)), data.codes[part]] < votes.max(axis=1)
    return rejected


def _gain(data: SelectionData, k: int, seed: int, *, progress: bool) -> tuple[float, float]:
    """Return what nearest neighbours gain without suspects, on rows that took no part, and its standard error."""
    no_row = np.zeros(data.n_rows, np.bool_)
    judge = Estimation(RankedMethod(np.zeros(data.n_rows)), data, Wishes(1, no_row, no_row), seed=seed)
    alone = replace(judge, model=data.neighbors_model(1))
    gains = []
    for seen, held in tqdm(judge.folds(), unit="fold", disable=not progress, desc="cross-validating"):
        part, rows = data.seen(seen)
        kept = np.delete(rows, _Found.of(part, k, progress=False).suspects)
        gains += [sum(model.correct(kept, held) - model.correct(rows, held) for model in (judge, alone)) / 2.0]
    every = np.concatenate(gains)
    return float(every.mean()), float(every.std(ddof=1) / np.sqrt(len(every)))
