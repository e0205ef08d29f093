"""What an edit costs beside computing everything again.

    python benchmarks/editing.py [--points 100000] [--queries 10000] [--out docs/editing.md]

Values random points once, then relabels, adds and removes points one at a time, and compares each edit with a fresh
computation, in time and in values. Writes a page with the figures and JSON beside it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pivotal import EditableKNNValuation, KNNValuation
from pivotal.research.bench.markdown import machine, record_table
from pivotal.research.bench.stopwatch import timed

N_FEATURES = 16
N_CLASSES = 3
SETTINGS: dict[str, dict[str, Any]] = {"unweighted": {}, "votes by distance": {"weights": "distance"}}
EDITS = ("relabel", "add", "remove")


def measure(n_points: int, n_queries: int, n_edits: int, how: dict[str, Any]) -> dict[str, Any]:
    """Median seconds of an edit, seconds of computing afresh, and the largest difference of a value after all edits."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_points, N_FEATURES)), rng.integers(0, N_CLASSES, n_points)
    queries, targets = rng.normal(size=(n_queries, N_FEATURES)), rng.integers(0, N_CLASSES, n_queries)
    warm = EditableKNNValuation(**how).fit(X[:500], y[:500]).update(queries[:9], targets[:9])  # compiles
    warm.relabel(0, (y[0] + 1) % N_CLASSES).add(X[:1], y[:1]).remove(0)
    model = EditableKNNValuation(**how).fit(X, y)
    _, first = timed(lambda: model.update(queries, targets))
    # Points that some query reaches; most others are free.
    near = model._engine._scene.near.indices[:, 0]
    chosen = rng.choice(np.unique(near), n_edits, replace=False)
    reached = [int(model._engine._scene.near.holding(np.arange(n_points) == point).sum()) for point in chosen]

    def edit_and_read(edit: Callable[[], Any]) -> float:
        return timed(lambda: (edit(), model.values_))[1]

    relabels = []
    for point in chosen:
        y[point] = (y[point] + 1) % N_CLASSES
        relabels.append(edit_and_read(lambda point=point: model.relabel(point, y[point])))
    adds, removals = [], []
    for _ in range(n_edits):
        new, label = rng.normal(size=(1, N_FEATURES)), rng.integers(0, N_CLASSES, 1)
        adds.append(edit_and_read(lambda new=new, label=label: model.add(new, label)))
        X, y = np.concatenate([X, new]), np.concatenate([y, label])
        point = int(rng.integers(len(y)))
        removals.append(edit_and_read(lambda point=point: model.remove(point)))
        X, y = np.delete(X, point, axis=0), np.delete(y, point)
    fresh = KNNValuation(**how).fit(X, y)
    _, again = timed(lambda: fresh.update(queries, targets).values_)
    near = model._engine._scene.near
    kept = near.indices.nbytes + near.distances.nbytes + model._engine._answers.values.nbytes
    return {
        "n_points": n_points,
        "n_queries": n_queries,
        "first_update": first,
        "fresh": again,
        "relabel": float(np.median(relabels)),
        "add": float(np.median(adds)),
        "remove": float(np.median(removals)),
        "queries_per_relabel": float(np.mean(reached)),
        "largest_difference": float(np.abs(model.values_ - fresh.values_).max()),
        "megabytes_kept": kept / 2**20,
    }


def page(rows: dict[str, dict[str, Any]], command: str) -> str:
    lines = [
        "# What an edit costs",
        "",
        "Seconds to value again after one edit, reading the values included, beside a fresh computation (search and",
        f"values) of the same points; {N_FEATURES} normal features, {N_CLASSES} classes, k = 5, Banzhaf. Medians of",
        "single edits. The last column is the largest difference of any value from the fresh ones after all edits.",
        "",
        record_table(
            {
                "": "{name}",
                "points": "{n_points}",
                "queries": "{n_queries}",
                "fresh": "{fresh:.3g} s",
                **{edit: f"{{{edit}:.3g}} ms" for edit in EDITS},
                "fresh / relabel": "{ratio:.3g}",
                "kept": "{megabytes_kept:.0f} MB",
                "difference": "{largest_difference:.1g}",
            },
            [
                {
                    "name": name,
                    **row,
                    **{edit: 1000 * row[edit] for edit in EDITS},
                    "ratio": row["fresh"] / row["relabel"],
                }
                for name, row in rows.items()
            ],
        ),
    ]
    reached = ", ".join(f"{row['queries_per_relabel']:.3g}" for row in rows.values())
    lines += ["", f"A relabelled point is on the lists of this many queries, in the mean: {reached}.", ""]
    lines += [f"    {command}", "", f"Machine (busy): {machine('pivotal')}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = {}
    for name, how in SETTINGS.items():
        rows[name] = measure(options.points, options.queries, options.edits, how)
        print(name, rows[name], flush=True)
    if options.out is not None:
        command = f"python benchmarks/editing.py --points {options.points} --queries {options.queries}"
        options.out.write_text(page(rows, command), encoding="utf-8")
        options.out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
