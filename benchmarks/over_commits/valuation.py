"""Seconds and memory of whole calls, at sizes that a machine of continuous integration runs in a minute."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import pivotal


def draw(n: int, d: int, classes: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(classes, d))[y]
    return X.astype(np.float32), y


class Points:
    """Values of training points."""

    params: ClassVar[Any] = [
        ["banzhaf hard", "banzhaf hard weighted", "shapley soft", "shapley hard", "shapley hard, ten classes"]
    ]
    param_names: ClassVar[Any] = ["game"]

    def setup(self, game: str) -> None:
        words = game.replace(",", "").split()
        classes = 10 if "ten" in words else 2
        (self.X, self.y), (self.Q, self.t) = draw(30_000, 32, classes, 0), draw(200, 32, classes, 1)
        self.settings: dict[str, Any] = {"semivalue": words[0], "utility": words[1], "k": 5}
        if "weighted" in words:
            self.settings["weights"] = "distance"
        self.time_value(game)  # compiles

    def time_value(self, game: str) -> None:
        pivotal.value(self.X, self.y, self.Q, self.t, **self.settings)

    def peakmem_value(self, game: str) -> None:
        pivotal.value(self.X, self.y, self.Q, self.t, **self.settings)


class SmallCall:
    """A call so small that all of it is Python around the kernels."""

    def setup(self) -> None:
        (self.X, self.y), (self.Q, self.t) = draw(1000, 8, 2, 0), draw(10, 8, 2, 1)
        self.time_value()

    def time_value(self) -> None:
        pivotal.value(self.X, self.y, self.Q, self.t, n_jobs=1)


class LabelErrors:
    """Finding wrong labels."""

    def setup(self) -> None:
        self.X, self.y = draw(2000, 20, 3, 0)
        self.time_find()

    def time_find(self) -> None:
        pivotal.find_label_errors(self.X, self.y, random_state=0)


class Start:
    """What every program pays."""

    def timeraw_import(self) -> str:
        return "import pivotal"
