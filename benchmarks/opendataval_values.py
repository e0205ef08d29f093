"""What OpenDataVal's `InfluenceFunction` and `LavaEvaluator` answer, run by its own Python.

    python benchmarks/opendataval_values.py DIRECTORY

The other end of opendataval_tables.py: reads task.npz in the directory and writes values.npz there. Needs OpenDataVal
and nothing of pivotal.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from opendataval.dataval import InfluenceFunction, LavaEvaluator
from opendataval.model import LogisticRegression


def main(directory):
    folder = Path(directory)
    with np.load(folder / "task.npz") as task:
        classes, inverse = np.unique(np.concatenate([task["y_train"], task["y_test"]]), return_inverse=True)
        labels = np.split(inverse, [len(task["y_train"])])
        X_train, X_test = (torch.tensor(task[name], dtype=torch.float32) for name in ("X_train", "X_test"))
    y_train, y_test = (torch.nn.functional.one_hot(torch.tensor(part), len(classes)).float() for part in labels)
    data = (X_train, y_train, X_test, y_test)
    torch.manual_seed(0)
    influence = InfluenceFunction().input_data(*data)
    influence.input_model(LogisticRegression(X_train.shape[1], len(classes)))
    influence.train_data_values(epochs=200, batch_size=len(X_train), lr=0.1)
    lava = LavaEvaluator(random_state=0).input_data(*data)
    lava.train_data_values()
    values = {
        name: np.asarray(one.evaluate_data_values(), dtype=float) for name, one in (("inf", influence), ("lava", lava))
    }
    np.savez(folder / "values.npz", version=version("opendataval"), **values)


if __name__ == "__main__":
    main(sys.argv[1])
