"""What OpenDataVal answers, run by its own Python; the other end of agreement.py.

    python benchmarks/opendataval_side.py DIRECTORY

Reads task.npz in the directory and writes answers.npz there. Needs OpenDataVal and nothing of pivotal.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from opendataval.dataval import (
    BetaShapley,
    DataBanzhaf,
    DataShapley,
    InfluenceFunction,
    KNNShapley,
    LavaEvaluator,
    LeaveOneOut,
    RandomEvaluator,
)
from opendataval.dataval.lava import otdd
from opendataval.metrics import accuracy
from opendataval.model import ClassifierSkLearnWrapper, LogisticRegression
from sklearn import linear_model

N_CLASSES = 2


def as_tensors(task, prefix):
    """Features and one-hot labels, as OpenDataVal wants them."""
    parts = [task[f"{prefix}_{name}"] for name in ("X_train", "y_train", "X_test", "y_test")]
    return [
        torch.tensor(part, dtype=torch.float32)
        if part.ndim == 2
        else torch.nn.functional.one_hot(torch.tensor(part), N_CLASSES).float()
        for part in parts
    ]


def retrained(evaluator, data):
    model = ClassifierSkLearnWrapper(linear_model.LogisticRegression, N_CLASSES)
    return answer(evaluator.input_data(*data).input_model_metric(model, accuracy))


def answer(evaluator, *args, **kwargs):
    evaluator.train_data_values(*args, **kwargs)
    return np.asarray(evaluator.evaluate_data_values(), dtype=float)


def main(directory):
    folder = Path(directory)
    task = np.load(folder / "task.npz")
    many, few = as_tensors(task, "many"), as_tensors(task, "few")
    k, n_models, n_permutations = (int(task[name]) for name in ("k", "n_models", "n_permutations"))
    answers = {
        "knn": answer(KNNShapley(k_neighbors=k).input_data(*many)),
        "lava": answer(LavaEvaluator(random_state=0).input_data(*many)),
        "loo": retrained(LeaveOneOut(random_state=0), many),
        "random": answer(RandomEvaluator(random_state=0).input_data(*many)),
    }
    # The same problem with a solver that lowers the smoothing in finer steps, and so comes closer to its solution.
    otdd.geomloss.SamplesLoss = partial(otdd.geomloss.SamplesLoss, scaling=0.999)
    answers["lava-finer"] = answer(LavaEvaluator(random_state=0).input_data(*many))
    torch.manual_seed(0)
    influence = InfluenceFunction().input_data(*many)
    influence.input_model(LogisticRegression(many[0].shape[1], N_CLASSES))
    answers["influence"] = answer(influence, epochs=200, batch_size=len(many[0]), lr=0.1)
    layer = influence.pred_model.linear
    answers["weights"] = torch.hstack([layer.weight, layer.bias[:, None]]).detach().numpy()
    for seed in (0, 1):
        answers[f"banzhaf-{seed}"] = retrained(DataBanzhaf(num_models=n_models, random_state=seed), few)
        for name, kind in (("beta", BetaShapley), ("shapley", DataShapley)):
            sampling = {"max_mc_epochs": n_permutations // 100, "gr_threshold": 0.0, "cache_name": None}
            answers[f"{name}-{seed}"] = retrained(kind(random_state=seed, **sampling), few)
    np.savez(folder / "answers.npz", version=version("opendataval"), **answers)


if __name__ == "__main__":
    main(sys.argv[1])
