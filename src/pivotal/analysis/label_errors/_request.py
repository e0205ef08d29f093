"""What was asked for, checked: rows, voters, and how neighbours are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pivotal.analysis.label_errors._nearest import Nearest, ask_nearest
from pivotal.analysis.label_errors._voters import VoterModels
from pivotal.core.games import Game
from pivotal.core.sizes import as_bytes
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import Checked, check_features, check_probability, is_integer, is_number, is_sparse
from pivotal.core.version import __version__
from pivotal.neighbors import NeighborAudit, as_index, is_source, open_source
from pivotal.neighbors.metrics import MetricLike


@dataclass(frozen=True, eq=False)
class Request:
    """Rows to judge and how.

    Parameters
    ----------
    X : array, CSR matrix or file
        Features, checked.
    seen : array or CSR matrix or None
        The same as voters see them, other than the nearest rows; None where there are no others.
    ids : array of shape (n_rows,)
    k, n_trees : int
    voters : tuple of str
    model : estimator or None
    odds : float
    n_suspects : int or None
        How many suspects were asked for.
    seed : int
    search : mapping
        metric, metric_params, neighbors and max_memory, as in `KNNValuation`.
    n_jobs : int or None
    progress : bool
    """

    X: Any
    seen: Any
    ids: AnyArray
    k: int
    n_trees: int
    voters: tuple[str, ...]
    model: Any
    odds: float
    n_suspects: int | None
    seed: int
    search: Mapping[str, Any]
    n_jobs: int | None
    progress: bool

    @property
    def opinions(self) -> VoterModels:
        """The voters other than the nearest rows."""
        return VoterModels(self.seen, self.voters, self.n_trees, self.seed, self.n_jobs, self.progress)

    def ask_nearest(self, targets: AnyArray, columns: Any, game: Game) -> tuple[Nearest, dict[str, Any]]:
        """Return what the nearest rows say, and whether they are the true ones, for the settings."""
        search = dict(self.search)
        max_memory, neighbors = search.pop("max_memory"), search.pop("neighbors")
        index = as_index(neighbors, Checked(self.X), n_jobs=self.n_jobs, max_memory=max_memory, **search)
        budget = None if max_memory is None else as_bytes(max_memory)
        near = ask_nearest(index, targets, columns, game, self.k, max_memory=budget, progress=self.progress)
        audit = NeighborAudit(neighbors, index, self.X, n_jobs=self.n_jobs, **search)
        audit.check_lists(None, len(targets), near.indices.shape[1], weighted=False)
        verdict = audit.verdict(min(self.k, near.indices.shape[1]), weighted=False)
        return near, {"neighbors_exact": verdict.exact, "recall": verdict.recall}

    def choose(self, scores: FloatArray, probable: AnyArray) -> tuple[IndexArray, IndexArray]:
        """Return all rows, most suspicious first, and the suspects among them."""
        order = np.argsort(scores, kind="stable").astype(np.int64, copy=False)
        return order, order[probable[order]] if self.n_suspects is None else order[: self.n_suspects]

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
