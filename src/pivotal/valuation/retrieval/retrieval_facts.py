"""What the settings say of a problem, and what engines need to know of it before they start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pivotal.core.games import Game
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import is_lazy
from pivotal.neighbors import blocks, fitting_queries
from pivotal.results.owner_codes import Owners
from pivotal.valuation.retrieval._judgements import Judgements
from pivotal.valuation.retrieval.retrieval_problem import RetrievalProblem, judged_first
from pivotal.valuation.retrieval.retrieval_truncation import max_missed


def group_names(groups: Any, documents: AnyArray) -> Any:
    """Return the group of each document; documents that a mapping does not name are an error."""
    if not isinstance(groups, Mapping):
        return groups
    names = documents.tolist()
    missing = [name for name in names if name not in groups]
    if missing:
        raise ValueError(
            f"groups must name the source of every document; {len(missing)} have none, such as {missing[0]!r}. "
            "Give documents without a source one of their own."
        )
    return [groups[name] for name in names]


def max_groups(problem: RetrievalProblem, owners: Owners, *, ignore: bool = False) -> int:
    """Return the largest number of groups in a list; of its judged documents alone, where the others are ignored."""
    work = partial(_count_groups, owners.codes.astype(np.int64), len(owners.names), ignore)
    if is_lazy(problem.indices):
        from pivotal.valuation.retrieval._retrieval_dask import each_block

        return max(int(most) for _, most in each_block(problem, work))
    return max(work(lists, judgements) for _, lists, judgements in problem.in_blocks())


def _count_groups(
    codes: IndexArray, n_groups: int, ignore: bool, lists: IndexArray, judgements: Judgements, *_: Any
) -> int:
    from pivotal.kernels.ranking_values import count_groups

    lists = judged_first(lists, judgements) if ignore else lists
    return int(count_groups(lists, codes, np.full(n_groups, -1, dtype=np.int64), 0))


def judged_share(problem: RetrievalProblem, k: int) -> float:
    """Return which share of the documents that are retrieved have a judgement."""
    judged, listed = 0, 0
    for _, lists, judgements in problem.in_blocks(k):
        judged += int(judgements.look_up(lists).judged.sum())
        listed += int((lists >= 0).sum())
    return judged / listed if listed else 0.0


def utility_range(problem: RetrievalProblem, game: Game, k: int) -> float:
    """Return the largest range of the utility over the queries."""
    most = 0.0
    for rows in blocks(len(problem.judgements), fitting_queries(max(1, problem.indices.shape[1]))):
        best = problem.judgements[rows].best()
        most = max(most, float(max_missed(game, best, best, k).max(initial=0.0)))
    return most


def full_utilities(problem: RetrievalProblem, game: Game, k: int) -> FloatArray:
    """Return the metric of every query with the corpus as it is."""
    parts = []
    for _, lists, judgements in problem.in_blocks(k):
        graded = judgements.look_up(lists)
        parts.append(game.full_utility(graded.grades, None, graded.best, 0, k))
    return np.concatenate(parts)
