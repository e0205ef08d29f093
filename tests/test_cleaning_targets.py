"""Wrong numbers, and wrong cells among many labels: found by the same function, told by the same kind of object."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_friedman1, make_multilabel_classification
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

import pivotal
from pivotal.analysis.label_errors import ManyLabelErrors, NumberErrors, find_label_errors

Numbers = tuple[np.ndarray, np.ndarray, np.ndarray, NumberErrors]
Cells = tuple[np.ndarray, np.ndarray, np.ndarray, ManyLabelErrors]


@pytest.fixture(scope="module")
def numbers() -> Numbers:
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    given = y.copy()
    given[::20] += np.where(np.arange(20) % 2, 10.0, -10.0)
    errors = find_label_errors(scale(X), given, n_trees=40)
    assert isinstance(errors, NumberErrors)
    return scale(X), y, given, errors


@pytest.fixture(scope="module")
def cells() -> Cells:
    X, Y = make_multilabel_classification(400, n_features=12, n_classes=3, random_state=1)
    flipped = np.random.default_rng(0).random(Y.shape) < 0.05
    errors = find_label_errors(scale(X), pd.DataFrame(Y ^ flipped, columns=["red", "green", "blue"]), n_trees=40)
    assert isinstance(errors, ManyLabelErrors)
    return scale(X), Y, flipped, errors


# Numbers


def test_wrong_numbers_are_found_and_put_right(numbers: Numbers) -> None:
    _, y, given, errors = numbers
    wrong = given != y
    assert average_precision_score(wrong, -errors.scores) > 0.95
    assert wrong[errors.suspects].mean() > 0.9
    assert wrong[errors.suspects].sum() >= 15
    before, after = np.abs(given - y).sum(), np.abs(errors.corrected() - y).sum()
    assert after < 0.4 * before
    assert errors.n_wrong.low <= wrong.sum() <= errors.n_wrong.high
    assert 10 < errors.n_wrong.count < 40
    assert errors.error_chances.sum() == pytest.approx(errors.n_wrong.count, rel=1e-3)


def test_they_are_found_better_than_by_residuals_of_a_forest() -> None:
    ours, theirs = [], []
    for seed in range(2):
        X, y = make_friedman1(300, noise=1.0, random_state=seed)
        rng = np.random.default_rng(seed)
        wrong = np.zeros(len(y), bool)
        wrong[rng.choice(len(y), 15, replace=False)] = True
        given = np.where(wrong, y[rng.permutation(len(y))], y)  # some other row's number
        errors = find_label_errors(scale(X), given, n_trees=40)
        forest = cross_val_predict(RandomForestRegressor(40, min_samples_leaf=3, random_state=0), X, given, cv=5)
        ours.append(average_precision_score(wrong, -errors.scores))
        theirs.append(average_precision_score(wrong, np.abs(given - forest)))
    assert np.mean(ours) > np.mean(theirs) + 0.05


def test_sentences_on_numbers_say_what_the_arrays_hold(numbers: Numbers) -> None:
    _, _, given, errors = numbers
    row = int(errors.suspects[0])
    near = given[errors.nearest[row]]
    sentence = errors.explain(row)
    assert sentence.startswith(
        f"row {row} has {given[row]:.6g}; {errors.rivals[row]:.6g} is expected, give or take {errors.scale[row]:.3g}; "
        f"its 5 nearest have {near.min():.6g} to {near.max():.6g}; it hurts"
    )
    assert repr(errors).startswith(f"NumberErrors({errors.suspects.size} suspects among 400 rows, an estimated ")
    assert errors.to_frame()["score"].is_monotonic_increasing
    assert pickle.loads(pickle.dumps(errors)).explain(row) == sentence


def test_numbers_are_worth_what_the_regression_game_says(numbers: Numbers) -> None:
    X, _, given, errors = numbers
    middle, spread = np.median(given), 1.4826 * np.median(np.abs(given - np.median(given)))
    empty = float(np.clip(given, middle - 4 * spread, middle + 4 * spread).mean())
    game = pivotal.Regression(empty=empty)
    exact = pivotal.value(X, given, k=20, utility=game).values
    assert np.allclose(errors.values, exact, atol=1e-4 * np.abs(exact).max())


def test_how_far_off_is_usual_differs_from_row_to_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    noise = np.where(X[:, 0] > 0, 3.0, 0.3)
    y = 5 * X[:, 1] + noise * rng.normal(size=600)
    errors = find_label_errors(X, y, n_trees=30)
    assert isinstance(errors, NumberErrors)
    assert np.median(errors.scale[X[:, 0] > 0.2]) > 3 * np.median(errors.scale[X[:, 0] < -0.2])


def test_integers_are_numbers_when_it_is_said_and_stay_integers() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    ages = np.round(40 + 10 * X[:, 0] + rng.normal(size=200)).astype(int)
    ages[5] += 60
    with pytest.raises(ValueError, match=r'look like amounts\. Pass task="regression"'):
        find_label_errors(X, ages)
    errors = find_label_errors(X, ages, task="regression", n_trees=20)
    assert errors.order[0] == 5
    assert errors.suggested[5] == np.round(errors.suggested[5]) < 60


def test_numbers_may_be_all_the_same_or_nearly() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.zeros(50)
    assert find_label_errors(X, y, task="regression", n_trees=5).suspects.size == 0
    y[3] = 9.5
    errors = find_label_errors(X, y, n_trees=5)
    assert errors.order[0] == 3


@pytest.mark.parametrize("options", [{"n_trees": 0}, {"voters": "linear"}, {"n_trees": 5, "model": LinearRegression()}])
def test_any_voters_judge_numbers(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X @ [2.0, 1.0] + 0.1 * rng.normal(size=150)
    y[8] += 6.0
    errors = find_label_errors(X, y, **options)
    assert errors.order[0] == 8
    assert ("model" in errors.settings["voters"]) == ("model" in options)


def test_what_numbers_have_not(numbers: Numbers) -> None:
    errors = numbers[3]
    with pytest.raises(ValueError, match="numbers have no classes; use by_group"):
        errors.by_class()
    with pytest.raises(ValueError, match="numbers are not taken for each other"):
        errors.confusion()
    assert errors.by_group(np.arange(400) % 2)["wrong"].sum() == pytest.approx(errors.n_wrong.count, rel=1e-3)
    with pytest.raises(TypeError, match="model must be a scikit-learn regressor with predict; got str"):
        find_label_errors([[0.0], [1.0]], [0.5, 1.5], model="line")


# Many labels


def test_wrong_cells_are_found_and_put_right(cells: Cells) -> None:
    _, Y, flipped, errors = cells
    share = flipped.mean()
    assert average_precision_score(flipped.ravel(), -errors.scores) > 6 * share
    assert flipped.ravel()[errors.suspects[:20]].mean() > 0.6
    assert errors.n_wrong.low <= flipped.sum() <= errors.n_wrong.high
    table = errors.corrected()
    assert table.shape == Y.shape
    rows, columns = np.divmod(errors.suspects, 3)
    assert np.array_equal(table[rows, columns], 1 - errors.given.reshape(-1, 3)[rows, columns])
    assert (table != errors.given.reshape(-1, 3)).sum() == errors.suspects.size


def test_cells_are_told_by_row_and_label(cells: Cells) -> None:
    _, _, _, errors = cells
    cell = int(errors.suspects[0])
    row, label = divmod(cell, 3)
    name = ["red", "green", "blue"][label]
    near = errors.given.reshape(-1, 3)[errors.nearest[row], label].sum()
    sentence = errors.explain(cell)
    has = "is" if errors.given[cell] else "is not"
    assert sentence.startswith(
        f"row {row} {has} labelled {name}; {errors.support[cell]:.0%} of the votes agree; {near} of"
    )
    line = errors.to_frame().iloc[0]
    assert (line["row"], line["label"], line["score"]) == (row, name, errors.scores[cell])
    assert len(errors.to_frame(all_rows=True)) == 1200
    assert repr(errors).startswith(f"ManyLabelErrors({errors.suspects.size} suspects among 1200 cells, an estimated ")
    assert f": {row} {name}, " in repr(errors)
    assert np.array_equal(errors.row_scores, errors.scores.reshape(-1, 3).min(axis=1))
    assert set(errors.by_class().index) == {"red", "green", "blue"}
    assert errors.by_class()["wrong"].sum() == pytest.approx(errors.n_wrong.count)
    assert errors.by_group(np.arange(400) % 2)["rows"].tolist() == [600, 600]
    assert pickle.loads(pickle.dumps(errors)).explain(cell) == sentence


def test_a_single_label_is_a_class_of_two() -> None:
    X, Y = make_multilabel_classification(200, n_features=8, n_classes=2, random_state=0)
    X = scale(X)
    both = find_label_errors(X, np.column_stack([Y[:, 0], Y[:, 0]]), voters="linear")
    alone = find_label_errors(X, Y[:, 0], voters="linear")
    # Clipped chances here, and normalised ones there, which is the same for two classes that sum to 1.
    assert np.allclose(both.scores.reshape(-1, 2)[:, 0], alone.scores, atol=0.011)
    near = find_label_errors(X, np.column_stack([Y[:, 0], Y[:, 0]]), n_trees=0)
    assert np.allclose(near.scores.reshape(-1, 2)[:, 1], find_label_errors(X, Y[:, 0], n_trees=0).scores, atol=1e-9)
    assert np.allclose(near.values, find_label_errors(X, Y[:, 0], n_trees=0).values)


def test_tables_of_labels_may_be_sparse_and_a_model_may_vote(cells: Cells) -> None:
    X, _, _, errors = cells
    given = errors.given.reshape(-1, 3)
    assert np.array_equal(find_label_errors(X, csr_array(given), n_trees=40).scores, errors.scores)
    helped = find_label_errors(X, given, n_trees=10, model=GaussianNB())
    assert helped.settings["voters"][-1] == "model"
    with pytest.raises(ValueError, match=r"y must have shape \(400, 3\); got \(2, 3\)"):
        errors.corrected(given[:2])
    with pytest.raises(ValueError, match="must hold 0 and 1"):
        find_label_errors(X, given + 1)


def test_a_review_is_for_classes(numbers: Numbers, cells: Cells) -> None:
    for X, errors, task in ((numbers[0], numbers[3], "regression"), (cells[0], cells[3], "multilabel")):
        with pytest.raises(ValueError, match=rf"a review is about one class per row; these are of {task}"):
            errors.review(X)
