"""What a cluster costs beside one process, and what a large one would cost.

    python benchmarks/scaleout.py [--out docs/scaleout.md]

A LocalCluster of two workers with one thread each against the same valuation in this process, in one run; then the
tasks, the bytes that move and the memory of the workers against the number of shards, each in a cluster of its own.
Writes the page, and the figures as JSON beside it. Memory is read from Linux's /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import pivotal
from pivotal.research.bench.markdown import machine, record_table, table
from pivotal.research.bench.memory import peak_bytes
from pivotal.research.bench.stopwatch import fastest, timed
from pivotal.valuation.dask.recipe import ENTRY_BYTES

N, D, N_QUERIES, K = 1_000_000, 32, 2_000, 5
SHARDS = (2, 4, 8, 16, 32, 64)
WORKERS = 2
# The valuation on paper.
POINTS, QUERIES, MACHINES, SHARD_ROWS, BLOCK_ROWS = 10**9, 10**6, 100, 10**7, 4_000


def points(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D), dtype=np.float32)
    return X, (X[:, 0] + X[:, 1] > 0).astype(np.int32)


def load(path: str, block_info: Any = None) -> np.ndarray:
    first, last = block_info[None]["array-location"][0]
    return np.array(np.load(path, mmap_mode="r")[first:last])


def received(dask_worker: Any) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def warm() -> None:
    X, y = points(3_000, 1)
    pivotal.value(X, y, X[:20], y[:20], k=K, n_jobs=1)


def on_a_cluster(folder: Path, n_shards: int, local: pivotal.Values) -> dict[str, Any]:
    """Value the points in so many shards, in a cluster of its own."""
    queries, targets = points(N_QUERIES, 1)
    rows = -(-N // n_shards)
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        client.run(warm)
        before = max(client.run(peak_bytes).values())
        lengths = tuple(min(rows, N - first) for first in range(0, N, rows))
        X = da.map_blocks(load, str(folder / "X.npy"), chunks=(lengths, (D,)), dtype=np.float32, meta=np.empty((0, 0)))
        y = da.map_blocks(load, str(folder / "y.npy"), chunks=(lengths,), dtype=np.int32, meta=np.empty(0))
        X, y = client.persist([X, y])
        wait([X, y])
        moved = sum(client.run(received).values())

        def run() -> pivotal.Values:
            return pivotal.value(X, y, queries, targets, k=K).compute()

        lazy = pivotal.value(X, y, queries, targets, k=K)
        (optimised,) = dask.optimize(lazy)
        n_tasks = len(optimised.__dask_graph__()) - 2 * n_shards  # the chunks are there already
        assert np.array_equal(run().values, local.values), "the values differ"
        moved = sum(client.run(received).values()) - moved
        memory = max(client.run(peak_bytes).values())
        times = [timed(run)[1] for _ in range(3)]
    return {
        "shards": n_shards,
        "tasks": n_tasks,
        "moved_mb": moved / 1e6,
        "peak_mb": memory / 1e6,
        "peak_before_mb": before / 1e6,
        "seconds": min(times),
        "all_seconds": times,
    }


def empty_tasks(n_tasks: int = 4_000) -> float:
    """Seconds that the scheduler takes for one task that does nothing."""
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(100)))
        (best,) = fastest(
            lambda: client.gather(client.map(abs, range(1_000, 1_000 + n_tasks), pure=False)), warm_up=False
        )
    return best / n_tasks


def on_paper(figures: dict[str, Any]) -> list[str]:
    """What a billion points and a million queries cost on a hundred machines like this one."""
    seconds, cores = figures["local_seconds"], figures["cores"]
    per_pair = seconds * cores / (N * N_QUERIES)
    n_shards, n_blocks = POINTS // SHARD_ROWS, QUERIES // BLOCK_ROWS
    ratio = figures["ratio"]
    search = per_pair * POINTS * QUERIES / (MACHINES * cores)
    depth = figures["depth"]
    lists = n_shards * QUERIES * depth * ENTRY_BYTES
    merged = (n_shards - 1) / 7 / n_shards * lists  # a tree that merges eight lists into one
    parts = QUERIES * depth * 16
    n_tasks = n_shards * n_blocks * (2 + 1 / 7) + 4 * n_blocks + 4 * n_shards
    per_task = figures["task_seconds"]
    shard = SHARD_ROWS * D * 4
    rest = ((lists + merged + parts) / MACHINES / 1e9 + n_tasks * per_task) / search
    hour = 3600
    sums = [
        [
            "search, seconds of one core for a point and a query",
            f"{seconds:.2f} s × {cores} cores / ({N:,} × {N_QUERIES:,})",
            f"{per_pair:.2e} s",
        ],
        [
            "search, all of it",
            f"{per_pair:.2e} s × 10^9 × 10^6 / ({MACHINES} × {cores} cores)",
            f"{search / hour:.1f} h",
        ],
        [
            "what the cluster adds (the ratio above)",
            f"{search / hour:.1f} h × {ratio:.2f}",
            f"**{search * ratio / hour:.1f} h**",
        ],
        [
            "lists that move",
            f"{n_shards} shards × 10^6 queries × {depth} × {ENTRY_BYTES} bytes",
            f"{lists / 1e9:.0f} GB",
        ],
        ["... and merged ones", f"({n_shards} - 1) / 7 / {n_shards} of that", f"{merged / 1e9:.0f} GB"],
        ["values that go back to their shards", f"10^6 queries × {depth} × 16 bytes", f"{parts / 1e9:.1f} GB"],
        [
            "network of one machine",
            f"({lists / 1e9:.0f} + {merged / 1e9:.0f} + {parts / 1e9:.1f}) GB / {MACHINES}, at 1 GB/s",
            f"{(lists + merged + parts) / MACHINES / 1e9:.1f} s",
        ],
        ["tasks", f"{n_shards} × {n_blocks} × (1 search + 1/7 merge + 1 part) + ...", f"{n_tasks:,.0f}"],
        ["scheduler", f"{n_tasks:,.0f} × {per_task * 1e3:.2f} ms", f"{n_tasks * per_task:.0f} s"],
        [
            "memory of a machine",
            f"shard {shard / 1e9:.2f} GB, its copy for the products {shard / 1e9:.2f} GB, lists of a block from eight "
            f"shards {8 * BLOCK_ROWS * depth * ENTRY_BYTES / 1e6:.0f} MB",
            f"{2 * shard / 1e9:.1f} GB",
        ],
    ]
    return [
        "## On paper: 10^9 points, 10^6 queries, 100 machines",
        "",
        f"Machines like this one ({cores} cores), {D} features in single precision, k = {K}, exact Banzhaf values "
        f"(lists of {depth} neighbours), shards of 10^7 points ({shard / 1e9:.2f} GB each, {n_shards} of them, one per "
        f"machine), blocks of {BLOCK_ROWS:,} queries ({n_blocks} of them).",
        "",
        table(["what", "arithmetic", "result"], sums),
        "",
        f"The search is nearly all there is to it: network and scheduler together are {rest:.2%} of it, and run beside "
        "it, so the time falls with the number of cores. An approximate index in each shard "
        '(`neighbors="faiss-ivf"`) saves what it saves of the search; its values are no longer certain to be those of '
        "the nearest.",
        "",
    ]


def page(figures: dict[str, Any]) -> str:
    head = [
        "# What a cluster costs",
        "",
        "Written by `python benchmarks/scaleout.py`.",
        "",
        f"{N:,} points of {D} features (float32), {N_QUERIES:,} queries, k = {K}, exact Banzhaf values. In one "
        f"process with {figures['cores']} threads: {figures['local_seconds']:.2f} s. On a LocalCluster of {WORKERS} "
        f"workers with one thread each, the points already on the workers: {figures['cluster_seconds']:.2f} s in "
        f"{figures['best_shards']} shards, **{figures['ratio']:.2f} times** as long. The values are the same to the "
        "last bit. Both are the fastest of three, after one run that is not counted.",
        "",
        record_table(
            {
                "shards": "{shards}",
                "tasks": "{tasks}",
                "MB moved between workers": "{moved_mb:.1f}",
                "peak MB per worker": "{peak_mb:.0f}",
                "seconds": "{seconds:.2f}",
                "over one process": "{ratio:.2f}",
            },
            [{**row, "ratio": row["seconds"] / figures["local_seconds"]} for row in figures["shards"]],
        ),
        "",
        "A worker that has valued three thousand points has a peak of "
        f"{statistics.mean(row['peak_before_mb'] for row in figures['shards']):.0f} MB; the points of a worker are "
        f"{N * D * 4 / WORKERS / 1e6:.0f} MB, and as much again once they are prepared for the products. What moves "
        f"grows with the shards, {N_QUERIES:,} queries × {figures['depth']} neighbours × {ENTRY_BYTES} bytes = "
        f"{N_QUERIES * figures['depth'] * ENTRY_BYTES / 1e6:.0f} MB for each that is searched away from where lists "
        "are merged. Beyond that, Dask moves a shard now and then, to a worker that would be idle: that is in the "
        f"figures, {N * D * 4 / 8 / 1e6:.0f} MB each with 8 shards. Small shards cost time because the nearest of each "
        "have to be ranked, most of them in vain: prefer few large ones. An empty task takes the scheduler "
        f"{figures['task_seconds'] * 1e3:.2f} ms.",
        "",
    ]
    tail = [
        "## Measured on",
        "",
        machine("pivotal", "numpy", "numba", "dask", "distributed"),
        "",
    ]
    return "\n".join([*head, *on_paper(figures), *tail])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("scaleout.md"))
    parser.add_argument("--shards", type=int, nargs="+", default=SHARDS)
    options = parser.parse_args()
    X, y = points(N, 0)
    queries, targets = points(N_QUERIES, 1)
    local = pivotal.value(X, y, queries, targets, k=K)
    times = [timed(lambda: pivotal.value(X, y, queries, targets, k=K))[1] for _ in range(3)]
    seconds = min(times)
    figures: dict[str, Any] = {
        "local_seconds": seconds,
        "all_local_seconds": times,
        "cores": os.cpu_count(),
        "depth": local.details["depth"],
    }
    print(f"in one process: {seconds:.2f} s")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
        figures["shards"] = []
        for n_shards in options.shards:
            row = on_a_cluster(folder, n_shards, local)
            figures["shards"].append(row)
            print(row)
    best = min(figures["shards"], key=lambda row: row["seconds"])
    figures |= {"cluster_seconds": best["seconds"], "best_shards": best["shards"]}
    figures["ratio"] = best["seconds"] / seconds
    figures["task_seconds"] = empty_tasks()
    options.out.write_text(page(figures), encoding="utf-8")
    options.out.with_suffix(".json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(page(figures))


if __name__ == "__main__":
    main()
