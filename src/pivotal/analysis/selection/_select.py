"""From features and labels to a selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.selection._budget_search import search_budget
from pivotal.analysis.selection._exchange_search import Chosen, ExchangeSearch
from pivotal.analysis.selection._expectation import Chooser, Estimation, Expectation
from pivotal.analysis.selection._rivals import RIVALS, RankedMethod, RivalMethod
from pivotal.analysis.selection._selected import Selection
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.analysis.selection._surroundings import Surroundings
from pivotal.analysis.selection._wishes import Wishes, as_mask
from pivotal.core.config import Resources
from pivotal.core.query_weights import QueryWeights
from pivotal.core.random import as_generator
from pivotal.core.validation import check_count, check_k, check_share, is_number
from pivotal.core.version import __version__
from pivotal.neighbors.metrics import MetricLike
from pivotal.results.ids import as_ids, ids_of
from pivotal.results.values import Values

METHODS: Final = ("exchange", *RIVALS)
_SHARES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)  # tried for the smallest selection that will do
_HALVINGS: Final = 3


def select(
    X: Any,
    y: Any,
    size: float | str | None = None,
    *,
    method: str | Values = "exchange",
    X_test: Any = None,
    y_test: Any = None,
    keep: float | None = None,
    query_weights: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    quotas: str | Mapping[Any, float] | None = None,
    include: npt.ArrayLike | None = None,
    exclude: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    prices: npt.ArrayLike | None = None,
    budget: float | None = None,
    k: int = 5,
    n_trees: int = 100,
    likeness: float = 2.0,
    passes: int = 2,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    max_memory: int | str | None = None,
    progress: bool | None = None,
) -> Selection:
    """Select rows that a model learns from nearly as well as from all of them.

    The default method maximises, over sets S of the wished size, the leave-one-out soft utility of S minus a distance
    of S from the data. The utility is that of the nearest members of S, averaged over 1 to k of them; nearest by
    distance and, with equal say, by the leaves of a random forest. The distance is that of two kernel means, class by
    class. Rows are chosen among those whose label the votes of their neighbours do not reject, start where S looks like
    the data (kernel herding), and are exchanged, one for one, while that helps. What a row adds to S is its exact value
    in the coalition S, updated as rows enter and leave.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        Features, scaled as for a nearest-neighbour model: standardised, as a rule.
    y : array-like of shape (n_rows,)
        Labels of any type.
    size : int, float or str, optional
        How many rows: an integer, a share such as 0.1, or a percentage such as "10%".
    method : str or Values, default="exchange"
        ``"exchange"``; or, to compare with, ``"random"``, ``"stratified"``, ``"value"`` (the highest soft Banzhaf
        values), ``"shapley"``, ``"nash"``, ``"nash-scaled"``, ``"cdvm"``, ``"ccs"``, ``"k-center"``, ``"herding"``,
        ``"facility-location"``, ``"edited"``, ``"condensed"``; or `Values`, of which the highest are taken.
    X_test, y_test : array-like, optional
        Queries with their labels, such as a validation set; by default the rows are their own queries, each without
        itself.
    keep : float, optional
        Instead of a size: select the smallest that keeps this share of the accuracy that all rows have, such as 0.99,
        as cross-validation estimates it.
    query_weights : array-like of shape (n_queries,), optional
        How much each query counts.
    class_weight : "balanced" or mapping, optional
        How much the queries of each class count.
    quotas : "data", "balanced" or mapping, optional
        Shares of the classes in the selection, held exactly as far as there are rows. By default those of the data, as
        far as there are rows that are confirmed.
    include, exclude : array-like, optional
        Positions of rows, or a mask: those that must be in and count towards the size, and those that must not.
    groups : array-like of shape (n_rows,), optional
        Owner of each row, say: groups are chosen whole, at most `size` rows in all.
    prices, budget : array-like of shape (n_rows,), and float, optional
        What each row costs, and what all may cost, instead of a size.
    k : int, default=5
        Largest number of neighbours that vote.
    n_trees : int, default=100
        Trees of the forest; 0 asks the nearest neighbours alone.
    likeness : float, default=2.0
        What looking like the data counts, beside the utility; of larger shares of the rows up to four times as much.
    passes : int, default=2
        How often each row is tried for an exchange, at most.
    metric, metric_params, neighbors, max_memory
        As in `KNNValuation`; but of more than 100 000 rows "auto" stands for those of the nearest clusters,
        `pivotal.neighbors.ClusteredIndex`, where that takes the rows and the metric.
    ids : array-like of shape (n_rows,), optional
        Names of the rows; a pandas index by default.
    random_state : int, Generator or None, default=0
        Seed of everything that is drawn.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise. Results do not
        depend on it.
    progress : bool, optional
        Whether to show progress bars; not by default, unless `pivotal.set_config` says otherwise. An interruption
        (Ctrl-C) while rows are exchanged returns what is reached.

    Returns
    -------
    Selection
        Rows, what was optimised, and what to expect of them.

    Examples
    --------
    >>> import pivotal
    >>> X = [[place + step / 10] for place in (0, 5) for step in range(12)]
    >>> y = ["cat"] * 12 + ["dog"] * 12
    >>> y[3] = "dog"
    >>> chosen = pivotal.select(X, y, 4, n_trees=0)
    >>> len(chosen), 3 in chosen.indices
    (4, False)
    """
    if not is_number(likeness, 0.0):
        raise ValueError(f"likeness must be a finite number of at least 0; got {likeness!r}.")
    if keep is not None:
        if size is not None or budget is not None:
            raise ValueError("keep says how many rows to select, as size and budget do; got two of them. Pass one.")
        keep = check_share(keep, "keep")
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
    limits = {"include": include, "exclude": exclude, "quotas": quotas, "groups": groups}
    if keep is not None:  # at most all that may be selected
        size = data.n_rows - int(as_mask(exclude, "exclude", data.n_rows).sum())
    wishes = Wishes.of(data, size, prices=prices, budget=budget, **limits)
    seed = int(as_generator(random_state).integers(2**31))
    settings: dict[str, Any] = {
        "k": check_k(k),
        "n_trees": check_count(n_trees, "n_trees", 0),
        "likeness": float(likeness),
        "passes": check_count(passes, "passes", 0),
        "seed": seed,
    }
    chooser = _as_method(method, ExchangeMethod(**settings, progress=resources.progress))
    names = as_ids(ids_of(X, ids), data.n_rows)
    estimation = Estimation(chooser, data, wishes, seed=seed, progress=resources.progress)
    found: tuple[Expectation, ...] = ()
    if keep is not None:
        expected = _smallest_keeping(estimation, keep)
        wishes, found = wishes.sized(expected.size), (expected,)
        estimation = replace(estimation, wishes=wishes)
    chosen = chooser.on(data)(wishes)
    rows = np.sort(chosen.rows)
    asked = {
        **settings,
        "size": wishes.n,
        "keep": keep,
        "quotas": quotas if quotas is None or isinstance(quotas, str) else "given",
        "n_classes": data.n_classes,
        "n_queries": len(data.targets),
        "queries": "rows" if data.each_other else "test data",
        "weighted": query_weights is not None or class_weight is not None,
        "groups": groups is not None,
        "budget": wishes.budget,
        "n_included": int(wishes.include.sum()),
        "n_excluded": int(wishes.exclude.sum()),
        "metric": metric if isinstance(metric, str) else "custom",
        "version": __version__,
    }
    return Selection(rows, names[rows], data.n_rows, chooser.name, chosen.facts, asked, found, estimation)


@dataclass(frozen=True)
class ExchangeMethod:
    """The default: exchanges of rows; parameters as in `pivotal.select`."""

    k: int
    n_trees: int
    likeness: float
    passes: int
    seed: int
    progress: bool
    name: str = "exchange"

    def on(self, data: SelectionData) -> Callable[[Wishes], Chosen]:
        """Return what chooses from these rows."""
        around = Surroundings(data, min(self.k, data.n_rows - 1), self.n_trees, self.seed, self.progress)
        search = ExchangeSearch(around, self.likeness, self.passes, self.seed)

        def choose(wishes: Wishes) -> Chosen:
            return search(wishes) if wishes.by_row else search_budget(search, wishes)

        return choose


def _as_method(method: object, default: ExchangeMethod) -> Chooser:
    """Return the method that is meant; the default if it is called by its name."""
    if isinstance(method, Values):
        return RankedMethod(method.values)
    if isinstance(method, str) and method == default.name:
        return default
    if isinstance(method, str) and method in RIVALS:
        rule, by_class = RIVALS[method]
        return RivalMethod(method, rule, by_class, default.seed)
    raise ValueError(f"method must be one of {', '.join(METHODS)}, or Values; got {method!r}.")


def _smallest_keeping(estimation: Estimation, keep: float) -> Expectation:
    """Return what to expect of the smallest selection that keeps a share of the accuracy of all rows.

    Sizes from 1 to 70 % of the rows are tried, then sizes between the first that will do and the one before it. If
    none will do, all rows that may be selected are.
    """
    most, n_classes = estimation.wishes.n, estimation.data.n_classes
    minimum = max(int(estimation.wishes.include.sum()), int(estimation.wishes.cheapest), min(n_classes, most))
    sizes = sorted({min(most, max(minimum, round(share * most))) for share in _SHARES})
    found = estimation.of_sizes(sizes)
    first = next((i for i, expected in enumerate(found) if expected.accuracy >= keep * expected.everything), None)
    if first is None:
        below, best = sizes[-1], estimation.of_sizes([most])[0]
    else:
        below, best = sizes[first - 1] if first else 0, found[first]
    for _ in range(_HALVINGS):
        middle = (below + best.size) // 2
        if first == 0 or middle <= below or middle >= best.size or best.size - below < 0.1 * best.size:
            break
        expected = estimation.of_sizes([middle])[0]
        if expected.accuracy >= keep * expected.everything:
            best = expected
        else:
            below = middle
    return best
