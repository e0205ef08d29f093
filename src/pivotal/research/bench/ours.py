"""The library itself, one class for each game that is timed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pivotal.research.bench.contender import HARD, HARD_ALONE, SOFT, SOFT_ALONE, WEIGHTED, Contender

__all__ = ["OURS"]


class _Pivotal(Contender):
    package = module = "pivotal"
    method = "value"
    settings: ClassVar[dict[str, Any]] = {}

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from pivotal.valuation.value import value

        return np.asarray(value(X, y, X_test, y_test, k=k, **self.settings).values)


class SoftShapley(_Pivotal):
    """Exact Shapley values of the share of right votes among k."""

    name, game = "pivotal-shapley", SOFT
    settings: ClassVar = {"utility": "jia2019", "semivalue": "shapley"}


class HardBanzhaf(_Pivotal):
    """Exact Banzhaf values of being right."""

    name, game = "pivotal-banzhaf", HARD


class SoftShapleyAlone(SoftShapley):
    """Exact Shapley values, every point a query to all others."""

    name, game, alone = "pivotal-shapley-alone", SOFT_ALONE, True


class HardBanzhafAlone(HardBanzhaf):
    """Exact Banzhaf values, every point a query to all others."""

    name, game, alone = "pivotal-banzhaf-alone", HARD_ALONE, True


class WeightedShapley(_Pivotal):
    """Exact Shapley values with the votes that shapiq gives."""

    name, game, method = "pivotal-weighted", WEIGHTED, "value_from_neighbors"
    trial = (100, 2)

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from pivotal.neighbors import BruteIndex
        from pivotal.valuation.from_neighbors import value_from_neighbors

        indices, distances = BruteIndex(X).search(X_test, len(X))
        at_zero = np.isclose(distances, 0.0)
        weights = np.divide(distances[:, :1], distances, out=np.zeros_like(distances), where=~at_zero)
        weights[at_zero] = 1.0
        votes = np.round(weights * 2**3).astype(np.int64)
        return value_from_neighbors(
            indices, y, y_test, k=k, votes=votes, utility="shapiq", semivalue="shapley", tol=0.0
        ).values


OURS: tuple[Contender, ...] = (SoftShapley(), HardBanzhaf(), SoftShapleyAlone(), HardBanzhafAlone(), WeightedShapley())
