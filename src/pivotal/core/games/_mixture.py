"""Mixtures: a weighted sum of games is a game, and its values are the weighted sums of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from pivotal.core.games.definition import Ballots, Game, Labels, LabelSet, Votes, as_fraction
from pivotal.core.types import AnyArray, FloatArray


@dataclass(frozen=True, repr=False)
class Mixture(Game):
    """A weighted sum of games, written ``0.5 * Hard() + 0.5 * Soft()``.

    Values are linear in the game, so one search serves all parts.

    Parameters
    ----------
    terms : tuple of (float, Game)
        Weights and games. All games have one task, and all are decided by the k nearest members, or all by the members
        within a radius of the query, which may differ from game to game.

    Examples
    --------
    >>> from pivotal import Hard, Soft
    >>> 0.5 * Hard() + 0.5 * Soft()
    0.5 * hard + 0.5 * soft
    >>> (0.5 * Hard() + 0.5 * Soft()).utility(["cat", "dog", "cat"], None, target="cat", classes=["cat", "dog"], k=3)
    Fraction(5, 6)
    """

    terms: tuple[tuple[float, Game], ...]
    _one_list: ClassVar[bool]

    def __post_init__(self) -> None:
        tasks = {game.task for _, game in self.terms}
        if len(tasks) > 1:
            raise ValueError(f"the games of a mixture must have one task; got {' and '.join(sorted(tasks))}.")
        radii = [game.radius for _, game in self.terms if game.radius is not None]
        if 0 < len(radii) < len(self.terms):
            raise ValueError(
                "the games of a mixture must all be decided by the k nearest members, or all by those within a radius; "
                "got both. Value them by themselves and add the values."
            )
        # All points within the largest radius is searched for; `Balls.within` finds those of the others.
        object.__setattr__(self, "radius", max(radii, default=None))
        object.__setattr__(self, "_one_list", len(set(radii)) < 2)

    @property
    def task(self) -> Literal["classification", "regression", "retrieval"]:
        return self.terms[0][1].task

    def parts(self) -> tuple[tuple[float, Game], ...]:
        return self.terms

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        self._check_labels_suffice()
        return sum(
            (as_fraction(weight) * game.utility(labels, votes, target, classes, k) for weight, game in self.terms),
            Fraction(0),
        )

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        self._check_labels_suffice()
        return self._sum([game.full_utility(labels, votes, targets, n_classes, k) for _, game in self.terms])

    def empty_utility(self, targets: AnyArray, n_classes: int) -> FloatArray:
        return self._sum([game.empty_utility(targets, n_classes) for _, game in self.terms])

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        return sum(abs(weight) * game.utility_range(n_classes, labels, targets) for weight, game in self.terms)

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        return max(game.truncation_factor(n_classes, votes_fall=votes_fall) for _, game in self.terms)

    def sees_only_top_k(self, n_classes: int) -> bool:
        return all(game.sees_only_top_k(n_classes) for _, game in self.terms)

    def _check_labels_suffice(self) -> None:
        if not self._one_list:
            raise ValueError(f"{self} has several radii, and labels do not say who is within which. Play its parts.")

    def _sum(self, parts: Sequence[FloatArray]) -> FloatArray:
        total: FloatArray = np.zeros(parts[0].shape)
        for (weight, _), part in zip(self.terms, parts, strict=True):
            total += weight * part
        return total

    def __str__(self) -> str:
        return " + ".join(f"{weight:g} * {game}" for weight, game in self.terms)

    __repr__ = __str__
