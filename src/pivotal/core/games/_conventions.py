"""The conventions of others, by name, so that numbers can be compared side by side.

`conventions` maps a name to what its source computes: the game, the semivalue, how weights become votes, and whether
the values of the queries are averaged or added up. Pass a name or an entry as ``utility=`` to play that game; the
semivalue, the weights and the sum over queries stay yours to choose, and the entry says what the source does.

    entry = pivotal.conventions["jia2019"]
    pivotal.value(X_train, y_train, X_test, y_test, utility=entry, semivalue=entry.semivalue)

Sources that weight votes round them in ways of their own. `Convention.votes` turns distances into the integers that
they count with, and `pivotal.value_from_neighbors` takes any integers:

    entry = pivotal.conventions["shapiq"]
    pivotal.value_from_neighbors(indices, y_train, y_test, votes=entry.votes(distances), utility=entry, ...)

Some scores that look alike are omitted because they are values of no game of this kind. cleanlab's
``data_shapley_knn`` gives the neighbour of rank r the difference (match_r - match_k) / k and all others nothing,
then maps x to (1 + x) / 2: an approximation of "jia2019" with each point as its own query. pyDVL's
``KNNClassifierUtility`` looks for neighbours in the full training set whatever the coalition is, which makes the game
additive; the entry "pydvl" is its ``KNNShapleyValuation``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from pivotal.core.games._averaging import Soft
from pivotal.core.games._voting_games import Hard
from pivotal.core.games.definition import Game
from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.weights import check_bits


@dataclass(frozen=True)
class Convention:
    """What one source means by the value of a training point.

    Parameters
    ----------
    name : str
        The key in `conventions`.
    game : Game
        Utility of a coalition.
    semivalue : str
        How the source draws coalitions, as ``semivalue=`` takes it.
    weights : str
        How the source turns distances into votes.
    bits : int or None
        Default precision of its integer votes; None where every vote is 1.
    aggregate : {"mean", "sum"}
        How the source combines queries. This package always takes the mean.
    reference : str
        Where the convention comes from.
    rule : callable, optional
        Turns distances, bits and options into integer votes, where the source has a rule of its own.

    Examples
    --------
    >>> conventions["shapiq"].votes([[1.0, 2.0, 3.0, 4.0]])
    array([[8, 4, 3, 2]])
    """

    name: str
    game: Game
    semivalue: str
    weights: str
    bits: int | None
    aggregate: Literal["mean", "sum"]
    reference: str
    rule: Callable[..., IndexArray] | None = field(default=None, repr=False, compare=False)

    def votes(self, distances: npt.ArrayLike, bits: int | None = None, **options: float) -> IndexArray:
        """Turn distances into the votes that the source counts with.

        Parameters
        ----------
        distances : float array of shape (n_queries, n_train)
            Distances of all training points, nearest first: sources scale by the nearest or by the farthest.
        bits : int, optional
            Precision; the default of the source when None.
        **options
            What else the rule depends on: ``temperature`` for "wang2024", 0.1 by default.

        Returns
        -------
        int64 array of shape (n_queries, n_train)
        """
        gaps = np.asarray(distances, dtype=np.float64)
        if gaps.ndim != 2 or gaps.shape[1] == 0:
            raise ValueError(f"distances must have a row per query and a column per point; got shape {gaps.shape}.")
        bad = gaps[~(np.isfinite(gaps) & (gaps >= 0.0))]
        if bad.size:
            raise ValueError(f"distances must be finite and at least 0; got {bad[0]}.")
        if self.bits is None:
            return np.ones(gaps.shape, dtype=np.int64)
        if self.rule is None:
            raise ValueError(f"{self.name!r} leaves the weights to you; choose them with weights= in pivotal.value.")
        return self.rule(gaps, check_bits(self.bits if bits is None else bits), **options)

    def __str__(self) -> str:
        bits = "" if self.bits is None else f", {self.bits} bits"
        return (
            f"{self.name}: {self.game!r}, {self.semivalue}, {self.aggregate} over queries\n"
            f"  votes: {self.weights}{bits}\n"
            f"  from: {self.reference}"
        )


def _over_nearest(distances: FloatArray, bits: int) -> IndexArray:
    # As in its source: where a distance is 0, but for rounding, those points have all the weight.
    at_zero = np.isclose(distances, 0.0)
    weights = np.divide(distances.min(axis=1, keepdims=True), distances, out=np.zeros_like(distances), where=~at_zero)
    weights[at_zero] = 1.0
    return np.asarray(np.round(weights * 2**bits), dtype=np.int64)


def _exponential(distances: FloatArray, bits: int, temperature: float = 0.1) -> IndexArray:
    if not 0.0 < temperature < np.inf:
        raise ValueError(f"temperature must be a finite number above 0; got {temperature!r}.")
    farthest = distances.max(axis=1, keepdims=True)
    scaled = np.divide(distances, farthest, out=np.zeros_like(distances), where=farthest > 0)
    # Relative to the nearest, which keeps the largest weight at 1 however low the temperature.
    weights = np.exp((scaled.min(axis=1, keepdims=True) - scaled) / temperature)
    return np.asarray(np.round(weights * (2**bits - 1)), dtype=np.int64)


_UNIFORM = "unweighted"

_JIA = (
    "Jia, Dao, Wang, Hubis, Gürel, Li, Zhang, Spanos and Song: Efficient task-specific data valuation for nearest "
    "neighbor algorithms. PVLDB 12(11), 2019"
)


def _soft_over_k(name: str, reference: str) -> Convention:
    return Convention(name, Soft(divide_by="k"), "shapley", _UNIFORM, None, "mean", reference)


_ALL = (
    Convention(
        name="zhang2026",
        game=Hard(),
        semivalue="banzhaf",
        weights="non-increasing in the distance, in 2^bits equally spaced bins up to the largest",
        bits=7,
        aggregate="mean",
        reference="Zhang, Oettershagen, Wang and Gionis: Efficient Banzhaf-based data valuation for k-nearest "
        "neighbors classification. 2026",
    ),
    _soft_over_k("jia2019", _JIA),
    Convention(
        name="wang2023",
        game=Soft(divide_by="size"),
        semivalue="shapley",
        weights=_UNIFORM,
        bits=None,
        aggregate="sum",
        reference="Wang and Jia: A note on 'Efficient task-specific data valuation for nearest neighbor algorithms'. "
        "arXiv 2304.04258, 2023. Their program counts the largest label plus one as the number of classes",
    ),
    Convention(
        name="wang2024",
        game=Hard(other_classes="ignore", scale="sum"),
        semivalue="shapley",
        weights="distances over the largest, exp(-d / temperature) over its largest, round(w * (2^bits - 1))",
        bits=3,
        aggregate="sum",
        reference="Wang, Mittal and Jia: Efficient data Shapley for weighted nearest neighbor algorithms. "
        "AISTATS 2024, as their program plays it. The values are a sum over the wrong classes as well. Their program "
        "omits points whose vote is 0; here they take places, so do not list them",
        rule=_exponential,
    ),
    Convention(
        name="shapiq",
        game=Hard(tie="win", other_classes="ignore"),
        semivalue="shapley",
        weights="smallest distance over distance (where some are 0, those get 1 and the others 0), round(w * 2^bits)",
        bits=3,
        aggregate="mean",
        reference="shapiq 1.8, WeightedKNNExplainer, one query at a time; its KNNExplainer is 'jia2019'",
        rule=_over_nearest,
    ),
    _soft_over_k("pydvl", f"pyDVL 0.10, KNNShapleyValuation, for k up to the number of training points. After {_JIA}"),
    _soft_over_k(
        "opendataval", f"OpenDataVal 1.3, KNNShapley, for k up to the number of training points. After {_JIA}"
    ),
    _soft_over_k("dattri", f"dattri 0.3, KNNShapleyAttributor, which returns one row per query. After {_JIA}"),
)

conventions: Mapping[str, Convention] = MappingProxyType({entry.name: entry for entry in _ALL})
"""Names of published conventions and what they mean; the game and semivalue of "zhang2026" are the defaults here."""
