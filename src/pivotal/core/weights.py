"""How votes are weighted: distances to weights, weights to integer votes.

A `Weights` object turns the distances of a query's neighbours into weights; `to_votes` rounds them to integers, which
the tables of the weighted games count with; `pivotal.core.voting` asks for the one and then the other, and checks. Only
ratios matter. So the weights of this module are relative to that of the nearest neighbour, which is in every list: they
do not underflow however far a query is, and do not depend on how long its list is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pivotal.core.calls import read_call
from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.core.validation import is_integer, is_number

__all__ = [
    "RBF",
    "Custom",
    "Distance",
    "Linear",
    "Uniform",
    "Weights",
    "as_bits",
    "as_weights",
    "check_bits",
    "resolution",
    "to_votes",
]

_MOST_BITS, _USUAL_BITS = 16, 7


class Weights(ABC):
    """How much a neighbour's vote weighs, given how far it is.

    Attributes
    ----------
    weighted : bool
        Whether votes may differ at all.
    """

    weighted: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        """Return the weights of each query's neighbours.

        Parameters
        ----------
        distances : float64 array of shape (n_queries, depth)
            Distances, nearest first; depth is at least `depth(k)`, or the number of training points if that is less.
        k : int
            Number of neighbours that vote.

        Returns
        -------
        float64 array of shape (n_queries, depth)
            Finite, at least 0, never growing with distance, and above 0 for the nearest. Only the ratios of a query's
            weights matter, and they do not depend on the length of the list or on other queries.
        """

    def depth(self, k: int) -> int:
        """Return how many neighbours the weight of a single one depends on."""
        return 1


@dataclass(frozen=True)
class Uniform(Weights):
    """Unweighted."""

    weighted: ClassVar[bool] = False

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        return np.ones(distances.shape)

    def __str__(self) -> str:
        return "uniform"


@dataclass(frozen=True)
class Distance(Weights):
    """One over the distance; where some distances are 0, those points weigh 1 and all others 0, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> Distance()(np.array([[1e-320, 2e-320, 4e-320], [0.0, 0.0, 1.0]]), k=1).round(3)
    array([[1.  , 0.5 , 0.25],
           [1.  , 1.  , 0.  ]])
    """

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        with np.errstate(under="ignore"):
            return np.divide(distances[:, :1], distances, out=np.ones(distances.shape), where=distances > 0.0)

    def __str__(self) -> str:
        return "distance"


@dataclass(frozen=True)
class _Kernel(Weights):
    """A function of distance over bandwidth."""

    bandwidth: float | str = "auto"

    def __post_init__(self) -> None:
        if self.bandwidth == "auto":
            return
        if not is_number(self.bandwidth) or self.bandwidth <= 0.0:
            raise ValueError(f'bandwidth must be "auto" or a finite number above 0; got {self.bandwidth!r}.')
        object.__setattr__(self, "bandwidth", float(self.bandwidth))

    def depth(self, k: int) -> int:
        return 2 * k if self.bandwidth == "auto" else 1

    def _bandwidths(self, distances: FloatArray, k: int, factor: float) -> FloatArray:
        """Return the bandwidth of each query over `factor`, (n_queries, 1).

        The automatic bandwidth is `factor` times the distance of the neighbour of rank 2k: a random half of the data,
        the typical coalition, has its k-th neighbour there.
        """
        if isinstance(self.bandwidth, str):
            rank = min(2 * k, distances.shape[1])
            return distances[:, rank - 1 : rank]
        return np.full((len(distances), 1), self.bandwidth / factor)

    def __str__(self) -> str:
        name = type(self).__name__.lower()
        return name if self.bandwidth == "auto" else f"{name}({self.bandwidth!r})"


@dataclass(frozen=True)
class RBF(_Kernel):
    """Gaussian weights, exp(-(d / h)^2 / 2), relative to the nearest neighbour's.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        h, in units of distance. "auto" takes, for each query, the distance of its neighbour of rank 2k.

    Examples
    --------
    >>> import numpy as np
    >>> RBF(2.0)(np.array([[0.0, 2.0, 4.0], [1000.0, 1000.001, 1000.002]]), k=1).round(4)
    array([[1.    , 0.6065, 0.1353],
           [1.    , 0.7788, 0.6065]])
    """

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        bandwidths = self._bandwidths(distances, k, 1.0)
        nearest = distances[:, :1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            # d^2 - nearest^2 as a product: the squares of a far query would agree in all the digits that they have.
            exponents: FloatArray = (distances - nearest) / bandwidths
            exponents *= distances / bandwidths + nearest / bandwidths
            exponents *= -0.5
            # Where the bandwidth is 0, the points on top of the query have all the weight.
            exponents[np.isnan(exponents)] = -math.inf
            exponents[distances == nearest] = 0.0
            return np.exp(exponents, out=exponents)


@dataclass(frozen=True)
class Linear(_Kernel):
    """Weights that fall to zero on a line, max(0, 1 - d / h), relative to the nearest neighbour's.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        h, in units of distance; every query must have a neighbour nearer than that. "auto" takes, for each query, twice
        the distance of its neighbour of rank 2k.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[0.0, 1.0, 5.0]]), k=1)
    array([[1. , 0.5, 0. ]])
    """

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        # In units of a power of 2 near the bandwidth, so that neither twice a distance overflows nor small ones round.
        bandwidths, exponents = np.frexp(self._bandwidths(distances, k, 2.0))
        with np.errstate(over="ignore", under="ignore"):
            # h - d before any division: near the bandwidth, d / h has too few digits to be taken from 1.
            weights: FloatArray = np.maximum(2.0 * bandwidths - np.ldexp(distances, -exponents), 0.0)
            on_top = bandwidths[:, 0] == 0.0
            weights[on_top] = distances[on_top] == 0.0
            nearest = weights[:, :1]
            return np.divide(weights, nearest, out=weights, where=nearest > 0.0)


@dataclass(frozen=True)
class Custom(Weights):
    """A function of the user's, as scikit-learn's `weights` takes one.

    Parameters
    ----------
    function : callable
        Takes an array of distances, (n_queries, depth), nearest first, and returns an array of weights of the same
        shape: finite, at least 0, never growing with distance, and above 0 for the nearest. Lists are longer than k, so
        a weight is one of its own distance and at most of that of the nearest, not of the last in the list.
    """

    function: Callable[[FloatArray], Any]

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        return np.asarray(self.function(distances.copy()))  # a copy, as the function may write to it

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))


_NAMED: dict[str, type[Weights]] = {"uniform": Uniform, "distance": Distance, "rbf": RBF, "linear": Linear}


def as_weights(weights: str | Weights | Callable[..., Any] | None) -> Weights:
    """Return the weights that are meant: by a name, an object, a function from distances to weights; None is uniform.

    Examples
    --------
    >>> as_weights("rbf(0.5)")
    RBF(bandwidth=0.5)
    """
    if weights is None:
        return Uniform()
    if isinstance(weights, Weights):
        return weights
    if isinstance(weights, str):
        name, arguments, options = read_call(weights, words=True) or ("", (), {})
        if name in _NAMED:
            with suppress(TypeError):  # too many arguments
                return _NAMED[name](*arguments, **options)
    elif callable(weights) and not isinstance(weights, type):
        return Custom(weights)
    raise ValueError(
        f"weights must be one of {', '.join(_NAMED)}, an object such as RBF(0.5), or a function from distances to "
        f"weights; got {weights!r}."
    )


def check_bits(bits: object) -> int:
    """Return the number of quantisation bits as an int from 1 to 16."""
    if is_integer(bits, 1, _MOST_BITS):
        return int(bits)
    raise ValueError(f"bits must be an integer from 1 to {_MOST_BITS}; got bits={bits!r}.")


def as_bits(bits: object) -> int:
    """Return the number of quantisation bits: what was given, or 7.

    Examples
    --------
    >>> as_bits(None), as_bits(3)
    (7, 3)
    """
    return _USUAL_BITS if bits is None else check_bits(bits)


def _largest_vote(bits: int) -> int:
    return (1 << check_bits(bits)) - 1


def resolution(bits: int) -> float:
    """Return the largest rounding of a weight, relative to the query's largest."""
    return 0.5 / _largest_vote(bits)


def to_votes(weights: AnyArray, bits: int) -> CodeArray:
    """Round weights to integer votes, the largest of each query to 2^bits - 1; queries without weight have no votes.

    Both have shape (n_queries, depth); weights are finite and at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> to_votes(np.array([[2.0, 1.0, 0.01], [0.0, 0.0, 0.0]]), bits=7)
    array([[127,  64,   1],
           [  0,   0,   0]], dtype=int32)
    """
    largest = weights.max(axis=1, keepdims=True)
    shares = weights / np.where(largest > 0.0, largest, 1.0)
    shares *= _largest_vote(bits)
    return np.rint(shares, out=shares).astype(np.int32)
