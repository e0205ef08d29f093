"""Games that a vote decides: right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from pivotal.core.games.definition import Ballots, Game, Labels, LabelSet, Votes, as_ballots, check_option, list_members
from pivotal.core.types import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True)
class Hard(Game):
    """One if the vote of the k nearest members is right, averaged over the wrong classes.

    Each wrong class plays a game of its own against the true class: the coalition is right when the true class has
    more votes among its k nearest members than the wrong class has. The empty coalition has utility 0. When the label
    set has only one class, there is one game, against a class that has no members.

    Parameters
    ----------
    tie : {"lose", "win"}
        Utility of equal votes: 0 or 1.
    other_classes : {"count", "ignore"}
        In the game of two classes, members of other classes do not vote. They either take up places among the k
        nearest all the same, or are taken out before the k nearest are found; a coalition with neither of the two
        classes then has utility 0, as the empty one does.
    scale : {"mean", "sum"}
        Mean over the wrong classes, or their sum.

    Examples
    --------
    >>> Hard().utility(["cat", "dog", "cat"], None, target="cat", classes=["cat", "dog"], k=2)
    Fraction(0, 1)
    >>> Hard(tie="win").utility(["cat", "dog", "cat"], None, target="cat", classes=["cat", "dog"], k=2)
    Fraction(1, 1)
    """

    tie: Literal["lose", "win"] = "lose"
    other_classes: Literal["count", "ignore"] = "count"
    scale: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        check_option("Hard", "tie", self.tie, ("lose", "win"))
        check_option("Hard", "other_classes", self.other_classes, ("count", "ignore"))
        check_option("Hard", "scale", self.scale, ("mean", "sum"))

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        members = list_members(labels, votes)
        no_class = object()
        wrong_classes = [label for label in classes if label != target] or [no_class]
        won = sum(self._beats(wrong, target, members, k) for wrong in wrong_classes)
        return Fraction(won) if self.scale == "sum" else Fraction(won, len(wrong_classes))

    def _beats(self, wrong: Any, target: Any, members: list[tuple[Any, int]], k: int) -> bool:
        seen = members
        if self.other_classes == "ignore":
            seen = [member for member in members if member[0] == target or member[0] == wrong]
        balance = 0
        for label, vote in seen[:k]:
            if label == target:
                balance += vote
            elif label == wrong:
                balance -= vote
        return balance > 0 or (balance == 0 and self.tie == "win" and bool(seen))

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        ballots = as_ballots(labels, votes)
        if self.other_classes == "count":
            labels, ballots = labels[:, :k], ballots[:, :k]
        right = labels == targets[:, np.newaxis]
        if n_classes <= 2:  # one game, among all that vote
            lead = np.where(right[:, :k], ballots[:, :k], -ballots[:, :k]).sum(axis=1)
            equal_wins = self.tie == "win" and labels.shape[1] > 0  # the empty coalition loses
            return np.asarray(lead >= 0 if equal_wins else lead > 0, dtype=np.float64)
        present = np.unique(labels)
        # All classes without a member play one and the same game: it is played once and counted as often as needed.
        n_absent = max(1, n_classes - 1) - (present[:, np.newaxis] != targets).sum(axis=0)
        won = n_absent * self._beats_rows(np.zeros_like(right), right, ballots, k)
        for wrong in present:
            won += (targets != wrong) * self._beats_rows((labels == wrong) & ~right, right, ballots, k)
        return np.asarray(won / (max(1, n_classes - 1) if self.scale == "mean" else 1))

    def _beats_rows(self, wrong: BoolArray, right: BoolArray, ballots: AnyArray, k: int) -> BoolArray:
        """Return whether the true class wins in each row, given who is of the wrong and of the right class."""
        seen = (wrong | right) if self.other_classes == "ignore" else np.ones_like(right)
        top = seen & (np.cumsum(seen, axis=1) <= k)
        balance = (ballots * top * (right.astype(np.int64) - wrong)).sum(axis=1)
        won: BoolArray = balance > 0
        if self.tie == "win":
            won |= (balance == 0) & seen.any(axis=1)
        return won

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        return float(max(1, n_classes - 1)) if self.scale == "sum" else 1.0

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        return 1.0 if n_classes <= 2 and votes_fall else 2.0

    def sees_only_top_k(self, n_classes: int) -> bool:
        # With third classes taken out, the k nearest of two classes may lie anywhere in the list.
        return self.other_classes == "count" or n_classes <= 2

    def __str__(self) -> str:
        return "hard" if self == Hard() else repr(self)


@dataclass(frozen=True)
class Plurality(Game):
    """One if the true class has more votes among the k nearest members than every other class, ties being lost.

    The empty coalition has utility 0, also when the label set has only one class.

    Examples
    --------
    >>> Plurality().utility(["cat", "dog", "cat", "fox"], None, target="cat", classes=["cat", "dog", "fox"], k=4)
    Fraction(1, 1)
    """

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        vote_counts: dict[Any, int] = {}
        for label, vote in list_members(labels, votes)[:k]:
            vote_counts[label] = vote_counts.get(label, 0) + vote
        right = vote_counts.pop(target, 0)
        return Fraction(int(right > max(vote_counts.values(), default=0)))

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        ballots, rows = as_ballots(labels, votes)[:, :k], np.arange(len(targets))
        cells = labels[:, :k].astype(np.int64) + n_classes * rows[:, np.newaxis]
        vote_counts = np.bincount(cells.ravel(), weights=ballots.ravel(), minlength=n_classes * len(rows))
        vote_counts = vote_counts.reshape(len(rows), n_classes)
        right = vote_counts[rows, targets]
        vote_counts[rows, targets] = 0
        return np.asarray(right > vote_counts.max(axis=1), dtype=np.float64)

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        return 1.0 if n_classes <= 2 and votes_fall else 2.0

    def __str__(self) -> str:
        return "plurality" if self == Plurality() else repr(self)
