"""What was asked for, checked: rows, voters, and how neighbours are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pivotal.analysis.label_errors._leaves import LeafVotes, ask_leaves
from pivotal.analysis.label_errors._nearest import Nearest, ask_nearest
from pivotal.analysis.label_errors._ridge import LeaveOneOutRidge
from pivotal.analysis.label_errors._voters import REGRESSIONS, make_regressions
from pivotal.core.config import Resources
from pivotal.core.games import Game
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import Checked, check_features, check_probability, is_integer, is_number, is_sparse
from pivotal.core.version import __version__
from pivotal.neighbors import NeighborAudit, as_index, is_source, open_source
from pivotal.neighbors.metrics import MetricLike


@dataclass(frozen=True, eq=False)
class Request:
    """Rows to judge and how; `n_suspects` is None where no number was asked for."""

    X: Any
    """Features, checked: an array, a CSR matrix or a file."""

    seen: Any
    """The same as voters see them, other than the nearest rows; None where there are no others."""

    ids: AnyArray
    k: int
    n_trees: int
    voters: tuple[str, ...]
    model: Any
    odds: float
    n_suspects: int | None
    seed: int
    neighbors: Any
    metric: Mapping[str, Any]
    """metric and metric_params, as in `KNNValuation`."""

    resources: Resources

    def ask_nearest(self, targets: AnyArray, columns: Any, game: Game) -> tuple[Nearest, dict[str, Any]]:
        """Return what the nearest rows say, and whether they are the true ones, for the settings."""
        own, n_jobs = self.resources, self.resources.n_jobs
        index = as_index(self.neighbors, Checked(self.X), n_jobs=n_jobs, max_memory=own.max_memory, **self.metric)
        near = ask_nearest(index, targets, columns, game, self.k, max_memory=own.budget, progress=own.progress)
        audit = NeighborAudit(self.neighbors, index, self.X, n_jobs=n_jobs, **self.metric)
        audit.check_lists(None, len(targets), near.indices.shape[1], weighted=False)
        verdict = audit.verdict(min(self.k, near.indices.shape[1]), weighted=False)
        return near, {"neighbors_exact": verdict.exact, "recall": verdict.recall}

    def ask_leaves(
        self, targets: AnyArray, columns: FloatArray, *, keep: bool = False
    ) -> LeafVotes | tuple[None, None, None]:
        """Return what rows in the same leaves say, if a forest votes; see `ask_leaves`."""
        if "forest" not in self.voters:
            return None, None, None
        how: dict[str, Any] = {"n_trees": self.n_trees, "seed": self.seed, "resources": self.resources}
        return ask_leaves(self.seen, targets, columns, **how, keep=keep)

    def regressions(self, importance: FloatArray | None, targets: FloatArray) -> dict[str, LeaveOneOutRidge]:
        """Return the regressions that vote, by name, ready for any targets; see `make_regressions`."""
        names = [name for name in REGRESSIONS if name in self.voters]
        if not names:
            return {}
        own = self.resources
        return make_regressions(self.seen, names, importance, targets, self.seed, own.n_jobs, progress=own.progress)

    def judged(self, near: Nearest, scores: FloatArray, probable: AnyArray) -> dict[str, Any]:
        """Return the part of the result that rows, numbers and cells have in common; all of them in order."""
        order = np.argsort(scores, kind="stable").astype(np.int64, copy=False)
        return {
            "scores": scores,
            "order": order,
            "suspects": order[probable[order]] if self.n_suspects is None else order[: self.n_suspects],
            "values": near.values,
            "nearest": near.indices,
            "spoiled": near.spoiled,
            "probable": probable,
            "ids": self.ids,
        }

    def settings(self, task: str, weights: Mapping[str, float], **more: Any) -> dict[str, Any]:
        """Return how suspects were found."""
        return {
            "task": task,
            "k": self.k,
            "n_trees": self.n_trees if "forest" in self.voters else 0,
            "model": None if self.model is None else type(self.model).__name__,
            "voters": tuple(weights),
            "weights": {name: float(weight) for name, weight in weights.items()},
            "odds": self.odds,
            "seed": self.seed,
            "version": __version__,
            **more,
        }


def check_features_of(X: Any, voters: tuple[str, ...], model: Any, metric: MetricLike) -> Any:
    """Return checked features, or a file to be read chunk by chunk."""
    needy = [name for name in voters if name != "neighbors"]
    who = "a model" if not needy else "a forest" if "forest" in needy else f"the voter {needy[0]}"
    alone = "use n_trees=0 and no model"
    if is_source(X):
        if needy or model is not None:
            raise ValueError(f"{who} needs X in memory, and this is in a file; load it first, or {alone}.")
        return open_source(X, "X")
    features = check_features(X, "X")
    if metric == "precomputed" and (needy or model is not None):
        raise ValueError(f"{who} needs features, and with a precomputed metric X holds distances; {alone}.")
    if needy:
        largest = float(abs(features.data if is_sparse(features) else features).max(initial=0.0))
        most = float(np.finfo(np.float32).max)  # trees are grown in single precision
        if largest > most:
            raise ValueError(
                f"{who} needs numbers within ±{most:.1e}; got {largest:.1e}. Rescale the features, or use n_trees=0."
            )
    return features


def check_odds(odds: object) -> float:
    """Return the odds from which a row is a suspect."""
    if is_number(odds, minimum=1.0):
        return float(odds)
    raise ValueError(f"odds must be a finite number of at least 1; got {odds!r}.")


def check_number(share: float | None, n: int | None, n_rows: int) -> int | None:
    """Return how many suspects were asked for; None leaves it to the votes."""
    if share is not None and n is not None:
        raise ValueError(f"share and n both say how many suspects to name; got share={share!r} and n={n!r}. Pass one.")
    if share is not None:
        return round(check_probability(share, "share") * n_rows)
    if n is None:
        return None
    if is_integer(n, 0, n_rows):
        return int(n)
    raise ValueError(f"n must be an integer from 0 to {n_rows}, the number of rows; got {n!r}.")
