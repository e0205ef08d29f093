"""Which coalitions to try, and how to make estimates of their utilities.

A sample is a handful of coalitions that is drawn, played and counted as a whole:

    permutations  the points join one by one in random order; the gain of each is weighted by n times the chance of
                  the size of the coalition that it joins, which is 1 for Shapley
    coalitions    one random coalition, and what changes when each point in turn leaves or joins it
    msr           one random coalition. The value of a point is the mean over the coalitions with it minus the mean
                  over those without it (maximum sample reuse, Wang and Jia 2023)

All are estimates for every semivalue, which is described by one law: the chance that a coalition of the others has
s members. Coalitions of one size are equally likely.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pivotal.core.semivalues import Measure, Semivalue
from pivotal.core.types import FloatArray, IndexArray
from pivotal.engine.sampling.laws import place_weights

__all__ = ["SAMPLERS", "CoalitionSampler", "PermutationSampler", "Reuse", "Sampler", "SamplerPlan", "size_chances"]

_NEGLIGIBLE = 1e-16  # sizes less likely than this are omitted: together they change no value by more, in units of v

# Gains that a point may have had without our seeing them. With this many of a usual size added to its variance, an
# interval of two standard errors covers the truth about as often as it should also where gains are rare.
_UNSEEN = 2.0

Mask = npt.NDArray[np.bool_]


def size_chances(semivalue: Semivalue, n_others: int) -> FloatArray:
    """Chances that 0, 1, ..., n_others of the others joined; shape (n_others + 1,)."""
    return np.asarray(place_weights(semivalue, n_others + 1) / (n_others + 1))


@dataclass(frozen=True, eq=False)
class SamplerPlan:
    """The coalitions of one sample, in the order in which they are played."""

    order: IndexArray  # in which players join, for permutations; otherwise those that leave or join, one at a time
    start: Mask  # the first coalition, shape (n_players,)
    one_by_one: bool  # whether a player that joined stays

    def __len__(self) -> int:
        return len(self.order) + 1

    def coalitions(self) -> Iterator[Mask]:
        """Go through the coalitions; each is to be used before the next is asked for."""
        mask = self.start.copy()
        yield mask
        for player in self.order:
            mask[player] = not mask[player]
            yield mask
            if not self.one_by_one:
                mask[player] = not mask[player]


class Sampler(ABC):
    """Draws plans, and turns what they earned into values with standard errors."""

    n_drawn = 0

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> SamplerPlan:
        """Draw a sample."""

    @abstractmethod
    def add(self, plan: SamplerPlan, utilities: FloatArray) -> None:
        """Count a sample; what was not played, after a truncation, earned NaN."""

    @abstractmethod
    def values(self) -> FloatArray:
        """Estimates so far; shape (n_players,)."""

    @abstractmethod
    def errors(self) -> FloatArray:
        """Their standard errors; infinite while there are too few samples to tell."""


class _Means(Sampler):
    """Means of independent estimates, one row of them per sample; `certain` if all samples are alike."""

    def __init__(self, n_players: int, *, certain: bool) -> None:
        self._certain = certain
        self._mean = np.zeros(n_players)
        self._squares = np.zeros(n_players)  # of deviations from the mean
        self._moments = np.zeros(2)  # sums of squares and of fourth powers over all points

    def _count(self, row: FloatArray) -> None:
        self.n_drawn += 1
        before = row - self._mean
        self._mean += before / self.n_drawn
        self._squares += before * (row - self._mean)
        self._moments += (np.sum(row**2), np.sum(row**4))

    def values(self) -> FloatArray:
        return self._mean.copy()

    def errors(self) -> FloatArray:
        if self.n_drawn < 2:
            return np.full(len(self._mean), np.inf)
        if self._certain:
            return np.zeros(len(self._mean))
        squares, fourths = self._moments
        unseen = _UNSEEN * fourths / squares if squares > 0.0 else 0.0
        variance = np.maximum(self._squares, 0.0) / (self.n_drawn - 1)
        return np.asarray(np.sqrt((variance + unseen / self.n_drawn) / self.n_drawn))


class PermutationSampler(_Means):
    """Points join in random order."""

    def __init__(self, semivalue: Semivalue, n_players: int) -> None:
        super().__init__(n_players, certain=n_players == 1)
        self._factor = place_weights(semivalue, n_players)
        counted = np.flatnonzero(self._factor > _NEGLIGIBLE)
        self._positions = slice(int(counted[0]), int(counted[-1]) + 1)  # where joining counts

    def draw(self, rng: np.random.Generator) -> SamplerPlan:
        order = rng.permutation(len(self._mean)).astype(np.int64, copy=False)
        start = np.zeros(len(order), dtype=np.bool_)
        start[order[: self._positions.start]] = True
        return SamplerPlan(order[self._positions], start, one_by_one=True)

    def add(self, plan: SamplerPlan, utilities: FloatArray) -> None:
        row = np.zeros(len(self._mean))
        row[plan.order] = np.nan_to_num(np.diff(utilities)) * self._factor[self._positions]
        self._count(row)


class CoalitionSampler(_Means):
    """One coalition for all points: what changes when each leaves it or joins it."""

    def __init__(self, semivalue: Semivalue, n_players: int) -> None:
        # The point in question counts as one of the others: p is the same, and so the rest is drawn as it should be.
        law = size_chances(semivalue, n_players)
        super().__init__(n_players, certain=n_players == 1 or law[0] == 1.0 or law[-1] == 1.0)
        self._law = _cumulative(law)

    def draw(self, rng: np.random.Generator) -> SamplerPlan:
        start = _draw_coalition(rng, self._law)
        return SamplerPlan(np.arange(len(start)), start, one_by_one=False)

    def add(self, plan: SamplerPlan, utilities: FloatArray) -> None:
        self._count(np.where(plan.start, utilities[0] - utilities[1:], utilities[1:] - utilities[0]))


class Reuse(Sampler):
    """Every coalition speaks for all points: the mean with the point minus the mean without it.

    For a semivalue with a single p, coalitions are drawn with that p and the means are plain. Otherwise coalitions of
    size s are drawn with the chance that keeps the variance smallest when the utilities of all coalitions vary alike,
    and the means are weighted by how much likelier the semivalue makes the size.
    """

    def __init__(self, semivalue: Semivalue, n_players: int) -> None:
        n = n_players
        sizes = np.arange(n + 1)
        others = size_chances(semivalue, n - 1)
        inside = np.concatenate([[0.0], others]) * n / np.maximum(sizes, 1)  # the chance of a size when i is a member
        outside = np.concatenate([others, [0.0]]) * n / np.maximum(n - sizes, 1)
        if isinstance(semivalue, Measure) and len(semivalue.nodes) == 1:
            p = semivalue.nodes[0]
            if p in (0.0, 1.0):
                raise ValueError(
                    f'sampler="msr" needs coalitions with and without every point; {semivalue} draws one coalition '
                    'only. Use sampler="coalitions".'
                )
            law = size_chances(semivalue, n)
            self._weight_in, self._weight_out = np.full(n + 1, 1.0 / p), np.full(n + 1, 1.0 / (1.0 - p))
        else:
            law = np.sqrt(inside**2 * sizes / n + outside**2 * (n - sizes) / n)
            law /= law.sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                self._weight_in = np.where(law > 0.0, inside / law, 0.0)
                self._weight_out = np.where(law > 0.0, outside / law, 0.0)
        self._law = _cumulative(law)
        self._about: float | None = None  # utilities are counted from the first one, which keeps their digits
        # For those inside, then for those outside: the sums of 1 and of w, wv, ww, wwv and wwvv.
        self._sums = np.zeros((2, 6, n))

    def draw(self, rng: np.random.Generator) -> SamplerPlan:
        return SamplerPlan(np.zeros(0, dtype=np.int64), _draw_coalition(rng, self._law), one_by_one=False)

    def add(self, plan: SamplerPlan, utilities: FloatArray) -> None:
        self.n_drawn += 1
        if self._about is None:
            self._about = float(utilities[0])
        v = float(utilities[0]) - self._about
        size = int(plan.start.sum())
        for side, (who, weights) in enumerate([(plan.start, self._weight_in), (~plan.start, self._weight_out)]):
            w = weights[size]
            terms = np.array([1.0, w, w * v, w * w, w * w * v, w * w * v * v])
            self._sums[side][:, who] += terms[:, np.newaxis]

    def values(self) -> FloatArray:
        means = self._means()
        return np.asarray(means[0] - means[1])

    def errors(self) -> FloatArray:
        count, w, _, ww, wwv, wwvv = self._sums.swapaxes(0, 1)
        means = self._means()
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.maximum(wwvv - 2.0 * means * wwv + means**2 * ww, 0.0) / w**2 * count / (count - 1.0)
        variance[count < 2.0] = np.inf
        return np.asarray(np.sqrt(variance.sum(axis=0)))

    def _means(self) -> FloatArray:
        w, wv = self._sums[:, 1], self._sums[:, 2]
        return np.asarray(np.divide(wv, w, out=np.zeros_like(wv), where=w > 0.0))


SAMPLERS: dict[str, type[PermutationSampler] | type[CoalitionSampler] | type[Reuse]] = {
    "permutations": PermutationSampler,
    "coalitions": CoalitionSampler,
    "msr": Reuse,
}


def _cumulative(law: FloatArray) -> FloatArray:
    total = np.cumsum(law)
    return np.asarray(total / total[-1])


def _draw_coalition(rng: np.random.Generator, law: FloatArray) -> Mask:
    """Draw a size, then members."""
    n_players = len(law) - 1
    size = int(np.searchsorted(law, rng.random(), side="right"))
    mask = np.zeros(n_players, dtype=np.bool_)
    mask[rng.permutation(n_players)[:size]] = True
    return mask
