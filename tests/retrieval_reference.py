"""Retrieval games spelled out: every coalition of one query. Nothing is imported from the package.

Metrics are written down once more from their definitions in the literature, with plain loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from reference import mass

# ruff: noqa: ARG001  metrics take the same arguments
Metric = Callable[[list[float], list[float], int], float]


def precision(grades: list[float], judged: list[float], k: int) -> float:
    return sum(grade > 0 for grade in grades[:k]) / k


def recall(grades: list[float], judged: list[float], k: int) -> float:
    there = sum(grade > 0 for grade in judged)
    return sum(grade > 0 for grade in grades[:k]) / there if there else 0.0


def dcg(grades: list[float], judged: list[float], k: int) -> float:
    return math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(grades[:k], start=1))


def dcg_exponential(grades: list[float], judged: list[float], k: int) -> float:
    return math.fsum((2**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades[:k], start=1))


def ndcg(grades: list[float], judged: list[float], k: int) -> float:
    ideal = dcg(sorted(judged, reverse=True), judged, k)
    return dcg(grades, judged, k) / ideal if ideal else 0.0


def ndcg_exponential(grades: list[float], judged: list[float], k: int) -> float:
    ideal = dcg_exponential(sorted(judged, reverse=True), judged, k)
    return dcg_exponential(grades, judged, k) / ideal if ideal else 0.0


def hit(grades: list[float], judged: list[float], k: int) -> float:
    return float(any(grade > 0 for grade in grades[:k]))


def reciprocal_rank(grades: list[float], judged: list[float], k: int) -> float:
    for place, grade in enumerate(grades[:k], start=1):
        if grade > 0:
            return 1.0 / place
    return 0.0


def best(grades: list[float], judged: list[float], k: int) -> float:
    return max(grades[:k], default=0.0)


METRICS: dict[str, Metric] = {
    "precision": precision,
    "recall": recall,
    "dcg": dcg,
    "dcg-exp": dcg_exponential,
    "ndcg": ndcg,
    "ndcg-exp": ndcg_exponential,
    "hit": hit,
    "rr": reciprocal_rank,
    "best": best,
}


def player_values(
    owners: Sequence[int],
    n_players: int,
    grades: Sequence[float],
    judged: Sequence[float],
    k: int,
    metric: Metric,
    semivalue: Sequence[Any],
) -> list[float]:
    """Values of players who own ranked documents, by all coalitions of players.

    Parameters
    ----------
    owners : sequence of int
        Player of each document, best ranked first.
    """

    def worth(members: tuple[int, ...]) -> float:
        return metric([grade for owner, grade in zip(owners, grades, strict=True) if owner in members], list(judged), k)

    values = []
    for player in range(n_players):
        others = [other for other in range(n_players) if other != player]
        terms = []
        for size in range(n_players):
            chance = float(mass(semivalue, size, n_players - 1 - size))
            for members in combinations(others, size):
                terms.append(chance * (worth((*members, player)) - worth(members)))
        values.append(math.fsum(terms))
    return values


def document_values(
    grades: Sequence[float], judged: Sequence[float], k: int, metric: Metric, semivalue: Sequence[Any]
) -> list[float]:
    """Values of ranked documents, each its own player."""
    return player_values(range(len(grades)), len(grades), grades, judged, k, metric, semivalue)
