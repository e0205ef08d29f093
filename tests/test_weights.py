from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from pivotal.weights import (
    RBF,
    Custom,
    Distance,
    Linear,
    Uniform,
    as_weights,
    check_bits,
    resolution,
    to_votes,
)

DISTANCES = np.array([[0.5, 1.0, 2.0, 4.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 0.0]])


def sorted_distances(max_depth: int = 12) -> st.SearchStrategy[np.ndarray]:
    size = st.one_of(st.just(0.0), st.floats(0.0, 1e300))
    return st.lists(size, min_size=1, max_size=max_depth).map(lambda row: np.sort(np.array([row])))


def test_uniform_weights_are_ones():
    assert_array_equal(Uniform()(DISTANCES, k=2), np.ones((3, 4)))


def test_distance_weights_follow_the_rule_for_zeros():
    expected = [[2.0, 1.0, 0.5, 0.25], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    assert_array_equal(Distance()(DISTANCES, k=2), expected)


def test_distances_whose_inverse_overflows_count_as_zero():
    assert_array_equal(Distance()(np.array([[5e-324, 1e-310, 1.0]]), k=1), [[1.0, 1.0, 0.0]])


@pytest.mark.parametrize("seed", range(5))
def test_distance_votes_predict_what_scikit_learn_predicts(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (60, 2)).astype(float), rng.integers(0, 3, 60)
    queries = np.vstack([rng.integers(0, 4, (40, 2)), rng.random((40, 2)) * 4])
    model = KNeighborsClassifier(7, weights="distance").fit(X, y)
    distances, indices = model.kneighbors(queries)
    assert (distances[:, 0] == 0).any()
    assert (distances[:, 0] > 0).any()
    weights = as_weights("distance")(distances, k=7)
    chances = np.stack([np.where(y[indices] == label, weights, 0.0).sum(axis=1) for label in range(3)], axis=1)
    assert_allclose(chances / chances.sum(axis=1, keepdims=True), model.predict_proba(queries), rtol=1e-14, atol=1e-16)


def test_rbf_is_the_gaussian():
    assert_allclose(RBF(2.0)(DISTANCES, k=1), np.exp(-0.5 * (DISTANCES / 2.0) ** 2), rtol=1e-15)


def test_linear_falls_to_zero_at_the_bandwidth():
    assert_allclose(Linear(2.0)(DISTANCES[:1], k=1), [[0.75, 0.5, 0.0, 0.0]], rtol=1e-15)


@pytest.mark.parametrize("weights", [RBF(), Linear()])
def test_automatic_bandwidth_is_the_distance_of_rank_2k(weights):
    factor = 1.0 if isinstance(weights, RBF) else 2.0
    # The list ends at min(2k, n), or goes on: the weights are the same.
    for k, rank in [(1, 2), (2, 4), (3, 4), (100, 4)]:
        fixed = type(weights)(factor * DISTANCES[0, rank - 1])
        assert_array_equal(weights(DISTANCES[:1], k), fixed(DISTANCES[:1], k))
    assert_array_equal(weights(DISTANCES[:, :2], k=1), weights(DISTANCES, k=1)[:, :2])


@pytest.mark.parametrize("weights", [RBF(), Linear()])
def test_bandwidth_zero_leaves_the_points_on_top_of_the_query(weights):
    assert_array_equal(weights(DISTANCES[1:2], k=1), [[1.0, 1.0, 0.0, 0.0]])
    assert_array_equal(weights(DISTANCES[2:], k=1), np.ones((1, 4)))


@given(distances=sorted_distances(), k=st.integers(1, 8))
def test_named_weights_fall_with_distance(distances, k):
    for name in ("uniform", "distance", "rbf", "linear", "rbf(1e-3)", "linear(1e9)"):
        weights = as_weights(name)
        answer = weights(distances, k)
        assert answer.shape == distances.shape
        assert np.isfinite(answer).all()
        assert (answer >= 0).all()
        assert (np.diff(answer, axis=1) <= 0).all()


@given(distances=sorted_distances(), k=st.integers(1, 8), more=st.floats(0.0, 1e300))
def test_a_longer_list_changes_no_weight(distances, k, more):
    longer = np.append(distances, [[distances[0, -1] + more]], axis=1)
    for name in ("uniform", "distance", "rbf", "linear", "rbf(2)"):
        weights = as_weights(name)
        if distances.shape[1] >= weights.depth(k):
            assert_array_equal(weights(longer, k)[:, :-1], weights(distances, k))


def test_depth_needed_for_the_bandwidth():
    assert [w.depth(5) for w in (RBF(), Linear(), RBF(1.0), Distance(), Uniform(), Custom(np.exp))] == [
        10, 10, 1, 1, 1, 1,
    ]  # fmt: skip


def test_names_objects_functions_and_none():
    def inverse(distances):
        return 1 / (1 + distances)

    assert as_weights(None) == as_weights("uniform") == Uniform()
    assert as_weights("distance") == Distance()
    assert as_weights("rbf") == RBF("auto")
    assert as_weights("linear(0.5)") == Linear(0.5)
    assert as_weights(RBF(3)) == RBF(3.0)
    assert as_weights(inverse) == Custom(inverse)
    assert [str(as_weights(w)) for w in (None, "distance", "rbf", "rbf(0.5)", "linear", inverse)] == [
        "uniform", "distance", "rbf", "rbf(0.5)", "linear", "inverse",
    ]  # fmt: skip
    assert as_weights(str(RBF(0.1))) == RBF(0.1)
    assert not Uniform().weighted
    assert RBF().weighted


def test_a_function_gets_the_distances():
    assert_array_equal(as_weights(lambda d: 1 / (1 + d))(DISTANCES, k=1), 1 / (1 + DISTANCES))
    assert_array_equal(as_weights(lambda d: d < 1)(DISTANCES[:1], k=1), (DISTANCES[:1] < 1).astype(float))


def test_a_function_may_not_grow_with_distance():
    with pytest.raises(ValueError, match="weights that never grow with distance; got larger ones farther away"):
        as_weights(lambda d: d**2)(DISTANCES, k=1)
    # Growth within rounding is none: the weights are made to fall.
    wavering = as_weights(lambda d: np.where(np.arange(d.shape[1]) % 2, 1.0 + 1e-15, 1.0) * np.ones(d.shape))
    assert (np.diff(wavering(DISTANCES, k=1), axis=1) <= 0).all()


@pytest.mark.parametrize("name", ["gaussian", "RBF", 3, RBF])
def test_unknown_weights(name):
    with pytest.raises(ValueError, match=r"weights must be one of uniform, distance, rbf, linear, an object .*; got"):
        as_weights(name)


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf, "wide", True, None])
def test_bad_bandwidths(bandwidth):
    with pytest.raises(ValueError, match=r'bandwidth must be "auto" or a finite number above 0; got'):
        RBF(bandwidth)
    with pytest.raises(ValueError, match=r'bandwidth must be "auto" or a finite number above 0; got'):
        as_weights(f"linear({bandwidth})" if bandwidth is not True else "linear(yes)")


