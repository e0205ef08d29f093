"""Exact Banzhaf and Shapley values of training points for nearest-neighbour models.

Names are imported when they are first used, so that ``import pivotal`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pivotal import applications, datasets, interop, paper, scaleout
    from pivotal._conventions import Convention, conventions
    from pivotal._methods import Method, methods
    from pivotal._version import __version__
    from pivotal.baselines.retraining import value_by_retraining
    from pivotal.cleaning import LabelErrors, find_label_errors
    from pivotal.estimator import KNNValuation
    from pivotal.games import Game, Hard, Plurality, Regression, Soft, Threshold
    from pivotal.neighbors import NeighborIndex
    from pivotal.owners import value_owners, value_owners_from_neighbors
    from pivotal.report import write_report
    from pivotal.results import Values
    from pivotal.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley
    from pivotal.sweeps import BitsDiagnostic, Sweep, bits_diagnostic, sweep
    from pivotal.valuation import value, value_from_neighbors
    from pivotal.verification import Verification, verify
    from pivotal.weights import RBF, Linear

__all__ = [
    "RBF",
    "Banzhaf",
    "BetaShapley",
    "BitsDiagnostic",
    "Convention",
    "Game",
    "Hard",
    "KNNValuation",
    "LabelErrors",
    "LeaveOneOut",
    "Linear",
    "Measure",
    "Method",
    "NeighborIndex",
    "Plurality",
    "Regression",
    "Semivalue",
    "Shapley",
    "Soft",
    "Sweep",
    "Threshold",
    "Values",
    "Verification",
    "__version__",
    "applications",
    "bits_diagnostic",
    "conventions",
    "datasets",
    "find_label_errors",
    "interop",
    "methods",
    "paper",
    "scaleout",
    "sweep",
    "value",
    "value_by_retraining",
    "value_from_neighbors",
    "value_owners",
    "value_owners_from_neighbors",
    "verify",
    "write_report",
]

_ROOMS = ("applications", "datasets", "interop", "paper", "scaleout")  # modules that are public as a whole
_HOME = {
    "_version": ["__version__"],
    "_conventions": ["Convention", "conventions"],
    "baselines.retraining": ["value_by_retraining"],
    "cleaning": ["LabelErrors", "find_label_errors"],
    "estimator": ["KNNValuation"],
    "games": ["Game", "Hard", "Plurality", "Regression", "Soft", "Threshold"],
    "_methods": ["Method", "methods"],
    "neighbors": ["NeighborIndex"],
    "owners": ["value_owners", "value_owners_from_neighbors"],
    "report": ["write_report"],
    "results": ["Values"],
    "semivalues": ["Banzhaf", "BetaShapley", "LeaveOneOut", "Measure", "Semivalue", "Shapley"],
    "sweeps": ["BitsDiagnostic", "Sweep", "bits_diagnostic", "sweep"],
    "valuation": ["value", "value_from_neighbors"],
    "verification": ["Verification", "verify"],
    "weights": ["RBF", "Linear"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"pivotal.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pivotal' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"pivotal.{_MODULE_OF[name]}"), name)
    globals()[name] = found  # found once is found for good
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
