"""Games whose utility is an average over members: soft label, near or within a radius, and regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from numbers import Real
from typing import Any, Literal

import numpy as np

from pivotal.core.games.definition import (
    Ballots,
    Game,
    Labels,
    LabelSet,
    Votes,
    as_ballots,
    as_fraction,
    check_option,
    list_members,
)
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import check_positive


class _Share(Game):
    """A share of the members, or of their votes; and a utility of its own where there are none."""

    empty: float | Fraction | None

    def empty_utility(self, targets: AnyArray, n_classes: int) -> FloatArray:
        return np.full(len(targets), float(self._empty(n_classes)))

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        empty = float(self._empty(n_classes))
        return max(1.0, empty) - min(0.0, empty)

    def _empty(self, n_classes: int) -> Fraction:
        return Fraction(1, n_classes) if self.empty is None else as_fraction(self.empty)


@dataclass(frozen=True)
class Soft(_Share):
    """The share of the vote of the k nearest members that goes to the true class.

    Parameters
    ----------
    divide_by : {"size", "k"}
        Divide the right votes by all votes of the k nearest members, or their number by k even where the coalition is
        smaller than k. The latter counts points: every vote must be 1.
    empty : float or Fraction, optional
        Utility of the empty coalition, and one without any votes. One divided by the number of classes when None (a
        guess), or 0 with ``divide_by="k"``.

    Examples
    --------
    >>> Soft().utility(["cat", "dog", "cat"], [3, 2, 1], target="cat", classes=["cat", "dog"], k=2)
    Fraction(3, 5)
    >>> Soft(divide_by="k").utility(["cat"], None, target="cat", classes=["cat", "dog"], k=5)
    Fraction(1, 5)
    """

    divide_by: Literal["size", "k"] = "size"
    empty: float | Fraction | None = None

    def __post_init__(self) -> None:
        check_option("Soft", "divide_by", self.divide_by, ("size", "k"))
        _check_empty("Soft", self.empty)

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        if self.divide_by == "k":
            _check_unit_votes("Soft(divide_by='k')", votes)
        top = list_members(labels, votes)[:k]
        total = sum(vote for _, vote in top)
        if total == 0:
            return self._empty(len(classes))
        right = sum(vote for label, vote in top if label == target)
        return Fraction(right, k if self.divide_by == "k" else total)

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        if self.divide_by == "k":
            _check_unit_votes("Soft(divide_by='k')", votes)
        ballots = as_ballots(labels, votes)[:, :k]
        total = ballots.sum(axis=1)
        right = (ballots * (labels[:, :k] == targets[:, np.newaxis])).sum(axis=1)
        shares = self.empty_utility(targets, n_classes)
        np.divide(right, k if self.divide_by == "k" else total, out=shares, where=total > 0)
        return shares

    def __str__(self) -> str:
        short = {Soft(): "soft", Soft(divide_by="k"): "soft-k"}
        return short.get(self, repr(self))

    def _empty(self, n_classes: int) -> Fraction:
        return Fraction(0) if self.empty is None and self.divide_by == "k" else super()._empty(n_classes)


@dataclass(frozen=True)
class Threshold(_Share):
    """The share of the members within a radius of the query that have the true label, unweighted.

    All points that near vote, however many they are; k is not looked at. Points farther away never change anything and
    are worth 0. The methods below are given the labels of members within the radius only.

    Parameters
    ----------
    radius : float
        Points at this distance from the query, or nearer, vote: finite, at least 0, in units of the metric.
    empty : float or Fraction, optional
        Utility of a coalition without members within the radius. One divided by the number of classes when None.

    Examples
    --------
    >>> Threshold(radius=0.5).utility(["cat", "dog", "cat"], None, target="cat", classes=["cat", "dog"], k=1)
    Fraction(2, 3)
    >>> Threshold(radius=0.5).utility([], None, target="cat", classes=["cat", "dog"], k=1)
    Fraction(1, 2)
    """

    radius: float = field()  # spelled out, or the None of the base class would be a default
    empty: float | Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check_positive(self.radius, "Threshold: radius", or_zero=True))
        _check_empty("Threshold", self.empty)

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        _check_unit_votes("Threshold", votes)
        if len(labels) == 0:
            return self._empty(len(classes))
        return Fraction(sum(1 for label in labels if label == target), len(labels))

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        _check_unit_votes("Threshold", votes)
        n_right = (labels == targets[:, np.newaxis]).sum(axis=1)
        return self.shares(n_right, np.full(len(targets), labels.shape[1]), targets, n_classes)

    def shares(self, n_right: AnyArray, sizes: AnyArray, targets: AnyArray, n_classes: int) -> FloatArray:
        """Return the utility of the full training set, given how many points are near enough and how many are right."""
        shares = self.empty_utility(targets, n_classes)
        np.divide(n_right, sizes, out=shares, where=sizes > 0)
        return shares

    def sees_only_top_k(self, n_classes: int) -> bool:
        return False

    def __str__(self) -> str:
        return f"threshold({self.radius!r})" if self.empty is None else repr(self)


@dataclass(frozen=True)
class Regression(Game):
    """Minus the squared error of the mean response of the k nearest members, weighted by their votes.

    Parameters
    ----------
    empty : float or Fraction, optional
        What the empty set predicts, and a coalition without any votes: a response. 0 when None. For responses far from
        0 pass one of their size, such as their mean: otherwise the loss of predicting 0 sets the range of the utility,
        and with it the bound on rounding errors.

    Examples
    --------
    >>> Regression().utility([2.0, 5.0], [2, 1], target=4.0, classes=(), k=2)
    Fraction(-1, 1)
    >>> Regression(empty=3.0).utility([], None, target=4.0, classes=(), k=2)
    Fraction(-1, 1)
    """

    empty: float | Fraction | None = None

    def __post_init__(self) -> None:
        _check_empty("Regression", self.empty)

    @property
    def task(self) -> Literal["classification", "regression"]:
        """Whether labels are classes or numbers."""
        return "regression"

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        top = list_members(labels, votes)[:k]
        total = sum(vote for _, vote in top)
        mean = sum((vote * as_fraction(label) for label, vote in top), Fraction(0)) / total if total else self._empty
        return -((mean - as_fraction(target)) ** 2)

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        ballots = as_ballots(labels, votes)[:, :k]
        total = ballots.sum(axis=1)
        # The mean of the errors and not the error of the mean, which large responses would cancel in.
        error = float(self._empty) - np.asarray(targets, dtype=np.float64)
        np.divide((ballots * (labels[:, :k] - targets[:, np.newaxis])).sum(axis=1), total, out=error, where=total > 0)
        return -(error**2)

    def empty_utility(self, targets: AnyArray, n_classes: int) -> FloatArray:
        return -((float(self._empty) - np.asarray(targets, dtype=np.float64)) ** 2)

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        if labels is None or targets is None:
            raise ValueError("Regression: the range depends on the responses; got none. Pass labels and targets.")
        reachable = np.array([float(self._empty), np.min(labels), np.max(labels)])  # the extreme predictions
        return float(np.max((np.asarray(targets)[:, np.newaxis] - reachable) ** 2))

    def __str__(self) -> str:
        return "regression" if self.empty is None else f"regression({float(self.empty)!r})"

    @property
    def _empty(self) -> Fraction:
        return Fraction(0) if self.empty is None else as_fraction(self.empty)


def _check_empty(game: str, empty: object) -> None:
    if empty is not None and not (isinstance(empty, Real) and isfinite(empty)):
        raise ValueError(f"{game}: empty must be a finite number or None; got {empty!r}.")


def _check_unit_votes(game: str, votes: Votes | Ballots) -> None:
    odd = [] if votes is None else np.asarray(votes)[np.asarray(votes) != 1]
    if len(odd):
        instead = "Soft()" if game == "Threshold" else "Soft(divide_by='size')"
        raise ValueError(
            f"{game} counts points, so every vote must be 1; got a vote of {odd[0]}. Use uniform weights or {instead}."
        )
