"""The peers. A new one is one class, and its place in `_ALL`."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.research.bench.contender import SOFT, SOFT_ALONE, WEIGHTED, Contender

__all__ = ["PEERS"]


class PyDVL(Contender):
    """Loops over queries and points in Python, in one process as it comes."""

    name, package, module, game = "pydvl", "pyDVL", "pydvl.valuation", SOFT
    method = "KNNShapleyValuation"
    install = (
        "pyDVL 0.10 needs NumPy below 2 and so an environment of its own: pip install pyDVL there, and name its "
        "Python with --python pydvl=PATH"
    )
    note = "wrong for k above the number of training points"

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from pydvl.valuation import Dataset, KNNShapleyValuation
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(k)
        valuation = KNNShapleyValuation(model, Dataset(X_test, y_test), progress=False).fit(Dataset(X, y))
        return np.asarray(valuation.result.values)


class PyDVLParallel(PyDVL):
    """The same with a process for each processor, as its documentation advises."""

    name, method = "pydvl-parallel", "KNNShapleyValuation, one process per processor"

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from joblib import parallel_config

        # It takes -1 for a number of batches.
        with parallel_config(n_jobs=os.cpu_count() or 1):
            return super().run(X, y, X_test, y_test, k)


class Cleanlab(Contender):
    """Cuts the sum off behind the k nearest and keeps a dense matrix of all pairs, twice."""

    name, package, module, game = "cleanlab", "cleanlab", "cleanlab.data_valuation", SOFT_ALONE
    method = "data_shapley_knn"
    install = "pip install 'pivotal[bench]'"
    alone, exact = True, False
    note = "an approximation that gives nothing to points beyond the k nearest: compared by correlation"

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from cleanlab.data_valuation import data_shapley_knn

        scores = data_shapley_knn(y, features=X, metric="euclidean", k=k)
        return 2.0 * np.asarray(scores) - 1.0

    def bytes_needed(self, n_train: int, n_queries: int) -> float:
        return 16.0 * n_train**2


class OpenDataVal(Contender):
    """Loops over points in Python, all queries at once in torch, in single precision."""

    name, package, module, game = "opendataval", "opendataval", "opendataval.dataval", SOFT
    method = "KNNShapley"
    install = (
        "OpenDataVal 1.3 pins NumPy and pandas below 2 and torch 2.1 and so needs an environment of its own: "
        'pip install opendataval "transformers<4.38" there, and name its Python with --python opendataval=PATH'
    )
    precision = 1e-3  # single precision swaps neighbours that are almost equally far
    note = "single precision; wrong for k above the number of training points"

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        import torch
        from opendataval.dataval import KNNShapley

        classes = np.unique(np.concatenate((y, y_test)))
        points, queries = (torch.tensor(part, dtype=torch.float32) for part in (X, X_test))
        labels, targets = (torch.tensor(part[:, None] == classes, dtype=torch.float32) for part in (y, y_test))
        valuation = KNNShapley(k_neighbors=k).input_data(points, labels, queries, targets)
        return np.asarray(valuation.train_data_values().evaluate_data_values())

    def work(self, n_train: int, n_queries: int) -> float:
        return n_train * (100.0 + n_queries)  # a step of its loop costs as much as some hundred queries

    def bytes_needed(self, n_train: int, n_queries: int) -> float:
        return 24.0 * n_train * n_queries


class Dattri(Contender):
    """Loops over queries and points in Python, one torch number at a time, in single precision."""

    name, package, module, game = "dattri", "dattri", "dattri.algorithm.data_shapley", SOFT
    method = "KNNShapleyAttributor"
    install = "pip install dattri torch"
    precision = 1e-3  # single precision swaps neighbours that are almost equally far
    note = "single precision; wrong for k above the number of training points"

    def missing(self) -> str:
        if reason := super().missing():
            return reason
        return "" if importlib.util.find_spec("torch") else "dattri is there but torch is not; pip install torch"

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        import torch
        from dattri.algorithm.data_shapley import KNNShapleyAttributor
        from torch.utils.data import DataLoader, TensorDataset

        def loader(points: Any, labels: Any) -> Any:
            rows = TensorDataset(torch.tensor(points, dtype=torch.float32), torch.tensor(labels))
            return DataLoader(rows, batch_size=4096, shuffle=False)

        table = KNNShapleyAttributor(k_neighbors=k).attribute(loader(X, y), loader(X_test, y_test))
        return np.asarray(table.double().mean(dim=0))


class _Shapiq(Contender):
    package, module = "shapiq", "shapiq.explainer.nn"
    install = "pip install 'pivotal[bench]' on Python 3.12 or newer: releases for older ones lack these explainers"

    def missing(self) -> str:
        reason = super().missing()
        if reason and importlib.util.find_spec("shapiq"):
            python = ".".join(map(str, sys.version_info[:2]))
            return f"shapiq {self.version()} on Python {python} has no nearest-neighbour explainers; {self.install}"
        return reason

    def _explain(self, explainer: Any, model: Any, X_test: Any, y_test: Any) -> npt.ArrayLike:
        """Mean over the queries; an explainer is bound to one class."""
        classes = {label: explainer(model, class_index=index) for index, label in enumerate(model.classes_)}
        total = np.zeros(model.n_samples_fit_)
        for query, label in zip(X_test, y_test, strict=True):
            total += classes[label].explain(query).get_n_order_values(1)
        return total / len(y_test)


class ShapiqKNN(_Shapiq):
    """Loops over points in Python, one query per call."""

    name, game, method = "shapiq", SOFT, "KNNExplainer"
    note = "refuses k above the number of training points"

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from shapiq.explainer.nn import KNNExplainer
        from sklearn.neighbors import KNeighborsClassifier

        return self._explain(KNNExplainer, KNeighborsClassifier(k).fit(X, y), X_test, y_test)


class ShapiqWeightedKNN(_Shapiq):
    """The dynamic program of Wang, Mittal and Jia, one query per call."""

    name, game, method = "shapiq-weighted", WEIGHTED, "WeightedKNNExplainer"
    trial = (60, 1)

    def run(self, X: Any, y: Any, X_test: Any, y_test: Any, k: int) -> npt.ArrayLike:
        from shapiq.explainer.nn import WeightedKNNExplainer
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(k, weights="distance").fit(X, y)
        return self._explain(WeightedKNNExplainer, model, X_test, y_test)

    def work(self, n_train: int, n_queries: int) -> float:
        return float(n_train) ** 3 * n_queries  # n tables of n rows, each a sum over the nearer ones


_ALL = (PyDVL(), PyDVLParallel(), Cleanlab(), OpenDataVal(), Dattri(), ShapiqKNN(), ShapiqWeightedKNN())

PEERS: Mapping[str, Contender] = MappingProxyType({peer.name: peer for peer in _ALL})
"""Every peer by its short name."""
