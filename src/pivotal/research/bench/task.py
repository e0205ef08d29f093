"""The data that every contender gets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pivotal.core.types import FloatArray

__all__ = ["Task", "make_task"]


@dataclass(frozen=True, eq=False)
class Task:
    """Training points, queries and k; without queries, every training point is a query to all the others."""

    X: FloatArray  # shape (n_train, n_features)
    y: npt.NDArray[np.int64]
    X_test: FloatArray | None  # shape (n_queries, n_features)
    y_test: npt.NDArray[np.int64] | None
    k: int

    @property
    def n_train(self) -> int:
        """Number of training points."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.y if self.y_test is None else self.y_test)

    def head(self, n_train: int, n_queries: int) -> Self:
        """The same task with the first points and queries only."""
        points = replace(self, X=self.X[:n_train], y=self.y[:n_train])
        if self.X_test is None or self.y_test is None:
            return points
        return replace(points, X_test=self.X_test[:n_queries], y_test=self.y_test[:n_queries])

    def alone(self, max_points: int) -> Self:
        """The first `max_points` training points as each other's queries."""
        return replace(self.head(max_points, 0), X_test=None, y_test=None)

    def save(self, path: Path) -> None:
        """Write the task where `load` finds it, also from another Python."""
        queries = {} if self.X_test is None else {"X_test": self.X_test, "y_test": self.y_test}
        np.savez(path, X=self.X, y=self.y, k=np.int64(self.k), **queries)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        with np.load(path) as file:
            parts: dict[str, Any] = {name: file[name] for name in file.files}
        return cls(parts["X"], parts["y"], parts.get("X_test"), parts.get("y_test"), int(parts["k"]))


def make_task(n_train: int, n_queries: int, n_features: int, k: int, seed: int = 0) -> Task:
    """Draw points from a Gaussian, two classes on either side of a plane, and one label in ten wrong.

    Examples
    --------
    >>> task = make_task(100, 10, n_features=3, k=5)
    >>> task.n_train, task.n_queries, task.alone(50).n_queries
    (100, 10, 50)
    """
    rng = np.random.default_rng(seed)
    side = rng.standard_normal(n_features)
    X, X_test = rng.standard_normal((n_train, n_features)), rng.standard_normal((n_queries, n_features))
    labels = [((points @ side > 0) ^ (rng.random(len(points)) < 0.1)).astype(np.int64) for points in (X, X_test)]
    return Task(X, labels[0], X_test, labels[1], k)
