"""What sampling costs, and how far sampled values are from the exact ones.

    python benchmarks/sampling.py [--out docs/sampling.md]

Times many coalitions of one query against NumPy, and sampled values against exact ones; draws the paper's figure, the
deviation against the number of samples. Writes the page, the figures as JSON beside it and the plot into `images/`
beside it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from pivotal import method as sampler
from pivotal import value, value_from_neighbors
from pivotal.research.bench.markdown import machine, table
from pivotal.research.bench.stopwatch import fastest, timed

K = 5
SAMPLES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SAMPLERS = ("coalitions", "permutations")


def numpy_coalitions(votes: np.ndarray, k: int, n_samples: int, seed: int, *, sort: bool) -> tuple[np.ndarray, ...]:
    """Sample coalitions of one query with NumPy: estimates and standard errors of all points.

    Every step is vectorised over a chunk of samples: random bits, the nearest k + 1 members of each coalition by
    sorting (or, faster, by partial sorting), then the marginal contributions of all ranks that any of them reaches.

    Parameters
    ----------
    votes : int array of shape (n,)
        1 for the right class and -1 for the wrong one, nearest first.
    k, n_samples, seed : int
        Neighbours that vote, coalitions, and where random numbers start.
    sort : bool
        Whether samples are sorted, or only partly.
    """
    n, rng = len(votes), np.random.default_rng(seed)
    sums, squares = np.zeros(n), np.zeros(n)
    ranks, padded = np.arange(n, dtype=np.int32), np.append(votes, 0)
    for start in range(0, n_samples, 100):
        rows = min(100, n_samples - start)
        bits = np.frombuffer(rng.bytes(rows * -(-n // 8)), dtype=np.uint8).reshape(rows, -1)
        member = np.unpackbits(bits, axis=1, count=n).astype(bool)
        keys = np.where(member, ranks, np.int32(n))
        nearest = np.sort(keys, axis=1)[:, : k + 1] if sort else np.sort(np.partition(keys, k, axis=1)[:, : k + 1])
        top = padded[nearest]
        lead = top[:, :k].sum(axis=1)[:, np.newaxis]
        reached = min(n, int(nearest[:, k - 1].max()) + 1)
        own, inside = votes[:reached], member[:, :reached]
        changed = np.where(inside, lead - own + top[:, k:], lead + own - top[:, k - 1 : k])
        gains = np.where(inside, 1, -1) * ((lead > 0).astype(np.int8) - (changed > 0))
        gains[ranks[:reached] > nearest[:, k - 1 : k]] = 0
        sums[:reached] += gains.sum(axis=0)
        squares[:reached] += (gains**2).sum(axis=0)
    means = sums / n_samples
    return means, np.sqrt((squares / n_samples - means**2) / (n_samples - 1))


def race(n: int, n_samples: int, rounds: int) -> dict[str, Any]:
    """One query whose list holds all n points: this library with all of them and with a cut list, and NumPy."""
    labels = np.random.default_rng(0).integers(0, 2, n)
    lists = np.arange(n)[np.newaxis]

    def sampled(tol: float, count: int) -> Any:
        how: dict[str, Any] = {"method": "coalitions", "n_samples": count, "random_state": 0, "n_jobs": 1}
        return value_from_neighbors(lists, labels, [1], k=K, tol=tol, **how)

    sampled(0.0, 2)  # compiled from here on
    exact = value_from_neighbors(lists, labels, [1], k=K).values
    votes = np.where(labels == 1, 1, -1)
    jobs: dict[str, Callable[[], Any]] = {
        "pivotal, all ranks": lambda: sampled(0.0, n_samples),
        "pivotal, ranks within reach": lambda: sampled(1e-16, n_samples),
        "NumPy, each sample sorted": lambda: numpy_coalitions(votes, K, n_samples, 0, sort=True),
        "NumPy, each sample partly sorted": lambda: numpy_coalitions(votes, K, n_samples, 0, sort=False),
    }
    rows = []
    for name, job in jobs.items():
        answer, taken = min((timed(job) for _ in range(rounds)), key=itemgetter(1))
        means = answer[0] if isinstance(answer, tuple) else answer.values
        rows.append({"name": name, "seconds": taken, "largest_error": float(np.abs(means - exact).max())})
        print(rows[-1], flush=True)
    (taken,) = fastest(lambda: value_from_neighbors(lists, labels, [1], k=K, n_jobs=1), rounds=5, warm_up=False)
    return {"n": n, "n_samples": n_samples, "rows": rows, "exact_seconds": taken}


def per_query(n_queries: int, n_samples: int, rounds: int) -> list[dict[str, Any]]:
    """Microseconds of processor time per query, its neighbours being known: exact, and sampled."""
    rng = np.random.default_rng(0)
    lists = np.argsort(rng.random((n_queries, 1000)), axis=1)[:, :75]
    labels, targets = rng.integers(0, 2, 1000), rng.integers(0, 2, n_queries)
    loud = -np.sort(-rng.integers(1, 128, size=lists.shape), axis=1)
    rows = []
    for name, votes in (("unweighted", None), ("votes of 7 bits", loud)):
        row: dict[str, Any] = {"votes": name}
        for method in ("exact", *SAMPLERS):
            how = {} if method == "exact" else {"method": method, "n_samples": n_samples, "random_state": 0}
            run = partial(value_from_neighbors, lists, labels, targets, k=K, votes=votes, n_jobs=1, **how)
            row[method] = 1e6 * fastest(run, rounds=rounds, processor=True)[0] / n_queries
        rows.append(row)
        print(row, flush=True)
    return rows


def deviations(n: int, n_queries: int, weights: str) -> dict[str, Any]:
    """Largest difference to the exact values over the largest exact value, for every number of samples."""
    rng = np.random.default_rng(0)
    X, queries, side = rng.normal(size=(n, 11)), rng.normal(size=(n_queries, 11)), rng.normal(size=11)
    labels = (X @ side > 0) ^ (rng.random(n) < 0.2)  # a fifth of them are wrong
    data = X, labels, queries, queries @ side > 0
    value(*data, k=K, weights=weights)  # compiled and warmed up
    exact, taken = timed(lambda: value(*data, k=K, weights=weights))
    curves: dict[str, Any] = {}
    for method in SAMPLERS:
        curves[method] = []
        for n_samples in SAMPLES:
            drawn = sampler(method, n_samples=n_samples, random_state=0)
            sampled, spent = timed(lambda drawn=drawn: value(*data, k=K, weights=weights, method=drawn))
            deviation = np.abs(sampled.values - exact.values).max() / exact.values.max()
            stated = sampled.standard_error.max() / exact.values.max()
            point = {"n_samples": n_samples, "deviation": float(deviation), "stated": float(stated), "seconds": spent}
            curves[method].append(point)
            print(weights, method, point, flush=True)
    return {"n": n, "n_queries": n_queries, "weights": weights, "exact_seconds": taken, "curves": curves}


def draw(panels: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    from pivotal.report.plots import HIGHLIGHT_COLOR, INK, MUTED, VALUE_COLOR, new_figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pivotal"}):
        figure = new_figure(8.4, 3.6)
        for ax, panel in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
            for method, color in zip(SAMPLERS, (VALUE_COLOR, HIGHLIGHT_COLOR), strict=True):
                points = panel["curves"][method]
                sizes = np.array([point["n_samples"] for point in points], dtype=float)
                seen = np.array([point["deviation"] for point in points])
                ax.loglog(sizes, seen, color=color, marker="o", markersize=4, linewidth=1.6, label=method)
            first = panel["curves"]["coalitions"][0]
            guide = first["deviation"] * np.sqrt(first["n_samples"] / sizes)
            ax.loglog(sizes, guide, color=MUTED, linewidth=1.0, linestyle="--", label="1/√samples")
            ax.set_title(f"{title(panel)}, n = {panel['n']:,}", color=INK, fontsize=10)
            ax.set_xlabel("samples per query", color=INK)
            ax.spines[["top", "right"]].set_visible(False)
        figure.axes[0].set_ylabel("deviation", color=INK)
        figure.axes[0].legend(frameon=False, fontsize=9)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})


def title(panel: dict[str, Any]) -> str:
    return "unweighted" if panel["weights"] == "uniform" else "votes by distance"


def page(run: dict[str, Any], queries: list[dict[str, Any]], panels: list[dict[str, Any]]) -> str:
    ours, within, sorting, partly = (row["seconds"] for row in run["rows"])
    costs = ("exact", *SAMPLERS)
    lines = [
        "# What sampling costs",
        "",
        "Written by `python benchmarks/sampling.py --out docs/sampling.md`. Hard-label Banzhaf values, k = 5.",
        "[When to sample](guide/sampling.md) is in the guide.",
        "",
        f"Machine: {machine('numpy', 'numba')}.",
        "",
        f"## {run['n_samples']:,} coalitions of {run['n']:,} points, one query",
        "",
        "One thread each, in one process; estimates and standard errors of all points.",
        "",
        table(
            ["", "seconds", "largest error"],
            [[row["name"], f"{row['seconds']:.3g}", f"{row['largest_error']:.2g}"] for row in run["rows"]],
        ),
        "",
        f"With all ranks in the list that is {sorting / ours:,.0f} times as fast as sorting each sample, and",
        f"{partly / ours:,.0f} times as fast as sorting it partly; with the list cut where none beyond can",
        f"matter, {sorting / within:,.0f} times. The exact values take {run['exact_seconds']:.2g} s.",
        "",
        "## What a query costs",
        "",
        "Microseconds of processor time, its 75 nearest neighbours being known; 1,000 samples.",
        "",
        table(
            ["", *costs, "the exact values cost as much as"],
            [
                [
                    row["votes"],
                    *(f"{row[one]:,.0f}" for one in costs),
                    f"{1000 * row['exact'] / row['coalitions']:.0f} coalitions",
                ]
                for row in queries
            ],
        ),
        "",
        "## How far sampled values are off",
        "",
        "The paper's measure: the largest difference to the exact values, over the largest exact value.",
        "",
        "![Deviation falls with the root of the number of samples](images/sampling.svg)",
    ]
    for panel in panels:
        lines += [
            "",
            f"**{title(panel).capitalize()}**: n = {panel['n']:,}, {panel['n_queries']} queries; "
            f"the exact values take {panel['exact_seconds']:.2g} s.",
            "",
            table(
                ["samples", *(word for method in SAMPLERS for word in (method, "seconds"))],
                [
                    [f"{points[0]['n_samples']:,}"]
                    + [f"{point[what]:.2g}" for point in points for what in ("deviation", "seconds")]
                    for points in zip(*(panel["curves"][method] for method in SAMPLERS), strict=True)
                ],
            ),
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page to write; JSON and images/sampling.svg go beside it")
    parser.add_argument("--points", type=int, default=100_000, help="points of the race (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=10_000, help="samples of the race (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=10, help="queries of the curves (default: %(default)s)")
    parser.add_argument("--sizes", nargs=2, type=int, default=(100_000, 10_000), metavar=("UNWEIGHTED", "WEIGHTED"))
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    run = race(options.points, options.samples, options.rounds)
    queries = per_query(500, 1000, 3)
    panels = [
        deviations(options.sizes[0], options.queries, "uniform"),
        deviations(options.sizes[1], options.queries, "distance"),
    ]
    text = page(run, queries, panels)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        figures = json.dumps({"race": run, "queries": queries, "deviations": panels}, indent=2)
        options.out.with_suffix(".json").write_text(figures + "\n", encoding="utf-8")
        draw(panels, options.out.parent / "images" / "sampling.svg")


if __name__ == "__main__":
    main()
