"""What Python adds to a small call: this source tree beside another one, taking turns.

    git worktree add /tmp/before 10edc41
    python benchmarks/small_call.py --before /tmp/before [--out FILE.json]

The call is ``pivotal.value(X, y, queries, targets, k=5)`` with 1000 points, 20 features and 10 queries, warm. Overhead
is the processor time of the call less the time inside compiled kernels, which is measured in runs of their own. Both
trees run in processes of their own, one at a time; the fastest call of each round counts, and the median over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

CHILD = """
import sys, time
import numpy as np
import pivotal
from numba.core.dispatcher import Dispatcher

rng = np.random.default_rng(0)
X, queries = rng.standard_normal((1000, 20)), rng.standard_normal((10, 20))
y, targets = (X[:, 0] > 0).astype(int), (queries[:, 0] > 0).astype(int)
inside = 0.0


def timed(kernel):
    def run(*arguments):
        global inside
        start = time.process_time()
        found = kernel(*arguments)
        inside += time.process_time() - start
        return found

    return run


def fastest(n_jobs, calls=200):
    global inside
    best, kernels = [], []
    for _ in range(calls):
        inside, start = 0.0, time.process_time()
        pivotal.value(X, y, queries, targets, k=5, **({} if n_jobs is None else {"n_jobs": n_jobs}))
        best.append(time.process_time() - start)
        kernels.append(inside)
    return min(best), min(kernels)


for n_jobs in (1, None):
    fastest(n_jobs)
held = [  # where a kernel is used by a name of its own, outside the room of the kernels
    (module, name, own)
    for key, module in list(sys.modules.items())
    if key.startswith("pivotal.")
    for name, own in list(vars(module).items())
    if isinstance(own, Dispatcher)
]
called = [one for one in held if not one[0].__name__.startswith("pivotal.kernels")]
late = [one for one in held if one[0].__name__ == one[2].__module__]  # imported where they are used
for line in sys.stdin:
    n_jobs = None if line.strip() == "None" else int(line)
    total, _ = fastest(n_jobs)
    for module, name, own in (*called, *late):
        setattr(module, name, timed(own))
    _, kernels = fastest(n_jobs)
    for module, name, own in (*called, *late):
        setattr(module, name, own)
    print(total, kernels, flush=True)
"""


def start(tree: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def ask(child: subprocess.Popen[str], n_jobs: int | None) -> tuple[float, float]:
    """Return microseconds of processor time of the call, and those in kernels."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{n_jobs}\n")
    child.stdin.flush()
    total, kernels = map(float, child.stdout.readline().split())
    return 1e6 * total, 1e6 * kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="another source tree")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    home = Path(__file__).resolve().parents[1]
    children = {"before": start(options.before), "now": start(home)}
    figures: dict[str, dict[str, float]] = {}
    for n_jobs in (1, None):
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in children}
        for _ in range(options.rounds):
            for name, child in children.items():
                found[name].append(ask(child, n_jobs))
        row: dict[str, float] = {}
        for name, runs in found.items():
            total, kernels = (median(column) for column in zip(*runs, strict=True))
            row |= {
                f"{name}, microseconds": total,
                f"{name}, in kernels": kernels,
                f"{name}, overhead": total - kernels,
            }
        row["ratio of overheads"] = row["now, overhead"] / row["before, overhead"]
        figures["n_jobs=1" if n_jobs == 1 else "n_jobs by default"] = {key: round(own, 3) for key, own in row.items()}
    for child in children.values():
        child.communicate()
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
