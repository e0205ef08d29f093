"""The methods of the paper's experiments, with the settings used here and the sizes they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from pivotal.core.extras import missing
from pivotal.core.method_choice import method
from pivotal.research.datasets import Split
from pivotal.results.values import Values
from pivotal.valuation.value import value

SELECT: Final = "select"
"""Rows chosen together by `pivotal.select`: no values, and a line of its own among selections."""


@dataclass(frozen=True)
class ComparedMethod:
    """One column of the paper's tables."""

    name: str  # the paper's abbreviation
    method: str  # what `pivotal.value` is asked for
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)  # of `pivotal.value`, fixed
    neighbours: bool = True  # whether it values for a neighbour model, and so takes k
    samples: bool = False
    max_rows: int | None = None  # larger data sets are too large for it, and it is run on a sample only

    @property
    def weights(self) -> str:
        """How the votes of its own model are weighted."""
        weighted = self.method in ("bv-fast", "sv") or self.settings.get("weights") == "distance"
        return "distance" if weighted else "uniform"

    def missing(self) -> str:
        """Say what it lacks; empty if nothing."""
        if self.method == "lava" and find_spec("ot") is None:
            return f"{missing('lava needs POT and is omitted', 'lava')}."
        return ""


_BY_DISTANCE: Final = {"weights": "distance"}

CONTENDERS: Final = MappingProxyType(
    {
        one.name: one
        for one in (
            ComparedMethod("bv-fast", "bv-fast"),
            ComparedMethod("bv-mc", "bv-mc", _BY_DISTANCE, samples=True),
            ComparedMethod("bv-uw", "bv-uw"),
            ComparedMethod("sv", "sv", max_rows=2000),
            ComparedMethod("sv-mc", "sv-mc", _BY_DISTANCE, samples=True, max_rows=2000),
            ComparedMethod("sv-uw", "sv-uw"),
            ComparedMethod("sv-soft", "sv-soft"),
            # The model being nearest neighbours, the engine's own permutations take the place of retraining.
            ComparedMethod("beta-mc", "permutations", {"semivalue": "beta(4,1)"}, samples=True, max_rows=2000),
            ComparedMethod("lava", "lava", neighbours=False, max_rows=10_000),
            ComparedMethod("inf", "inf", neighbours=False, max_rows=60_000),
            ComparedMethod("loo", "loo"),
            ComparedMethod("rand", "rand", neighbours=False),
        )
    }
)
"""In the order of the paper's tables."""


def play(name: str, task: Split, *, k: int, n_samples: int, seed: int, **settings: Any) -> Values:
    """Value the training points of a task by one of the contenders, in one thread.

    k is for those that ask neighbours, the samples for those that sample; other settings are those of `pivotal.value`.
    """
    one = CONTENDERS[name]
    neighbours = {"k": k} if one.neighbours else {}
    parameters = {"n_samples": n_samples} if one.samples else {}
    how = method(one.method, random_state=seed, **parameters)
    return value(*task, method=how, n_jobs=1, **{**one.settings, **settings, **neighbours})
