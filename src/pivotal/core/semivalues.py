"""Semivalues: how coalitions are drawn.

A semivalue is a probability measure over p in [0, 1]: draw p, let every other point join independently with
probability p, and take the expected marginal contribution. All that the closed forms need of it is one law,
`joined(n, s)`: the chance that exactly s of n others joined. From it follow

    sizes[s] = joined(n - 1, s)                the coalitions with fewer than k members
    push[m]  = k / (m - 1) * joined(m - 1, k)  rank m is the k-th member, the one that a nearer point pushes out
    reach[j] = sum of joined(j, s) over s < k  fewer than k of j nearer points joined, so the next one still counts

The weighted games are integrated over p instead (see `pivotal.core.quadrature`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from pivotal.core.binomials import binomial_chance, binomial_sizes
from pivotal.core.calls import read_call
from pivotal.core.types import FloatArray
from pivotal.core.validation import check_probability

__all__ = ["Banzhaf", "BetaShapley", "LeaveOneOut", "Measure", "Semivalue", "Shapley", "as_semivalue"]


_Law = TypeVar("_Law", bound=Callable[..., Any])
_LONGEST_KEPT = 4096  # entries of an array that is remembered
_ANSWERS_KEPT = 128  # of one law


def _remembered(law: _Law) -> _Law:
    """Keep the last answers of a method that takes numbers and returns a number or an array.

    Only objects whose class stands in the same module as the method are remembered: they are frozen and equal when
    their numbers are. A class of the user's may change from call to call, and is asked every time.
    """

    @lru_cache(_ANSWERS_KEPT)
    def answer(owner: Any, *numbers: float) -> Any:
        return law(owner, *numbers)

    @wraps(law)
    def ask(self: Any, *numbers: float, **named: float) -> Any:
        if named or type(self).__module__ != law.__module__ or max(numbers) > _LONGEST_KEPT:
            return law(self, *numbers, **named)
        found = answer(self, *numbers)
        # A copy: kernels are compiled for arrays that can be written to.
        return found.copy() if isinstance(found, np.ndarray) else found

    return ask  # type: ignore[return-value]  # the same signature


class Semivalue(ABC):
    """How coalitions are drawn; a new semivalue needs a name, `joined` and `mass`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The string that `as_semivalue` reads back."""

    @abstractmethod
    def joined(self, n: npt.ArrayLike, s: int) -> FloatArray:
        """Chance that exactly `s` of `n` others joined, right to about 1e-13 relatively.

        Parameters
        ----------
        n : int or array of int
            Number of others.
        s : int
            How many of them joined.
        """

    @abstractmethod
    def mass(self, a: int, b: int) -> float:
        """Chance that `a` given others joined and `b` given others did not: the integral of p^a (1-p)^b."""

    @_remembered
    def sizes(self, k: int, n: int) -> FloatArray:
        """Chances that exactly 0, 1, ..., k-1 of the n - 1 other points joined; shape (k,)."""
        return np.array([self.joined(n - 1, s).item() for s in range(k)])

    @_remembered
    def push(self, k: int, n: int) -> FloatArray:
        """Chance, at index m, that rank m is the k-th member of a coalition that a given nearer point is not in.

        Shape (n + 1,); zero at m <= k, where no point is pushed out.
        """
        push = np.zeros(n + 1)
        ranks = np.arange(k + 1, n + 1)
        push[k + 1 :] = self.joined(ranks - 1, k) * (k / (ranks - 1))
        return push

    @_remembered
    def reach(self, k: int, size: int) -> FloatArray:
        """Chance, at index j < size, that fewer than k of j nearer points joined; shape (size,)."""
        last = size - 1
        steps = np.zeros(size)
        steps[last] = math.fsum(self.joined(last, s).item() for s in range(min(k, size)))
        steps[:last] = self.push(k, size)[2:]  # reach[j] = reach[j + 1] + push[j + 2]
        # Far to near, so that the tiny reaches of far ranks keep their digits.
        return np.minimum(np.cumsum(steps[::-1])[::-1], 1.0)

    @_remembered
    def depth(self, k: int, tol: float, n: int, factor: float = 1.0) -> int:
        """Ranks to keep, of n, so that dropping the others changes no value by more than `tol`.

        Parameters
        ----------
        k : int
            Number of neighbours that vote.
        tol : float
            Largest change allowed, in units of the range of the utility; 0 keeps every rank.
        n : int
            Number of training points.
        factor : float, default=1.0
            What the game multiplies the reach with: 1 for two-class hard votes, otherwise 2.
        """
        if tol <= 0.0:
            return n
        size = min(n, 64)
        while True:
            near_enough = np.flatnonzero(factor * self.reach(k, size) <= tol)
            if near_enough.size:
                return min(n, int(near_enough[0]) + 1)
            if size == n:
                return n
            size = min(n, 2 * size)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Measure(Semivalue):
    """A custom semivalue: finitely many p with their weights.

    Parameters
    ----------
    nodes : sequence of float
        The probabilities with which the others join, each in [0, 1].
    weights : sequence of float
        How much each counts: non-negative, summing to 1.

    Examples
    --------
    >>> import pivotal
    >>> cautious = pivotal.Measure(nodes=[0.25, 0.75], weights=[0.5, 0.5])
    >>> cautious.mass(1, 0)
    0.5
    """

    nodes: Sequence[float]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        nodes = tuple(check_probability(p, "every node") for p in self.nodes)
        weights = tuple(float(w) for w in self.weights)
        if not nodes or len(nodes) != len(weights):
            raise ValueError(
                f"a measure needs as many weights as nodes, at least one; got {len(nodes)} nodes and {len(weights)}."
            )
        if not all(w >= 0.0 for w in weights) or not math.isclose(math.fsum(weights), 1.0, abs_tol=1e-12):
            raise ValueError(
                f"the weights of a measure must be non-negative and sum to 1; they sum to {math.fsum(weights):g}. "
                "Divide them by their sum."
            )
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "weights", weights)

    @property
    def name(self) -> str:
        return f"measure({list(self.nodes)},{list(self.weights)})"

    def joined(self, n: npt.ArrayLike, s: int) -> FloatArray:
        count = np.asarray(n, dtype=np.int64)
        total = np.zeros(count.shape)
        for p, weight in zip(self.nodes, self.weights, strict=True):
            total += weight * binomial_chance(count, s, p)
        return total

    @_remembered
    def sizes(self, k: int, n: int) -> FloatArray:
        total = np.zeros(k)
        for p, weight in zip(self.nodes, self.weights, strict=True):
            total += weight * binomial_sizes(k, n, p)
        return total

    def mass(self, a: int, b: int) -> float:
        terms = zip(self.nodes, self.weights, strict=True)
        return math.fsum(weight * p**a * (1.0 - p) ** b for p, weight in terms)


class Banzhaf(Measure):
    """Every other point joins with probability p; the Banzhaf value is p = 1/2, the default."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__((check_probability(p, "p"),), (1.0,))

    @property
    def p(self) -> float:
        """The probability of joining."""
        return self.nodes[0]

    @property
    def name(self) -> str:
        return "banzhaf" if self.p == 0.5 else f"banzhaf({self.p!r})"

    def __repr__(self) -> str:
        return f"Banzhaf(p={self.p!r})"


