"""Random values: of a seed, and of nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import kstest

from pivotal.baselines.chance import chance

X, Y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]


def test_a_seed_fixes_the_values():
    assert chance(X, Y, random_state=3).equals(chance(X, Y, random_state=np.int64(3)))
    assert chance(X, Y, random_state=3).values.tolist() != chance(X, Y, random_state=4).values.tolist()
    assert chance(X, Y).values.tolist() != chance(X, Y).values.tolist()
    rng = np.random.default_rng(3)
    assert chance(X, Y, random_state=rng).values.tolist() == chance(X, Y, random_state=3).values.tolist()
    assert chance(X, Y, random_state=rng).values.tolist() != chance(X, Y, random_state=3).values.tolist()


def test_only_the_number_of_points_matters():
    values = chance(X, Y, random_state=0).values.tolist()
    assert chance(sparse.csr_matrix([[5.0], [0.0], [0.0]]), [0.5, 1.5, 2.5], random_state=0).values.tolist() == values
    assert chance(X, Y, [[0.0]], ["c"], random_state=0, n_jobs=1).values.tolist() == values
    assert chance([[1.0]], [0], random_state=0).values.tolist() == values[:1]


def test_files_are_counted_without_being_read(tmp_path):
    np.save(tmp_path / "points.npy", np.zeros((3, 2)))
    assert chance(tmp_path / "points.npy", Y, random_state=0).equals(chance(X, Y, random_state=0))


def test_values_are_spread_evenly():
    values = chance(np.zeros((5000, 1)), np.zeros(5000), random_state=0).values
    assert kstest(values, "uniform").pvalue > 0.01
    assert 0 <= values.min() < values.max() < 1


def test_the_result_says_what_it_is():
    frame = pd.DataFrame({"a": [0.0, 1.0, 5.0]}, index=["x", "y", "z"])
    values = chance(frame, Y, [[0.0], [1.0]], ["a", "a"], random_state=5)
    assert values.ids.tolist() == ["x", "y", "z"]
    assert values.n_queries == 2
    assert chance(X, Y).n_queries == 3
    assert (values.full_utility, values.empty_utility, values.error_bound, values.standard_error) == (None,) * 4
    assert (values.settings["method"], values.settings["random_state"]) == ("random", 5)
    assert chance(X, Y, random_state=np.random.default_rng(0)).settings["random_state"] is None
    with pytest.raises(ValueError, match=r"these values of method 'random' are not those of a game"):
        values.normalized()


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match=r"random_state must be an integer of at least 0, a numpy Generator or"):
        chance(X, Y, random_state=seed)


def test_points_and_labels_must_fit():
    with pytest.raises(ValueError, match=r"X_train and y_train must have the same length; got 3 rows and 2 labels"):
        chance(X, ["a", "b"])
    with pytest.raises(ValueError, match=r"y_train must be one-dimensional, a label per point; got shape \(\)"):
        chance(X, None)
    with pytest.raises(ValueError, match=r"X_train must have at least one row"):
        chance(np.zeros((0, 2)), [])
    with pytest.raises(ValueError, match=r"ids must have one entry per training point"):
        chance(X, Y, ids=["a"])
