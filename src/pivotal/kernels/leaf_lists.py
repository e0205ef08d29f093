"""Rows in the order of how often they share a leaf of a forest's trees with a query."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pivotal.core.types import CodeArray, IndexArray
from pivotal.kernels._compile import kernel


@kernel
def order_by_leaves(
    leaves: CodeArray,
    asked: npt.NDArray[np.bool_],
    starts: IndexArray,
    residents: CodeArray,
    near: CodeArray,
    own: CodeArray,
    scratch: CodeArray,
    lists: CodeArray,
) -> None:
    """Fill `lists` with the rows that share most leaves with each query; of equals, the nearer ones first.

    Rows that share none follow in the order of their distance, as far as that is known.

    Parameters
    ----------
    leaves : int32 array of shape (n_queries, n_trees)
        Number of the leaf of each query, counted over all trees.
    asked : bool array of shape (n_queries, n_trees)
        Which trees to ask; as a rule those that were grown without the query.
    starts : int64 array of shape (n_leaves + 1,)
        Where the rows of each leaf begin in `residents`.
    residents : int32 array of shape (n_rows * n_trees,)
        Rows of each leaf.
    near : int32 array of shape (n_queries, n_near)
        Nearest rows of each query, nearest first.
    own : int32 array of shape (n_queries,)
        The row that a query is, which is no neighbour of its own; -1 where it is not a row.
    scratch : int32 array of shape (3, n_rows)
        Scratch, its first row 0 on entry and on return.
    lists : int32 array of shape (n_queries, length)
        Output; -1 behind the last of a list.
    """
    n_trees, length = leaves.shape[1], lists.shape[1]
    shared, met, ordered = scratch[0], scratch[1], scratch[2]
    places = np.empty(n_trees + 2, np.int64)
    for q in range(leaves.shape[0]):
        n_met = 0
        for tree in range(n_trees):
            if not asked[q, tree]:
                continue
            leaf = leaves[q, tree]
            for e in range(starts[leaf], starts[leaf + 1]):
                row = residents[e]
                if row == own[q]:
                    continue
                if shared[row] == 0:
                    met[n_met] = row
                    n_met += 1
                shared[row] += 1
        # Counting sort, most leaves first; rows go in by distance, those that are not among the nearest behind them.
        places[:] = 0
        for i in range(n_met):
            places[n_trees - shared[met[i]] + 1] += 1
        for i in range(n_trees + 1):
            places[i + 1] += places[i]
        for i in range(near.shape[1]):
            row = near[q, i]
            if row >= 0 and shared[row] > 0:
                slot = n_trees - shared[row]
                ordered[places[slot]] = row
                places[slot] += 1
                shared[row] = -shared[row]  # it has its place
        for i in range(n_met):
            row = met[i]
            if shared[row] > 0:
                slot = n_trees - shared[row]
                ordered[places[slot]] = row
                places[slot] += 1
                shared[row] = -shared[row]
        count = min(n_met, length)
        for i in range(count):
            lists[q, i] = ordered[i]
        for i in range(near.shape[1]):
            if count == length:
                break
            if near[q, i] >= 0 and shared[near[q, i]] == 0:
                lists[q, count] = near[q, i]
                count += 1
        for i in range(count, length):
            lists[q, i] = -1
        for i in range(n_met):
            shared[met[i]] = 0
