"""How loud: distances to weights, weights to integer votes.

A `Weights` object turns the distances of a query's neighbours into weights; `to_votes` rounds them to integers, which
the tables of the weighted games count with. Votes are relative to the query's largest weight, as only ratios matter.
"""

from __future__ import annotations

import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pivotal._types import AnyArray, CodeArray, FloatArray

__all__ = [
    "RBF",
    "Custom",
    "Distance",
    "Linear",
    "Uniform",
    "Weights",
    "as_weights",
    "check_bits",
    "resolution",
    "to_votes",
]

_MOST_BITS = 16
_NOISE = 1e-12  # weights that grow by less, relatively, grow by rounding


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
            Finite, at least 0. A weight does not depend on the length of the list.
        """

    def depth(self, k: int) -> int:
        """Return how many neighbours the weight of a single one depends on."""
        return 1


@dataclass(frozen=True)
class Uniform(Weights):
    """One vote each."""

    weighted: ClassVar[bool] = False

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        return np.ones(distances.shape)

    def __str__(self) -> str:
        return "uniform"


@dataclass(frozen=True)
class Distance(Weights):
    """One over the distance; where some distances are 0, those points weigh 1 and all others 0, as in scikit-learn."""

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore"):
            weights: FloatArray = 1.0 / distances
        infinite = np.isinf(weights)
        rows = infinite.any(axis=1)
        weights[rows] = infinite[rows]
        return weights

    def __str__(self) -> str:
        return "distance"


@dataclass(frozen=True)
class _Kernel(Weights):
    """A function of distance over bandwidth.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        In units of distance.
    """

    bandwidth: float | str = "auto"

    def __post_init__(self) -> None:
        if self.bandwidth == "auto":
            return
        if (
            not isinstance(self.bandwidth, numbers.Real)
            or isinstance(self.bandwidth, bool)
            or not 0.0 < float(self.bandwidth) < math.inf
        ):
            raise ValueError(f'bandwidth must be "auto" or a finite number above 0; got {self.bandwidth!r}.')
        object.__setattr__(self, "bandwidth", float(self.bandwidth))

    def depth(self, k: int) -> int:
        return 2 * k if self.bandwidth == "auto" else 1

    def _ratios(self, distances: FloatArray, k: int, factor: float) -> FloatArray:
        """Return distance over bandwidth, infinite for positive distances where the bandwidth is 0.

        The automatic bandwidth is `factor` times the distance of the neighbour of rank 2k: a random half of the data,
        the typical coalition, has its k-th neighbour there.
        """
        if self.bandwidth == "auto":
            rank = min(2 * k, distances.shape[1])
            bandwidths = factor * distances[:, rank - 1 : rank]
        else:
            bandwidths = np.full((1, 1), self.bandwidth)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios: FloatArray = distances / bandwidths
        # 0 / 0: a point on top of the query.
        ratios[np.isnan(ratios)] = 0.0
        return ratios

    def __str__(self) -> str:
        name = type(self).__name__.lower()
        return name if self.bandwidth == "auto" else f"{name}({self.bandwidth!r})"


@dataclass(frozen=True)
class RBF(_Kernel):
    """Gaussian weights, exp(-(d / h)^2 / 2).

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        h, in units of distance. "auto" takes, for each query, the distance of its neighbour of rank 2k.

    Examples
    --------
    >>> import numpy as np
    >>> RBF(2.0)(np.array([[0.0, 2.0, 4.0]]), k=1).round(4)
    array([[1.    , 0.6065, 0.1353]])
    """

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        weights = self._ratios(distances, k, 1.0)
        with np.errstate(over="ignore", under="ignore"):
            np.square(weights, out=weights)
            weights *= -0.5
            return np.exp(weights, out=weights)


@dataclass(frozen=True)
class Linear(_Kernel):
    """Weights that fall to zero on a line, max(0, 1 - d / h).

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        h, in units of distance. "auto" takes, for each query, twice the distance of its neighbour of rank 2k.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[0.0, 1.0, 5.0]]), k=1)
    array([[1. , 0.5, 0. ]])
    """

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        weights = self._ratios(distances, k, 2.0)
        np.subtract(1.0, weights, out=weights)
        return np.maximum(weights, 0.0, out=weights)


@dataclass(frozen=True)
class Custom(Weights):
    """A function of the user's, as scikit-learn's `weights` takes one.

    Parameters
    ----------
    function : callable
        Takes an array of distances, (n_queries, depth), nearest first, and returns an array of weights of the same
        shape: finite, at least 0, and never growing with distance.
    """

    function: Callable[[FloatArray], Any]

    def __call__(self, distances: FloatArray, k: int) -> FloatArray:
        answer = np.asarray(self.function(distances))
        if answer.shape != distances.shape:
            raise ValueError(
                f"{self} must return weights of the shape of its distances, {distances.shape}; got {answer.shape}."
            )
        if answer.dtype.kind not in "fiub":
            raise TypeError(f"{self} must return numbers; got dtype {answer.dtype}.")
        weights = answer.astype(np.float64)
        if not (weights.min() >= 0.0 and weights.max() < math.inf):
            odd = weights[~((weights >= 0.0) & (weights < math.inf))][0]
            raise ValueError(f"{self} must return finite weights of at least 0; got {odd}.")
        # A vote is a share of the largest weight, which must be known however short the list is.
        falling = np.minimum.accumulate(weights, axis=1)
        if (weights - falling > _NOISE * weights[:, :1]).any():
            raise ValueError(
                f"{self} must return weights that never grow with distance; got larger ones farther away. "
                "Give votes of your own to value_from_neighbors."
            )
        return falling

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))


_NAMED: dict[str, type[Weights]] = {"uniform": Uniform, "distance": Distance, "rbf": RBF, "linear": Linear}
_CALL = re.compile(r"(rbf|linear)\((.*)\)")


def as_weights(weights: str | Weights | Callable[..., Any] | None) -> Weights:
    """Return the weights that are meant.

    Parameters
    ----------
    weights : str, Weights, callable or None
        ``"uniform"``, ``"distance"``, ``"rbf"``, ``"linear"``, the last two with a bandwidth if need be, as in
        ``"rbf(0.5)"``; an object of this module; a function from distances to weights; None is uniform.

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
        if weights in _NAMED:
            return _NAMED[weights]()
        call = _CALL.fullmatch(weights)
        if call is not None:
            kernel = RBF if call[1] == "rbf" else Linear
            try:
                bandwidth = float(call[2])
            except ValueError:
                raise ValueError(f'bandwidth must be "auto" or a finite number above 0; got {call[2]!r}.') from None
            return kernel(bandwidth)
    elif callable(weights) and not isinstance(weights, type):
        return Custom(weights)
    raise ValueError(
        f"weights must be one of {', '.join(_NAMED)}, an object such as RBF(0.5), or a function from distances to "
        f"weights; got {weights!r}."
    )


def check_bits(bits: object) -> int:
    """Return the number of bits of a vote as an int from 1 to 16."""
    if isinstance(bits, numbers.Integral) and not isinstance(bits, bool) and 1 <= int(bits) <= _MOST_BITS:
        return int(bits)
    raise ValueError(f"bits must be a whole number from 1 to {_MOST_BITS}; got bits={bits!r}.")


def _largest_vote(bits: int) -> int:
    return (1 << check_bits(bits)) - 1


def resolution(bits: int) -> float:
    """Return the largest rounding of a weight, relative to the query's largest."""
    return 0.5 / _largest_vote(bits)


def to_votes(weights: AnyArray, bits: int) -> CodeArray:
    """Round weights to integer votes, the largest of each query to 2^bits - 1; queries without weight have no votes.

    Parameters
    ----------
    weights : float64 array of shape (n_queries, depth)
        Finite, at least 0.
    bits : int
        1 to 16.

    Returns
    -------
    int32 array of shape (n_queries, depth)

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
