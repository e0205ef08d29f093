"""Exact Banzhaf and Shapley values of training points for nearest-neighbour models.

Names are imported when they are first used, so that ``import pivotal`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pivotal import paper
    from pivotal._conventions import Convention, conventions
    from pivotal._version import __version__
    from pivotal.estimator import KNNValuation
    from pivotal.games import Game, Hard, Plurality, Regression, Soft
    from pivotal.neighbors import NeighborIndex
    from pivotal.results import Values
    from pivotal.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley
    from pivotal.valuation import value, value_from_neighbors
    from pivotal.verification import Verification, verify
    from pivotal.weights import RBF, Linear

__all__ = [
    "RBF",
    "Banzhaf",
    "BetaShapley",
    "Convention",
    "Game",
    "Hard",
    "KNNValuation",
    "LeaveOneOut",
    "Linear",
    "Measure",
    "NeighborIndex",
    "Plurality",
    "Regression",
    "Semivalue",
    "Shapley",
    "Soft",
    "Values",
    "Verification",
    "__version__",
    "conventions",
    "paper",
    "value",
    "value_from_neighbors",
    "verify",
]

_HOME = {
    "_version": ["__version__"],
    "_conventions": ["Convention", "conventions"],
    "estimator": ["KNNValuation"],
    "games": ["Game", "Hard", "Plurality", "Regression", "Soft"],
    "neighbors": ["NeighborIndex"],
    "results": ["Values"],
    "semivalues": ["Banzhaf", "BetaShapley", "LeaveOneOut", "Measure", "Semivalue", "Shapley"],
    "valuation": ["value", "value_from_neighbors"],
    "verification": ["Verification", "verify"],
    "weights": ["RBF", "Linear"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "paper":
        return importlib.import_module("pivotal.paper")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pivotal' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"pivotal.{_MODULE_OF[name]}"), name)
    globals()[name] = found  # found once is found for good
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
