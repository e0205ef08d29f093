"""How long the exact engine takes, as ratios to named peers measured in the same run.

    python benchmarks/engine.py [--out docs/benchmarks.md]
    python benchmarks/engine.py --only cleanlab sorting --kept figures.json [--out docs/benchmarks.md]

Peers and library take turns; the fastest of the rounds counts for both. The first round, which compiles, does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors

import pivotal
from pivotal.core.games import as_game
from pivotal.core.semivalues import as_semivalue
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.research.bench import stopwatch
from pivotal.research.bench.markdown import machine, table
from pivotal.research.bench.stopwatch import Stopwatch, timed

ROUNDS = 5
fastest = partial(stopwatch.fastest, rounds=ROUNDS)


@dataclass
class Row:
    task: str
    seconds: float
    peer: str
    peer_seconds: float
    ratio: float
    target: str


def points(n: int, d: int, n_queries: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    X, queries = (rng.standard_normal((size, d), dtype=np.float32) for size in (n, n_queries))
    side = rng.standard_normal(d, dtype=np.float32)
    return X, (X @ side > 0).astype(np.int64), queries, (queries @ side > 0).astype(np.int64)


def banzhaf_against_search() -> list[Row]:
    data = points(100_000, 32, 1000)
    X, _, queries, _ = data
    depth = pivotal.value(*data, k=5).details["depth"]
    index = NearestNeighbors(algorithm="brute", n_jobs=-1).fit(X)
    plain, weighted, search = fastest(
        lambda: pivotal.value(*data, k=5),
        lambda: pivotal.value(*data, k=5, weights="distance"),
        lambda: index.kneighbors(queries, depth),
    )
    peer = f"scikit-learn's brute-force search alone, {depth} neighbours"
    setting = "n = 100 000, d = 32, 1000 queries, k = 5"
    return [
        Row(f"Banzhaf, {setting}", plain, peer, search, plain / search, "at most 1.3"),
        Row(
            f"Banzhaf, distance weights of 7 bits, {setting}", weighted, peer, search, weighted / search, "at most 2.5"
        ),
    ]


def shapley_against_sorting() -> list[Row]:
    rows = []
    single, y, single_queries, targets = points(30_000, 32, 200)
    for kind in (np.float32, np.float64):
        X, queries = single.astype(kind), single_queries.astype(kind)
        ours, sorting = fastest(
            lambda X=X, queries=queries: pivotal.value(X, y, queries, targets, k=5, semivalue="shapley"),
            lambda X=X, queries=queries: np.argsort(euclidean_distances(queries, X), axis=1),
        )
        setting = f"n = 30 000, d = 32, 200 queries, k = 5, {np.dtype(kind)}"
        peer = "euclidean_distances and numpy.argsort"
        rows.append(Row(f"Shapley, hard label, {setting}", ours, peer, sorting, ours / sorting, "at most 0.7"))
    return rows


def shapley_of_many_classes() -> list[Row]:
    """Ten classes beside two: what a class more costs, orders and all."""
    data = points(60_000, 32, 40)
    X, y, queries, targets = data
    many = np.arange(len(y)) % 10, np.arange(len(targets)) % 10
    two, ten, plurality = fastest(
        lambda: pivotal.value(*data, k=5, semivalue="shapley"),
        lambda: pivotal.value(X, many[0], queries, many[1], k=5, semivalue="shapley"),
        lambda: pivotal.value(X, many[0], queries, many[1], k=5, semivalue="shapley", utility="plurality"),
        rounds=3,
    )
    setting, peer = "n = 60 000, d = 32, 40 queries, k = 5", "the same with two classes, hard label"
    return [
        Row(f"Shapley, hard label, ten classes, {setting}", ten, peer, two, ten / two, "none"),
        Row(f"Shapley, plurality, ten classes, {setting}", plurality, peer, two, plurality / two, "none"),
    ]


def shapley_against_cleanlab() -> list[Row]:
    """Exact values of points by each other beside an approximation of them."""
    from cleanlab.data_valuation import data_shapley_knn

    X, y, _, _ = points(20_000, 32, 1)
    rows = []
    # Unless told otherwise, cleanlab takes the cosine in more than three dimensions, this library Euclid's. The last
    # is what `peers.py` measures. A call that finds its gigabytes still mapped from the one before is much faster than
    # one that does not: each is made twice in a row, and the fastest counts.
    tasks = (np.float32, "euclidean", 10), (np.float64, "euclidean", 10), (np.float32, "cosine", 10)
    for kind, metric, k in (*tasks, (np.float64, "euclidean", 5)):
        ours_of = partial(pivotal.value, X.astype(kind), y, k=k, utility="soft-k", semivalue="shapley", metric=metric)
        jobs = ours_of, partial(data_shapley_knn, y, features=X.astype(kind), k=k, metric=metric)
        taken: list[list[tuple[float, float]]] = [[], []]
        for _ in range(4):  # the first does not count
            for job, seconds in zip(jobs, taken, strict=True):
                for _ in range(2):
                    with Stopwatch() as watch:
                        job()
                    seconds.append((watch.seconds, watch.processor_seconds))
        for place, by in ((0, "by the clock"), (1, "in processor time")):
            (ours, _), (theirs, slowest) = (
                (min(warm), max(warm)) for warm in ([seconds[place] for seconds in rounds[2:]] for rounds in taken)
            )
            task = (
                f"Shapley, soft label over k, points by each other, N = 20 000, d = 32, k = {k}, "
                f"{np.dtype(kind)}, {metric}, {by}"
            )
            chosen = ", its default" if metric == "cosine" else ""
            peer = (
                f"cleanlab {version('cleanlab')}'s data_shapley_knn, {metric}{chosen}, an approximation, called again; "
                f"at most {slowest:.3g} s"
            )
            rows.append(Row(task, ours, peer, theirs, ours / theirs, "at most 0.4" if place == 0 else "none"))
    return rows


def shapley_to_a_tolerance(n: int = 10_000_000) -> list[Row]:
    """Far points by shells beside the order of all points; preparing the points is in neither."""
    X, y, queries, targets = points(n, 11, 24)
    rows = []
    for utility, words in (("hard", "hard label"), ("soft-k", "soft label over k")):
        models = [
            pivotal.KNNValuation(k=5, utility=utility, semivalue="shapley", tol=tol).fit(X, y) for tol in (1e-6, 1e-16)
        ]
        shells, orders = fastest(*(lambda model=model: model.update(queries, targets) for model in models), rounds=2)
        off = np.abs(models[0].result_.values - models[1].result_.values).max()
        bound = models[0].result_.error_bound
        assert off <= bound
        task = f"Shapley, {words}, tol = 1e-6, n = {n:,}, d = 11, 24 queries, k = 5"
        told = f"{task}; off by {off:.0e}, bound {bound:.0e}"
        rows.append(Row(told, shells, "itself without a tolerance", orders, shells / orders, "at most 0.33"))
    return rows


def kernels_per_rank() -> dict[str, float]:
    """Microseconds for one rank of one list, ten classes, one thread."""
    n, n_classes, k = 20_000, 10, 5
    labels = np.random.default_rng(0).integers(0, n_classes, (1, n)).astype(np.int32)
    block, out = Block(labels, None, np.zeros(1, np.int32)), np.empty((1, n))
    figures = {}
    for utility in ("hard", "plurality"):
        for semivalue in ("shapley", "beta(4,1)"):
            solver = make_solver(as_game(utility), as_semivalue(semivalue), k, n, n_classes)
            scratch = solver.scratch()
            (seconds,) = fastest(lambda solver=solver, scratch=scratch: solver.solve(block, scratch, out))
            figures[f"{utility}, {semivalue}, ten classes, k = 5"] = 1e6 * seconds / n
    return figures


def weighted_shapley_growth() -> list[Row]:
    seconds = {}
    for n in (1000, 10_000):
        data = points(n, 8, 8)
        (seconds[n],) = fastest(
            lambda data=data: pivotal.value(*data, k=5, semivalue="shapley", weights="distance"), rounds=2
        )
    growth = seconds[10_000] / seconds[1000]
    return [
        Row(
            "Shapley, hard label, distance weights of 7 bits, n = 10 000, 8 queries, k = 5",
            seconds[10_000],
            "itself at n = 1000",
            seconds[1000],
            growth,
            "at most 14",
        )
    ]


def weighted_shapley_against_the_published_algorithm(budget: float) -> list[Row]:
    """The published dynamic programme at the largest n it finishes within the budget (in seconds)."""
    n, slow = 10, 0.0
    while True:
        rng = np.random.default_rng(n)
        votes = np.sort(rng.integers(1, 128, n))[::-1]
        labels = rng.integers(0, 2, n)
        signed = [int(v) if label else -int(v) for v, label in zip(votes, labels, strict=True)]
        exact, slow = timed(lambda signed=signed: pivotal.research.paper.shapley_dp(signed, 5))
        if slow * 1.25**2.2 > budget:
            break
        n = int(n * 1.25) + 1
    given = {"votes": votes[np.newaxis], "k": 5, "semivalue": "shapley"}
    values = pivotal.value_from_neighbors(np.arange(n)[np.newaxis], labels, [1], **given)
    assert np.abs(values.values - np.array([float(v) for v in exact])).max() < 1e-13
    (quick,) = fastest(lambda: pivotal.value_from_neighbors(np.arange(n)[np.newaxis], labels, [1], **given))
    return [
        Row(
            f"Shapley, hard label, votes of 7 bits, n = {n}, one query, k = 5",
            quick,
            "pivotal.research.paper.shapley_dp (Wang, Mittal and Jia), the same values",
            slow,
            quick / slow,
            "at most 0.001",
        )
    ]


def megabytes_of(prepare: str, work: str) -> tuple[float, float]:
    """Peak of a fresh process above what it holds once it is prepared, and seconds; reads Linux's /proc."""
    script = f"""
import sys
sys.path.insert(0, sys.argv[1])
from engine import points
import pivotal
from pivotal.research.bench.memory import peak_bytes, resident_bytes
from pivotal.research.bench.stopwatch import Stopwatch
{prepare}
before = resident_bytes()
with Stopwatch() as watch:
    {work}
print((peak_bytes() - before) / 2**20, watch.seconds)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    megabytes, seconds = map(float, done.stdout.split())
    return megabytes, seconds


def memory_of_a_million() -> dict[str, float]:
    prepare = "pivotal.value(*points(1000, 32, 10), k=5); data = points(1_000_000, 32, 1000)"
    megabytes, seconds = megabytes_of(prepare, "pivotal.value(*data, k=5)")
    return {"megabytes above the data": megabytes, "seconds": seconds}


def memory_beside_cleanlab() -> dict[str, float]:
    ours = "pivotal.value(X{0}, y{0}, k=10, utility='soft-k', semivalue='shapley')"
    theirs = "data_shapley_knn(y{0}, features=X{0}, k=10, metric='euclidean')"
    prepare = "from cleanlab.data_valuation import data_shapley_knn; X, y, _, _ = points(20_000, 32, 1); "
    found = [megabytes_of(prepare + call.format("[:500]"), call.format(""))[0] for call in (ours, theirs)]
    return {"pivotal": found[0], "cleanlab": found[1]}


def start_up() -> dict[str, float]:
    def run(*arguments: str) -> float:
        (seconds,) = fastest(lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True))
        return seconds

    empty = run("-c", "pass")
    return {
        "python alone": empty,
        "import pivotal": run("-c", "import pivotal"),
        "import pivotal; pivotal.value": run("-c", "import pivotal; pivotal.value"),
        "pivotal --help": run("-m", "pivotal", "--help"),
    }


def page(figures: dict[str, Any]) -> str:
    rows = [Row(**row) for part in ROW_PARTS for row in figures[part]["found"]]
    names = "ranks", "memory", "start", "memory beside cleanlab"
    ranks, memory, start, beside = (figures[name]["found"] for name in names)
    others = max(part["others"] for part in figures.values())
    lines = [
        "# How fast",
        "",
        "Written by `python benchmarks/engine.py --out docs/benchmarks.md`. Both libraries take turns in a process.",
        "Points are float32 unless a row says float64; all processors are used, by both; calls are warm.",
        f"The fastest of {ROUNDS} rounds, 2 or 3 of long ones, counts for both, after one round that compiles. A ratio",
        f"below 1 means faster. Parts may be measured one by one; at the end of each, at most {others:.0f} processes",
        "wanted the processors, the measured one among them.",
        "",
        "cleanlab fills matrices of all pairs anew with every call. Where the memory of the call before is still",
        "mapped, a call is several times faster: two calls follow each other, and the fastest of all counts.",
        "",
        f"Machine: {machine('numpy', 'scikit-learn', 'numba')}.",
        "",
        table(
            ["all of `pivotal.value`", "seconds", "other", "seconds", "ratio"],
            [[r.task, f"{r.seconds:.3g}", r.peer, f"{r.peer_seconds:.3g}", f"{r.ratio:.2g}"] for r in rows],
        ),
        "",
        f"A million training points (d = 32, 1000 queries, k = 5): {memory['seconds']:.2g} s, "
        f"{memory['megabytes above the data']:.0f} MB above the data at the peak.",
        "",
        f"Points by each other, N = 20 000, k = 10: {beside['pivotal']:.0f} MB above the data at the peak, cleanlab "
        f"{beside['cleanlab']:,.0f} MB, {beside['cleanlab'] / beside['pivotal']:.0f} times as many.",
        "",
        table(
            ["one rank of one list, one thread", "microseconds"],
            [[name, f"{figure:.2g}"] for name, figure in ranks.items()],
        ),
        "",
        table(["start-up", "seconds"], [[f"`{name}`", f"{seconds:.2f}"] for name, seconds in start.items()]),
    ]
    return "\n".join(lines) + "\n"


ROW_PARTS = {
    "search": lambda _: banzhaf_against_search(),
    "sorting": lambda _: shapley_against_sorting(),
    "cleanlab": lambda _: shapley_against_cleanlab(),
    "classes": lambda _: shapley_of_many_classes(),
    "tolerance": lambda options: shapley_to_a_tolerance(options.points),
    "growth": lambda _: weighted_shapley_growth(),
    "published": lambda options: weighted_shapley_against_the_published_algorithm(options.budget),
}
PARTS = {
    **ROW_PARTS,
    "ranks": lambda _: kernels_per_rank(),
    "memory": lambda _: memory_of_a_million(),
    "memory beside cleanlab": lambda _: memory_beside_cleanlab(),
    "start": lambda _: start_up(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page to write; the figures go beside it as JSON")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for the published algorithm")
    parser.add_argument("--points", type=int, default=10_000_000, help="of the run to a tolerance")
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS, help="parts to measure now")
    parser.add_argument("--kept", type=Path, help="JSON with what other runs measured, added to")
    options = parser.parse_args()
    figures: dict[str, Any] = json.loads(options.kept.read_text()) if options.kept and options.kept.exists() else {}
    for part in options.only:
        found = PARTS[part](options)
        rows = part in ROW_PARTS
        figures[part] = {"others": os.getloadavg()[0], "found": [asdict(row) for row in found] if rows else found}
        print(part, figures[part], flush=True)
        if options.kept:
            options.kept.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if missing := set(PARTS) - set(figures):
        print("not measured yet:", *sorted(missing))
        return
    text = page(figures)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        options.out.with_suffix(".json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
