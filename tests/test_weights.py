from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from pivotal.core.voting import as_votes, weigh
from pivotal.core.weights import (
    RBF,
    Custom,
    Distance,
    Linear,
    Uniform,
    Weights,
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
    expected = [[1.0, 0.5, 0.25, 0.125], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    assert_array_equal(Distance()(DISTANCES, k=2), expected)


@pytest.mark.parametrize("unit", [2.0**-1074, 2.0**-1022, 1.0, 2.0**1020])
def test_distance_weights_have_their_ratios_at_any_scale(unit):
    weights = Distance()(unit * np.array([[1.0, 2.0, 8.0], [3.0, 4.0, 5.0]]), k=1)
    assert_array_equal(weights, [[1.0, 0.5, 0.125], [1.0, 0.75, 0.6]])


def test_distance_weights_of_distances_worlds_apart():
    assert_array_equal(Distance()(np.array([[5e-324, 1e-300, 1e300], [0.0, 5e-324, 1e300]]), 1)[1], [1.0, 0.0, 0.0])
    assert_allclose(Distance()(np.array([[1e-300, 1e-299, 1e300]]), 1), [[1.0, 0.1, 0.0]], rtol=1e-15)


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
    plain = np.exp(-0.5 * (DISTANCES / 2.0) ** 2)
    assert_allclose(RBF(2.0)(DISTANCES, k=1), plain / plain[:, :1], rtol=1e-15)


def test_linear_falls_to_zero_at_the_bandwidth():
    assert_allclose(Linear(2.0)(DISTANCES[:1], k=1), [[1.0, 2 / 3, 0.0, 0.0]], rtol=1e-15)
    # The digits that 1 - d / h would lose.
    near = 2.0 - 2.0**-50 * np.array([[4.0, 3.0, 1.0]])
    assert_array_equal(Linear(2.0)(near, k=1), [[1.0, 0.75, 0.25]])


@pytest.mark.parametrize("unit", [2.0**-1074, 2.0**-1000, 1.0, 2.0**1020])
def test_kernels_are_the_same_in_any_unit(unit):
    row = np.array([[1.0, 2.0, 4.0, 6.0, 9.0]])
    for k in (1, 2):
        for kind in (RBF, Linear):
            assert_array_equal(kind()(unit * row, k), kind()(row, k))
            assert_array_equal(kind(8.0 * unit)(unit * row, k), kind(8.0)(row, k))


def ratio(kernel: RBF | Linear, nearest: float, distance: float) -> Fraction:
    """Weight over that of the nearest neighbour, to sixty digits."""
    with localcontext() as context:
        context.prec, context.Emin = 60, -(10**12)
        nearest, distance, h = Decimal(nearest), Decimal(distance), Decimal(float(kernel.bandwidth))
        if isinstance(kernel, RBF):
            exponent = (nearest - distance) * (nearest + distance) / (2 * h * h)
            return Fraction((max(exponent, Decimal(-2000))).exp())
        return Fraction(max(h - distance, Decimal(0)) / (h - nearest))


@given(
    nearest=st.one_of(st.floats(0.0, 100.0), st.floats(0.0, 1e12)),
    gaps=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6),
    bandwidth=st.floats(1e-3, 1e3),
    bits=st.integers(1, 16),
)
def test_votes_are_within_their_resolution_of_the_true_ratios_however_far_the_query(nearest, gaps, bandwidth, bits):
    row = np.sort(nearest + np.array([[0.0, *gaps]]) * bandwidth * min(1.0, bandwidth / max(nearest, 1e-3)))
    kernels = [RBF(bandwidth)]
    if row[0, 0] < bandwidth:
        kernels.append(Linear(bandwidth))
    for kernel in kernels:
        votes = as_votes(kernel, row, 1, bits)
        assert votes[0, 0] == 2**bits - 1
        for vote, distance in zip(votes[0], row[0], strict=True):
            true = ratio(kernel, row[0, 0], distance)
            assert abs(Fraction(int(vote), 2**bits - 1) - true) <= Fraction(resolution(bits)) + Fraction(1e-13)


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
    assert_array_equal(weigh(as_weights(lambda d: 1 / (1 + d)), DISTANCES, k=1), 1 / (1 + DISTANCES))
    assert_array_equal(weigh(as_weights(lambda d: d < 1), DISTANCES[:1], k=1), (DISTANCES[:1] < 1).astype(float))


def test_a_function_may_write_to_the_distances():
    def in_place(distances):
        distances += 1.0
        return np.divide(1.0, distances, out=distances)

    before = DISTANCES.copy()
    assert_array_equal(weigh(Custom(in_place), before, k=1), 1 / (1 + DISTANCES))
    assert_array_equal(before, DISTANCES)


def test_a_function_may_not_grow_with_distance():
    with pytest.raises(
        ValueError,
        match=r"never grow with distance; got 0\.25 and then, at distance 1\.0, 1\.0 for query 7\.",
    ):
        weigh(as_weights(_named("grows", lambda d: d**2)), DISTANCES, 1, first=7)
    # Growth within rounding is none: the weights are made to fall.
    wavering = as_weights(lambda d: np.where(np.arange(d.shape[1]) % 2, 1.0 + 1e-15, 1.0) * np.ones(d.shape))
    assert (np.diff(weigh(wavering, DISTANCES, k=1), axis=1) <= 0).all()


@pytest.mark.parametrize(
    "function",
    [
        lambda d: 1.0 - d / (2.0 * d.max(axis=1, keepdims=True)),
        lambda d: np.exp(-d / d.mean(axis=1, keepdims=True)),
        lambda d: 20.0 - d - d.shape[1],
        lambda d: 1.0 - d / (1.0 + d.max()),
    ],
    ids=["last", "mean", "length", "other queries"],
)
def test_a_function_may_not_depend_on_the_rest_of_the_list(function):
    rows = np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 9.0]])
    with pytest.raises(ValueError, match=r"neither the length of the list nor other queries; got .* for query 5"):
        weigh(as_weights(function), rows, 1, first=5)


