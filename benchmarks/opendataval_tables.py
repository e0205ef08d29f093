"""OpenDataVal's own `inf` and `lava` beside ours on the paper's detection of flipped labels.

    python benchmarks/opendataval_tables.py --python PATH [--datasets phoneme wind] [--runs 2]

PATH is a Python with OpenDataVal, which needs an environment of its own. Rows, splits and flipped labels are those of
`pivotal reproduce mislabel`. Writes docs/reproduction/opendataval.csv, which the page of the set-up shows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from pivotal.analysis import detection
from pivotal.research.datasets import flip_labels
from pivotal.research.experiments._contenders import play
from pivotal.research.experiments._result_cells import Cell, DataSource
from pivotal.research.experiments._tasks import draw_task

SIDE = Path(__file__).with_name("opendataval_values.py")
METHODS = ("inf", "lava")
NOISE = 0.05  # the paper's share of wrong labels


def draw(name, run, rows, source):
    """The points of one cell, with labels flipped, and which those are."""
    task = draw_task(Cell("noise", name, "inf", run, {"seed": 0, "rows": rows}), source)
    noisy, flipped = flip_labels(task.seen.y_train, NOISE, random_state=task.rng)
    return task.seen._replace(y_train=noisy), flipped


def ask_opendataval(python, split):
    """Run the other side and return its values by method."""
    with tempfile.TemporaryDirectory() as directory:
        np.savez(Path(directory) / "task.npz", **split._asdict())
        alone = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        subprocess.run([python, SIDE, directory], check=True, env=alone, stdout=subprocess.DEVNULL)
        with np.load(Path(directory) / "values.npz") as answers:
            return dict(answers)


def compare(name, run, rows, source, python):
    split, flipped = draw(name, run, rows, source)
    theirs = ask_opendataval(python, split)
    for method in METHODS:
        ours = play(method, split, k=5, n_samples=1, seed=run).values
        yield {
            "data": name,
            "run": run,
            "n_train": len(flipped),
            "method": method,
            "ours": round(detection(ours, flipped).f1, 4),
            "theirs": round(detection(theirs[method], flipped).f1, 4),
            "rank_correlation": round(float(spearmanr(ours, theirs[method]).statistic), 4),
            "opendataval": str(theirs["version"]),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, metavar="PATH")
    parser.add_argument("--data-home", metavar="FOLDER")
    parser.add_argument("--datasets", nargs="+", default=["phoneme", "wind", "2dplanes", "cifar10"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--out", default="docs/reproduction/opendataval.csv")
    options = parser.parse_args()
    source = DataSource(options.data_home, download=False)
    rows = []
    for name in options.datasets:
        for run in range(options.runs):
            rows += compare(name, run, options.rows, source, options.python)
            print(*rows[-2:], sep="\n", flush=True)
    pd.DataFrame(rows).to_csv(options.out, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
