"""Exhaustive search beside scikit-learn, FAISS and the matrix product that the distances need.

    python benchmarks/search.py [--out docs/search.md]

All take turns in one process and the fastest of the rounds counts, after one round that does not. The phases of our own
search are timed in a run of their own, by a clock around each function that it calls.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors

from pivotal.core.threads import count_threads, run_all, single_threaded_blas, slices
from pivotal.neighbors import BruteIndex, brute
from pivotal.research.bench.markdown import machine, record_table, table
from pivotal.research.bench.stopwatch import fastest, timed

SIZES = ((100_000, 32), (1_000_000, 11), (1_000_000, 32), (60_000, 512))
# Points that the bare product takes at a time: all of them would need gigabytes.
WIDTHS = (2048, 8192, 32_768)
PHASES = {
    "product": "the matrix product",
    "scan_tile": "looking through the scores",
    "rank_shortlists": "exact distances of the candidates, and their order",
    "rest": "everything else",
}


@dataclass
class Row:
    n: int
    d: int
    queries: int
    depth: int
    ours: float
    sklearn: float
    faiss: float
    product: float
    to_better: float
    to_product: float
    prepare: float
    phases: dict[str, float]


def multiply(X: np.ndarray, queries: np.ndarray, width: int) -> Callable[[], None]:
    out = np.empty((len(queries), min(width, len(X))), np.float32)

    def run() -> None:
        for first in range(0, len(X), width):
            block = X[first : first + width]
            np.matmul(queries, block.T, out=out[:, : len(block)])

    return run


def multiply_in_threads(X: np.ndarray, queries: np.ndarray, rows: int = 256, width: int = 1024) -> Callable[[], None]:
    """The same in tiles that stay in the cache, each thread its own."""
    n_threads = count_threads(-1)

    def work(part: slice) -> None:
        block = queries[part]
        out = np.empty((len(block), min(width, len(X))), np.float32)
        for first in range(0, len(X), width):
            points = X[first : first + width]
            np.matmul(block, points.T, out=out[:, : len(points)])

    def run() -> None:
        with single_threaded_blas():
            run_all(work, slices(len(queries), rows, n_threads), n_threads)

    return run


@contextmanager
def clocks() -> Iterator[dict[str, float]]:
    """Seconds spent in each function that the exhaustive search calls, summed over threads."""
    spent: dict[str, float] = defaultdict(float)

    def clocked(name: str, function: Any) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            answer, seconds = timed(lambda: function(*arguments))
            spent[name] += seconds
            return answer

        return run

    kernels = [
        name for name, part in vars(brute).items() if getattr(part, "__module__", "").startswith("pivotal.kernels")
    ]
    with ExitStack() as stack:
        for name in kernels:
            part = getattr(brute, name)
            if not isinstance(part, type) and callable(part):
                stack.enter_context(patch.object(brute, name, clocked(name, part)))
        product = staticmethod(clocked("product", brute.DenseEuclidean._multiply))
        stack.enter_context(patch.object(brute.DenseEuclidean, "_multiply", product))
        yield spent


def profile(index: BruteIndex, queries: np.ndarray, depth: int) -> dict[str, float]:
    """Seconds of each phase, as if threads had shared them evenly."""
    with clocks() as spent:
        _, whole = timed(lambda: index.search(queries, depth))
    phases = {name: seconds / count_threads(-1) for name, seconds in spent.items()}
    minor = [name for name in phases if name not in PHASES]
    phases = {name: seconds for name, seconds in phases.items() if name not in minor}
    return {**phases, "rest": max(whole - sum(phases.values()), 0.0)}


def race(n: int, d: int, n_queries: int, depth: int, rounds: int) -> Row:
    rng = np.random.default_rng(0)
    X, queries = (rng.standard_normal((size, d), dtype=np.float32) for size in (n, n_queries))
    BruteIndex(X[:10])  # loads what is compiled
    index, prepare = timed(lambda: BruteIndex(X))
    theirs = NearestNeighbors(algorithm="brute", n_jobs=-1).fit(X)
    flat = faiss.IndexFlatL2(d)
    flat.add(X)
    jobs: dict[str, Callable[[], object]] = {
        "ours": lambda: index.search(queries, depth),
        "sklearn": lambda: theirs.kneighbors(queries, depth),
        "faiss": lambda: flat.search(queries, depth),
    }
    jobs |= {f"product {width}": multiply(X, queries, width) for width in WIDTHS}
    jobs["product in threads"] = multiply_in_threads(X, queries)
    best = dict(zip(jobs, fastest(*jobs.values(), rounds=rounds), strict=True))
    product = min(seconds for name, seconds in best.items() if name.startswith("product"))
    ours, sklearn, by_faiss = best["ours"], best["sklearn"], best["faiss"]
    found, expected = index.search(queries[:50], depth)[0], theirs.kneighbors(queries[:50].astype(float), depth)[1]
    assert (found == expected).mean() > 0.999, "our neighbours are not those of scikit-learn"
    return Row(
        n,
        d,
        n_queries,
        depth,
        ours,
        sklearn,
        by_faiss,
        product,
        ours / min(sklearn, by_faiss),
        ours / product,
        prepare,
        profile(index, queries, depth),
    )


def page(rows: list[Row], rounds: int) -> str:
    first = rows[0]
    lines = [
        "# How fast neighbours are found",
        "",
        'Written by `python benchmarks/search.py --out docs/search.md`. Exhaustive search (`neighbors="brute"`), '
        f"{first.queries:,} queries,",
        f"{first.depth} neighbours, single precision. All take turns in one process; the fastest of {rounds} counts.",
        "The product is the bare float32 matrix product of queries and points, nothing done with it: the fastest of",
        "several ways to cut it into blocks. This page and [the engine's](benchmarks.md) are from runs of other hours:",
        "compare ratios on one page, not seconds across pages.",
        "",
        f"Machine: {machine('numpy', 'scikit-learn', 'faiss-cpu', 'numba')}.",
        "",
        record_table(
            {
                "n": "{n:,}",
                "d": "{d}",
                "pivotal, s": "{ours:.3g}",
                "scikit-learn, s": "{sklearn:.3g}",
                "FAISS flat, s": "{faiss:.3g}",
                "product, s": "{product:.3g}",
                "over the better of the two": "{to_better:.2f}",
                "over the product": "{to_product:.2f}",
            },
            map(vars, rows),
        ),
        "",
        "## Where the time goes",
        "",
        "Seconds of one run, shared out over the threads.",
        "",
        table(
            ["n", "d", *PHASES.values(), "preparing the points, once"],
            [
                [f"{r.n:,}", r.d, *(f"{r.phases.get(name, 0.0):.3g}" for name in PHASES), f"{r.prepare:.3g}"]
                for r in rows
            ],
        ),
        "",
        "Scores from the product are off by rounding, so all that may be among the nearest are kept and then ranked by",
        "distances in double precision, so that the order is the true one.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page to write; the figures go beside it as JSON")
    parser.add_argument("--sizes", nargs="+", metavar="NxD", help="points and features, such as 100000x32")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=74)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes] if options.sizes else SIZES
    rows = []
    for n, d in sizes:
        rows.append(race(n, d, options.queries, options.depth, options.rounds))
        print(rows[-1], flush=True)
    text = page(rows, options.rounds)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        figures = json.dumps({"rows": [asdict(row) for row in rows]}, indent=2)
        options.out.with_suffix(".json").write_text(figures + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
