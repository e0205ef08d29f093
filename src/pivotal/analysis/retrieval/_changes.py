"""Removing and reweighting documents or sources, judged on queries that had no part in the choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from pivotal.analysis._evidence import evidence_of, rejected
from pivotal.core.config import Resources
from pivotal.core.games import Game
from pivotal.core.games.definition import check_option
from pivotal.core.random import check_random_state
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.validation import check_share
from pivotal.valuation.retrieval.problem_values import value_problem
from pivotal.valuation.retrieval.retrieval_facts import full_utilities, group_names
from pivotal.valuation.retrieval.retrieval_problem import RetrievalProblem
from pivotal.valuation.retrieval.retrieval_spec import RetrievalSpec
from pivotal.valuation.retrieval.searched_problem import open_problem

_SHARES = (0.001, 0.005, 0.01, 0.05, 0.1)
_STRENGTHS = (0.1, 0.3, 1.0)
_RANK_OFFSET = 60.0  # of reciprocal rank fusion


@dataclass(frozen=True, eq=False)
class Advice:
    """What changes of a corpus would do to queries that had no part in choosing them.

    Parameters
    ----------
    table : pandas DataFrame
        A row per change: what, changed (how many documents or sources), gain_seen (on the queries that chose it), gain,
        low, high and p_value (on the others, paired query by query) and supported: whether the gain is above 0 beyond
        chance, with Holm's correction for the number of changes that were tried.
    recommended : list
        Names of the documents or sources to remove, or (name, weight) pairs; empty where no change is supported.
    n_seen, n_unseen : int
        Queries that chose, and queries that judged.
    """

    table: pd.DataFrame
    recommended: list[Any]
    n_seen: int
    n_unseen: int

    def __str__(self) -> str:
        best = self.table[self.table["supported"]]
        if best.empty:
            return f"No change is supported by the {self.n_unseen} unseen queries."
        row = best.sort_values("gain", ascending=False).iloc[0]
        return (
            f"{row['what']}: {row['changed']} changed, gain {row['gain']:+.4f} on {self.n_unseen} unseen queries "
            f"(interval {row['low']:+.4f} to {row['high']:+.4f})."
        )


def advise_retrieval(
    rankings: Any,
    relevance: Any,
    k: int = 10,
    metric: str | Game = "ndcg",
    semivalue: str | Semivalue = "banzhaf",
    groups: Any = None,
    *,
    how: Literal["remove", "reweight"] = "remove",
    by: Literal["document", "source"] | None = None,
    unseen: float = 0.5,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
    **options: Any,
) -> Advice:
    """Try changes of a corpus on unseen queries; recommend one only if the error bar supports it.

    Some queries value the documents or sources, and the values choose what to change: those of lowest negative value
    are removed, in several numbers, or ranks are weighted up and down by value, with several strengths. The other
    queries judge: the metric with the change minus the metric without, query by query.

    Parameters
    ----------
    rankings, relevance, k, metric, semivalue, groups
        As in `pivotal.value_retrieval`. Lists should be longer than k: what moves up comes from behind.
    how : {"remove", "reweight"}
        What to try.
    by : {"document", "source"}, optional
        What is changed; sources if there are groups.
    unseen : float, default=0.5
        Share of the queries that judge.
    level : float, default=0.95
        Of the intervals; one minus the chance that any change is falsely supported.
    random_state : int, Generator or None
        Which queries judge.
    **options
        queries, depth, similarity, documents and query_ids, as in `pivotal.value_retrieval`.
    """
    check_option("advise_retrieval", "how", how, ("remove", "reweight"))
    by = by or ("document" if groups is None else "source")
    check_option("advise_retrieval", "by", by, ("document", "source"))
    if by == "source" and groups is None:
        raise ValueError('by="source" needs sources; got none. Pass groups=, the source of each document.')
    level, unseen = check_share(level, "level"), check_share(unseen, "unseen")
    spec = RetrievalSpec.of(k, metric, semivalue)
    game, k = spec.game, spec.k
    resources = Resources.of()
    problem = open_problem(rankings, relevance, spec, resources, **options)
    n_queries = len(problem.judgements)
    n_unseen = round(unseen * n_queries)
    if not 2 <= n_unseen <= n_queries - 1:
        raise ValueError(f"there must be a query that chooses and two that judge; got {n_queries} queries.")
    order = np.random.default_rng(check_random_state(random_state)).permutation(n_queries)
    judging, choosing = problem.part(np.sort(order[:n_unseen])), problem.part(np.sort(order[n_unseen:]))
    owners = None if by == "document" else np.asarray(group_names(groups, problem.documents), dtype=object)
    values = value_problem(choosing, spec, resources, groups=owners)
    codes = np.arange(len(problem.documents))
    if owners is not None:
        places = {name: place for place, name in enumerate(values.ids.tolist())}
        codes = np.array([places[owner] for owner in owners.tolist()], dtype=np.int64)
    changes = _removals(values.values) if how == "remove" else _reweightings(values.values)
    rows = []
    before = {part: full_utilities(part, game, k) for part in (choosing, judging)}
    for what, weights in changes:
        gains = {
            part: full_utilities(_changed(part, weights[codes]), game, k) - before[part] for part in (choosing, judging)
        }
        rows.append(
            (what, int((weights != 1.0).sum()), float(gains[choosing].mean()), *_interval(gains[judging], level))
        )
    names = ["what", "changed", "gain_seen", "gain", "low", "high", "p_value"]
    table = pd.DataFrame(rows, columns=names)
    table["supported"] = rejected(table["p_value"].to_numpy(dtype=np.float64), 1.0 - level, "holm") & (
        table["low"].to_numpy() > 0.0
    )
    chosen: list[Any] = []
    if table["supported"].any():
        weights = changes[int(np.argmax(np.where(table["supported"], table["gain"], -np.inf)))][1]
        touched = np.flatnonzero(weights != 1.0)
        names_of = values.ids.tolist()
        chosen = [names_of[i] if how == "remove" else (names_of[i], float(weights[i])) for i in touched]
    return Advice(table, chosen, n_queries - n_unseen, n_unseen)


def _removals(values: FloatArray) -> list[tuple[str, FloatArray]]:
    """Weights that are 0 for what is removed: the lowest of negative value, in several numbers."""
    order = np.argsort(values, kind="stable")
    negative = int((values < 0.0).sum())
    sizes = sorted({min(negative, max(1, round(share * len(values)))) for share in _SHARES} | {negative})
    changes = []
    for size in sizes:
        if size:
            weights = np.ones(len(values))
            weights[order[:size]] = 0.0
            changes.append((f"remove the lowest {size}", weights))
    return changes


def _reweightings(values: FloatArray) -> list[tuple[str, FloatArray]]:
    """Weights that rise with value: the exponential of the value over the largest, times a strength."""
    largest = float(np.abs(values).max()) or 1.0
    return [(f"weight by value, strength {s:g}", np.exp(s * values / largest)) for s in _STRENGTHS]


def _changed(problem: RetrievalProblem, weights: FloatArray) -> RetrievalProblem:
    """Return the rankings with documents weighted: their reciprocal rank times the weight decides, 0 removes."""
    lists = np.asarray(problem.indices, dtype=np.int64)
    scores = weights[lists] / (_RANK_OFFSET + np.arange(1, lists.shape[1] + 1))
    scores = np.where(lists >= 0, scores, 0.0)
    order: IndexArray = np.argsort(-scores, axis=1, kind="stable")
    gone = np.take_along_axis(scores, order, 1) <= 0.0
    return replace(problem, indices=np.where(gone, -1, np.take_along_axis(lists, order, 1)))


def _interval(gains: FloatArray, level: float) -> tuple[float, float, float, float]:
    """Mean of paired gains, its interval, and the chance of such a mean where there is no gain."""
    sums = np.array([gains.sum()]), np.array([np.square(gains).sum()])
    found = evidence_of(*sums, np.array([(gains != 0.0).sum()]), len(gains), level)
    return float(found.mean[0]), float(found.low[0]), float(found.high[0]), float(found.p_above[0])
