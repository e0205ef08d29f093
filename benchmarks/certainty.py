"""What the standard errors over queries cost: values with and without the sums of squares, in one run.

    python benchmarks/certainty.py [--out docs/certainty.md] [--rounds 7]

The sums of squares cannot be switched off. Here the kernels that add up values are replaced, in turns with the real
ones, by the same kernels without squares; all else is the same, and so are the values, to the last bit. Times are of
processors, of the fastest of several rounds, of one thread.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy

import numpy as np
from numba import njit

import pivotal
from pivotal.kernels import accumulate
from pivotal.kernels.draws import add_exactly
from pivotal.research.bench.markdown import machine, table
from pivotal.research.bench.stopwatch import Stopwatch

AT_ONCE = 512


@njit(nogil=True, error_model="numpy")
def rows_without(rows: Any, start: int, stop: int, weights: Any, sums: Any) -> None:  # noqa: ARG001
    """As `add_rows`, of the values alone."""
    for first in range(start, stop, AT_ONCE):
        last = min(first + AT_ONCE, stop)
        for q in range(rows.shape[0]):
            row, totals, rests = rows[q, first:last], sums[0, first:last], sums[1, first:last]
            for i in range(row.shape[0]):
                value = row[i]
                new = totals[i] + value
                shadow = new - totals[i]
                rests[i] += (totals[i] - (new - shadow)) + (value - shadow)
                totals[i] = new


@njit(nogil=True, error_model="numpy")
def lists_without(indices: Any, values: Any, weights: Any, sums: Any) -> None:  # noqa: ARG001
    """As `add_moments`, of the values alone."""
    totals, rests = sums[0], sums[1]
    for q in range(indices.shape[0]):
        for i in range(indices.shape[1]):
            point, value = indices[q, i], values[q, i]
            totals[point], rests[point] = add_exactly(totals[point], rests[point], value)


@contextmanager
def without_squares() -> Iterator[None]:
    kept = accumulate.add_rows, accumulate.add_moments
    accumulate.add_rows, accumulate.add_moments = rows_without, lists_without
    try:
        yield
    finally:
        accumulate.add_rows, accumulate.add_moments = kept


def cases() -> dict[str, dict[str, Any]]:
    """Names and arguments of calls: short lists of neighbours, and whole orders, where most is added up."""
    rng = np.random.default_rng(0)

    def drawn(n: int, m: int, d: int) -> dict[str, Any]:
        X, y = rng.standard_normal((n + m, d)).astype(np.float32), rng.integers(0, 2, n + m)
        return {"X_train": X[:n], "y_train": y[:n], "X_test": X[n:], "y_test": y[n:], "n_jobs": 1}

    return {
        "hard Banzhaf, k = 5, 100 000 points, 1000 queries, 32 features": {**drawn(100_000, 1000, 32), "k": 5},
        "soft Banzhaf, k = 20, 100 000 points, 1000 queries, 32 features": {
            **drawn(100_000, 1000, 32), "k": 20, "utility": "soft",
        },
        "hard Shapley, k = 5, 20 000 points, 1000 queries, 32 features": {
            **drawn(20_000, 1000, 32), "k": 5, "semivalue": "shapley",
        },
        "soft Shapley, k = 5, 20 000 points, 1000 queries, 32 features": {
            **drawn(20_000, 1000, 32), "k": 5, "utility": "soft", "semivalue": "shapley",
        },
        "soft Shapley, k = 5, 20 000 points, 1000 queries, 4 features": {
            **drawn(20_000, 1000, 4), "k": 5, "utility": "soft", "semivalue": "shapley",
        },
    }  # fmt: skip


def measure(how: dict[str, Any], rounds: int) -> tuple[float, float]:
    """Seconds with and without squares; the values must agree to the last bit."""
    best, worth = [np.inf, np.inf], [None, None]
    for _ in range(rounds + 1):  # the first round compiles
        for place in (0, 1):
            with Stopwatch() as watch:
                if place:
                    with without_squares():
                        worth[1] = pivotal.value(**how).values
                else:
                    worth[0] = pivotal.value(**how).values
            best[place] = min(best[place], watch.processor_seconds)
    assert np.array_equal(worth[0], worth[1])
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/certainty.md"))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    lines = []
    for name, how in cases().items():
        both, plain = measure(how, options.rounds)
        lines.append([name, f"{both:.3f}", f"{plain:.3f}", f"{100 * (both / plain - 1):+.1f} %"])
        print(lines[-1], flush=True)
    page = [
        "# What standard errors over queries cost",
        "",
        "Written by `python benchmarks/certainty.py --out docs/certainty.md`. What they are for is in",
        "[the guide](guide/results.md#how-sure-a-value-is).",
        "",
        "Every valuation keeps sums of squares beside its sums, from which `query_standard_error` comes. Here the same",
        "calls run with and without them, in turns, in one process and one thread; values are the same to the bit.",
        f"Processor seconds, the fastest of {options.rounds} rounds. Machine: {machine('numpy')}.",
        "",
        table(["values", "with squares", "without", "extra"], lines),
        "",
        "That the intervals hold is tested by drawing test sets of 50, 200 and 1000 from 6000 test points",
        "(`tests/test_certainty.py`).",
        "",
    ]
    options.out.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
