"""Who is near whom: by distance, and by the leaves of a forest; and whose label the others confirm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.label_errors._leaves import as_trees_have_it, grow_forest
from pivotal.analysis.selection._confirmation import Confirmation, ask_others
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.core.progress import tqdm
from pivotal.core.threads import check_cancelled, count_threads, run_all, slices
from pivotal.core.types import CodeArray, IndexArray
from pivotal.engine.editing.coalition import Coalition
from pivotal.neighbors import Index, blocks

_ALL_ENTRIES: Final = 2 * 10**7  # of lists of neighbours, if all rows are on all of them
_ENTRIES: Final = 25 * 10**6  # of lists that are cut; if they are more, lists are short, or queries are sampled
_LEAVES: Final = 3 * 10**7  # that are kept, a number for each row and tree
_FEWEST_TREES: Final = 10
_FEWEST_QUERIES: Final = 2000
_ROWS_AT_ONCE: Final = 50_000
_QUERIES_AT_ONCE: Final = 1024  # between which an interruption is heard
_ENTRIES_PER_ROW: Final = 100  # the same, where there are so many rows that this is more
_COMPARED_WITH_ALL: Final = 100_000  # rows up to which each is compared with all others, unless asked for otherwise
_SPARE: Final = 4  # lists are this many times longer than needed if members were spread evenly
_SPARE_OF_MANY: Final = 0.5  # the same where enough queries would not have room with such lists
_QUERIES_PER_MEMBER: Final = 40  # queries that are enough; if there is room, all are asked
_MORE: Final = 50  # rows on each list besides


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a selection is judged by; it does not depend on how many rows are chosen.

    At most k neighbours vote, and without trees the nearest alone; the seed is of the forest and of sampled queries.
    """

    data: SelectionData
    k: int
    n_trees: int
    seed: int
    progress: bool

    @cached_property
    def index(self) -> Index:
        """Index of the rows; of very many, those of the nearest clusters are searched."""
        return self.data.index(beyond=_COMPARED_WITH_ALL)

    @cached_property
    def forest(self) -> Any:
        """A forest grown on the rows, or None."""
        if not self.n_trees or not self.data.has_features or self.data.n_classes < 2:
            return None
        return grow_forest(
            as_trees_have_it(self.data.X),
            self.data.codes,
            n_trees=min(self.n_trees, max(_FEWEST_TREES, _LEAVES // self.data.n_rows)),
            seed=self.seed,
            n_jobs=self.data.n_jobs,
        )

    @cached_property
    def confirmation(self) -> Confirmation:
        """What the neighbours say of each row's label."""
        return ask_others(self.data, self.index, self.forest, seed=self.seed, progress=self.progress)

    def pool(self, allowed: npt.NDArray[np.bool_], n: int) -> npt.NDArray[np.bool_]:
        """Return n rows or more to choose from: those that are confirmed, and if these are too few, the next best."""
        pool = self.confirmation.confirmed & allowed
        lacking = n - int(pool.sum())
        if lacking > 0:
            self.fill(pool, allowed, lacking)
        return pool

    def fill(self, pool: npt.NDArray[np.bool_], allowed: npt.NDArray[np.bool_], n: int) -> None:
        """Let the n next best of the rows that are allowed into the pool: those with whose labels most others agree."""
        others = np.flatnonzero(allowed & ~pool)
        pool[others[np.argsort(-self.confirmation.agreement[others], kind="stable")[:n]]] = True

    @property
    def whole(self) -> bool:
        """Whether all rows are on every list."""
        return self.data.n_rows * len(self.data.targets) <= _ALL_ENTRIES

    def coalition(self, n: int) -> Coalition:
        """Return a coalition without members, whose lists are long enough for n of them."""
        data = self.data
        n_asked, length = self._extent(n)
        asked = np.arange(len(data.targets))
        if n_asked < len(asked):
            asked = np.sort(np.random.default_rng(self.seed).choice(len(asked), n_asked, replace=False))
        lists = np.empty((n_asked if self.forest is None else 2 * n_asked, length), np.int32)
        self._nearest(asked, lists[:n_asked])
        shares = np.append(data.class_counts() / data.n_rows, 0.0)
        targets, weights, absent = data.targets[asked], data.weights[asked], shares[data.targets[asked]]
        if self.forest is None:
            return Coalition(lists, data.codes, targets, k=self.k, absent=absent, weights=weights)
        self._by_leaves(asked, lists[:n_asked], lists[n_asked:])
        both = [np.tile(part, 2) for part in (targets, absent, weights / 2.0)]
        return Coalition(lists, data.codes, both[0], k=self.k, absent=both[1], weights=both[2])

    def _extent(self, n: int) -> tuple[int, int]:
        """Return how many queries are asked, and how long their lists are, for n members."""
        n_rows, n_queries = self.data.n_rows, len(self.data.targets)
        n_others = n_rows - self.data.each_other
        if self.whole:
            return n_queries, n_others
        most = max(_ENTRIES, _ENTRIES_PER_ROW * n_rows)
        # Of few queries, each that is not asked costs more accuracy than lists on which some members are missing.
        asked = min(n_queries, _QUERIES_PER_MEMBER * n)
        lengths = [min(n_others, int(spare * self.k * -(-n_rows // n)) + _MORE) for spare in (_SPARE, _SPARE_OF_MANY)]
        length = int(np.clip(most // asked, lengths[1], lengths[0]))
        return min(n_queries, max(_FEWEST_QUERIES, most // length)), length

    def _nearest(self, asked: IndexArray, lists: CodeArray) -> None:
        """Fill `lists` with the nearest rows of some queries."""
        data, length = self.data, lists.shape[1]
        block = self.index.block_size(length, data.max_memory)
        walk = self._walk(asked)
        with tqdm(total=len(asked), unit="query", disable=not self.progress, desc="searching") as bar:
            for part in blocks(len(asked), block):
                some = part if walk is None else walk[part]
                if data.each_other:
                    lists[some] = self.index.search_rows(asked[some], length)[0]
                else:
                    lists[some] = self.index.search(data.queries[asked[some]], length)[0]
                bar.update(part.stop - part.start)

    def _walk(self, asked: IndexArray) -> IndexArray | None:
        """Return the order in which to ask for the lists of some queries, where one is faster than their own."""
        if not self.data.each_other:
            return self.index.walk_of(self.data.queries[asked])
        if self.index.walk is None:
            return None
        return np.argsort(np.argsort(self.index.walk)[asked])

    def _by_leaves(self, asked: IndexArray, near: CodeArray, lists: CodeArray) -> None:
        """Fill `lists` with the rows that share most leaves with some queries, in trees grown without these."""
        from pivotal.kernels.leaf_lists import order_by_leaves

        data, n_rows = self.data, self.data.n_rows
        leaves = _leaves(self.forest, data.X)
        starts, residents = _residents(leaves, sum(tree.tree_.node_count for tree in self.forest.estimators_))
        if data.each_other:
            own, asking, outside = asked.astype(np.int32), leaves[asked], np.ones(leaves.shape, np.bool_)
            for tree, drawn in enumerate(self.forest.estimators_samples_):
                outside[drawn, tree] = False
            outside = outside[asked]
        else:
            own = np.full(len(asked), -1, np.int32)
            asking = _leaves(self.forest, data.queries[asked])
            outside = np.ones(asking.shape, np.bool_)
        n_threads = count_threads(data.n_jobs)
        idle = [np.zeros((3, n_rows), np.int32) for _ in range(n_threads)]

        def order(part: slice) -> None:
            check_cancelled()
            scratch = idle.pop()
            try:
                rows = own[part], scratch, lists[part]
                order_by_leaves(asking[part], outside[part], starts, residents, near[part], *rows)
            finally:
                idle.append(scratch)

        run_all(order, slices(len(asked), _QUERIES_AT_ONCE, n_threads, lists.shape[1]), n_threads)


def _leaves(forest: Any, X: Any) -> CodeArray:
    """Return the leaves of rows, with numbers of their own whatever the tree; shape (n_rows, n_trees)."""
    counts = [tree.tree_.node_count for tree in forest.estimators_]
    first = np.cumsum([0, *counts[:-1]])
    rows = as_trees_have_it(X)
    leaves = np.empty((rows.shape[0], len(counts)), np.int32)
    for part in blocks(rows.shape[0], _ROWS_AT_ONCE):
        leaves[part] = forest.apply(rows[part]) + first
    return leaves


def _residents(leaves: CodeArray, n_leaves: int) -> tuple[IndexArray, CodeArray]:
    """Return the rows of each leaf, and where they begin; tree by tree, as leaves are numbered."""
    residents, counts = np.empty(leaves.T.shape, np.int32), np.zeros(n_leaves, np.int64)
    for tree, leaf in enumerate(leaves.T):
        residents[tree] = np.argsort(leaf, kind="stable")
        counts += np.bincount(leaf, minlength=n_leaves)
    return np.concatenate([[0], np.cumsum(counts)]), residents.ravel()
