"""Which game, semivalue, k and weights for which purpose? The table in docs/guide/results.md comes from here.

    python benchmarks/purposes.py --data DIR [--out docs/purposes.md] [--rows 1500] [--seeds 0 1 2]

DIR holds one .npz per data set, with arrays X and y. Of each, some rows are drawn and split into training, validation
and test rows; 10 % of the training labels are flipped. Values are of the training rows, by the validation rows.

    wrong labels    average precision of ranking the flipped rows by low value
    removal         change of the accuracy of 5 nearest neighbours on the test rows when the lowest tenth goes
    selection       accuracy on the test rows of the highest fifth alone, less that of a random fifth

Test rows have no part in the values.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

import pivotal
from pivotal.research.bench.markdown import table

UTILITIES, SEMIVALUES = ("hard", "plurality", "soft"), ("banzhaf", "shapley", "loo")
KS, WEIGHTS = (1, 5, 20), ("uniform", "distance")
PURPOSES = {"wrong labels": "average precision", "removal": "accuracy gained", "selection": "accuracy over random"}


def task(file: Path, rows: int, seed: int) -> tuple[Any, ...]:
    """Training, validation and test rows, and which training labels are flipped."""
    with np.load(file, allow_pickle=False) as data:
        X, y = data["X"], data["y"]
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(y))[:rows]
    X, y = X[chosen].astype(float), y[chosen]
    n, classes = len(y) // 3, np.unique(y)
    spread = X[:n].std(axis=0)
    X = (X - X[:n].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    noisy = y[:n].copy()
    flipped = rng.permutation(n)[: n // 10]
    for row in flipped:
        noisy[row] = rng.choice(classes[classes != noisy[row]])
    return X[:n], noisy, X[n : 2 * n], y[n : 2 * n], X[2 * n :], y[2 * n :], np.isin(np.arange(n), flipped)


def measure(file: Path, rows: int, seed: int) -> dict[str, dict[str, float]]:
    """Every combination on one task."""
    X, y, X_val, y_val, X_test, y_test, wrong = task(file, rows, seed)
    rng = np.random.default_rng(seed)

    def accuracy(kept: np.ndarray) -> float:
        return float(KNeighborsClassifier(min(5, len(kept))).fit(X[kept], y[kept]).score(X_test, y_test))

    all_rows_accuracy = accuracy(np.arange(len(y)))
    fifth = len(y) // 5
    chance = float(np.mean([accuracy(rng.permutation(len(y))[:fifth]) for _ in range(10)]))
    found = {}
    for utility, semivalue, k, weights in product(UTILITIES, SEMIVALUES, KS, WEIGHTS):
        if weights != "uniform" and (utility != "soft" or semivalue == "shapley"):
            continue  # slow, or no other result than that of the soft game in kind
        values = pivotal.value(X, y, X_val, y_val, utility=utility, semivalue=semivalue, k=k, weights=weights).values
        # Equal values in random order: the order of the rows says nothing.
        order = rng.permutation(len(y))
        order = order[np.argsort(values[order], kind="stable")]
        found[f"{utility}, {semivalue}, k = {k}, {weights}"] = {
            "wrong labels": float(average_precision_score(wrong, -values)),
            "removal": accuracy(order[len(y) // 10 :]) - all_rows_accuracy,
            "selection": accuracy(order[-fifth:]) - chance,
        }
    return found


def page(cells: dict[str, Any]) -> str:
    """Means over data sets and seeds, best first by finding wrong labels."""
    names = list(next(iter(cells.values())))
    means = {
        name: {purpose: float(np.mean([cell[name][purpose] for cell in cells.values()])) for purpose in PURPOSES}
        for name in names
    }
    errors = {
        purpose: float(
            np.mean([np.std([cell[n][purpose] for cell in cells.values()]) / np.sqrt(len(cells)) for n in names])
        )
        for purpose in PURPOSES
    }
    sets = sorted({key.rsplit(" ", 1)[0] for key in cells})
    lines = [
        "# Which game for which purpose: what was measured",
        "",
        "Written by `python benchmarks/purposes.py --data DIR --out docs/purposes.md`.",
        "",
        f"{len(cells)} tasks from {len(sets)} data sets ({', '.join(sets)}): a third of the rows each for training,",
        "validation and test, 10 % of the training labels flipped, values by the validation rows. Finding wrong labels",
        "is average precision (chance: 0.1); removal is what 5 nearest neighbours gain in accuracy on the test rows",
        "when the lowest tenth goes; selection is what the highest fifth alone has over a random fifth. Means over the",
        "tasks; the standard error of a mean is about "
        + ", ".join(f"{errors[purpose]:.3f} ({purpose})" for purpose in PURPOSES)
        + ".",
        "",
    ]
    rows = []
    best = {purpose: max(mean[purpose] for mean in means.values()) for purpose in PURPOSES}
    for name in sorted(names, key=lambda one: -means[one]["wrong labels"]):
        numbers = [(means[name][purpose], best[purpose]) for purpose in PURPOSES]
        rows.append([name, *(f"**{number:.3f}**" if number == top else f"{number:.3f}" for number, top in numbers)])
    return "\n".join([*lines, table(["game, semivalue, k, weights", *PURPOSES], rows)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/purposes.md"))
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", help="names of data sets; all by default")
    options = parser.parse_args()
    file = options.out.with_suffix(".json")
    cells: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for data in sorted(options.data.glob("*.npz")):
        if options.sets and data.stem not in options.sets:
            continue
        for seed in options.seeds:
            key = f"{data.stem} {seed}"
            if key not in cells:
                cells[key] = measure(data, options.rows, seed)
                file.write_text(json.dumps(cells, indent=1) + "\n")
                print(key, flush=True)
    options.out.write_text(page(cells))


if __name__ == "__main__":
    main()
