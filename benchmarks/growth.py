"""What a million points cost, and how cost grows with the number of points.

    python benchmarks/growth.py [--out docs/growth.md]

Writes the page, the figures as JSON beside it and the plot into `images/` beside it. Memory is read from Linux's /proc.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pivotal import KNNValuation, value
from pivotal.core.games import as_game
from pivotal.core.semivalues import as_semivalue
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.neighbors import BruteIndex
from pivotal.research.bench.markdown import machine, record_table
from pivotal.research.bench.stopwatch import fastest, timed

SIZES = (1000, 10_000, 100_000, 1_000_000, 10_000_000)
K = 5
TOL = 1e-16
# Exact Shapley values take the order of all points: of fewer queries where points are many, times what is missing.
SHAPLEY_ENTRIES = 20_000_000


@dataclass
class Row:
    n: int
    depth: int
    search: float
    kernel: float
    prepare: float
    whole: float
    shapley: float


def points(n: int, d: int, n_queries: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    X, queries = (rng.standard_normal((size, d), dtype=np.float32) for size in (n, n_queries))
    side = rng.standard_normal(d, dtype=np.float32)
    return X, (X @ side > 0).astype(np.int32), queries, (queries @ side > 0).astype(np.int32)


def large(n: int, n_queries: int, d: int) -> dict[str, float]:
    """One large run in a fresh process: seconds, and the most memory that the process ever holds."""
    script = """
