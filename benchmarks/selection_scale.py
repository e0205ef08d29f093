"""Selections of many rows: what is lost where not everything is looked at, and how long they take.

    python benchmarks/selection_scale.py --data DIR [--out docs/selection-scale.json] [--sizes 100000 1000000]

Some thousand rows of a data set are few enough for the whole algorithm: it is compared with what runs there by default,
cut lists and random features, and with what runs on a million rows: the same share of the rows as queries, lists as
long as for the same share of a million, as many features, trees and tries, and neighbours from the nearest clusters, of
which a query sees a smaller multiple of its list than it does of a million. Times are of made-up rows, 16 features, 5
classes in 30 clusters, 5 % wrong labels, of which 10 % are selected. Every finished figure is kept, and a run goes on
where one was stopped.
`benchmarks/selection.py --write-only` puts the figures on its page.
"""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import selection
from selection_page import JUDGED
from sklearn.base import clone

import pivotal
from pivotal.analysis.selection import _likeness, _surroundings
from pivotal.neighbors import ClusteredIndex, _clustered
from pivotal.research.bench.memory import peak_bytes
from pivotal.research.bench.stopwatch import Stopwatch

FEATURES = 16
SETS = {
    6000: ("2dplanes", "creditcard", "pol", "magic", "letter"),
    15_000: ("2dplanes", "creditcard", "magic", "letter"),
}
FRACTIONS, DRAWS = (0.02, 0.1), {6000: (0, 1, 2), 15_000: (0,)}
KINDS = ("random", "whole", "many", "million")
MILLION = 10**6
CLUSTERS = 100


def limits_of(kind: str, rows: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield modules, and the limits in them by which some thousand rows are treated as so many, or as few."""
    if kind == "whole":
        yield _surroundings, {"_ALL_ENTRIES": rows**2}
        yield _likeness, {"_ALL_PAIRS": rows}
    if kind == "million":
        per_row = max(_surroundings._ENTRIES // MILLION, _surroundings._ENTRIES_PER_ROW)
        yield (
            _surroundings,
            {
                "_ALL_ENTRIES": 0,
                "_ENTRIES": 0,
                "_ENTRIES_PER_ROW": per_row,
                "_FEWEST_QUERIES": 1,
                "_LEAVES": rows * (_surroundings._LEAVES // MILLION),
                "_COMPARED_WITH_ALL": 0,
            },
        )
        fewest, most = _likeness._FREQUENCIES
        frequencies = max(fewest, min(most, _likeness._FEATURES // MILLION))
        assert _likeness._TRIES // round(min(FRACTIONS) * MILLION) <= _likeness._FEWEST_TRIES
        yield _likeness, {"_ALL_PAIRS": 0, "_FREQUENCIES": (frequencies, frequencies), "_TRIES": 0}
        yield _clustered, {"_ROWS_PER_CLUSTER": rows // CLUSTERS, "ClusteredIndex": in_proportion(rows)}


def in_proportion(rows: int) -> type[ClusteredIndex]:
    """Return an index that compares with the share of these rows that it would compare with of a million."""
    usual = inspect.signature(ClusteredIndex).parameters["n_compared"].default

    class Fewer(ClusteredIndex):
        def __init__(self, X: Any, metric: Any, *, n_jobs: int | None) -> None:
            super().__init__(X, metric, n_compared=usual * rows // MILLION, n_jobs=n_jobs)

    return Fewer


def choose(task: Any, n: int, kind: str, draw: int) -> np.ndarray:
    """Select by the whole algorithm, by what runs by default, or by what runs on a million rows."""
    rows = len(task.y)
    if kind == "random":
        return np.random.default_rng(draw).choice(rows, n, replace=False)
    with ExitStack() as limited:
        for module, limits in limits_of(kind, rows):
            limited.enter_context(mock.patch.multiple(module, **limits))
        chosen = pivotal.select(task.X, task.y, n)
    assert chosen.facts["whole_lists"] == (kind == "whole")
    assert chosen.facts["exact_neighbors"] == (kind != "million")
    return chosen.indices


def compare(folder: Path, lines: list[dict[str, Any]], keep: Any) -> None:
    """Measure what is missing, and keep each figure."""
    known = {(line["set"], line["rows"], line["draw"], line["fraction"]): line for line in lines}
    cases = [(draw, rows, name) for rows, names in SETS.items() for draw in DRAWS[rows] for name in names]
    for draw, rows, name in cases:
        missing = [
            fraction for fraction in FRACTIONS if not set(KINDS) <= set(known.get((name, rows, draw, fraction), ()))
        ]
        if missing:
            with mock.patch.object(selection, "ROWS", rows):
                task = selection.Task(name, folder, 0.0, draw)
            for fraction in missing:
                line = known.get((name, rows, draw, fraction))
                if line is None:
                    line = {"set": name, "rows": rows, "draw": draw, "fraction": fraction}
                    lines.append(line)
                for kind in KINDS:
                    if kind not in line:
                        chosen = choose(task, round(fraction * rows), kind, draw)
                        line[kind] = round(float(100 * np.mean([score(task, model, chosen) for model in JUDGED])), 3)
                        keep()
                print(line, flush=True)


def score(task: Any, model: str, rows: np.ndarray) -> float:
    fitted = clone(selection.MODELS[model]).fit(task.X[rows], task.y[rows])
    return float(fitted.score(task.fresh, task.truth))


def measure(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    clusters = rng.integers(30, size=n)
    X = 1.6 * rng.normal(size=(30, FEATURES))[clusters] + rng.normal(size=(n, FEATURES))
    y = np.where(rng.random(n) < 0.05, rng.integers(5, size=n), clusters % 5)
    pivotal.select(X[:6000], y[:6000], 0.1)  # compiles
    with Stopwatch() as watch:
        chosen = pivotal.select(X, y, 0.1)
    return {
        "rows": n,
        "selected": len(chosen),
        "seconds": watch.seconds,
        "processor_seconds": watch.processor_seconds,
        "peak_gb": (peak_bytes() or 0) / 2**30,
        "queries": chosen.facts["n_queries"],
        "list_length": chosen.facts["list_length"],
        "exact": chosen.facts["exact_neighbors"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets to compare on; none are, without it")
    parser.add_argument("--out", type=Path, default=Path("docs/selection-scale.json"))
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000])
    options = parser.parse_args()
    found: dict[str, Any] = {"features": FEATURES, "times": [], "compared": []}
    if options.out.exists():
        found |= json.loads(options.out.read_text(encoding="utf-8"))

    def keep() -> None:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    for n in sorted(options.sizes):
        found["times"] = [*(one for one in found["times"] if one["rows"] != n), measure(n)]
        print(found["times"][-1], flush=True)
        keep()
    if options.data is not None:
        compare(options.data, found["compared"], keep)
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
