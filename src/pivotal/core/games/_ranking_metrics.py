"""Retrieval metrics as games: a coalition is a corpus with the other documents removed.

A query ranks the documents; those of a coalition keep their order, and the first k of them are judged. In the terms of
`Game`, labels are the grades of the coalition's documents, best ranked first, and the target is the grades of all
judged documents of the query, which decide what the ideal is.

    discounted    sum of gain(grade) * discount(position)             Precision, Recall, DCG, NDCG
    first         discount(position of the first relevant document)   Hit, ReciprocalRank
    best          the largest gain among the first k                  BestOf
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from pivotal.core.games.definition import Ballots, Game, Labels, LabelSet, Votes, as_fraction, check_option
from pivotal.core.types import AnyArray, FloatArray

Kind = Literal["discounted", "first", "best"]


class RetrievalGame(Game):
    """A metric of the first k documents that a corpus returns for a query.

    Grades are non-negative numbers, 0 for what is not relevant. In the methods that take arrays, `labels` has shape
    (n_queries, depth) and `targets` shape (n_queries, n_judged): the grades of all judged documents, in any order and
    filled up with zeros.
    """

    kind: ClassVar[Kind] = "discounted"

    @property
    def task(self) -> Literal["classification", "regression", "retrieval"]:
        return "retrieval"

    @abstractmethod
    def gains(self, grades: AnyArray) -> FloatArray:
        """Return what documents of these grades count, before discount and scale; 0 for grade 0."""

    def discounts(self, k: int) -> FloatArray:
        """Return what positions 1..k count, never rising; shape (k,)."""
        return np.ones(k)

    def scale(self, targets: AnyArray, k: int) -> FloatArray:
        """Return what each query multiplies the sum with, 0 where no document is relevant; shape (n_queries,)."""
        return np.ones(len(targets))

    def full_utility(self, labels: AnyArray, votes: Ballots, targets: AnyArray, n_classes: int, k: int) -> FloatArray:
        return self._utility(self.gains(labels[:, :k]), k) * self.scale(targets, k)

    def missed(self, grades: AnyArray, targets: AnyArray, k: int) -> FloatArray:
        """Return the most that documents of these grades can add, at the best positions; shape (n_queries,).

        Parameters
        ----------
        grades : float array of shape (n_queries, n_documents)
            Grades in any order, filled up with zeros.
        targets, k
            As in `full_utility`.
        """
        return self._ideal(grades, k) * self.scale(targets, k)

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        return 1.0

    def truncation_factor(self, n_classes: int, *, votes_fall: bool = True) -> float:
        # Documents beyond a list only add: what they change in a marginal contribution is at most what they add.
        return 1.0

    def _ideal(self, grades: AnyArray, k: int) -> FloatArray:
        """Utility of documents of these grades in the best order, before the scale."""
        return self._utility(-np.sort(-self.gains(grades), axis=1)[:, :k], k)

    def _utility(self, gains: FloatArray, k: int) -> FloatArray:
        """Utility of documents in this order, before the scale."""
        if gains.shape[1] == 0:
            return np.zeros(len(gains))
        if self.kind == "best":
            return np.asarray(gains.max(axis=1))
        counted = gains * self.discounts(k)[: gains.shape[1]]
        if self.kind == "discounted":
            # One after the other, so that a column of zeros more or less changes no bit.
            return np.asarray(np.cumsum(counted, axis=1)[:, -1])
        first = np.argmax(gains > 0.0, axis=1)
        return np.asarray(counted[np.arange(len(gains)), first])

    def __str__(self) -> str:
        return _NAMES.get(type(self), type(self).__name__) if self == type(self)() else repr(self)


@dataclass(frozen=True)
class _Binary(RetrievalGame):
    """What counts documents as relevant or not.

    Parameters
    ----------
    level : float, optional
        Smallest grade that is relevant; every grade above 0 when None.
    """

    level: float | None = None

    def __post_init__(self) -> None:
        level = self.level
        if level is not None and not (isinstance(level, int | float) and math.isfinite(level) and level > 0):
            raise ValueError(f"{type(self).__name__}: level must be a grade above 0, or None; got {level!r}.")

    def relevant(self, grade: Any) -> bool:
        """Whether a document of this grade is relevant."""
        return bool(grade > 0 if self.level is None else grade >= self.level)

    def gains(self, grades: AnyArray) -> FloatArray:
        return np.asarray(grades > 0 if self.level is None else grades >= self.level, dtype=np.float64)

    def _count(self, grades: Labels) -> int:
        return sum(map(self.relevant, grades))


class Precision(_Binary):
    """Share of relevant documents among the first k: their number over k, also where fewer than k are there.

    Examples
    --------
    >>> Precision().utility([1, 0, 2], None, target=[1, 2, 1], classes=(), k=4)
    Fraction(1, 2)
    """

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        return Fraction(self._count(labels[:k]), k)

    def scale(self, targets: AnyArray, k: int) -> FloatArray:
        return np.full(len(targets), 1.0 / k)


class Recall(_Binary):
    """Share of a query's relevant documents that are among the first k; 0 for a query that has none.

    Examples
    --------
    >>> Recall().utility([1, 0, 2], None, target=[1, 2, 1], classes=(), k=4)
    Fraction(2, 3)
    """

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        return Fraction(self._count(labels[:k]), max(1, self._count(target)))

    def scale(self, targets: AnyArray, k: int) -> FloatArray:
        return np.asarray(1.0 / np.maximum(self.gains(targets).sum(axis=1), 1.0))


@dataclass(frozen=True)
class DCG(RetrievalGame):
    """Discounted cumulative gain at k: the sum of gains over log2(position + 1).

    Parameters
    ----------
    gain : {"linear", "exponential"}
        The grade itself, as in trec_eval, or 2^grade - 1, as Burges et al. have it.

    Examples
    --------
    >>> float(DCG().utility([3, 0, 2], None, target=[3, 2], classes=(), k=3))
    4.0
    """

    gain: Literal["linear", "exponential"] = "linear"

    def __post_init__(self) -> None:
        check_option(type(self).__name__, "gain", self.gain, ("linear", "exponential"))

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        return self._sum(labels, k)

    def gains(self, grades: AnyArray) -> FloatArray:
        return np.asarray(grades if self.gain == "linear" else np.exp2(grades) - 1.0, dtype=np.float64)

    def discounts(self, k: int) -> FloatArray:
        return np.asarray(1.0 / np.log2(np.arange(2.0, k + 2.0)))

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        # However many positions count, no more documents than are judged can fill them.
        return 1.0 if targets is None else float(self.missed(targets, targets, targets.shape[1]).max(initial=0.0))

    def _sum(self, grades: Labels, k: int) -> Fraction:
        """Sum in fractions of the doubles that discounts and gains are."""
        counted = self.gains(np.array([float(grade) for grade in grades[:k]]))
        terms = zip(counted.tolist(), self.discounts(k).tolist(), strict=False)
        return sum((as_fraction(gain) * as_fraction(discount) for gain, discount in terms), Fraction(0))


@dataclass(frozen=True)
class NDCG(DCG):
    """DCG at k over that of the best order of all judged documents; 0 for a query without relevant ones.

    Parameters
    ----------
    gain : {"linear", "exponential"}
        As in `DCG`.

    Examples
    --------
    >>> float(NDCG().utility([2, 3], None, target=[3, 2], classes=(), k=1))
    0.6666666666666666
    """

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        ideal = self._sum(sorted(target, reverse=True), k)
        return self._sum(labels, k) / ideal if ideal else Fraction(0)

    def scale(self, targets: AnyArray, k: int) -> FloatArray:
        ideal = self._ideal(targets, k)
        return np.asarray(np.where(ideal > 0.0, 1.0 / np.where(ideal > 0.0, ideal, 1.0), 0.0))

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        return 1.0


class Hit(_Binary):
    """One if a relevant document is among the first k; also known as success at k.

    Examples
    --------
    >>> [Hit().utility([0, 1], None, target=[1], classes=(), k=k) for k in (1, 2)]
    [Fraction(0, 1), Fraction(1, 1)]
    """

    kind = "first"

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        return Fraction(int(any(map(self.relevant, labels[:k]))))


class ReciprocalRank(_Binary):
    """One over the position of the first relevant document, 0 if none is among the first k; its mean is MRR at k.

    Examples
    --------
    >>> ReciprocalRank().utility([0, 0, 1, 1], None, target=[1, 1], classes=(), k=10)
    Fraction(1, 3)
    """

    kind = "first"

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        positions = (place for place, grade in enumerate(labels[:k], start=1) if self.relevant(grade))
        return Fraction(1, next(positions, 0) or 1) if self._count(labels[:k]) else Fraction(0)

    def discounts(self, k: int) -> FloatArray:
        return np.asarray(1.0 / np.arange(1.0, k + 1.0))


@dataclass(frozen=True)
class BestOf(RetrievalGame):
    """The largest grade among the first k: an answer is as good as the best document that was retrieved.

    This is the game of MaxShapley, whose answers have several key points, each with grades of its own: make every key
    point a query, with the ranking of its question and its weight as weight of the query.

    Examples
    --------
    >>> BestOf().utility([0, 2, 1, 3], None, target=[1, 2, 3], classes=(), k=3)
    Fraction(2, 1)
    """

    kind = "best"

    def utility(self, labels: Labels, votes: Votes, target: Any, classes: LabelSet, k: int) -> Fraction:
        return max(map(as_fraction, labels[:k]), default=Fraction(0))

    def gains(self, grades: AnyArray) -> FloatArray:
        return np.asarray(grades, dtype=np.float64)

    def utility_range(self, n_classes: int, labels: AnyArray | None = None, targets: AnyArray | None = None) -> float:
        return 1.0 if targets is None or targets.size == 0 else float(targets.max())


_NAMES = {
    Precision: "precision",
    Recall: "recall",
    DCG: "dcg",
    NDCG: "ndcg",
    Hit: "hit",
    ReciprocalRank: "rr",
    BestOf: "best",
}
_BY_NAME: dict[str, Game] = {
    **{name: game() for game, name in _NAMES.items()},
    "p": Precision(),
    "r": Recall(),
    "success": Hit(),
    "mrr": ReciprocalRank(),
    "reciprocal_rank": ReciprocalRank(),
    "best_of": BestOf(),
    "dcg-exp": DCG(gain="exponential"),
    "ndcg-exp": NDCG(gain="exponential"),
}


def as_retrieval_game(metric: object) -> Game:
    """Return the game that a metric names; a game or a mixture is returned as it is.

    Examples
    --------
    >>> as_retrieval_game("nDCG"), as_retrieval_game("mrr")
    (NDCG(gain='linear'), ReciprocalRank(level=None))
    """
    if isinstance(metric, Game):
        if metric.task == "retrieval":
            return metric
        raise ValueError(
            f"metric must be a game of retrieval; got {metric!r}, which is one of {metric.task}. Use pivotal.value."
        )
    known = ", ".join(_BY_NAME)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a game of retrieval such as NDCG(); got {metric!r}. Use {known}.")
    name, at, cut = metric.strip().lower().replace(" ", "_").partition("@")
    if name not in _BY_NAME:
        raise ValueError(f"metric must be one of {known}, or a game such as NDCG(); got {metric!r}.")
    if at:
        raise ValueError(f"metric must be a name without a cut-off; got {metric!r}. Use metric={name!r} and k={cut}.")
    return _BY_NAME[name]