import sys
sys.path.insert(0, sys.argv[1])
from growth import points, value, K
from pivotal.research.bench.memory import peak_bytes
from pivotal.research.bench.stopwatch import timed
value(*points(1000, 11, 10), k=K)
data = points(*map(int, sys.argv[2:]))
values, seconds = timed(lambda: value(*data, k=K))
print(seconds, peak_bytes() / 2**20, values.error_bound)
"""
    command = [sys.executable, "-c", script, str(Path(__file__).parent), *map(str, (n, d, n_queries))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak, bound = map(float, done.stdout.split())
    return {"n": n, "queries": n_queries, "d": d, "seconds": seconds, "megabytes": peak, "error_bound": bound}


def grow(n: int, n_queries: int, d: int, rounds: int) -> Row:
    """Search and kernel by themselves, and all of `value`."""
    X, y, queries, targets = points(n, d, n_queries)
    game, semivalue = as_game("hard"), as_semivalue("banzhaf")
    depth = min(n, semivalue.depth(K, TOL, n, game.truncation_factor(2, votes_fall=True)))
    BruteIndex(X[:10])  # loads what is compiled
    index, prepare = timed(lambda: BruteIndex(X))
    indices, _ = index.search(queries, depth)
    (search,) = fastest(lambda: index.search(queries, depth), rounds=rounds, warm_up=False)
    solver = make_solver(game, semivalue, K, depth, 2, None, TOL)
    block, scratch, out = Block(y[indices], None, targets), solver.scratch(), np.empty(indices.shape)
    solver.solve(block, scratch, out)
    # So short that many runs are needed for the clock to see it.
    (kernel,) = fastest(lambda: solver.solve(block, scratch, out), rounds=50 * rounds, warm_up=False)
    (whole,) = fastest(lambda: value(X, y, queries, targets, k=K, neighbors="brute"), rounds=rounds, warm_up=False)
    few = max(2, min(n_queries, SHAPLEY_ENTRIES // n))
    value(X[:10], y[:10], queries[:2], targets[:2], k=K, semivalue="shapley")  # loads what is compiled
    # Preparing the points is not done again for every query, so it must not be scaled up with them.
    model = KNNValuation(k=K, semivalue="shapley").fit(X, y)
    (orders,) = fastest(lambda: model.update(queries[:few], targets[:few]), rounds=min(rounds, 2), warm_up=False)
    return Row(n, depth, search, kernel, prepare, whole, orders * n_queries / few)


def draw(rows: list[Row], n_queries: int, path: Path) -> None:
    import matplotlib as mpl

    from pivotal.report.plots import HIGHLIGHT_COLOR, INK, MUTED, VALUE_COLOR, new_figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pivotal"}):
        figure = new_figure(7.0, 4.2)
        ax = figure.subplots()
        sizes = np.array([row.n for row in rows], dtype=float)
        search = np.array([row.search for row in rows])
        kernel = np.array([row.kernel for row in rows])
        shapley = np.array([row.shapley for row in rows])
        guide = search[-1] * sizes / sizes[-1]
        ax.loglog(sizes, guide, color=MUTED, linewidth=1.0, linestyle="--")
        ax.loglog(sizes, search, color=VALUE_COLOR, marker="o", linewidth=1.8)
        ax.loglog(sizes, kernel, color=HIGHLIGHT_COLOR, marker="o", linewidth=1.8)
        ax.loglog(sizes, shapley, color=INK, marker="o", linewidth=1.8)
        lines = (
            (search, "search", VALUE_COLOR, 8),
            (kernel, "values from neighbours", HIGHLIGHT_COLOR, 8),
            (shapley, "exact Shapley values", INK, 8),
        )
        for curve, name, color, offset in lines:
            middle = (sizes[len(sizes) // 2], curve[len(sizes) // 2])
            ax.annotate(name, middle, xytext=(-8, offset), textcoords="offset points", ha="right", color=color)
        ax.annotate(
            "linear", (sizes[0], guide[0]), xytext=(14, 0), textcoords="offset points", va="center", color=MUTED
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_xlabel("training points", color=INK)
        ax.set_ylabel(f"seconds for {n_queries} queries", color=INK)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})


def page(rows: list[Row], one: dict[str, float], n_queries: int, d: int) -> str:
    flat = max(row.kernel for row in rows) / min(row.kernel for row in rows)
    big = [row for row in rows if row.n >= 100_000]
    big = big if len(big) > 1 else rows  # where starting threads is not what takes the time
    slope = np.polyfit(np.log([row.n for row in big]), np.log([row.search for row in big]), 1)[0]
    lines = [
        "# How cost grows",
        "",
        "Written by `python benchmarks/growth.py --out docs/growth.md`. Hard-label Banzhaf values, k = 5.",
        "Points are float32; all processors are used. Columns are timed apart, so they need not add up. The paper's",
        "[scalability figure](reproduction/scalability.md) has 32 features, one query and one thread, and so other",
        "seconds.",
        "",
        f"Machine: {machine('numpy', 'numba')}.",
        "",
        f"**{one['n']:,.0f} training points, {one['queries']:,.0f} queries, d = {one['d']:.0f}:** "
        f"{one['seconds']:.3g} s, {one['megabytes']:,.0f} MB at the peak of the whole process, data included. "
        f"No value is off by more than {one['error_bound']:.0e}.",
        "",
        f"## From {rows[0].n:,} to {rows[-1].n:,} points",
        "",
        f"{n_queries} queries, d = {d}, exhaustive search. Values depend on the {rows[-1].depth} nearest neighbours:",
        f"computing them costs the same for any number of points (largest over smallest: {flat:.2f}), and the search",
        f"is what grows: with the power {slope:.2f} of n from {big[0].n:,} points on.",
        "",
        "Exact Shapley values need the order of all points, and cost about as much as a sort: see the last column,",
        f"timed on fewer queries where {SHAPLEY_ENTRIES:,} distances are not enough, and scaled up.",
        "",
        "![Seconds by the number of training points: the search grows with them, the values from known neighbours do "
        "not](images/growth.svg)",
        "",
        record_table(
            {
                "n": "{n:,}",
                "search, s": "{search:.3g}",
                "values from neighbours, s": "{kernel:.2g}",
                "preparing, s": "{prepare:.3g}",
                "all of `value`, s": "{whole:.3g}",
                "Shapley, prepared, s": "{shapley:.3g}",
            },
            map(vars, rows),
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page to write; JSON and images/growth.svg go beside it")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="training points of the curve, two or more")
    parser.add_argument("--queries", type=int, default=200, help="queries of the curve (default: %(default)s)")
    parser.add_argument("--dim", type=int, default=11)
    parser.add_argument("--large", nargs=2, type=int, default=(1_000_000, 50_000), metavar=("N", "QUERIES"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for n in options.sizes:
        rows.append(grow(n, options.queries, options.dim, options.rounds))
        print(rows[-1], flush=True)
    one = large(*options.large, options.dim)
    text = page(rows, one, options.queries, options.dim)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        figures = json.dumps({"rows": [asdict(row) for row in rows], "large": one}, indent=2)
        options.out.with_suffix(".json").write_text(figures + "\n", encoding="utf-8")
        draw(rows, options.queries, options.out.parent / "images" / "growth.svg")


if __name__ == "__main__":
    main()
