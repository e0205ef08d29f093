"""Wrong labels and a check-up of a million rows: time, memory, and what is found of what was planted.

    python benchmarks/cleaning_scale.py [--rows 1000000] [--features 16] [--out docs/cleaning-scale.json]

Made-up rows: 30 clusters of 5 classes, 5 % of the labels flipped to any other class. Every task runs in a process of
its own, so that its peak memory is its own. Finished figures are kept; `benchmarks/cleaning.py --write-only` puts them
on its page.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import pivotal

TASKS = ("find_label_errors", "check")


def made(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, and which of them are wrong."""
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.standard_normal((30, n_features))
    cluster = rng.integers(0, 30, n_rows)
    X = (rng.standard_normal((n_rows, n_features)) + centres[cluster]).astype(np.float32)
    wrong = rng.random(n_rows) < 0.05
    y = np.where(wrong, cluster + rng.integers(1, 5, n_rows), cluster) % 5
    return X, y, wrong


def measure(task: str, n_rows: int, n_features: int) -> dict[str, Any]:
    """One run, in this process."""
    from sklearn.metrics import average_precision_score

    X, y, wrong = made(n_rows, n_features)
    pivotal.check(X[:500], y[:500])  # kernels are compiled once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter(), time.process_time()
    errors = pivotal.check(X, y).label_errors if task == "check" else pivotal.find_label_errors(X, y)
    assert errors is not None
    return {
        "task": task,
        "rows": n_rows,
        "features": n_features,
        "seconds": round(time.perf_counter() - start[0], 1),
        "processor seconds": round(time.process_time() - start[1], 1),
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "gigabytes before": round(before / 2**20, 2),
        "average precision": round(float(average_precision_score(wrong, -errors.scores)), 4),
        "planted": int(wrong.sum()),
        "estimate": [round(errors.n_wrong.count), round(errors.n_wrong.low), round(errors.n_wrong.high)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("docs/cleaning-scale.json"))
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(measure(options.task, options.rows[0], options.features)))
        return
    kept: list[dict[str, Any]] = json.loads(options.out.read_text()) if options.out.exists() else []
    for n_rows in options.rows:
        for task in TASKS:
            if any((one["task"], one["rows"], one["features"]) == (task, n_rows, options.features) for one in kept):
                continue
            call = [
                sys.executable,
                __file__,
                "--task",
                task,
                "--rows",
                str(n_rows),
                "--features",
                str(options.features),
            ]
            ran = subprocess.run(call, check=True, capture_output=True, text=True, env=os.environ)
            kept.append(json.loads(ran.stdout.splitlines()[-1]))
            options.out.write_text("[\n" + ",\n".join(json.dumps(one) for one in kept) + "\n]\n")
            print(kept[-1], flush=True)


if __name__ == "__main__":
    main()
