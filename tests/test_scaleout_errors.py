"""On Dask, too, bad input gets one clear sentence: at once where that is possible, else when it is read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import flat
import pivotal

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2
CHUNKS = da.from_array(X, chunks=(8, 2))


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "coalitions", "n_samples": 5}, "values are exact on Dask; got method='coalitions'"),
        ({"method": "lava"}, "method='lava' needs its data in memory"),
        ({"utility": "threshold(0.5)"}, "counts all points within the radius"),
        ({"per_query": True}, "values per query are kept on one machine"),
        ({"neighbors": object()}, "neighbors must be a name, or settings"),
        ({"neighbors": "nearby"}, "neighbors must be one of auto, brute"),
        ({"metric": "precomputed"}, 'metric="precomputed" needs its distances in memory'),
        ({"metric": "mahalanobis"}, 'metric="mahalanobis" is estimated from all training points'),
        ({"k": 0}, "k must be an integer of at least 1"),
        ({"tol": -1.0}, "tol must be a finite number"),
        ({"block_size": 0}, "block_size must be an integer of at least 1"),
        ({"utility": "plurality", "weights": "distance"}, 'utility="plurality" takes unweighted'),
        ({"query_weights": np.ones(3)}, "query_weights must have one number per query"),
        ({"classes": [0]}, "classes must name every label that occurs"),
        ({"ids": ["a"]}, r"ids must have one entry per training point, shape \(20,\); got shape \(1,\)"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flat.value(CHUNKS, Y, X[:4], Y[:4], **settings).compute()


def test_what_is_no_table() -> None:
    with pytest.raises(ValueError, match=r"X_train must be two-dimensional.*reshape\(-1, 1\)"):
        pivotal.value(da.from_array(X[:, 0]), Y, X[:4, :1], Y[:4])
    with pytest.raises(ValueError, match=r"X_train must have at least one row and one column; got shape \(0, 2\)"):
        pivotal.value(da.from_array(X[:0], chunks=-1), Y[:0], X[:4], Y[:4])
    with pytest.raises(TypeError, match="X_train must be a Dask array or dataframe; got Bag"):
        pivotal.value(dask.bag.from_sequence([1, 2]), Y, X[:4], Y[:4])
    with pytest.raises(TypeError, match="y_train must be a Dask array, series or dataframe; got Bag"):
        pivotal.value(X, dask.bag.from_sequence([1, 2]), X[:4], Y[:4])
    with pytest.raises(TypeError, match="X_train must be a Dask collection or an array here; got a path"):
        pivotal.value("points.npy", Y, da.from_array(X[:4]), Y[:4])
    with pytest.raises(ValueError, match="y_train must have one label per point on Dask"):
        pivotal.value(CHUNKS, np.ones((20, 3)), X[:4], np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"y_train must be one-dimensional.*ravel"):
        pivotal.value(CHUNKS, da.from_array(Y[:, np.newaxis]), X[:4], Y[:4])
    with pytest.raises(ValueError, match="y_train must hold at least one label"):
        pivotal.value(CHUNKS, Y[:0], X[:4], Y[:4])


def test_what_does_not_fit_together() -> None:
    with pytest.raises(ValueError, match="X_train and y_train must have the same length; got 20 rows and 19"):
        pivotal.value(CHUNKS, Y[:-1], X[:4], Y[:4])
    with pytest.raises(ValueError, match="X_test must have as many columns as the training points, 2; got 1"):
        pivotal.value(CHUNKS, Y, X[:4, :1], Y[:4])
    with pytest.raises(ValueError, match="X_test and y_test go together"):
        pivotal.value(CHUNKS, Y, X[:4])
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(label=Y), npartitions=4)
    with pytest.raises(ValueError, match="where their lengths are not known; got 4 and 1 chunks"):
        pivotal.value(frame[["a", "b"]], Y, X[:4], Y[:4])
    unknown = frame[["a", "b"]].to_dask_array()
    with pytest.raises(ValueError, match="X_train and y_train must have the same rows in each chunk; got 5 and"):
        pivotal.value(unknown, da.from_array(Y, chunks=((4, 6, 5, 5),)), X[:4], Y[:4]).compute()
    with pytest.raises(ValueError, match="X_test and y_test must have the same rows in each chunk"):
        pivotal.value(X, Y, unknown, da.from_array(Y, chunks=((4, 6, 5, 5),))).compute()


def test_columns_that_hold_no_numbers() -> None:
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "label": [0, 1]}), npartitions=1)
    with pytest.raises(ValueError, match="X_train must hold numbers; the columns b do not"):
        pivotal.value(frame[["a", "b"]], frame["label"])


def test_entries_that_are_not_finite() -> None:
    broken = X.copy()
    broken[9, 0] = np.nan
    with pytest.raises(ValueError, match="X_train, rows 8 to 15, must be finite"):
        pivotal.value(da.from_array(broken, chunks=(8, 2)), Y, X[:4], Y[:4]).compute()
    with pytest.raises(ValueError, match="X_test must be finite"):
        pivotal.value(X, Y, da.from_array(broken, chunks=(8, 2)), Y).compute()
    with pytest.raises(ValueError, match="y_train must have a label for every point"):
        pivotal.value(CHUNKS, np.where(Y, np.nan, 1.0), X[:4], np.ones(4)).compute()


def test_too_few_points() -> None:
    with pytest.raises(ValueError, match="self-valuation needs at least two points; got 1"):
        pivotal.value(CHUNKS[:1], Y[:1]).compute()
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(label=Y), npartitions=2)
    none = frame[frame["a"] < 0]
    with pytest.raises(ValueError, match="X_train must have at least one row; got none in any of its chunks"):
        pivotal.value(none[["a", "b"]], none["label"], X[:4], Y[:4]).compute()
    with pytest.raises(ValueError, match="X_test must have at least one row; got none in any of its chunks"):
        pivotal.value(X, Y, none[["a", "b"]], none["label"]).compute()


def test_labels_of_another_kind() -> None:
    with pytest.raises(ValueError, match="y_train and y_test must hold labels of one type"):
        pivotal.value(CHUNKS, Y, X[:4], ["0", "1", "0", "1"]).compute()


def test_exact_lists_that_no_worker_should_hold_name_a_tolerance_that_fits() -> None:
    settings: dict[str, Any] = {"semivalue": "shapley", "max_memory": 20_000, "k": 1}
    many = np.arange(4_000.0)[:, np.newaxis]
    labels = np.arange(4_000) % 2
    lazy = flat.value(da.from_array(many, chunks=(1_000, 1)), labels, many[:3], labels[:3], **settings)
    with pytest.raises(ValueError, match=r"look at 4000 points for every query.*Pass tol=0\.01, which") as caught:
        lazy.compute()
    assert "raise max_memory" in str(caught.value)
    shorter = flat.value(
        da.from_array(many, chunks=(1_000, 1)), labels, many[:3], labels[:3], tol=0.01, **settings
    ).compute()
    exact = pivotal.value(many, labels, many[:3], labels[:3], semivalue="shapley", k=1)
    assert 0.0 < shorter.error_bound <= 0.011
    assert np.abs(shorter.values - exact.values).max() <= shorter.error_bound


def test_without_dask_the_extra_is_named() -> None:
    program = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
import pivotal
try:
    with pivotal.config_context(checkpoint="folder"):
        pivotal.value([[0.0], [1.0]], [0, 1], [[0.0]], [0])
except ImportError as error:
    print(error)
print(pivotal.value([[0.0], [1.0]], [0, 1], [[0.0]], [0], k=1).values)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [
        "Dask collections and checkpoints need Dask; install it with: pip install 'pivotal[dask]'",
        "[1. 0.]",
    ]
