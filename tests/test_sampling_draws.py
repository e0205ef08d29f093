"""The random numbers of the samplers: streams, the measures that p is drawn from, coalitions and permutations."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from pivotal import Banzhaf, BetaShapley, LeaveOneOut, Measure, Shapley
from pivotal.core.plan import Plan, as_plan, batch_sizes, seed_words
from pivotal.core.semivalues import Semivalue
from pivotal.engine.sampling.laws import law_of, place_weights
from pivotal.kernels.sampling_draws import (
    draw_members,
    log_absence,
    log_gamma_variate,
    next_word,
    scramble,
    shuffle,
    start_stream,
    uniform,
)


def stream_of(seed: int = 0, query: int = 0, game: int = 0, batch: int = 0) -> np.ndarray:
    stream = np.zeros(4, dtype=np.int64)
    start_stream(seed_words(seed), query, game, batch, stream)
    return stream


@pytest.mark.kernels
def test_the_generator_is_xoshiro() -> None:
    # The words of the reference implementation of xoshiro128++ from the state 1, 2, 3, 4.
    stream = np.array([1, 2, 3, 4], dtype=np.int64)
    assert [next_word(stream) for _ in range(5)] == [641, 1573767, 3222811527, 3517856514, 836907274]


@pytest.mark.kernels
def test_the_hash_is_murmur() -> None:
    assert [scramble(word) for word in (0, 1, 0xDEADBEEF)] == [0, 0x514E28B7, 0x0DE5C6A9]


@pytest.mark.kernels
def test_streams_differ_in_every_part_of_their_name() -> None:
    names = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 2**32, 0, 0), (0, 2**40, 0, 0)]
    starts = {tuple(stream_of(*name)) for name in names}
    assert len(starts) == len(names)
    assert tuple(stream_of(3, 5, 7, 9)) == tuple(stream_of(3, 5, 7, 9))


def test_neighbouring_streams_are_unrelated() -> None:
    first = np.array([[uniform(stream_of(query=q, batch=b)) for b in range(100)] for q in range(100)])
    assert stats.kstest(first.ravel(), "uniform").pvalue > 0.001
    for axis in (0, 1):
        left, right = np.take(first, range(99), axis), np.take(first, range(1, 100), axis)
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 4 / math.sqrt(left.size)


def test_uniform_numbers_are_uniform() -> None:
    stream = stream_of()
    drawn = np.array([uniform(stream) for _ in range(20_000)])
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 0.001
    bits = (drawn * 2**53).astype(np.int64)[:, np.newaxis] >> np.arange(53) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / math.sqrt(len(drawn))


@pytest.mark.parametrize("shape", [0.1, 0.7, 1.0, 3.5, 40.0])
def test_gamma_variates(shape: float) -> None:
    stream = stream_of(1)
    drawn = np.exp([log_gamma_variate(shape, stream) for _ in range(20_000)])
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 0.001


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (4.0, 1.0), (1.0, 16.0), (0.5, 0.3), (2.5, 3.0)])
def test_p_is_beta_distributed(alpha: float, beta: float) -> None:
    law, stream = law_of(BetaShapley(alpha, beta), "coalitions", 5), stream_of(2)
    p = -np.expm1([log_absence(law, stream) for _ in range(20_000)])
    assert stats.kstest(p, stats.beta(beta, alpha).cdf).pvalue > 0.001


def test_extreme_measures_stay_in_range() -> None:
    law, stream = law_of(BetaShapley(0.001, 0.001), "coalitions", 5), stream_of(2)
    drawn = np.array([log_absence(law, stream) for _ in range(2000)])
    assert not np.isnan(drawn).any()
    assert drawn.max() <= 0.0
    assert 0.4 < (drawn < -1.0).mean() < 0.6  # p is nearly 0 or nearly 1


@pytest.mark.kernels
def test_nodes_are_drawn_by_their_weights() -> None:
    law = law_of(Measure([0.25, 1.0, 0.0, 0.5], [0.5, 0.25, 0.25, 0.0]), "coalitions", 5)
    stream = stream_of(3)
    drawn = -np.expm1([log_absence(law, stream) for _ in range(1000)])
    shares = [np.isclose(drawn, p).mean() for p in (0.25, 1.0, 0.0)]
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=5 * 0.5 / math.sqrt(1000))
    assert sum(shares) == 1.0


@pytest.mark.kernels
@pytest.mark.parametrize("semivalue", [Banzhaf(), Banzhaf(0.1), Shapley(), LeaveOneOut(), Banzhaf(0.0)], ids=str)
def test_every_rank_is_a_member_as_often_as_it_should(semivalue: Semivalue) -> None:
    n, size, stream = 6, 600, stream_of(4)
    members, law, found = np.zeros(n, dtype=np.int64), law_of(semivalue, "coalitions", n), np.zeros((size, n))
    for sample in range(size):
        count = draw_members(n, n, law, members, stream)
        assert list(members[:count]) == sorted(set(members[:count]))
        found[sample, members[:count]] = 1
    error = 5 * 0.5 / math.sqrt(size)
    chance = semivalue.mass(1, 0)
    together = semivalue.mass(2, 0)
    np.testing.assert_allclose(found.mean(axis=0), chance, atol=error)
    np.testing.assert_allclose((found[:, :-1] * found[:, 1:]).mean(axis=0), together, atol=error)


@pytest.mark.kernels
def test_only_the_nearest_members_are_looked_for() -> None:
    members, stream = np.full(3, -1, dtype=np.int64), stream_of(5)
    assert draw_members(10**12, 2, law_of(Banzhaf(1e-9), "coalitions", 1), members, stream) == 2
    assert members[2] == -1
    assert members[1] > 10**6


def test_orders_are_equally_likely() -> None:
    order, stream, seen = np.arange(4), stream_of(6), {}
    for _ in range(12_000):
        shuffle(order, 4, stream)
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    assert set(seen) == set(permutations(range(4)))
    assert stats.chisquare(list(seen.values())).pvalue > 0.001


@pytest.mark.parametrize(
    "semivalue",
    [Banzhaf(), Banzhaf(0.2), Shapley(), LeaveOneOut(), BetaShapley(4, 1), Measure([0.0, 0.3, 1.0], [0.2, 0.5, 0.3])],
    ids=str,
)
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_weights_of_places_are_ratios_of_size_laws(semivalue: Semivalue, n: int) -> None:
    expected = [n * semivalue.joined(n - 1, s).item() for s in range(n)]
    np.testing.assert_allclose(place_weights(semivalue, n), expected, rtol=1e-11, atol=1e-300)


def test_weights_of_places_do_not_overflow() -> None:
    weights = place_weights(Banzhaf(), 100_001)
    assert np.isfinite(weights).all()
    assert weights.mean() == pytest.approx(1.0)
    # The middle binomial, by Stirling.
    assert weights.max() == pytest.approx(100_001 * math.sqrt(2 / (math.pi * 100_000)), rel=1e-5)


@pytest.mark.parametrize("n_samples", [2, 3, 255, 256, 257, 258, 1000, 10_001])
def test_batches_have_two_samples_at_least(n_samples: int) -> None:
    sizes = batch_sizes(n_samples)
    assert sizes.sum() == n_samples
    assert 2 <= sizes.min() <= sizes.max() <= 256


def test_seeds_of_any_kind() -> None:
    np.testing.assert_array_equal(seed_words(5), seed_words(5))
    assert not np.array_equal(seed_words(5), seed_words(6))
    assert not np.array_equal(seed_words(None), seed_words(None))
    assert not np.array_equal(seed_words(2**100), seed_words(2**100 + 1))
    np.testing.assert_array_equal(seed_words(np.random.default_rng(1)), seed_words(np.random.default_rng(1)))
    generator = np.random.default_rng(1)
    assert not np.array_equal(seed_words(generator), seed_words(generator))


def test_a_plan_stops_at_the_first_limit() -> None:
    lazy = as_plan("coalitions")
    assert (lazy.n_samples, lazy.first, lazy.next(1000, 9.9, 0.0, 0.0, 0.0)) == (1000, 1000, 0)
    exacting = as_plan("coalitions", target_se=0.01)
    assert exacting.first == 256
    assert exacting.next(256, 0.01, 0.0, 0.0, 0.0) == 0
    assert exacting.next(1000, 0.02, 1.0, 1.0, 99.0) == math.ceil(1000 * (1.1 * 4 - 1))
    assert exacting.next(256, 1.0, 0.0, 0.0, 0.0) == 15 * 256  # errors from few samples are rough: not all at once
    hasty = as_plan("coalitions", max_time=10.0)
    assert hasty.next(256, 1.0, pace=0.01, overhead=1.0, elapsed=5.0) == 350  # 0.9 of 5 s, less 1 s
    assert hasty.next(256, 1.0, pace=0.01, overhead=1.0, elapsed=9.0) == 0
    both = Plan("coalitions", n_samples=1000, target_se=1e-6)
    assert both.next(256, 1.0, 0.0, 0.0, 0.0) == 744
    assert both.next(1000, 1.0, 0.0, 0.0, 0.0) == 0
    # One sample must never be left over.
    assert Plan("coalitions", n_samples=257, max_time=1.0).first == 257
    assert Plan("coalitions", n_samples=258, max_time=1.0).first == 256
