"""What a coalition of training points earns: the definition itself, small enough to enumerate.

A game is an immutable object that answers two kinds of question about one query. `earns` is the definition, in exact
fractions, for any one coalition. The other methods give the engine, for a block of queries in float64, what it needs
besides the values: the utility of everybody and of nobody, how far the utility can move, and whether only the nearest k
members of a coalition count.

Peers who value nearest-neighbour data differ in how they break ties, what a third class does and what the empty
coalition earns. These choices are options of the game, so that `repr` shows them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pivotal._types import AnyArray, FloatArray

__all__ = ["Game", "Hard", "Plurality", "Regression", "Soft", "as_game"]

_Mask: TypeAlias = npt.NDArray[np.bool_]


class Game(ABC):
    """What a coalition earns for one query.

    Classes are integer codes 0..n_classes-1 in the methods that take arrays, and any hashable label in `earns`.
    """

    @property
    def task(self) -> Literal["classification", "regression"]:
        """Whether labels are classes or numbers."""
        return "classification"

    @abstractmethod
    def earns(
        self, labels: Sequence[Any], votes: Sequence[int] | None, target: Any, classes: Collection[Any], k: int
    ) -> Fraction:
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
            The label set, which may hold labels nobody has; regression does not look at it.
        k : int
            Number of neighbours that vote; may exceed size.

        Returns
        -------
        Fraction
        """

    @abstractmethod
    def everyone(
        self, labels: AnyArray, votes: AnyArray | None, targets: AnyArray, n_classes: int, k: int
    ) -> FloatArray:
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

    def nobody(self, targets: AnyArray, n_classes: int) -> FloatArray:
        """Return the utility of the empty coalition, as a float64 array of shape (n_queries,)."""
        return np.zeros(len(targets))

    def spread(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
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
        """Return c such that leaving out all ranks beyond m moves a value by at most c * reach(m - 1) * spread.

        Two marginal contributions differ by at most twice the spread. They differ by at most the spread itself when
        a point can only help or only hurt, which holds for two-class votes that do not grow with the distance:
        `votes_fall` says that they do not.
        """
        return 2.0

    def sees_only_top_k(self, n_classes: int) -> bool:
        """Return whether the k nearest members of a coalition decide what it earns, so that `reach` bounds apply."""
        return True

    def __str__(self) -> str:
        return next((name for name, game in _SHORT.items() if game == self), repr(self))


@dataclass(frozen=True)
class Hard(Game):
    """One if the vote of the k nearest members is right, averaged over the wrong classes.

    Each wrong class plays a game of its own against the true class: the coalition is right when the true class has
    more votes among its k nearest members than the wrong class has. The empty coalition earns 0. When the label set
    has only one class, there is one game, against a class that has no members.

    Parameters
    ----------
    tie : {"lose", "win"}
        What equal votes earn: 0 or 1.
    third_class : {"occupies", "absent"}
        In the game of two classes, members of other classes do not vote. They either take up places among the k
        nearest all the same, or are taken out before the k nearest are found; a coalition with neither of the two
        classes then earns 0, as the empty one does.
    scale : {"mean", "sum"}
        Mean over the wrong classes, or their sum.

    Examples
    --------
    >>> Hard().earns(["cat", "dog", "cat"], None, target="cat", classes=["cat", "dog"], k=2)
    Fraction(0, 1)
    >>> Hard(tie="win").earns(["cat", "dog", "cat"], None, target="cat", classes=["cat", "dog"], k=2)
    Fraction(1, 1)
    """

    tie: Literal["lose", "win"] = "lose"
    third_class: Literal["occupies", "absent"] = "occupies"
    scale: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        _check_option("Hard", "tie", self.tie, ("lose", "win"))
        _check_option("Hard", "third_class", self.third_class, ("occupies", "absent"))
        _check_option("Hard", "scale", self.scale, ("mean", "sum"))

    def earns(
        self, labels: Sequence[Any], votes: Sequence[int] | None, target: Any, classes: Collection[Any], k: int
    ) -> Fraction:
        members = _members(labels, votes)
        no_class = object()
        wrong_classes = [label for label in classes if label != target] or [no_class]
        won = sum(self._beats(wrong, target, members, k) for wrong in wrong_classes)
        return Fraction(won) if self.scale == "sum" else Fraction(won, len(wrong_classes))

    def _beats(self, wrong: Any, target: Any, members: list[tuple[Any, int]], k: int) -> bool:
        seen = members
        if self.third_class == "absent":
            seen = [member for member in members if member[0] == target or member[0] == wrong]
        balance = 0
        for label, vote in seen[:k]:
            if label == target:
                balance += vote
            elif label == wrong:
                balance -= vote
        return balance > 0 or (balance == 0 and self.tie == "win" and bool(seen))

    def everyone(
        self, labels: AnyArray, votes: AnyArray | None, targets: AnyArray, n_classes: int, k: int
    ) -> FloatArray:
        ballots = _ballots(labels, votes)
        if self.third_class == "occupies":
            labels, ballots = labels[:, :k], ballots[:, :k]
        right = labels == targets[:, np.newaxis]
        present = np.unique(labels)
        # All classes without a member play one and the same game: it is played once and counted as often as needed.
        n_absent = max(1, n_classes - 1) - (present[:, np.newaxis] != targets).sum(axis=0)
        won = n_absent * self._beats_rows(np.zeros_like(right), right, ballots, k)
        for wrong in present:
            won += (targets != wrong) * self._beats_rows((labels == wrong) & ~right, right, ballots, k)
        earned: FloatArray = won / (max(1, n_classes - 1) if self.scale == "mean" else 1)
        return earned

    def _beats_rows(self, wrong: _Mask, right: _Mask, ballots: AnyArray, k: int) -> _Mask:
        """Return whether the true class wins in each row, given who is of the wrong and of the right class."""
        seen = (wrong | right) if self.third_class == "absent" else np.ones_like(right)
        top = seen & (np.cumsum(seen, axis=1) <= k)
        balance = (ballots * top * (right.astype(np.int64) - wrong)).sum(axis=1)
        won: _Mask = balance > 0
        if self.tie == "win":
            won |= (balance == 0) & seen.any(axis=1)
        return won

    def spread(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        return float(max(1, n_classes - 1)) if self.scale == "sum" else 1.0

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        return 1.0 if n_classes <= 2 and votes_fall else 2.0

    def sees_only_top_k(self, n_classes: int) -> bool:
        # With third classes taken out, the k nearest of two classes may lie anywhere in the list.
        return self.third_class == "occupies" or n_classes <= 2


@dataclass(frozen=True)
class Plurality(Game):
    """One if the true class has more votes among the k nearest members than every other class, ties being lost.

    The empty coalition earns 0, also when the label set has only one class.

    Examples
    --------
    >>> Plurality().earns(["cat", "dog", "cat", "fox"], None, target="cat", classes=["cat", "dog", "fox"], k=4)
    Fraction(1, 1)
    """

    def earns(
        self, labels: Sequence[Any], votes: Sequence[int] | None, target: Any, classes: Collection[Any], k: int
    ) -> Fraction:
        tally: dict[Any, int] = {}
        for label, vote in _members(labels, votes)[:k]:
            tally[label] = tally.get(label, 0) + vote
        right = tally.pop(target, 0)
        return Fraction(int(right > max(tally.values(), default=0)))

    def everyone(
        self, labels: AnyArray, votes: AnyArray | None, targets: AnyArray, n_classes: int, k: int
    ) -> FloatArray:
        ballots, rows = _ballots(labels, votes)[:, :k], np.arange(len(targets))
        cells = labels[:, :k].astype(np.int64) + n_classes * rows[:, np.newaxis]
        tally = np.bincount(cells.ravel(), weights=ballots.ravel(), minlength=n_classes * len(rows))
        tally = tally.reshape(len(rows), n_classes)
        right = tally[rows, targets]
        tally[rows, targets] = 0
        earned: FloatArray = (right > tally.max(axis=1)).astype(np.float64)
        return earned

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        return 1.0 if n_classes <= 2 and votes_fall else 2.0


@dataclass(frozen=True)
class Soft(Game):
    """The share of the vote of the k nearest members that goes to the true class.

    Parameters
    ----------
    divide_by : {"size", "k"}
        Divide the right votes by all votes of the k nearest members, or their number by k even where the coalition is
        smaller than k. The latter counts points: every vote must be 1.
    empty : float or Fraction, optional
        What the empty coalition earns, and one without any votes. One divided by the number of classes when None (a
        guess), or 0 with ``divide_by="k"``.

    Examples
    --------
    >>> Soft().earns(["cat", "dog", "cat"], [3, 2, 1], target="cat", classes=["cat", "dog"], k=2)
    Fraction(3, 5)
    >>> Soft(divide_by="k").earns(["cat"], None, target="cat", classes=["cat", "dog"], k=5)
    Fraction(1, 5)
    """

    divide_by: Literal["size", "k"] = "size"
    empty: float | Fraction | None = None

    def __post_init__(self) -> None:
        _check_option("Soft", "divide_by", self.divide_by, ("size", "k"))
        if self.empty is not None and not (isinstance(self.empty, Real) and isfinite(self.empty)):
            raise ValueError(f"Soft: empty must be a finite number or None; got {self.empty!r}.")

    def earns(
        self, labels: Sequence[Any], votes: Sequence[int] | None, target: Any, classes: Collection[Any], k: int
    ) -> Fraction:
        if self.divide_by == "k":
            self._check_unit_votes(votes)
        top = _members(labels, votes)[:k]
        total = sum(vote for _, vote in top)
        if total == 0:
            return self._empty(len(classes))
        right = sum(vote for label, vote in top if label == target)
        return Fraction(right, k if self.divide_by == "k" else total)

    def everyone(
        self, labels: AnyArray, votes: AnyArray | None, targets: AnyArray, n_classes: int, k: int
    ) -> FloatArray:
        if self.divide_by == "k":
            self._check_unit_votes(votes)
        ballots = _ballots(labels, votes)[:, :k]
        total = ballots.sum(axis=1)
        right = (ballots * (labels[:, :k] == targets[:, np.newaxis])).sum(axis=1)
        shares = self.nobody(targets, n_classes)
        np.divide(right, k if self.divide_by == "k" else total, out=shares, where=total > 0)
        return shares

    def nobody(self, targets: AnyArray, n_classes: int) -> FloatArray:
        return np.full(len(targets), float(self._empty(n_classes)))

    def spread(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        empty = float(self._empty(n_classes))
        return max(1.0, empty) - min(0.0, empty)

    def _empty(self, n_classes: int) -> Fraction:
        if self.empty is not None:
            return _exact(self.empty)
        return Fraction(0) if self.divide_by == "k" else Fraction(1, n_classes)

    def _check_unit_votes(self, votes: Sequence[int] | AnyArray | None) -> None:
        odd = [] if votes is None else np.asarray(votes)[np.asarray(votes) != 1]
        if len(odd):
            raise ValueError(
                f"Soft(divide_by='k') counts points, so every vote must be 1; got a vote of {odd[0]}. "
                "Use uniform weights or Soft(divide_by='size')."
            )


@dataclass(frozen=True)
class Regression(Game):
    """Minus the squared error of the mean response of the k nearest members, weighted by their votes.

    The empty coalition, and one without any votes, predicts 0.

    Examples
    --------
    >>> Regression().earns([2.0, 5.0], [2, 1], target=4.0, classes=(), k=2)
    Fraction(-1, 1)
    """

    @property
    def task(self) -> Literal["classification", "regression"]:
        """Whether labels are classes or numbers."""
        return "regression"

    def earns(
        self, labels: Sequence[Any], votes: Sequence[int] | None, target: Any, classes: Collection[Any], k: int
    ) -> Fraction:
        top = _members(labels, votes)[:k]
        total = sum(vote for _, vote in top)
        mean = sum((vote * _exact(label) for label, vote in top), Fraction(0)) / total if total else Fraction(0)
        return -((mean - _exact(target)) ** 2)

    def everyone(
        self, labels: AnyArray, votes: AnyArray | None, targets: AnyArray, n_classes: int, k: int
    ) -> FloatArray:
        ballots = _ballots(labels, votes)[:, :k]
        total = ballots.sum(axis=1)
        mean = np.zeros(len(targets))
        np.divide((ballots * labels[:, :k]).sum(axis=1), total, out=mean, where=total > 0)
        error: FloatArray = mean - targets
        return -(error**2)

    def nobody(self, targets: AnyArray, n_classes: int) -> FloatArray:
        return -(np.asarray(targets, dtype=np.float64) ** 2)

    def spread(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        if labels is None or targets is None:
            raise ValueError("Regression: the spread depends on the responses; got none. Pass labels and targets.")
        reachable = np.array([0.0, np.min(labels), np.max(labels)])  # the extreme predictions
        return float(np.max((np.asarray(targets)[:, np.newaxis] - reachable) ** 2))


def _check_option(game: str, option: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{game}: {option} must be {' or '.join(map(repr, allowed))}; got {value!r}.")


def _members(labels: Sequence[Any], votes: Sequence[int] | None) -> list[tuple[Any, int]]:
    # Votes become Python integers, which do not overflow.
    return [(label, 1) for label in labels] if votes is None else list(zip(labels, map(int, votes), strict=True))


def _ballots(labels: AnyArray, votes: AnyArray | None) -> AnyArray:
    return np.ones(labels.shape, dtype=np.int64) if votes is None else np.asarray(votes, dtype=np.int64)


def _exact(number: Any) -> Fraction:
    # A fraction made of NumPy integers would overflow, and one cannot be made of a NumPy float other than float64.
    if isinstance(number, Integral):
        return Fraction(int(number))
    return number if isinstance(number, Fraction) else Fraction(float(number))


_SHORT: Mapping[str, Game] = MappingProxyType(
    {
        "hard": Hard(),
        "plurality": Plurality(),
        "soft": Soft(),
        "soft-k": Soft(divide_by="k"),
        "regression": Regression(),
    }
)

# Who plays which game; pivotal.conventions adds the rest of what each of them does.
_PUBLISHED: Mapping[str, Game] = MappingProxyType(
    {
        "zhang2026": Hard(),
        "jia2019": Soft(divide_by="k"),
        "wang2023": Soft(divide_by="size"),
        "wang2024": Hard(third_class="absent", scale="sum"),
        "shapiq": Hard(tie="win", third_class="absent"),
        "pydvl": Soft(divide_by="k"),
        "opendataval": Soft(divide_by="k"),
        "dattri": Soft(divide_by="k"),
    }
)


def as_game(utility: object) -> Game:
    """Return the game that `utility` names.

    Parameters
    ----------
    utility : str, Game or Convention
        One of "hard", "plurality", "soft", "soft-k", "regression", the name of a convention such as "jia2019", a
        convention, or a game, which is returned as it is.

    Examples
    --------
    >>> as_game("hard")
    Hard(tie='lose', third_class='occupies', scale='mean')
    >>> as_game("jia2019")
    Soft(divide_by='k', empty=None)
    """
    # A convention is defined in the room above this one and is known here by what it carries.
    game = getattr(utility, "game", utility)
    if isinstance(game, Game):
        return game
    if not isinstance(game, str):
        raise TypeError(f"utility must be a name or a Game; got {game!r}. {_names()}")
    named = _SHORT.get(game) or _PUBLISHED.get(game)
    if named is None:
        raise ValueError(f"utility must name a game; got {game!r}. {_names()}")
    return named


def _names() -> str:
    return f"Use one of {', '.join(_SHORT)}, a convention ({', '.join(_PUBLISHED)}), or an object such as Hard()."
