"""The default method: start where the chosen rows look like the data, then exchange rows while that helps."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.selection._likeness import KernelMeans, draw_tries
from pivotal.analysis.selection._surroundings import Surroundings
from pivotal.analysis.selection._wishes import Wishes, class_quotas
from pivotal.core.progress import tqdm
from pivotal.core.types import FloatArray, IndexArray
from pivotal.engine.editing.coalition import Coalition
from pivotal.kernels.coalition_arrays import Likeness
from pivotal.neighbors import blocks

_AT_ONCE: Final = 64  # exchanges between two looks at the clock and the keyboard
_ENTER_AT_ONCE: Final = 4096
_MORE_LIKENESS: Final = 20.0  # by which likeness counts more, times the share of the rows that is chosen
_LARGE_SHARE: Final = 0.15  # beyond, it counts no more than there


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rows, and what is to be said of them."""

    rows: IndexArray
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ExchangeSearch:
    """Chooses rows by their number, for one set of data; what does not depend on the number is computed once.

    Likeness is what looking like the data counts, beside the utility; in each pass, every chosen row is tried.
    """

    around: Surroundings
    likeness: float
    passes: int
    seed: int

    @cached_property
    def means(self) -> KernelMeans:
        """The kernel that likeness is measured with."""
        return KernelMeans(self.around.data, self.seed)

    def begin(self, pool: npt.NDArray[np.bool_], shares: FloatArray, coalition: Coalition, n: int) -> Likeness:
        """Return the likeness of n rows to be counted in.

        The more rows are chosen, the less each adds to the votes of nearest neighbours, and the more other models gain
        from rows that look like the data: likeness counts four times as much from 15 % of the rows on.
        """
        share = min(n / self.around.data.n_rows, _LARGE_SHARE)
        scale = self.likeness * (1.0 + _MORE_LIKENESS * share) * float(coalition.lists.weights.sum())
        return self.means.begin(pool, shares, n, scale)

    def __call__(self, wishes: Wishes) -> Chosen:
        """Choose rows; an interruption ends the exchanges and keeps what they have reached."""
        rng = np.random.default_rng(self.seed)
        data = self.around.data
        pool = self.around.pool(~wishes.exclude, wishes.n) | wishes.include
        quotas = self.quotas(wishes, pool)
        start = self.means.herd(pool, wishes.include, quotas, rng)
        shares = np.bincount(data.codes[start], minlength=data.n_classes) / len(start)
        coalition = self.around.coalition(wishes.n)
        like = self.begin(pool, shares, coalition, wishes.n)
        enter_all(coalition, like, start)
        before = coalition.utility
        work = self._exchange(coalition, like, start[wishes.include.sum() :], pool & ~wishes.include, rng)
        rows = coalition.members
        total = float(coalition.lists.weights.sum())
        return Chosen(
            rows,
            {
                "utility": coalition.utility / total,
                "utility_at_start": before / total,
                "discrepancy": self.means.discrepancy(pool, shares, rows),
                "discrepancy_at_start": self.means.discrepancy(pool, shares, start),
                "n_confirmed": int(self.around.confirmation.confirmed.sum()),
                "n_queries": len(coalition.lists.targets) // (1 if self.around.forest is None else 2),
                "list_length": int(coalition.lists.points.shape[1]),
                "whole_lists": self.around.whole,
                "exact_neighbors": self.around.index.exact,
                "kernel": "all pairs" if self.means.of_pairs else "random features",
                **work,
            },
        )

    def quotas(self, wishes: Wishes, pool: npt.NDArray[np.bool_]) -> IndexArray:
        """Return how many rows of each class to choose; the pool gets the next best of a class that has too few."""
        data = self.around.data
        shares = wished_shares(wishes, data.class_counts())
        minimum = data.class_counts(wishes.include)
        available = data.class_counts(pool)
        if wishes.quotas is not None:
            # What was asked for counts more than what the neighbours say: rows that they reject fill a quota.
            available = data.class_counts(~wishes.exclude)
        quotas = class_quotas(shares, available - minimum, wishes.n - int(minimum.sum())) + minimum
        if minimum.any():
            direct = np.maximum(class_quotas(shares, available, wishes.n), minimum)
            quotas = direct if direct.sum() == wishes.n else quotas
        lacking = quotas - data.class_counts(pool)
        for code in np.flatnonzero(lacking > 0):
            self.around.fill(pool, (data.codes == code) & ~wishes.exclude, int(lacking[code]))
        return quotas

    def _exchange(
        self,
        coalition: Coalition,
        like: Likeness,
        members: IndexArray,
        pool: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        """Exchange members for others of their class until nothing changes; return what was done."""
        from pivotal.kernels.exchange import exchange

        candidates = np.flatnonzero(pool).astype(np.int32)
        allowed = np.where(pool, 2, 0).astype(np.int32)
        members = members.copy()
        facts = {"exchanges": 0, "passes": 0, "converged": False, "interrupted": False}
        try:
            with tqdm(
                total=self.passes * len(members), unit="row", disable=not self.around.progress, desc="exchanging"
            ) as bar:
                for _ in range(self.passes):
                    members = rng.permutation(members)
                    before = facts["exchanges"]
                    for start in range(0, len(members), _AT_ONCE):
                        part = members[start : start + _AT_ONCE]
                        tried = part.copy()
                        tries = candidates[np.newaxis]
                        if not self.means.of_pairs:
                            tries = candidates[draw_tries(len(candidates), len(members), max(2, len(part)), rng)]
                        exchange(coalition.lists, coalition.now, like, part, tries, allowed)
                        facts["exchanges"] += int((part != tried).sum())
                        bar.update(len(part))
                    facts["passes"] += 1
                    if facts["exchanges"] == before:
                        facts["converged"] = True
                        break
        except KeyboardInterrupt:
            facts["interrupted"] = True
        return facts


def wished_shares(wishes: Wishes, counts: IndexArray) -> FloatArray:
    """Return the shares of the classes: those asked for, those of the data where nothing was said."""
    if isinstance(wishes.quotas, np.ndarray):
        return wishes.quotas
    if wishes.quotas == "balanced":
        return (counts > 0).astype(np.float64)
    return counts.astype(np.float64)


def enter_all(coalition: Coalition, like: Likeness, rows: IndexArray) -> None:
    """Let rows become members, and count them in."""
    from pivotal.kernels.exchange import enter_many

    for part in blocks(len(rows), _ENTER_AT_ONCE):  # in between, an interruption is heard
        enter_many(coalition.lists, coalition.now, like, rows[part])
