"""Exact Banzhaf and Shapley values of training points for nearest-neighbour models.

Names and modules are imported when they are first used, so that ``import pivotal`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pivotal.core.lazy import alias_modules, submodules_of
from pivotal.core.providers import provide

if TYPE_CHECKING:
    from pivotal import analysis, baselines, embed, interop, neighbors, report
    from pivotal.analysis import retrieval
    from pivotal.analysis.checkup import CheckUp, check
    from pivotal.analysis.label_errors import LabelErrors, clean, find_label_errors
    from pivotal.analysis.selection import Selection, remove_harmful, select
    from pivotal.baselines.retraining import value_by_retraining
    from pivotal.core.config import config_context, get_config, set_config
    from pivotal.core.games import (
        DCG,
        NDCG,
        BestOf,
        Convention,
        Game,
        Hard,
        Hit,
        Mixture,
        Plurality,
        Precision,
        Recall,
        ReciprocalRank,
        Regression,
        Soft,
        Threshold,
        conventions,
    )
    from pivotal.core.method_choice import Coalitions, Exact, Permutations, method
    from pivotal.core.methods import Method, methods
    from pivotal.core.metric_settings import Metric
    from pivotal.core.query_weights import QueryWeights
    from pivotal.core.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley
    from pivotal.core.verify import Verification, verify
    from pivotal.core.version import __version__
    from pivotal.core.weights import RBF, Linear
    from pivotal.neighbors import NeighborIndex
    from pivotal.report import plots, write_report
    from pivotal.research import datasets, paper
    from pivotal.results.values import Values
    from pivotal.tables import read_table
    from pivotal.valuation.editable import EditableKNNValuation
    from pivotal.valuation.estimator import KNNValuation
    from pivotal.valuation.from_neighbors import value_from_neighbors
    from pivotal.valuation.retrieval.document_values import value_retrieval
    from pivotal.valuation.sweep import BitsDiagnostic, Sweep, bits_diagnostic, sweep
    from pivotal.valuation.value import value

__all__ = [
    "DCG",
    "NDCG",
    "RBF",
    "Banzhaf",
    "BestOf",
    "BetaShapley",
    "BitsDiagnostic",
    "CheckUp",
    "Coalitions",
    "Convention",
    "EditableKNNValuation",
    "Exact",
    "Game",
    "Hard",
    "Hit",
    "KNNValuation",
    "LabelErrors",
    "LeaveOneOut",
    "Linear",
    "Measure",
    "Method",
    "Metric",
    "Mixture",
    "NeighborIndex",
    "Permutations",
    "Plurality",
    "Precision",
    "QueryWeights",
    "Recall",
    "ReciprocalRank",
    "Regression",
    "Selection",
    "Semivalue",
    "Shapley",
    "Soft",
    "Sweep",
    "Threshold",
    "Values",
    "Verification",
    "__version__",
    "analysis",
    "baselines",
    "bits_diagnostic",
    "check",
    "clean",
    "config_context",
    "conventions",
    "datasets",
    "embed",
    "find_label_errors",
    "get_config",
    "interop",
    "method",
    "methods",
    "neighbors",
    "paper",
    "plots",
    "read_table",
    "remove_harmful",
    "report",
    "retrieval",
    "select",
    "set_config",
    "sweep",
    "value",
    "value_by_retraining",
    "value_from_neighbors",
    "value_retrieval",
    "verify",
    "write_report",
]

_HOME = {
    "core.version": ["__version__"],
    "baselines.retraining": ["value_by_retraining"],
    "analysis.checkup": ["CheckUp", "check"],
    "analysis.label_errors": ["LabelErrors", "clean", "find_label_errors"],
    "analysis.selection": ["Selection", "remove_harmful", "select"],
    "valuation.estimator": ["KNNValuation"],
    "core.games": [
        "DCG",
        "NDCG",
        "BestOf",
        "Convention",
        "Game",
        "Hard",
        "Hit",
        "Mixture",
        "Plurality",
        "Precision",
        "Recall",
        "ReciprocalRank",
        "Regression",
        "Soft",
        "Threshold",
        "conventions",
    ],
    "core.methods": ["Method", "methods"],
    "core.method_choice": ["Coalitions", "Exact", "Permutations", "method"],
    "core.metric_settings": ["Metric"],
    "core.query_weights": ["QueryWeights"],
    "core.config": ["config_context", "get_config", "set_config"],
    "valuation.editable": ["EditableKNNValuation"],
    "valuation.from_neighbors": ["value_from_neighbors"],
    "neighbors": ["NeighborIndex"],
    "report": ["write_report"],
    "results.values": ["Values"],
    "tables": ["read_table"],
    "valuation.retrieval.document_values": ["value_retrieval"],
    "core.semivalues": ["Banzhaf", "BetaShapley", "LeaveOneOut", "Measure", "Semivalue", "Shapley"],
    "valuation.sweep": ["BitsDiagnostic", "Sweep", "bits_diagnostic", "sweep"],
    "valuation.value": ["value"],
    "core.verify": ["Verification", "verify"],
    "core.weights": ["RBF", "Linear"],
}
# Public modules that stand inside a room.
_MODULES = {
    "datasets": "research.datasets",
    "paper": "research.paper",
    "plots": "report.plots",
    "retrieval": "analysis.retrieval",
}
alias_modules({f"pivotal.{name}": f"pivotal.{module}" for name, module in _MODULES.items()})
_submodule = submodules_of("pivotal")
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def _load(module: str) -> Any:
    return importlib.import_module(f"pivotal.{module}")


# What rooms further up offer and rooms further down do.
provide("baselines", lambda: _load("baselines"))
provide("embed", lambda: _load("embed"))
provide("plots", lambda: _load("report.plots"))
provide("report", lambda: _load("report"))
provide("review", lambda: _load("review"))
provide("check-up page", lambda: _load("report.check_page"))
provide("label page", lambda: _load("report.label_page"))
provide("tables", lambda: _load("tables"))
provide("retrieval page", lambda: _load("report.retrieval_page"))


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        found = getattr(_load(_MODULE_OF[name]), name)
    elif name in _MODULES:
        found = _load(_MODULES[name])
    else:
        return _submodule(name)
    globals()[name] = found  # found once is found for good
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
