"""What a contender is: one small class."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Final

import numpy.typing as npt

from pivotal.research.bench.task import Task

__all__ = ["HARD", "HARD_ALONE", "SOFT", "SOFT_ALONE", "WEIGHTED", "Contender"]

SOFT: Final = "Shapley, soft label over k"
HARD: Final = "Banzhaf, hard label"
SOFT_ALONE: Final = "Shapley, soft label over k, points by each other"
HARD_ALONE: Final = "Banzhaf, hard label, points by each other"
WEIGHTED: Final = "Shapley, hard label, distance votes of 3 bits"


class Contender(ABC):
    """A library that values training points.

    A subclass sets the class attributes and `run`; `work` and `bytes_needed` help to foresee what it will cost.

    Attributes
    ----------
    name : str
        Short name, as ``--peers`` takes it.
    package, module : str
        The distribution it comes with, and the module that must be importable.
    method : str
        What is called.
    game : str
        What it computes; contenders with the same game must agree.
    install : str
        How to get it.
    alone : bool
        Whether the training points are each other's queries.
    exact : bool
        Whether it computes the values of its game, or approximates them and is compared by correlation.
    precision : float
        Largest difference that its arithmetic explains, relative to the largest value.
    trial : tuple of int
        Training points and queries of a run that takes a moment.
    note : str
        What a reader of the table should know.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    module: ClassVar[str]
    method: ClassVar[str]
    game: ClassVar[str]
    install: ClassVar[str] = ""
    alone: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    precision: ClassVar[float] = 1e-9
    trial: ClassVar[tuple[int, int]] = (600, 5)
    note: ClassVar[str] = ""

    @abstractmethod
    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        """Return the values, shape (n_train,): means over the queries."""

    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        try:
            found = importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:  # a parent of the module is not there
            found = False
        return "" if found else f"not installed; {self.install}"

    def available(self) -> bool:
        """Whether it can run here."""
        return not self.missing()

    def version(self) -> str:
        """Version of the package; empty if unknown."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    def work(self, n_train: int, n_queries: int) -> float:
        """What the time is proportional to."""
        return float(n_train) * n_queries

    def bytes_needed(self, n_train: int, n_queries: int) -> float:
        """Memory that it is known to take."""
        return 0.0

    def play(self, task: Task) -> npt.ArrayLike:
        """Run on a task."""
        return self.run(task.X, task.y, task.X_test, task.y_test, task.k)
