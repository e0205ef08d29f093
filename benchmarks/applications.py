"""What a whole curve costs, every point a step, beside fitting a model anew at each step.

    python benchmarks/applications.py [--out applications.md]

The curve is computed once for every kind of weights; fitting anew is timed at a few steps, spread evenly, and
multiplied by their number. Both must agree at those steps. Memory is read from Linux's /proc.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from pivotal.analysis import removal_curve
from pivotal.neighbors import BruteIndex
from pivotal.research.bench.markdown import machine, record_table
from pivotal.research.bench.memory import forget_peak, peak_bytes, resident_bytes
from pivotal.research.bench.stopwatch import Stopwatch, fastest, timed

SIZES = ((40_000, 10), (40_000, 100))
K = 5


@dataclass
class Row:
    n: int
    d: int
    queries: int
    weights: str
    curve: float
    search: float
    step: float
    refitting: float
    ratio: float
    extra_mib: float


def points(n: int, d: int, n_queries: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((n, d)), rng.standard_normal((n_queries, d))
    side = rng.standard_normal(d)
    noisy = rng.random(n) < 0.1
    return X, ((X @ side > 0) ^ noisy).astype(np.int64), queries, (queries @ side > 0).astype(np.int64)


def race(n: int, d: int, n_queries: int, weights: str, looks: int, rounds: int) -> Row:
    X, y, queries, targets = points(n, d, n_queries)
    order = np.random.default_rng(1).permutation(n)
    removal_curve(None, X[:200], y[:200], queries[:9], targets[:9], order="random", weights=weights)  # loads kernels
    forget_peak()
    before = resident_bytes() or 0
    curve, best = min(
        (
            timed(lambda: removal_curve(None, X, y, queries, targets, order=order, k=K, weights=weights))
            for _ in range(rounds)
        ),
        key=itemgetter(1),
    )
    extra = ((peak_bytes() or 0) - before) / 2**20
    (searched,) = fastest(lambda: BruteIndex(X).search(queries, K), rounds=rounds, warm_up=False)
    spent = 0.0
    counts = np.linspace(0, n - K, looks).astype(int)
    for count in counts:
        left = np.sort(order[count:])
        with Stopwatch() as watch:
            model = KNeighborsClassifier(K, weights=weights, n_jobs=-1).fit(X[left], y[left])
            score = model.score(queries, targets)
        spent += watch.seconds
        assert score == curve.scores[count], f"{score} and {curve.scores[count]} differ after {count} points"
    step = spent / looks
    return Row(n, d, n_queries, weights, best, searched, step, step * (n + 1), step * (n + 1) / best, extra)


def page(rows: list[Row], looks: int, rounds: int) -> str:
    lines = [
        "# What a whole curve costs",
        "",
        "Written by `python benchmarks/applications.py`: the accuracy of a nearest-neighbour model (k = 5) after each",
        f"single removal, random order, double precision, the fastest of {rounds} rounds. Fitting scikit-learn's model",
        f"anew is timed at {looks} steps and multiplied; at those steps both give the same accuracy.",
        "",
        f"Machine: {machine('numpy', 'scikit-learn', 'numba')}.",
        "",
        record_table(
            {
                "n": "{n:,}",
                "d": "{d}",
                "queries": "{queries:,}",
                "weights": "{weights}",
                "whole curve, s": "{curve:.3g}",
                "one search, s": "{search:.3g}",
                "a fit, s": "{step:.3g}",
                "fitting at every step, s": "{refitting:,.0f} (estimated)",
                "ratio": "{ratio:,.0f}",
                "memory beyond the data, MiB": "{extra_mib:.0f}",
            },
            map(vars, rows),
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page to write; the figures go beside it as JSON")
    parser.add_argument("--sizes", nargs="+", metavar="NxD", help="points and features, such as 40000x100")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--looks", type=int, default=6, help="steps at which a model is fitted anew")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes] if options.sizes else SIZES
    rows = []
    for n, d in sizes:
        for weights in ("uniform", "distance"):
            rows.append(race(n, d, options.queries, weights, options.looks, options.rounds))
            print(rows[-1], flush=True)
    text = page(rows, options.looks, options.rounds)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        figures = json.dumps({"rows": [asdict(row) for row in rows]}, indent=2)
        options.out.with_suffix(".json").write_text(figures + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
