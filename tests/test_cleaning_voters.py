"""Who votes on labels: regressions omit exactly the row they speak about, weights are the likeliest, and more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score

from effort import examples
from pivotal.analysis.label_errors import find_label_errors, margins
from pivotal.analysis.label_errors._blend import as_chances, mix, mixture_weights
from pivotal.analysis.label_errors._landmarks import Columns, Landmarks, column_scale
from pivotal.analysis.label_errors._leaves import count_trees
from pivotal.analysis.label_errors._ridge import PENALTIES, LeaveOneOutRidge
from pivotal.analysis.label_errors._voters import VOTERS, as_voters_see, count_landmarks, make_regressions

RNG = np.random.default_rng(0)


def kernel_features(landmarks: Landmarks, rows: np.ndarray) -> np.ndarray:
    return landmarks.rows(rows) @ landmarks.mixing


# Regressions that omit one row


@examples(20)
@given(n=st.integers(6, 25), width=st.integers(1, 8), penalty=st.sampled_from(PENALTIES), seed=st.integers(0, 9))
def test_leaving_out_a_row_is_fitting_without_it(n: int, width: int, penalty: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, width)), rng.normal(size=(n, 2))
    predicted = LeaveOneOutRidge(Columns(X, None), np.arange(n)).predict(Y, penalty=penalty)
    centred = X - X.mean(axis=0)
    absolute = penalty * float((centred**2).sum())  # the same penalty in every fit
    for row in range(n):
        others = np.delete(np.arange(n), row)
        model = Ridge(absolute).fit(X[others], Y[others])
        assert predicted[row] == pytest.approx(model.predict(X[[row]])[0], abs=1e-7)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace"])
@pytest.mark.parametrize("sparse", [False, True])
def test_kernels_leave_out_exactly_too(kernel: Any, sparse: bool) -> None:
    n = 40
    X: Any = csr_array(random_array((n, 30), density=0.2, rng=1)) if sparse else RNG.normal(size=(n, 4))
    Y = np.eye(3)[RNG.integers(0, 3, n)]
    landmarks = Landmarks(X, kernel, np.arange(0, n, 2))
    predicted = LeaveOneOutRidge(landmarks, np.arange(n)).predict(Y, penalty=1e-3)
    features = kernel_features(landmarks, np.arange(n))
    absolute = 1e-3 * float(((features - features.mean(axis=0)) ** 2).sum())
    for row in range(0, n, 5):
        others = np.delete(np.arange(n), row)
        model = Ridge(absolute).fit(features[others], Y[others])
        assert predicted[row] == pytest.approx(model.predict(features[[row]])[0], abs=1e-5)


def test_with_every_row_a_landmark_the_kernel_is_the_kernel() -> None:
    X = RNG.normal(size=(30, 3))
    squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    width = np.median(squared[np.triu_indices(30, 1)])
    for kernel, expected in (
        ("rbf", np.exp(-squared / (2 * width))),
        ("laplace", np.exp(-0.5 * np.sqrt(squared / width))),
    ):
        features = kernel_features(Landmarks(X, kernel, np.arange(30)), np.arange(30))  # type: ignore[arg-type]
        assert np.allclose(features @ features.T, expected, atol=1e-3)


def test_rows_beyond_the_fitted_ones_are_predicted_from_these() -> None:
    X, Y = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 2))
    fitted = np.arange(0, 50, 2)
    predicted = LeaveOneOutRidge(Columns(X, None), fitted).predict(Y, penalty=1e-2)
    centred = X[fitted] - X[fitted].mean(axis=0)
    model = Ridge(1e-2 * float((centred**2).sum())).fit(X[fitted], Y[fitted])
    assert np.allclose(predicted[1::2], model.predict(X[1::2]))
    alone = LeaveOneOutRidge(Columns(X[fitted], None), np.arange(25)).predict(Y[fitted], penalty=1e-2)
    assert np.allclose(predicted[::2], alone)


def test_the_penalty_is_the_one_that_predicts_best() -> None:
    X = RNG.normal(size=(60, 20))
    Y = np.column_stack([X[:, 0], -X[:, 0]]) + RNG.normal(size=(60, 2))
    regression = LeaveOneOutRidge(Columns(X, None), np.arange(60))
    errors = [float(((regression.predict(Y, penalty=p) - Y) ** 2).sum()) for p in PENALTIES]
    assert np.array_equal(regression.predict(Y), regression.predict(Y, penalty=float(PENALTIES[np.argmin(errors)])))


def test_columns_are_scaled_by_spread_and_importance() -> None:
    X = RNG.normal(size=(100, 3)) * [1.0, 100.0, 0.0]
    scale = column_scale(X, None)
    assert scale is not None
    assert (X * scale).std(axis=0) == pytest.approx([1.0, 1.0, 0.0])
    weighted = column_scale(X, np.array([0.8, 0.2, 0.0]))
    assert weighted is not None
    assert (X * weighted).std(axis=0) == pytest.approx([1.0, 0.5, 0.0])
    assert column_scale(csr_array(X), None) is None


def test_the_scale_of_the_features_matters_to_few_voters() -> None:
    X, y = load_wine(return_X_y=True)
    voters = ["forest", "linear", "laplace"]
    plain, stretched = (
        find_label_errors(features, y, voters=voters, n_trees=10).scores for features in (X, X * np.logspace(-3, 3, 13))
    )
    assert np.allclose(plain, stretched, atol=1e-6)


@pytest.mark.parametrize("stretch", [np.ones(12), np.logspace(-4, 4, 12)])
def test_columns_are_made_alike_where_that_predicts_better(stretch: np.ndarray) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 12)) * stretch
    first, last = (np.eye(2)[(X[:, place] > 0).astype(int)] for place in (-1, 0))
    for Y in (first, last):
        made = make_regressions(X, ["linear"], None, Y, 0, 1, progress=False)["linear"]
        assert ((made.predict(Y)[:, 1] > 0.5) == Y[:, 1].astype(bool)).mean() > 0.95


def test_the_last_principal_components_do_not_drown_the_first() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 100)) * np.geomspace(1.0, 1e-3, 100)
    Y = np.eye(2)[(X[:, 0] + X[:, 1] > 0).astype(int)]
    alike = LeaveOneOutRidge(Columns(X, column_scale(X, None)), np.arange(200))
    as_they_are = LeaveOneOutRidge(Columns(X, None), np.arange(200))
    assert as_they_are.error(Y) < 0.8 * alike.error(Y)
    made = make_regressions(X, ["linear"], None, Y, 0, 1, progress=False)["linear"]
    np.testing.assert_allclose(made.predict(Y), as_they_are.predict(Y), rtol=1e-9)


def test_the_error_is_that_of_the_best_penalty() -> None:
    X = RNG.normal(size=(60, 20))
    Y = np.column_stack([X[:, 0], -X[:, 0]]) + RNG.normal(size=(60, 2))
    regression = LeaveOneOutRidge(Columns(X, None), np.arange(60))
    assert regression.error(Y) == pytest.approx(float(((regression.predict(Y) - Y) ** 2).sum(axis=1).mean()))


def test_landmarks_and_fitted_rows_are_bounded() -> None:
    assert [count_landmarks(n, sparse=False) for n in (2, 500, 1500, 5000, 10**6)] == [2, 500, 750, 1000, 1000]
    assert count_landmarks(10**6, sparse=True) == 800
    X = RNG.normal(size=(21_000, 2))
    Y = np.eye(2)[(X[:, 0] > 0).astype(int)]
    made = make_regressions(X, ["linear", "rbf"], None, Y, 0, 1, progress=False)
    for regression in made.values():
        assert ((regression.predict(Y)[:, 1] > 0.5) == (X[:, 0] > 0)).mean() > 0.97


def test_sparse_or_dense_is_what_the_matrix_holds() -> None:
    text = random_array((20, 600), density=0.01, rng=0).toarray()
    assert not isinstance(as_voters_see(text), np.ndarray)
    assert isinstance(as_voters_see(csr_array(RNG.normal(size=(20, 6)))), np.ndarray)
    assert isinstance(as_voters_see(np.eye(20)), np.ndarray)  # few columns


# The mixture


def test_weights_are_the_likeliest_mixture_shrunk_towards_equal() -> None:
    right, useless = np.full((400, 1), 0.9), np.full((400, 1), 0.5)
    weights = mixture_weights(np.hstack([right, useless]))
    # By hand: w maximises log(0.9 w + 0.5 (1 - w)) + 0.05 log w + 0.05 log(1 - w).
    grid = np.linspace(1e-4, 1 - 1e-4, 100_001)
    best = grid[np.argmax(np.log(0.9 * grid + 0.5 * (1 - grid)) + 0.05 * np.log(grid) + 0.05 * np.log(1 - grid))]
    assert weights[0] == pytest.approx(best, abs=1e-3)
    assert mixture_weights(np.full((7, 4), 0.3)) == pytest.approx(np.full(4, 0.25))


def test_votes_as_chances() -> None:
    chances = as_chances(np.array([[2.0, 2.0], [0.0, 0.0], [-1.0, 1.0]]), floor=0.0)
    assert chances.tolist() == [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    assert as_chances(np.array([[-1.0, 1.0]]), floor=0.01)[0, 0] == pytest.approx(0.01 / 1.01)


def test_the_mixture_of_one_voter_is_that_voter() -> None:
    chances = RNG.dirichlet(np.ones(3), 20)
    mixed, weights = mix([chances], RNG.integers(0, 3, 20).astype(np.int32))
    assert np.array_equal(mixed, chances)
    assert weights.tolist() == [1.0]


@given(st.floats(0, 1), st.floats(0, 1))
def test_margins_are_the_share_of_the_votes_where_there_are_two_classes(own: float, other: float) -> None:
    score = float(margins(np.array([own]), np.array([1.0 - own]))[0])
    assert score == pytest.approx(own, abs=1e-12)
    rival = other * (1.0 - own)
    assert 0.0 <= float(margins(np.array([own]), np.array([rival]))[0]) <= 1.0
    assert float(margins(np.array([0.0]), np.array([0.0]))[0]) == 0.5


# Choosing voters


@pytest.mark.parametrize("voter", VOTERS)
def test_every_voter_finds_errors_alone(voter: str) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    noisy = y.copy()
    noisy[::20] = (noisy[::20] + 3) % 10
    errors = find_label_errors(X, noisy, voters=voter, n_trees=60)
    assert errors.settings["voters"] == (voter,)
    assert average_precision_score(noisy != y, -errors.scores) > 0.75


def test_all_voters_are_asked_in_one_order_and_weights_are_told() -> None:
    X, y = load_wine(return_X_y=True)
    errors = find_label_errors(X, y, voters=["laplace", "neighbors"])
    assert errors.settings["voters"] == ("neighbors", "laplace")
    assert list(errors.settings["weights"]) == ["neighbors", "laplace"]
    assert find_label_errors(X, y, n_trees=5).settings["voters"] == ("forest", "linear", "rbf", "laplace")
    assert find_label_errors(X, y, n_trees=0).settings["voters"] == ("neighbors",)
    assert find_label_errors(X, y, n_trees=0, voters="rbf").settings["n_trees"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voters": "nobody"}, r"voters must be some of neighbors, forest, linear, rbf, laplace; got 'nobody'"),
        ({"voters": []}, r"voters must be some of .*; got none"),
        ({"voters": "forest", "n_trees": 0}, r"a forest needs trees to vote; got n_trees=0"),
        ({"voters": "rbf", "metric": "precomputed"}, r"the voter rbf needs features"),
        ({"task": "guessing"}, r"task must be one of auto, classification, regression, multilabel; got 'guessing'"),
    ],
)
def test_voters_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_label_errors([[0.0], [1.0], [2.0]], [0, 1, 1], **options)


def test_text_is_judged_as_a_sparse_matrix() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    words = rng.random((300, 400)) < np.where(np.arange(400) < 20, 0.02 + 0.25 * y[:, np.newaxis], 0.02)
    noisy = np.where(np.arange(300) % 20 == 0, 1 - y, y)
    X = csr_array(words.astype(float))
    errors = find_label_errors(X, noisy, n_trees=30)
    assert average_precision_score(noisy != y, -errors.scores) > 0.75
    assert errors.settings["voters"] == ("neighbors", "forest", "linear", "laplace")
    assert errors.settings["weights"]["linear"] > 0.1
    dense = find_label_errors(X.toarray(), noisy, n_trees=30)
    assert dense.settings["voters"] == ("forest", "linear", "rbf", "laplace")  # few columns: a table
    assert find_label_errors(X, noisy, n_trees=5, voters=["rbf"]).settings["voters"] == ("rbf",)


def test_of_many_rows_fewer_trees_give_each_row_as_many_votes() -> None:
    """Rows drawn for a tree of n: 37 % are left of few, nearly all of many."""
    for n_rows in (50, 10_000, 20_000, 100_000):
        drawn = min(n_rows, 10_000)
        left = (1.0 - 1.0 / n_rows) ** drawn
        assert count_trees(n_rows, 100) * left == pytest.approx(100 * np.exp(-1.0), abs=1.0)
    assert count_trees(5, 1) == 1


@pytest.mark.parametrize("seed", [0, 1])
def test_of_far_more_columns_than_rows_no_voter_learns_the_given_labels(seed: int) -> None:
    """Columns that fit wrong labels by chance do not make the Laplace kernel agree with them."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 4000)), rng.integers(0, 2, 150)
    by_chance = find_label_errors(X, y)
    assert by_chance.n_wrong.upper_bound_only
    assert find_label_errors(X, y, voters="laplace").support.mean() < 0.55  # 0.5 is no knowledge
    X[:, :40] += 2.0 * np.where(y == 1, 1.0, -1.0)[:, np.newaxis] * rng.random((150, 40))
    flipped = rng.permutation(150) < 15
    errors = find_label_errors(X, np.where(flipped, 1 - y, y))
    assert errors.n_wrong.low <= 15 <= errors.n_wrong.high
    assert flipped[errors.order[:15]].mean() > 0.6
