"""What all baselines for class labels refuse, in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pivotal.baselines.influence import influence
from pivotal.baselines.lava import lava

GOOD: dict[str, Any] = {
    "X_train": [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]],
    "y_train": [0, 1, 1],
    "X_test": [[0.5, 0.5]],
    "y_test": [1],
}
BASELINES = [lava, influence]

BAD: list[tuple[dict[str, Any], str]] = [
    ({"X_test": None}, r"(lava|influence) compares training points with a test set; got X_test=None. Pass X_test"),
    ({"y_test": None}, r"compares training points with a test set; got y_test=None"),
    ({"y_train": None}, r"compares training points with a test set; got y_train=None"),
    ({"X_train": [[0.0, np.nan], [1, 1], [2, 2]]}, r"X_train must be finite \(no NaN, no infinity\); got 1 such"),
    ({"X_test": [[np.inf, 0.0]]}, r"X_test must be finite"),
    ({"X_train": [1.0, 2.0, 3.0]}, r"X_train must be two-dimensional"),
    ({"X_train": np.zeros((0, 2))}, r"X_train must have at least one row and one column"),
    ({"X_test": [[1.0, 2.0, 3.0]]}, r"X_test must have as many columns as the training points, 2; got 3"),
    ({"y_train": [0, 1]}, r"X_train and y_train must have the same length; got 3 rows and 2 labels"),
    ({"y_test": [0, 1]}, r"X_test and y_test must have the same length; got 1 rows and 2 labels"),
    ({"y_train": [0, None, 1]}, r"y_train must have a label for every point; got 1 missing"),
    ({"y_train": [0.5, 1.0, 1.0]}, r"y_train must hold class labels; got fractions such as 0.5"),
    ({"y_train": ["a", "b", "b"]}, r"y_train and y_test must hold labels of one type; got text"),
    ({"ids": ["a"]}, r"ids must have one entry per training point, shape \(3,\); got shape \(1,\)"),
    ({"random_state": -1}, r"random_state must be an integer of at least 0, a numpy Generator or None; got -1"),
    ({"n_jobs": 0}, r"n_jobs must be an integer other than 0, or None; got 0"),
]


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_refused(baseline, change, message):
    with pytest.raises(ValueError, match=message):
        baseline(**(GOOD | change))


@pytest.mark.parametrize("baseline", BASELINES)
def test_files_and_frames_are_tables_too(baseline, tmp_path):
    values = baseline(**GOOD)
    np.save(tmp_path / "points.npy", np.array(GOOD["X_train"]))
    frame = pd.DataFrame(GOOD["X_train"], columns=["a", "b"], index=[3, 4, 5])
    assert baseline(**(GOOD | {"X_train": tmp_path / "points.npy"})).equals(values)
    framed = baseline(**(GOOD | {"X_train": frame, "y_train": pd.Series(GOOD["y_train"])}))
    assert framed.values.tolist() == values.values.tolist()
    assert framed.ids.tolist() == [3, 4, 5]


@pytest.mark.parametrize("baseline", BASELINES)
def test_nothing_that_came_in_is_changed(baseline):
    given = {name: np.array(content) for name, content in GOOD.items()}
    before = {name: content.copy() for name, content in given.items()}
    baseline(**given)
    for name, content in given.items():
        np.testing.assert_array_equal(content, before[name])