class LeaveOneOut(Measure):
    """All others have joined: what is lost when the point is removed from the full training set."""

    def __init__(self) -> None:
        super().__init__((1.0,), (1.0,))

    @property
    def name(self) -> str:
        return "loo"

    def __repr__(self) -> str:
        return "LeaveOneOut()"


@dataclass(frozen=True)
class BetaShapley(Semivalue):
    """Beta Shapley values of Kwon and Zou: p ~ Beta(beta, alpha).

    Parameters
    ----------
    alpha, beta : float
        Positive reals. (1, 1) is Shapley; a large alpha favours small coalitions, a large beta large ones.
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} must be a positive number; got {name}={value!r}.")
            # 4 and 4.0 are one semivalue, and have one name.
            object.__setattr__(self, name, int(value) if float(value).is_integer() else float(value))

    @property
    def name(self) -> str:
        return f"beta({self.alpha!r},{self.beta!r})"

    def joined(self, n: npt.ArrayLike, s: int) -> FloatArray:
        count = np.asarray(n, dtype=np.float64)
        chance = self._chance_none_joined(count)
        for j in range(s):
            chance *= (count - j) * (self.beta + j) / ((j + 1.0) * np.maximum(self.alpha + count - s + j, self.alpha))
        return np.where(count < s, 0.0, chance)

    def mass(self, a: int, b: int) -> float:
        return float(np.exp(betaln(self.beta + a, self.alpha + b) - betaln(self.beta, self.alpha)))

    def _chance_none_joined(self, n: FloatArray) -> FloatArray:
        """Chance that none of n others joined, E[(1-p)^n] = (alpha)_n / (alpha + beta)_n.

        A difference of two log-gammas loses eight digits at n = 10 million. Its Stirling series can be
        rearranged so that only numbers of moderate size are subtracted; the first factors are multiplied out.
        """
        exact = 32  # the series is right to 1e-17 from here on
        table = np.ones(exact + 1)
        for j in range(exact):
            table[j + 1] = table[j] * (self.alpha + j) / (self.alpha + self.beta + j)
        beyond = np.exp(self._log_gamma_ratio(np.maximum(n, exact)) - self._log_gamma_ratio(np.float64(exact)))
        return table[np.clip(n, 0, exact).astype(np.int64)] * beyond

    def _log_gamma_ratio(self, n: FloatArray | np.float64) -> FloatArray:
        """Return log Gamma(n + alpha) - log Gamma(n + alpha + beta), up to a constant."""
        a = n + self.alpha
        b = a + self.beta
        return np.asarray(
            -(a - 0.5) * np.log1p(self.beta / a) - self.beta * np.log(b) + (_stirling_rest(a) - _stirling_rest(b))
        )


class Shapley(BetaShapley):
    """The Shapley value: every coalition size is equally likely."""

    def __init__(self) -> None:
        super().__init__(1.0, 1.0)

    @property
    def name(self) -> str:
        return "shapley"

    def joined(self, n: npt.ArrayLike, s: int) -> FloatArray:
        count = np.asarray(n, dtype=np.float64)
        return np.where(count < s, 0.0, 1.0 / (count + 1.0))

    def mass(self, a: int, b: int) -> float:
        return float(np.exp(gammaln(a + 1) + gammaln(b + 1) - gammaln(a + b + 2)))

    def reach(self, k: int, size: int) -> FloatArray:
        return np.minimum(1.0, k / (np.arange(size) + 1.0))

    def depth(self, k: int, tol: float, n: int, factor: float = 1.0) -> int:
        if tol <= 0.0:
            return n
        return int(min(float(n), math.ceil(factor * k / tol)))

    def __repr__(self) -> str:
        return "Shapley()"


def _stirling_rest(x: FloatArray | np.float64) -> FloatArray | np.float64:
    """What Stirling's formula omits from log Gamma(x), for x >= 32."""
    inverse = 1.0 / (x * x)
    return (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x


_NAMED: dict[str, Callable[..., Semivalue]] = {
    "banzhaf": Banzhaf,
    "shapley": Shapley,
    "loo": LeaveOneOut,
    "leave-one-out": LeaveOneOut,
    "beta": BetaShapley,
    "measure": Measure,
}


def as_semivalue(semivalue: Semivalue | str) -> Semivalue:
    """Return the semivalue that an object or a string such as ``"beta(4,1)"`` means."""
    if isinstance(semivalue, Semivalue):
        return semivalue
    if not isinstance(semivalue, str):
        raise TypeError(
            f"semivalue must be a Semivalue or a string; got {type(semivalue).__name__}. "
            'Use "banzhaf", "shapley", "loo", "beta(4,1)" or an object such as pivotal.Banzhaf(0.3).'
        )
    return _read(semivalue)


@lru_cache
def _read(semivalue: str) -> Semivalue:
    name, arguments, options = read_call(semivalue.lower(), words=True) or ("", (), {})
    if name in _NAMED:
        with suppress(TypeError):  # too many arguments, or too few
            return _NAMED[name](*arguments, **options)
    raise ValueError(
        f'semivalue must be one of "banzhaf", "banzhaf(p)", "shapley", "loo", "beta(alpha,beta)"; got {semivalue!r}.'
    )
