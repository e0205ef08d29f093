"""What every game answers, and what several games share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np

from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import is_number

Labels: TypeAlias = Sequence[Any]
"""Labels of one coalition, nearest first."""

Votes: TypeAlias = Sequence[int] | None
"""Votes of the same members; one each when None."""

LabelSet: TypeAlias = Collection[Any]
"""The label set."""

Ballots: TypeAlias = AnyArray | None
"""Votes of the neighbours of many queries, shape (n_queries, depth); one each when None."""


class Game(ABC):
    """Utility of a coalition for one query.

    Classes are integer codes 0..n_classes-1 in the methods that take arrays, and any hashable label in `utility`.

    Attributes
    ----------
    radius : float or None
        How far from the query points may be to take part; None where the k nearest count, however far they are.
    """

    radius: float | None = None

    @property
    def task(self) -> Literal["classification", "regression", "retrieval"]:
        """Whether labels are classes, numbers, or grades of relevance."""
        return "classification"

    @abstractmethod
    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        """Return the exact utility of one coalition.

        Parameters
        ----------
        labels : sequence of length size
            Labels of the whole coalition, nearest first; numbers for regression.
        votes : sequence of int of length size, or None
            Non-negative votes of the same members; one each when None.
        target : hashable or number
            True label of the query.
        classes : collection of hashable
            The label set, which may hold labels that no point has; regression does not look at it.
        k : int
            Number of neighbours that vote; may exceed size.

        Returns
        -------
        Fraction
        """

    @abstractmethod
    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        """Return the utility of the whole training set, for each query.

        Parameters
        ----------
        labels : int or float array of shape (n_queries, depth)
            Class codes (numbers for regression), nearest first. Columns beyond the k-th are looked at only where
            `sees_only_top_k` is false; there the whole training set is needed for an exact answer.
        votes : int array of shape (n_queries, depth), or None
            Non-negative votes; one each when None.
        targets : int or float array of shape (n_queries,)
            Class code (number for regression) of each query.
        n_classes : int
            Size of the label set.
        k : int
            Number of neighbours that vote.

        Returns
        -------
        float64 array of shape (n_queries,)
        """

    def empty_utility(self, targets: AnyArray, n_classes: int) -> FloatArray:
        """Return the utility of the empty coalition, as a float64 array of shape (n_queries,)."""
        return np.zeros(len(targets))

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        """Return a bound on the utility's range, its largest minus its smallest value over all coalitions.

        Parameters
        ----------
        n_classes : int
            Size of the label set.
        labels, targets : float arrays of shape (n_train,) and (n_queries,)
            Training and query responses; only regression needs them. The bound holds for every one of these queries.
        """
        return 1.0

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        """Return c such that omitting all ranks beyond m moves a value by at most c * reach(m - 1) * range.

        Two marginal contributions differ by at most twice the range. They differ by at most the range itself when
        a point can only help or only hurt, which holds for two-class votes that do not grow with the distance:
        `votes_fall` says that they do not.
        """
        return 2.0

    def sees_only_top_k(self, n_classes: int) -> bool:
        """Return whether the k nearest members of a coalition decide its utility, so that `reach` bounds apply."""
        return True

    def parts(self) -> tuple[tuple[float, Game], ...]:
        """Return the games that this one is a weighted sum of: itself, unless it is a mixture."""
        return ((1.0, self),)

    def __mul__(self, weight: object) -> Game:
        from pivotal.core.games._mixture import Mixture  # here, since mixtures are games and know this class

        if not is_number(weight):
            raise TypeError(f"a game can be multiplied by a finite number; got {weight!r}.")
        return Mixture(tuple((float(weight) * own, part) for own, part in self.parts()))

    __rmul__ = __mul__

    def __add__(self, other: object) -> Game:
        if not isinstance(other, Game):
            return NotImplemented
        from pivotal.core.games._mixture import Mixture

        return Mixture((*self.parts(), *other.parts()))

    def __sub__(self, other: object) -> Game:
        return self + -1.0 * other if isinstance(other, Game) else NotImplemented


def check_option(game: str, option: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise unless an option of a game has one of the values allowed."""
    if value not in allowed:
        raise ValueError(f"{game}: {option} must be {' or '.join(map(repr, allowed))}; got {value!r}.")


def list_members(labels: Labels, votes: Votes) -> list[tuple[Any, int]]:
    """Pair labels with votes, one each when None."""
    # Votes become Python integers, which do not overflow.
    return [(label, 1) for label in labels] if votes is None else list(zip(labels, map(int, votes), strict=True))


def as_ballots(labels: AnyArray, votes: Ballots) -> AnyArray:
    """Return the votes as an array, one each when None."""
    return np.ones(labels.shape, dtype=np.int64) if votes is None else np.asarray(votes, dtype=np.int64)


def as_fraction(number: Any) -> Fraction:
    """Return a number of any kind as a fraction, exactly."""
    # A fraction made of NumPy integers would overflow, and one cannot be made of a NumPy float other than float64.
    if isinstance(number, Integral):
        return Fraction(int(number))
    return number if isinstance(number, Fraction) else Fraction(float(number))


def check_classes(game: Game, classes: object) -> None:
    """Raise if a label set was given to a game that has no classes."""
    if classes is not None and game.task == "regression":
        raise ValueError(f"classes are for games of classes; got some with utility={str(game)!r}. Omit them.")
