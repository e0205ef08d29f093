"""Values of documents: seconds and memory after retrieval, and RAGBooster beside on its own utility.

    python benchmarks/retrieval.py [--ragbooster PYTHON] [--out docs/retrieval.md]

PYTHON is the interpreter of an environment with ragbooster (pip install ragbooster). Every figure is measured in a
process of its own, after one small call that compiles the kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import pivotal
from pivotal.research.bench.markdown import record_table
from pivotal.research.bench.stopwatch import timed

QUERIES, DEPTH, K = 10_000, 100, 10
SIZES = (100_000, 1_000_000, 10_000_000)
CELLS = [("ndcg", "banzhaf"), ("ndcg", "shapley"), ("rr", "shapley")]
SMALL_RATE = 1.0


def make_task(n_documents: int, n_queries: int = QUERIES, depth: int = DEPTH) -> tuple[Any, Any]:
    """Lists of different documents, with five relevant ones in each and one that is not listed."""
    rng = np.random.default_rng(0)
    gaps = rng.integers(1, n_documents // depth, size=(n_queries, depth))
    lists = (rng.integers(0, n_documents, size=(n_queries, 1)) + np.cumsum(gaps, axis=1)) % n_documents
    lists = rng.permuted(lists, axis=1)
    places = np.argsort(rng.random((n_queries, depth)), axis=1)[:, :5]
    relevant = np.hstack((np.take_along_axis(lists, places, 1), (lists[:, :1] + 1) % n_documents))
    rows = np.repeat(np.arange(n_queries), 6)
    judged = sparse.csr_array((np.ones(rows.size), (rows, relevant.ravel())), shape=(n_queries, n_documents))
    judged.sum_duplicates()
    judged.data[:] = 1.0
    return lists, judged


def measure(n_documents: int, metric: str, semivalue: str) -> dict[str, float]:
    pivotal.value_retrieval(*make_task(1000, 8, 20), k=K, metric=metric, semivalue=semivalue)
    lists, judged = make_task(n_documents)

    def run() -> None:
        pivotal.value_retrieval(lists, judged, k=K, metric=metric, semivalue=semivalue, complete=True)

    _, seconds = timed(run)
    tracemalloc.start()  # a second run: it is slower when it is watched
    run()
    return {"seconds": seconds, "megabytes": tracemalloc.get_traced_memory()[1] / 2**20}


def in_a_process(*words: Any) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--cell", *map(str, words)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def beside_ragbooster(python: str, n_documents: int, steps: int) -> dict[str, float]:
    """RAGBooster's seconds, and how far its first step is from our values."""
    lists, judged = make_task(n_documents)
    rows = np.repeat(np.arange(len(lists)), lists.shape[1])
    gains = np.asarray(judged[rows, lists.ravel()]).reshape(lists.shape)
    with tempfile.TemporaryDirectory() as folder:
        given, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(given, lists=lists, gains=gains, k=K, n_documents=n_documents, steps=steps, rate=SMALL_RATE)
        side = Path(__file__).with_name("ragbooster_side.py")
        subprocess.run([python, str(side), str(given), str(target)], check=True, capture_output=True)
        told = dict(np.load(target))
    found = {"seconds": float(told["seconds"])}
    if steps == 1:
        ours = pivotal.value_retrieval(lists, judged, k=K, metric="precision", complete=True).values
        theirs = (told["weights"] - 0.5) / SMALL_RATE  # up to the last document that is listed
        found["difference"] = float(np.abs(theirs - ours[: len(theirs)]).max())
        found["largest"] = float(np.abs(ours).max())
    return found


def write(results: dict[str, Any], path: Path) -> None:
    lines = [
        "# Benchmark: documents of a retriever",
        "",
        f"{QUERIES:,} queries, lists of {DEPTH} documents, k = {K}, five relevant documents in each list: seconds of",
        "`pivotal.value_retrieval` after retrieval, and the most memory that it takes beyond its input. Made by",
        f"`benchmarks/retrieval.py` on {platform.machine()} with {os.cpu_count()} processors, Python "
        f"{platform.python_version()}; other work ran beside.",
        "",
        record_table(
            {
                "documents": "{documents:,}",
                "metric": "{metric}",
                "semivalue": "{semivalue}",
                "seconds": "{seconds:.2f}",
                "MB": "{megabytes:.0f}",
            },
            results["ours"],
        ),
        "",
        "Queries cost the same in any corpus. What grows is the arrays that hold a value per document: they are",
        "copied for every block of queries, so that an interrupted run counts whole blocks.",
    ]
    if results["theirs"]:
        lines += [
            "",
            "## Beside RAGBooster",
            "",
            "RAGBooster (Lyu et al., arXiv 2307.03027) follows the gradient of the multilinear extension of an",
            "additive utility: the mean contribution of the first k. From weights of 1/2, one step is the gradient at",
            "1/2, and that is the Banzhaf value of the game `Precision`. Both give the same numbers; the table has the",
            "largest difference, as a share of the largest value. Its further steps lead to weights that are no value",
            "of a game.",
            "",
            record_table(
                {
                    "documents": "{documents:,}",
                    "ours, seconds": "{ours:.2f}",
                    "one step of RAGBooster": "{one:.2f}",
                    "its default, 100 steps": "{hundred:.2f}",
                    "difference": "{difference:.1e}",
                },
                results["theirs"],
            ),
            "",
            "Seconds of RAGBooster are those of its compiled call, data handed over as the lists it takes.",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", nargs=3)
    parser.add_argument("--ragbooster")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=Path("docs/retrieval.md"))
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(int(options.cell[0]), *options.cell[1:])))
        return
    results: dict[str, Any] = {"ours": [], "theirs": []}
    for n_documents in options.sizes:
        for metric, semivalue in CELLS:
            row = {"documents": n_documents, "metric": metric, "semivalue": semivalue}
            results["ours"].append({**row, **in_a_process(n_documents, metric, semivalue)})
            print(results["ours"][-1], flush=True)
    if options.ragbooster:
        for n_documents in options.sizes:
            one = beside_ragbooster(options.ragbooster, n_documents, 1)
            hundred = beside_ragbooster(options.ragbooster, n_documents, 100)
            ours = in_a_process(n_documents, "precision", "banzhaf")["seconds"]
            row = {"documents": n_documents, "ours": ours, "one": one["seconds"], "hundred": hundred["seconds"]}
            results["theirs"].append({**row, "difference": one["difference"] / one["largest"]})
            print(results["theirs"][-1], flush=True)
    write(results, options.out)


if __name__ == "__main__":
    main()
