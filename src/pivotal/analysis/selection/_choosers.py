"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pivotal.analysis.selection._budget_search import search_budget
from pivotal.analysis.selection._exchange_search import Chosen, ExchangeSearch
from pivotal.analysis.selection._expectation import Chooser
from pivotal.analysis.selection._rivals import RIVALS, RankedMethod, RivalMethod
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.analysis.selection._surroundings import Surroundings
from pivotal.analysis.selection._wishes import Wishes
from pivotal.results.values import Values

METHODS: Final = ("exchange", *RIVALS)


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


def as_method(method: object, default: ExchangeMethod) -> Chooser:
    """Return the method that is meant; the default if it is called by its name."""
    if isinstance(method, Values):
        return RankedMethod(method.values)
    if isinstance(method, str) and method == default.name:
        return default
    if isinstance(method, str) and method in RIVALS:
        rule, by_class = RIVALS[method]
        return RivalMethod(method, rule, by_class, default.seed)
    raise ValueError(f"method must be one of {', '.join(METHODS)}, or Values; got {method!r}.")
