"""Intervals around values: from chance, from the error bound, from both, or a sentence that says why not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specimens import NOT_A_GAME, make


def test_exact_values_lie_within_the_bound_whatever_the_level():
    values = make(error_bound=0.125)
    for level in (0.5, 0.999):
        low, high = values.interval(level)
        assert low.tolist() == [0.125, -0.625, 0.625]
        assert high.tolist() == [0.375, -0.375, 0.875]


@pytest.mark.parametrize(
    ("level", "z"), [(0.6826894921370859, 1.0), (0.95, 1.959963984540054), (0.9973002039367398, 3.0)]
)
def test_sampled_values_get_normal_intervals_widened_by_the_bound(level, z):
    errors = np.array([0.1, 0.0, 0.3])
    for bound in (0.0, 0.25, None):
        low, high = make(standard_error=errors, error_bound=bound).interval(level)
        half = z * errors + (bound or 0.0)
        np.testing.assert_allclose(low, np.array([0.25, -0.5, 0.75]) - half, atol=1e-12)
        np.testing.assert_allclose(high, np.array([0.25, -0.5, 0.75]) + half, atol=1e-12)


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    errors = rng.uniform(0.5, 2.0, size=20_000)
    low, high = make(rng.normal(0.0, errors), standard_error=errors).interval(0.9)
    assert np.mean((low <= 0.0) & (high >= 0.0)) == pytest.approx(0.9, abs=4 * math.sqrt(0.09 / 20_000))


def test_the_frame_carries_intervals_on_request():
    values = make(standard_error=[0.1, 0.2, 0.3])
    frame = values.to_frame(level=0.8)
    assert frame.columns.tolist() == ["value", "rank", "standard_error", "low", "high"]
    low, high = values.interval(0.8)
    assert frame["low"].tolist() == low.tolist()
    assert frame["high"].tolist() == high.tolist()


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, math.nan, "high", None])
def test_the_level_of_an_interval_is_a_chance(level):
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1, both excluded; got .*\. Use 0.95 for 95 %"):
        make().interval(level)


def test_there_is_no_interval_without_an_error():
    sentence = r"an interval needs a standard error or an error bound; these values of method 'lava' have neither. Use"
    with pytest.raises(ValueError, match=sentence):
        make(**NOT_A_GAME).interval()
    with pytest.raises(ValueError, match=sentence):
        make(**NOT_A_GAME).to_frame(level=0.95)
