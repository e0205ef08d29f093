"""Selections of many rows: what sampled queries, cut lists and random features cost, and how long they take.

    python benchmarks/selection_scale.py --data DIR [--out docs/selection-scale.json] [--sizes 100000 1000000]

4000 rows of some data sets are few enough for the whole algorithm: it is compared with the one for many rows, which is
made to run there too. Times are of made-up rows, 20 features, 5 classes in 30 clusters, 5 % wrong labels, of which 10 %
are selected. Finished figures are kept. `benchmarks/selection.py --write-only` puts the figures on its page.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import selection
from sklearn.base import clone

import pivotal
from pivotal.analysis.selection import _confirmation, _likeness, _surroundings

ROWS, SETS, FRACTIONS = 4000, ("2dplanes", "magic"), (0.02, 0.1)
KINDS = ("whole", "many", "sampled", "random")
JUDGED = ("kNN", "logistic regression", "random forest")


def choose(task: Any, n: int, kind: str) -> np.ndarray:
    """Select by the whole algorithm, by that for many rows, or by it with a fifth of the queries and of the jury."""
    if kind == "random":
        return np.random.default_rng(0).choice(ROWS, n, replace=False)
    cut: dict[str, int] = {} if kind == "whole" else {"_ALL_ENTRIES": 0}
    if kind == "sampled":
        cut |= {"_ENTRIES": 0, "_FEWEST_QUERIES": ROWS // 5}
    with (
        mock.patch.multiple(_surroundings, **cut) if cut else nullcontext(),
        mock.patch.object(_likeness, "_ALL_PAIRS", ROWS if kind == "whole" else 0),
        mock.patch.object(_confirmation, "_JURY", ROWS // 5 if kind == "sampled" else ROWS),
    ):
        chosen = pivotal.select(task.X, task.y, n)
    assert chosen.facts["whole_lists"] == (kind == "whole")
    return chosen.indices


def compare(folder: Path) -> list[dict[str, Any]]:
    found = []
    for name in SETS:
        with mock.patch.object(selection, "ROWS", ROWS):
            task = selection.Task(name, folder, 0.0, 0)
        for fraction in FRACTIONS:
            line: dict[str, Any] = {"set": name, "fraction": fraction}
            for kind in KINDS:
                rows = choose(task, round(fraction * ROWS), kind)
                line[kind] = float(100 * np.mean([score(task, model, rows) for model in JUDGED]))
            print(line, flush=True)
            found.append(line)
    return found


def score(task: Any, model: str, rows: np.ndarray) -> float:
    fitted = clone(selection.MODELS[model]).fit(task.X[rows], task.y[rows])
    return float(fitted.score(task.fresh, task.truth))


def measure(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    clusters = rng.integers(30, size=n)
    X = 1.6 * rng.normal(size=(30, 20))[clusters] + rng.normal(size=(n, 20))
    y = np.where(rng.random(n) < 0.05, rng.integers(5, size=n), clusters % 5)
    pivotal.select(X[:6000], y[:6000], 0.1)  # compiles
    wall, processor = time.perf_counter(), time.process_time()
    chosen = pivotal.select(X, y, 0.1)
    return {
        "rows": n,
        "selected": len(chosen),
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "queries": chosen.facts["n_queries"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/selection-scale.json"))
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000])
    options = parser.parse_args()
    found = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {"times": []}
    for n in sorted(options.sizes):
        found["times"] = [*(one for one in found["times"] if one["rows"] != n), measure(n)]
        print(found["times"][-1], flush=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if "compared" not in found:
        found["compared"] = compare(options.data)
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
