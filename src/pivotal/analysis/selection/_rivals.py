"""Other ways of choosing rows, by name, to compare with: chance, rankings, coverage, and values with limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.analysis.selection._exchange_search import Chosen, wished_shares
from pivotal.analysis.selection._likeness import KernelMeans
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.analysis.selection._wishes import Wishes, class_quotas
from pivotal.core.config import config_context
from pivotal.core.extras import needed
from pivotal.core.method_choice import Exact
from pivotal.core.metric_settings import as_metric
from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.validation import is_sparse
from pivotal.results.values import Values
from pivotal.valuation.value import value


class Choice(NamedTuple):
    """n of some rows are to be chosen."""

    data: SelectionData
    rows: IndexArray
    n: int
    rng: np.random.Generator


Rule = Callable[[Choice], IndexArray]

_MOST_PAIRS: Final = 4 * 10**8  # of a table of all pairs, 3 GB
_NASH: Final = 2.0  # the published factor
_CAP: Final = 0.3  # of the value that counts for a query in CDVM
_NEIGHBORS: Final = 5  # of which the plurality edits


@dataclass(frozen=True, eq=False)
class RivalMethod:
    """A rule that chooses rows by their number; `by_class`, each class gets its share even without quotas."""

    name: str
    rule: Rule
    by_class: bool = False
    seed: int = 0

    def on(self, data: SelectionData) -> Callable[[Wishes], Chosen]:
        """Return what chooses from these rows."""

        def choose(wishes: Wishes) -> Chosen:
            if not wishes.by_row:
                what = "groups" if wishes.groups is not None else "prices"
                raise ValueError(
                    f'{what} need method="exchange"; got {self.name!r}, which chooses rows by their number.'
                )
            rng = np.random.default_rng(self.seed)
            free = ~wishes.exclude & ~wishes.include
            n = wishes.n - int(wishes.include.sum())
            if not self.by_class and wishes.quotas is None:
                parts = [self.rule(Choice(data, np.flatnonzero(free), n, rng))] if n else []
            else:
                shares = wished_shares(wishes, data.class_counts())
                quotas = class_quotas(shares, data.class_counts(free), n)
                classes = [np.flatnonzero(free & (data.codes == code)) for code in range(data.n_classes)]
                parts = [
                    self.rule(Choice(data, rows, int(q), rng)) for rows, q in zip(classes, quotas, strict=True) if q
                ]
            rows = np.concatenate([np.flatnonzero(wishes.include), *parts])
            return Chosen(np.sort(rows).astype(np.int64))

        return choose


def _random(choice: Choice) -> IndexArray:
    return choice.rng.choice(choice.rows, choice.n, replace=False)


def _valued(data: SelectionData, **how: Any) -> Values:
    test = () if data.each_other else (data.queries, data.targets)
    settings: dict[str, Any] = {
        "k": 5,
        "utility": "soft",
        "query_weights": data.weights,
        "metric": as_metric(data.metric, data.metric_params),
        "neighbors": data.neighbors,
        "n_jobs": data.n_jobs,
        "classes": np.arange(int(max(data.codes.max(), data.targets.max())) + 1),
        **how,
    }
    with config_context(checkpoint=None):  # values are needed here and now, and one folder is for one valuation
        values: Values = value(data.X, data.codes, *test, **settings)
    return values


def _top(scores: FloatArray, rows: IndexArray, n: int) -> IndexArray:
    """Return the n of some rows with the highest scores, ties in order."""
    return rows[np.argsort(-scores[rows], kind="stable")[:n]]


def _by_value(semivalue: str, choice: Choice) -> IndexArray:
    return _top(_valued(choice.data, semivalue=semivalue).values, choice.rows, choice.n)


def _of_queries(data: SelectionData, semivalue: str) -> FloatArray:
    """Return the value of each row to each query, shape (n_queries, n_rows)."""
    if data.n_rows * len(data.targets) > _MOST_PAIRS:
        raise ValueError(
            f"this method keeps the value of every row to every query, {data.n_rows} x {len(data.targets)} numbers, "
            'which are too many. Use method="exchange", or fewer rows.'
        )
    values = _valued(data, semivalue=semivalue, method=Exact(per_query=True))
    assert values.queries is not None
    return values.queries.matrix.toarray()


def _nash(choice: Choice, *, scaled: bool) -> IndexArray:
    """Greedy on the sum over queries of 1 - exp(-factor * value of the chosen rows to it)."""
    data, rows, n, _ = choice
    # Shapley values of n of N rows add up to about n / N: unless the factor grows as that falls, 1 - exp(-x) is x.
    factor = _NASH * (data.n_rows / n if scaled else 1.0)
    left = np.exp(-factor * _of_queries(data, "shapley"))[:, rows]  # what a row leaves to be gained at a query
    to_gain, chosen = data.weights.copy(), np.empty(n, np.int64)
    open_rows = np.ones(len(rows), np.bool_)
    for t in range(n):
        gains = to_gain.sum() - to_gain @ left
        best = int(np.argmax(np.where(open_rows, gains, -np.inf)))
        chosen[t], open_rows[best] = rows[best], False
        to_gain *= left[:, best]
    return chosen


def _cdvm(choice: Choice) -> IndexArray:
    """Linear program: shares of rows that maximise the sum over queries of min(value of them to it, cap)."""
    data, rows, n, _ = choice
    from scipy import optimize, sparse

    program: Any = optimize.linprog  # its stubs know no sparse matrices, which it takes
    table = _of_queries(data, f"banzhaf({min(0.5, n / data.n_rows)!r})")[:, rows]
    table[np.abs(table) <= 1e-3] = 0.0  # entries that decide nothing make the program large
    n_queries = len(table)
    served = sparse.csr_array(sparse.hstack([sparse.csr_array(-table), sparse.eye_array(n_queries)]))
    total = sparse.csr_array(np.concatenate([np.ones(len(rows)), np.zeros(n_queries)])[np.newaxis])
    found = program(
        np.concatenate([np.zeros(len(rows)), -data.weights]),
        A_ub=served,
        b_ub=np.zeros(n_queries),
        A_eq=total,
        b_eq=[n],
        bounds=[(0, 1)] * len(rows) + [(None, _CAP)] * n_queries,
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(f"the linear program of CDVM was not solved: {found.message}")
    return rows[np.argsort(-found.x[: len(rows)], kind="stable")[:n]]


def _ccs(choice: Choice) -> IndexArray:
    """Coverage-centric: without the tenth of lowest value, as many rows from each of 50 ranges of value."""
    data, rows, n, rng = choice
    values = _valued(data).values
    kept = _top(values, rows, max(n, int(0.9 * len(rows))))
    edges = np.linspace(values[kept].min(), values[kept].max(), 51)
    places = np.clip(np.digitize(values[kept], edges) - 1, 0, 49)
    ranges = sorted((kept[places == place] for place in np.unique(places)), key=len)
    chosen: list[IndexArray] = []
    for i, part in enumerate(ranges):
        left = n - sum(map(len, chosen))
        chosen.append(rng.choice(part, min(len(part), left // (len(ranges) - i)), replace=False))
    return np.concatenate(chosen)


def _k_center(choice: Choice) -> IndexArray:
    """Farthest first: each row is the one farthest from those chosen; the first is the nearest to the mean."""
    data, rows, n, _ = choice
    chosen = np.empty(n, np.int64)
    if data.has_features:
        X = data.X[rows].toarray() if is_sparse(data.X) else np.asarray(data.X[rows], dtype=np.float64)

        def squared(place: int) -> FloatArray:
            apart: FloatArray = np.square(X - X[place]).sum(axis=1)
            return apart

        first = int(np.argmin(np.square(X - X.mean(axis=0)).sum(axis=1)))
    else:
        D = np.square(np.asarray(data.X[rows][:, rows], dtype=np.float64))

        def squared(place: int) -> FloatArray:
            apart: FloatArray = D[place]
            return apart

        first = int(np.argmin(D.sum(axis=1)))
    near = np.full(len(rows), np.inf)
    for t in range(n):
        best = first if t == 0 else int(np.argmax(near))
        chosen[t] = rows[best]
        near = np.minimum(near, squared(best))
        near[best] = -1.0
    return chosen


def _herding(choice: Choice) -> IndexArray:
    data, rows, n, rng = choice
    pool = np.zeros(data.n_rows, np.bool_)
    pool[rows] = True
    quotas = np.bincount(data.codes[rows[:1]], minlength=data.n_classes) * n  # called class by class
    return KernelMeans(data, int(rng.integers(2**31))).herd(pool, np.zeros_like(pool), quotas, rng)


def _facility_location(choice: Choice) -> IndexArray:
    """To one of n rows every row is alike: greedy on the sum of the best likenesses."""
    data, rows, n, _ = choice
    if data.n_rows**2 > _MOST_PAIRS:
        raise ValueError(
            f"facility location keeps all pairs of {data.n_rows} rows, which are too many. Use fewer rows."
        )
    with needed('method="facility-location" needs apricot', "selection"):
        from apricot import FacilityLocationSelection
    if n >= len(rows):
        return rows
    pairs = np.asarray(KernelMeans(data, 0).pairs, dtype=np.float64)[np.ix_(rows, rows)]
    rule = FacilityLocationSelection(n, metric="precomputed", optimizer="lazy", random_state=0)
    return rows[np.asarray(rule.fit(pairs).ranking, dtype=np.int64)]


def _edited(choice: Choice) -> IndexArray:
    """Edited nearest neighbours: rows whose label the plurality of their 5 nearest others has."""
    n_neighbors = min(_NEIGHBORS + 1, choice.data.n_rows)
    return _by_imblearn("edited", "EditedNearestNeighbours", choice, n_neighbors=n_neighbors, kind_sel="mode")


def _condensed(choice: Choice) -> IndexArray:
    """Condensed nearest neighbours: rows whose nearest-neighbour rule predicts all others."""
    seed = int(choice.rng.integers(2**31))
    return _by_imblearn("condensed", "CondensedNearestNeighbour", choice, n_neighbors=1, random_state=seed)


def _by_imblearn(method: str, name: str, choice: Choice, **how: Any) -> IndexArray:
    """Return n of the rows that a rule of imbalanced-learn keeps, drawn, with others where they are too few."""
    with needed(f'method="{method}" needs imbalanced-learn', "selection"):
        from imblearn import under_sampling
    data, rows, n, rng = choice
    if not data.has_features:
        raise ValueError("edited and condensed neighbours need features; got a precomputed metric. Pass features.")
    kept = rows
    if data.n_classes > 1:
        rule = getattr(under_sampling, name)(sampling_strategy="all", n_jobs=data.n_jobs, **how)
        rule.fit_resample(data.X, data.codes)
        kept = np.intersect1d(rows, np.asarray(rule.sample_indices_, dtype=np.int64))
    if len(kept) >= n:
        return rng.choice(kept, n, replace=False)
    others = rng.choice(np.setdiff1d(rows, kept), n - len(kept), replace=False)
    return np.concatenate([kept, others])


# Each by its rule, and whether it goes class by class.
RIVALS: Final[dict[str, tuple[Rule, bool]]] = {
    "random": (_random, False),
    "stratified": (_random, True),
    "value": (partial(_by_value, "banzhaf"), False),
    "shapley": (partial(_by_value, "shapley"), False),
    "nash": (partial(_nash, scaled=False), False),
    "nash-scaled": (partial(_nash, scaled=True), False),
    "cdvm": (_cdvm, False),
    "ccs": (_ccs, False),
    "k-center": (_k_center, False),
    "herding": (_herding, True),
    "facility-location": (_facility_location, True),
    "edited": (_edited, False),
    "condensed": (_condensed, False),
}


@dataclass(frozen=True, eq=False)
class RankedMethod:
    """The rows of highest value, by values that were computed before."""

    values: FloatArray
    name: str = "given values"

    def on(self, data: SelectionData) -> Callable[[Wishes], Chosen]:
        """Return what chooses from these rows, which must be all of those that have a value."""
        if data.n_rows != len(self.values):
            raise ValueError(
                "values that were computed before say nothing of fewer rows, and cannot be cross-validated; use "
                'method="value", which values anew.'
            )

        def rule(choice: Choice) -> IndexArray:
            return _top(self.values, choice.rows, choice.n)

        return RivalMethod(self.name, rule).on(data)
