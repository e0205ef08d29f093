"""Shapley values of threshold neighbours beside shapiq's, with exact fractions as the judge, and how time grows.

    python benchmarks/threshold.py [--peer PYTHON] [--out docs/threshold.md]

PYTHON is an interpreter that has shapiq 1.8 (Python 3.12 or newer); it may be another one than runs this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np

import pivotal
from pivotal.research.bench.markdown import record_table, table
from pivotal.research.bench.stopwatch import timed

BALLS = (10, 100, 500, 600, 3000, 10_000)
SPEEDS = ((10_000, 0.3), (100_000, 0.1), (100_000, 1.0), (1_000_000, 0.1))
N_QUERIES = 100

PEER = """
import json, sys
import numpy as np
from shapiq.explainer.nn import ThresholdNNExplainer
from sklearn.neighbors import RadiusNeighborsClassifier

rows = []
for n, outside in json.loads(sys.argv[1]):
    X = np.zeros((n + outside, 1))
    X[n:] = 5.0
    y = np.arange(n + outside) % 3 == 0
    explainer = ThresholdNNExplainer(RadiusNeighborsClassifier(1.0).fit(X, y), class_index=1)
    rows.append(explainer.explain(np.zeros(1)).get_n_order_values(1)[:2].tolist())
print(json.dumps(rows))
"""


def exact(n: int) -> tuple[float, float]:
    """Shapley values of a right and of a wrong point, when every third of n points in the ball is right."""
    n_right, divisible = -(-n // 3), lcm(*range(1, n + 1))
    joining = Fraction(sum(divisible // (s + 1) for s in range(1, n)), divisible * n * (n - 1))
    half = Fraction(1, 2 * n)
    return float(half + joining * (n - n_right)), float(-half - joining * n_right)


def ours(n: int, outside: int) -> list[float]:
    X = np.zeros((n + outside, 1))
    X[n:] = 5.0
    y = np.arange(n + outside) % 3 == 0
    values = pivotal.value(X, y, [[0.0]], [True], utility=pivotal.Threshold(1.0), semivalue="shapley")
    right, wrong = values.values[:2].tolist()
    return [right, wrong]


def worst(values: list[float], truth: tuple[float, float]) -> float:
    return max(abs(value / true - 1.0) for value, true in zip(values, truth, strict=True))


def time_one(n: int, radius: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    X_test, y_test = rng.normal(size=(N_QUERIES, 3)), rng.integers(0, 3, N_QUERIES)
    values, seconds = timed(lambda: pivotal.value(X, y, X_test, y_test, utility=pivotal.Threshold(radius)))
    return {"n": n, "radius": radius, "ball": values.details["mean_ball"], "seconds": seconds}


def write(errors: list[dict[str, Any]], speeds: list[dict[str, Any]], peer: bool) -> str:
    lines = [
        "# Threshold neighbours: how exact, how fast",
        "",
        f"Made by `python benchmarks/threshold.py --peer PYTHON --out docs/threshold.md` on {os.cpu_count()} processors"
        f" ({platform.machine()}, shared with other work), Python {platform.python_version()}.",
        "",
        "## Shapley values of a ball of N points, beside exact fractions",
        "",
        "Largest relative error of the value of a right and of a wrong point; every third point is right, and as many "
        "points again lie outside."
        + (" Where binomials overflow, shapiq falls back on another formula, which is off, without a warning." * peer),
        "",
        table(
            ["N", "pivotal", *["shapiq 1.8, `ThresholdNNExplainer`"] * peer],
            [[row["n"], *(f"{row[who]:.0g}" for who in ("ours", "peer")[: 1 + peer])] for row in errors],
        ),
        "",
        f"## Time for {N_QUERIES} queries, Banzhaf, 3 normal features, search included",
        "",
        record_table(
            {"points": "{n}", "radius": "{radius}", "points in a ball": "{ball:.0f}", "seconds": "{seconds:.2f}"},
            speeds,
        ),
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter that has shapiq")
    parser.add_argument("--out", type=Path, help="where to write the page")
    options = parser.parse_args()
    cases = [(n, n) for n in BALLS]
    theirs: list[list[float]] = [[] for _ in cases]
    if options.peer:
        command = [options.peer, "-c", PEER, json.dumps(cases)]
        theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    errors = [
        {"n": n, "ours": worst(ours(n, outside), exact(n)), "peer": worst(row, exact(n)) if row else None}
        for (n, outside), row in zip(cases, theirs, strict=True)
    ]
    time_one(1000, 0.3)  # compiles
    page = write(errors, [time_one(n, radius) for n, radius in SPEEDS], bool(options.peer))
    sys.stdout.write(page)
    if options.out:
        options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
