"""Which score finds wrong labels best, and how many are wrong? This library beside cleanlab.

    python benchmarks/cleaning.py --data DIR [--out docs/cleaning.md] [--seeds 10 11]

DIR holds one .npz per data set, with arrays X and y, and may hold snippets.csv.gz, texts with the columns text and
source. The data sets that scikit-learn brings along are added. All see the same rows, features and flipped labels.
Finished figures are kept in a JSON file beside the page, cell by cell, and not computed again: the run can be stopped
and resumed at any time. `--write-only` makes the page of what there is. Needs cleanlab: pip install 'pivotal[bench]'.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: times are those of one thread for all

import numpy as np
import sklearn.datasets
from cleaning_page import page
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from scipy.sparse import issparse
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import pivotal
from pivotal.analysis.label_errors import LabelErrors, find_label_errors
from pivotal.analysis.label_errors._voters import DEFAULT
from pivotal.research.bench.stopwatch import Stopwatch
from pivotal.research.datasets import flip_labels

ROWS = 1500
WIDEST = 100  # features; more are reduced to principal components
COMPONENTS = 50
NOISE = ("any 0.05", "one 0.1")  # where labels are flipped to, and how many of them
SEEDS = (10, 11)
# Every source counts once: of those that are there twice, the harder to learn of the two is omitted.
TWICE = ("cifar10_10k", "click_balanced_10k")
OWN = ("digits", "wine", "breast_cancer", "iris")
IMAGES = ("mnist", "digits", "cifar10_test_resnet56")


def load(name: str, folder: Path) -> tuple[Any, np.ndarray]:
    """Features and labels of a whole data set; texts as they are."""
    if name == "snippets":
        with gzip.open(folder / "snippets.csv.gz", "rt", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return np.array([row["text"] for row in rows], dtype=object), np.array([row["source"] for row in rows])
    if name in OWN:
        data = getattr(sklearn.datasets, f"load_{name}")()
        return data.data, data.target
    with np.load(folder / f"{name}.npz", allow_pickle=False) as data:
        return data["X"], data["y"]


def names_of(folder: Path) -> list[str]:
    found = [file.stem for file in sorted(folder.glob("*.npz")) if file.stem not in TWICE]
    return [*found, *(["snippets"] if (folder / "snippets.csv.gz").exists() else []), *OWN]


def family(name: str) -> str:
    return "text" if name == "snippets" else "images" if name in IMAGES else "tables"


class Task:
    """Rows of a data set with some labels flipped, and what several candidates share."""

    def __init__(self, name: str, folder: Path, noise: str, seed: int) -> None:
        X, y = load(name, folder)
        rows = np.random.default_rng(seed).permutation(len(y))[:ROWS]
        X, self.codes = X[rows], np.unique(y[rows], return_inverse=True)[1].astype(np.int32)
        if X.dtype == object:
            self.X: Any = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(X).tocsr()
        else:
            scaled = np.nan_to_num(StandardScaler().fit_transform(X.astype(np.float64)))
            wide = scaled.shape[1] > WIDEST
            self.X = np.ascontiguousarray(PCA(COMPONENTS, random_state=0).fit_transform(scaled) if wide else scaled)
        self.n, self.n_classes = len(rows), int(self.codes.max()) + 1
        where, share = noise.split()
        if where == "any":
            self.y, self.wrong = flip_labels(self.codes, float(share), random_state=seed)
        else:
            rng = np.random.default_rng(seed)
            flipped = rng.choice(self.n, round(float(share) * self.n), replace=False)
            self.y = self.codes.copy()
            self.y[flipped] = (self.y[flipped] + 1) % self.n_classes  # each class is taken for one other
            self.wrong = self.y != self.codes
        self._oof: dict[str, np.ndarray] = {}
        self.seconds: dict[str, float] = {}

    @cached_property
    def errors(self) -> LabelErrors:
        return self.timed("find_label_errors", lambda: find_label_errors(self.X, self.y, n_jobs=1))

    @cached_property
    def before(self) -> LabelErrors:
        """Two voters, the nearest rows and a forest, as the library had them before."""
        return self.timed(
            "neighbours and forest", lambda: find_label_errors(self.X, self.y, voters=["neighbors", "forest"], n_jobs=1)
        )

    @cached_property
    def models(self) -> dict[str, Any]:
        trees = {"n_estimators": 100, "min_samples_leaf": 5, "random_state": 0, "n_jobs": 1}
        fourth = (
            {"extra trees": ExtraTreesClassifier(**trees)}
            if issparse(self.X)
            else {"boosting": HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0)}
        )
        return {
            "kNN": KNeighborsClassifier(20),
            "logistic": LogisticRegression(max_iter=500),
            "forest": RandomForestClassifier(**trees),
            **fourth,
        }

    def timed(self, name: str, work: Callable[[], Any]) -> Any:
        with Stopwatch() as watch:
            result = work()
        self.seconds[name] = watch.processor_seconds
        return result

    def oof(self, name: str) -> np.ndarray:
        """Out-of-fold probabilities, five folds."""
        if name not in self._oof:
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # classes with fewer rows than folds
                self._oof[name] = self.timed(
                    f"cleanlab, {name}",
                    lambda: cross_val_predict(self.models[name], self.X, self.y, cv=folds, method="predict_proba"),
                )
        return self._oof[name]

    @property
    def mean(self) -> np.ndarray:
        return np.mean([self.oof(name) for name in self.models], axis=0)


def measure(task: Task) -> dict[str, Any]:
    """All figures of a cell."""

    def precision(scores: np.ndarray) -> float:
        return round(float(average_precision_score(task.wrong, -scores)), 5)

    # The first call compiles kernels; no time should hold that.
    find_label_errors(task.X[:50], task.y[:50], n_trees=0, n_jobs=1)
    errors = task.errors
    scores = {
        "find_label_errors": precision(errors.scores),
        "neighbours and forest": precision(task.before.scores),
        "find_label_errors, n_trees=0": precision(find_label_errors(task.X, task.y, n_trees=0, n_jobs=1).scores),
    }
    for voter in DEFAULT:
        alone = find_label_errors(task.X, task.y, voters=voter, n_jobs=1)
        scores[f"{voter} alone"] = precision(alone.scores)
    for k, utility in ((5, "soft"), (5, "hard")):
        values = pivotal.value(task.X, task.y, k=k, utility=utility, n_jobs=1).values
        scores[f"value, {utility}, k={k}"] = precision(values)
    choices = {"find_label_errors": named_by(task.wrong, np.isin(np.arange(task.n), errors.suspects))}
    for name in (*task.models, "mean of the four"):
        chances = task.mean if name == "mean of the four" else task.oof(name)
        for method, short in (("self_confidence", ""), ("normalized_margin", ", margin")):
            quality = get_label_quality_scores(task.y, chances, method=method)
            scores[f"cleanlab, {name}{short}"] = precision(quality)
        choices[f"cleanlab, {name}"] = named_by(task.wrong, find_label_issues(task.y, chances, n_jobs=1))
    n_wrong, size = errors.n_wrong, int(task.wrong.sum())
    first = errors.order[:size]
    return {
        "scores": scores,
        "choices": choices,
        "seconds": {name: round(seconds, 3) for name, seconds in task.seconds.items()},
        "count": {
            "planted": size,
            "estimate": round(n_wrong.count, 2),
            "low": round(n_wrong.low, 2),
            "high": round(n_wrong.high, 2),
            "expected precision": round(errors.precision(size), 4),
            "precision": round(float(task.wrong[first].mean()), 4),
        },
        "weights": {name: round(weight, 3) for name, weight in errors.settings["weights"].items()},
        "rows": task.n,
        "features": task.X.shape[1],
        "classes": task.n_classes,
    }


def named_by(wrong: np.ndarray, named: np.ndarray) -> dict[str, float]:
    return {"f1": round(float(f1_score(wrong, named)), 5), "named": int(named.sum())}


def keep(cells: dict[str, Any], file: Path) -> None:
    """Write the figures, a line per cell; whole or not at all."""
    lines = [f"{json.dumps(key)}: {json.dumps(cells[key], sort_keys=True)}" for key in sorted(cells)]
    fresh = file.with_suffix(".part")
    fresh.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    fresh.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz files")
    parser.add_argument("--out", type=Path, default=Path("docs/cleaning.md"), help="page to write; JSON beside it")
    parser.add_argument("--noise", nargs="+", default=NOISE)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--write-only", action="store_true", help="compute nothing, write the page of what there is")
    options = parser.parse_args()
    kept = options.out.with_suffix(".json")
    cells: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for seed in () if options.write_only else options.seeds:
        for noise in options.noise:
            for name in names_of(options.data):
                key = f"{name}|{noise}|{seed}"
                if key in cells:
                    continue
                watch = Stopwatch()
                cells[key] = {"family": family(name), **measure(Task(name, options.data, noise, seed))}
                keep(cells, kept)
                print(f"{name}, {noise}, seed {seed}: {watch.seconds:.1f} s", flush=True)
    counted, scale = (options.out.with_name(f"cleaning-{name}.json") for name in ("counts", "scale"))
    page_of_all = page(
        cells,
        json.loads(counted.read_text(encoding="utf-8")) if counted.exists() else {},
        json.loads(scale.read_text(encoding="utf-8")) if scale.exists() else [],
    )
    options.out.write_text(page_of_all, encoding="utf-8")


if __name__ == "__main__":
    main()