def test_a_function_may_depend_on_the_nearest_and_choose_its_unit():
    rows = np.array([[1000.0, 1001.0, 1003.0], [1.0, 2.0, 9.0]])
    relative = weigh(as_weights(lambda d: np.exp(d[:, :1] - d)), rows, 1)
    assert_allclose(relative, np.exp([[0, -1, -3], [0, -1, -8]]))

    def shares(d):
        return (1 / d) / (1 / d).sum(axis=1, keepdims=True)

    assert_array_equal(as_votes(as_weights(shares), rows, 1, 7), as_votes(Distance(), rows, 1, 7))


@pytest.mark.parametrize(
    ("weights", "nearest"),
    [
        (Linear(2.0), 2.0),
        (Linear(2.0), 2.5),
        (Custom(lambda d: np.exp(-(d**2))), 40.0),  # underflows
        (Custom(lambda d: np.exp(-(d**2))), 27.0),  # to a number that has lost its digits
        (Custom(lambda d: d < 1.0), 1.0),
        (Custom(np.zeros_like), 0.0),
    ],
)
def test_a_query_whose_nearest_has_no_weight_is_named(weights, nearest):
    rows = np.array([[0.5, 0.6], [nearest, nearest + 1.0]])
    if weights(rows, 1)[0, 0] == 0:
        rows[0] = rows[1]
    message = rf"must give the nearest neighbour of every query some weight; got .* at distance {nearest} for query "
    with pytest.raises(ValueError, match=message + "1" if (rows[0] != rows[1]).any() else message + "0"):
        weigh(weights, rows, 1)
    with pytest.raises(ValueError, match=message + "9"):
        weigh(weights, rows[1:], 1, first=np.array([9]))


class Doubling(Weights):
    """Weights of the user's that break the rules."""

    def __call__(self, distances, k):
        return 2.0**distances

    def __str__(self):
        return "doubling"


def test_weights_objects_of_the_users_are_checked_as_functions_are():
    with pytest.raises(ValueError, match="doubling must return weights that never grow with distance"):
        weigh(Doubling(), DISTANCES, 1)


def test_no_queries_have_no_weights():
    assert weigh(RBF(1.0), np.empty((0, 3)), 1).shape == (0, 3)


def test_a_bandwidth_in_text_goes_by_place_or_by_name():
    assert as_weights("rbf(bandwidth=0.5)") == as_weights("rbf(0.5)") == RBF(0.5)
    assert as_weights("linear(auto)") == as_weights("linear")


@pytest.mark.parametrize("name", ["gaussian", "RBF", 3, RBF, "rbf(0.5, 2)", "uniform(1)", "rbf("])
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
        weigh(as_weights(_named("short", lambda distances: distances[:, 0])), DISTANCES, 1)
    with pytest.raises(TypeError, match=r"text must return numbers; got dtype <U4"):
        weigh(as_weights(_named("text", lambda distances: np.full(distances.shape, "loud"))), DISTANCES, 1)
    for odd in (-0.5, np.nan, np.inf):
        weights = as_weights(_named("odd", lambda distances, odd=odd: np.where(distances == 3.0, odd, 1.0)))
        message = rf"odd must return finite weights of at least 0; got {odd} at distance 3.0 for query 11\. Return 0"
        with pytest.raises(ValueError, match=message):
            weigh(weights, DISTANCES, 1, first=10)


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
    with pytest.raises(ValueError, match=r"bits must be an integer from 1 to 16; got bits="):
        check_bits(bits)
    with pytest.raises(ValueError, match=r"bits must be an integer from 1 to 16; got bits="):
        to_votes(np.ones((1, 1)), bits)
    with pytest.raises(ValueError, match=r"bits must be an integer from 1 to 16; got bits="):
        resolution(bits)
