"""The definition, spelled out: every coalition of one small query, in exact fractions.

Nothing here is clever and nothing is imported from the package, so that a mistake in the package cannot hide here.
Training points are listed nearest first. A semivalue is a tuple:

    ("banzhaf",) or ("banzhaf", p)     every other point joins with probability p (1/2 when omitted)
    ("shapley",)                       p is uniform on [0, 1]
    ("beta", a, b)                     p is Beta(b, a) distributed, a and b positive integers (Kwon and Zou)
    ("loo",)                           everybody else has joined: p is 1
    ("nodes", [(p, weight), ...])      p takes a few values with the given weights
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import factorial
from pathlib import Path
from typing import Any

Utility = Callable[[tuple[int, ...]], Fraction]


def earnings(
    labels: Sequence[Any],
    votes: Sequence[int],
    target: Any,
    classes: Iterable[Any],
    k: int,
    utility: str,
    *,
    tie: str = "lose",
    other_classes: str = "count",
    scale: str = "mean",
    empty: Fraction | None = None,
) -> Fraction:
    """Utility of one coalition, given its members nearest first."""
    members = list(zip(labels, votes, strict=True))
    classes = set(classes)

    if utility == "hard_binary":  # the votes carry a sign: positive for the right class
        return Fraction(sum(votes[:k]) > 0)

    if utility == "hard":
        # With one class in all there is one game, against a class that has no members.
        games = []
        for wrong in classes - {target} or {object()}:
            seen = members
            if other_classes == "ignore":
                seen = [(label, vote) for label, vote in members if label in (target, wrong)]
            for_right = sum(vote for label, vote in seen[:k] if label == target)
            for_wrong = sum(vote for label, vote in seen[:k] if label == wrong)
            if not seen:
                right = False
            elif tie == "win":
                right = for_right >= for_wrong
            else:
                right = for_right > for_wrong
            games.append(Fraction(right))
        return sum(games, Fraction(0)) / (len(games) if scale == "mean" else 1)

    if utility == "plurality":
        for_right = sum(vote for label, vote in members[:k] if label == target)
        others = [sum(vote for label, vote in members[:k] if label == wrong) for wrong in classes - {target}]
        return Fraction(for_right > max(others, default=0))

    if utility == "soft":
        total = sum(vote for _, vote in members[:k])
        if total == 0:
            return Fraction(1, len(classes)) if empty is None else empty
        return Fraction(sum(vote for label, vote in members[:k] if label == target), total)

    if utility == "soft-k":
        if not members:
            return Fraction(0) if empty is None else empty
        return Fraction(sum(1 for label, _ in members[:k] if label == target), k)

    if utility == "regression":
        total = sum(vote for _, vote in members[:k])
        if total == 0:
            return -(Fraction(target) ** 2)
        mean = sum((vote * Fraction(label) for label, vote in members[:k]), Fraction(0)) / total
        return -((mean - Fraction(target)) ** 2)

    raise ValueError(f"unknown utility {utility!r}")


def mass(semivalue: Sequence[Any], a: int, b: int) -> Fraction:
    """The chance that a given `a` of the others have joined and the remaining `b` have not."""
    kind, *parameters = semivalue
    if kind == "banzhaf":
        p = Fraction(parameters[0]) if parameters else Fraction(1, 2)
        return p**a * (1 - p) ** b
    if kind == "shapley":
        return Fraction(factorial(a) * factorial(b), factorial(a + b + 1))
    if kind == "beta":
        alpha, beta = parameters
        return _beta_function(a + beta, b + alpha) / _beta_function(beta, alpha)
    if kind == "loo":
        return Fraction(b == 0)
    if kind == "nodes":
        terms = [Fraction(weight) * Fraction(p) ** a * (1 - Fraction(p)) ** b for p, weight in parameters[0]]
        return sum(terms, Fraction(0))
    raise ValueError(f"unknown semivalue {semivalue!r}")


def _beta_function(x: int, y: int) -> Fraction:
    return Fraction(factorial(x - 1) * factorial(y - 1), factorial(x + y - 1))


def enumerate_values(n: int, utility: Utility, semivalue: Sequence[Any]) -> list[Fraction]:
    """The semivalue of each of n players, by a sum over all coalitions of the others."""
    players = range(n)
    earned = {members: utility(members) for size in range(n + 1) for members in combinations(players, size)}
    weight = [mass(semivalue, size, n - 1 - size) for size in range(n)]
    values = []
    for i in players:
        total = Fraction(0)
        for members, without in earned.items():
            if i not in members:
                total += weight[len(members)] * (earned[tuple(sorted((*members, i)))] - without)
        values.append(total)
    return values


def semivalues(
    labels: Sequence[Any],
    target: Any,
    k: int,
    utility: str = "hard",
    semivalue: Sequence[Any] = ("banzhaf",),
    votes: Sequence[int] | None = None,
    classes: Iterable[Any] | None = None,
    **options: Any,
) -> list[Fraction]:
    """The value of every training point of one query, nearest first.

    `votes` are one each when omitted, `classes` are those that appear. For "hard_binary" the votes carry the sign of
    the class and the labels are not looked at.
    """
    ballots = [1] * len(labels) if votes is None else [int(vote) for vote in votes]
    label_set = {*labels, target} if classes is None else set(classes)

    def earned(members: tuple[int, ...]) -> Fraction:
        near_first = [labels[i] for i in members]
        return earnings(near_first, [ballots[i] for i in members], target, label_set, k, utility, **options)

    return enumerate_values(len(labels), earned, semivalue)


def load_vectors() -> list[dict[str, Any]]:
    """The recorded games, with the arguments of `semivalues` under "arguments" and the exact answer under "values"."""
    recorded = json.loads((Path(__file__).parent / "data" / "games.json").read_text(encoding="utf-8"))
    names = {"one_vs_one": "hard", "soft_k": "soft-k"}
    vectors = []
    for game in recorded:
        arguments = {
            "labels": game.get("y", game["w"]),
            "target": game.get("y_test", 1),
            "k": game["k"],
            "utility": names.get(game["utility"], game["utility"]),
            "semivalue": tuple(game["semivalue"]),
            "votes": game["w"],
            "classes": game.get("classes"),
        }
        vectors.append({"arguments": arguments, "values": [Fraction(value) for value in game["values"]]})
    return vectors