def test_functions_that_return_nonsense():
    with pytest.raises(
        ValueError, match=r"short must return weights of the shape of its distances, \(3, 4\); got \(3,\)"
    ):
        as_weights(_named("short", lambda distances: distances[:, 0]))(DISTANCES, 1)
    with pytest.raises(TypeError, match=r"text must return numbers; got dtype <U4"):
        as_weights(_named("text", lambda distances: np.full(distances.shape, "loud")))(DISTANCES, 1)
    for odd in (-0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"odd must return finite weights of at least 0; got {odd}"):
            as_weights(_named("odd", lambda distances, odd=odd: np.where(distances == 4.0, odd, 1.0)))(DISTANCES, 1)


def _named(name, function):
    function.__name__ = name
    return function


@given(
    weights=st.lists(st.one_of(st.just(0.0), st.floats(0.0, 1e300)), min_size=1, max_size=9),
    bits=st.integers(1, 16),
)
def test_votes_are_the_nearest_integers(weights, bits):
    weights = np.array([weights])
    votes = to_votes(weights, bits)
    most = 2**bits - 1
    assert votes.dtype == np.int32
    if weights.max() == 0:
        assert (votes == 0).all()
        return
    assert votes.max() == most
    assert votes.min() >= 0
    shares = weights / weights.max()
    assert np.abs(votes / most - shares).max() <= resolution(bits) * (1 + 1e-9)
    assert (np.diff(votes[0][np.argsort(weights[0])]) >= 0).all()


def test_halves_go_to_the_even_vote():
    assert_array_equal(to_votes(np.array([[1.0, 0.5]]), bits=1), [[1, 0]])
    assert_array_equal(to_votes(np.array([[1.0, 0.5]]), bits=2), [[3, 2]])


def test_every_query_has_its_own_scale():
    assert_array_equal(
        to_votes(np.array([[8.0, 4.0], [2.0, 1.0], [0.0, 0.0], [1e-310, 0.0]]), 3), [[7, 4], [7, 4], [0, 0], [7, 0]]
    )


def test_resolution():
    assert resolution(1) == 0.5
    assert resolution(7) == 0.5 / 127


@pytest.mark.parametrize("bits", [0, 17, 7.0, True, "7", None])
def test_bits_out_of_range(bits):
    with pytest.raises(ValueError, match=r"bits must be a whole number from 1 to 16; got bits="):
        check_bits(bits)
    with pytest.raises(ValueError, match=r"bits must be a whole number from 1 to 16; got bits="):
        to_votes(np.ones((1, 1)), bits)
    with pytest.raises(ValueError, match=r"bits must be a whole number from 1 to 16; got bits="):
        resolution(bits)
