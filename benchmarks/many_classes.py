"""Hard-label Shapley values of ten classes: this source tree beside another one, taking turns.

    git worktree add /tmp/before 10edc41
    python benchmarks/many_classes.py --before /tmp/before --data mnist.npz [--queries 3500] [--out FILE.json]

The data are an .npz with `X` and `y`: the first 60 000 rows are training points, those after them queries. Both trees
run in processes of their own, one at a time; the fastest round of each counts, after one that compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

N_TRAIN = 60_000
CHILD = """
import sys, time, numpy as np, pivotal
data = np.load(sys.argv[1])
n = int(sys.argv[2])
X, y = data["X"], data["y"]
for line in sys.stdin:
    queries = slice(n, n + int(line))
    start = time.perf_counter()
    values = pivotal.value(X[:n], y[:n], X[queries], y[queries], k=5, semivalue="shapley", utility="hard").values
    seconds = time.perf_counter() - start
    np.save(sys.argv[3], values)
    print(seconds, flush=True)
"""


def start(tree: Path, data: Path, out: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", CHILD, str(data), str(N_TRAIN), str(out)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def ask(child: subprocess.Popen[str], n_queries: int) -> float:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{n_queries}\n")
    child.stdin.flush()
    return float(child.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="another source tree")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=3500)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not (options.before / "src" / "pivotal").is_dir():  # another installation would be measured in its place
        parser.error(f"--before must be a source tree with src/pivotal; got {options.before}.")
    home = Path(__file__).resolve().parents[1]
    kept = [Path(f"/tmp/many_classes_{os.getpid()}_{name}.npy") for name in ("before", "now")]
    children = [start(tree, options.data, out) for tree, out in zip((options.before, home), kept, strict=True)]
    best = [np.inf, np.inf]
    for turn in range(options.rounds + 1):
        for c, child in enumerate(children):
            seconds = ask(child, options.queries if turn else 4)
            if turn:
                best[c] = min(best[c], seconds)
                print(("before", "now")[c], round(seconds, 2), flush=True)
    values = [np.load(path) for path in kept]
    for child, path in zip(children, kept, strict=True):
        child.communicate()
        path.unlink()
    figures = {
        "queries": options.queries,
        "before": best[0],
        "now": best[1],
        "times faster": best[0] / best[1],
        "largest difference": float(np.abs(values[0] - values[1]).max()),
    }
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
