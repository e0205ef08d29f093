"""A mixture of games is a game: one call, one search, and the values are mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import flat
import pivotal
from pivotal import Game, Hard, Plurality, Regression, Soft, Threshold

MIXES: list[list[tuple[float, Game]]] = [
    [(0.5, Hard()), (0.5, Soft())],
    [(2.0, Plurality()), (-1.0, Soft(divide_by="k")), (0.25, Hard(tie="win"))],
    [(0.3, Hard(other_classes="ignore")), (0.7, Soft())],
]


def mix(terms: Sequence[tuple[float, Game]]) -> Game:
    total: Any = None
    for weight, game in terms:
        total = weight * game if total is None else total + weight * game
    return total  # type: ignore[no-any-return]


def task(seed: int, n: int = 60, n_queries: int = 7, n_classes: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, 2)), rng.normal(size=(n_queries, 2))
    return X, rng.integers(0, n_classes, n), Q, rng.integers(0, n_classes, n_queries)


@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley", "loo"])
@pytest.mark.parametrize("terms", MIXES)
def test_values_are_mixed(terms: list[tuple[float, Game]], semivalue: str) -> None:
    data = task(0)
    mixed = pivotal.value(*data, utility=mix(terms), semivalue=semivalue)
    parts = [(w, pivotal.value(*data, utility=game, semivalue=semivalue)) for w, game in terms]
    assert_allclose(mixed.values, sum(w * part.values for w, part in parts), atol=1e-14)
    assert_allclose(mixed.full_utility, sum(w * part.full_utility for w, part in parts), atol=1e-14)
    assert_allclose(mixed.empty_utility, sum(w * part.empty_utility for w, part in parts), atol=1e-14)


@pytest.mark.parametrize("terms", MIXES)
def test_a_mixture_equals_enumeration(terms: list[tuple[float, Game]]) -> None:
    X, y, Q, t = task(1, n=7, n_queries=1)
    order = np.argsort(np.linalg.norm(X - Q[0], axis=1), kind="stable")
    values = pivotal.value_from_neighbors(order[np.newaxis], y, t, k=3, utility=mix(terms), classes=[0, 1, 2])
    checked = pivotal.verify(y[order], t[0], k=3, utility=mix(terms), classes=[0, 1, 2])
    assert_allclose(values.values[order], checked.exact, atol=1e-14)


def test_weighted_votes_and_regression_are_mixed_too() -> None:
    X, y, Q, t = task(2)
    mixed = pivotal.value(X, y, Q, t, utility=0.5 * Hard() + 0.5 * Soft(), weights="distance")
    parts = [pivotal.value(X, y, Q, t, utility=game, weights="distance") for game in (Hard(), Soft())]
    assert_allclose(mixed.values, 0.5 * parts[0].values + 0.5 * parts[1].values, atol=1e-14)
    twice = pivotal.value(X, y * 1.0, Q, t * 1.0, utility=3 * Regression())
    assert_allclose(twice.values, 3 * pivotal.value(X, y * 1.0, Q, t * 1.0, utility="regression").values, rtol=1e-12)


def test_one_search_serves_all_parts() -> None:
    X, y, Q, t = task(3)

    class Counting:
        calls = 0

        def search(self, queries: Any, depth: int) -> Any:
            Counting.calls += 1
            found = np.argsort(np.linalg.norm(queries[:, np.newaxis] - X, axis=2), axis=1, kind="stable")[:, :depth]
            return found, np.take_along_axis(np.linalg.norm(queries[:, np.newaxis] - X, axis=2), found, 1)

    pivotal.value(X, y, Q, t, utility="soft", neighbors=Counting())
    alone, Counting.calls = Counting.calls, 0
    pivotal.value(X, y, Q, t, utility=0.5 * Soft() + 0.5 * Plurality(), neighbors=Counting())
    assert Counting.calls == alone


def test_truncated_mixtures_of_games_with_and_without_third_classes_keep_their_bound() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        y = rng.integers(0, 3, 40)
        order = rng.permutation(40)[np.newaxis]
        game = Hard(other_classes="ignore") + 2 * Soft(divide_by="k")
        whole = pivotal.value_from_neighbors(order, y, [0], k=3, utility=game, tol=0)
        short = pivotal.value_from_neighbors(order[:, :9], y, [0], k=3, utility=game, tol=0)
        assert short.error_bound is not None
        assert np.abs(short.values - whole.values).max() <= short.error_bound


@pytest.mark.parametrize("method", ["coalitions", "permutations"])
def test_mixtures_are_sampled(method: str) -> None:
    data = task(5, n=15)
    game = 0.5 * Hard() + 0.5 * Soft()
    exact = pivotal.value(*data, utility=game, k=3)
    found = flat.value(*data, utility=game, k=3, method=method, n_samples=3000, random_state=0)
    assert found.standard_error is not None
    assert np.abs((found.values - exact.values) / found.standard_error).max() < 4.5


def test_parts_are_sampled_apart_and_a_mixture_of_one_draws_what_the_game_draws() -> None:
    data = task(6, n=15)
    alone = flat.value(*data, utility="soft", method="coalitions", n_samples=50, random_state=0)
    once = flat.value(*data, utility=1.0 * Soft(), method="coalitions", n_samples=50, random_state=0)
    twice = flat.value(*data, utility=0.5 * Soft() + 0.5 * Soft(), method="coalitions", n_samples=50, random_state=0)
    assert_array_equal(once.values, alone.values)
    assert not np.array_equal(twice.values, alone.values)


@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley"])
@pytest.mark.parametrize("terms", MIXES)
def test_owners_play_mixtures(terms: list[tuple[float, Game]], semivalue: str) -> None:
    data, owners = task(7), np.arange(60) % 5
    how: dict[str, Any] = {"k": 3, "semivalue": semivalue}
    mixed = flat.value_owners(*data, owners, utility=mix(terms), **how)
    parts = [(w, flat.value_owners(*data, owners, utility=game, **how)) for w, game in terms]
    assert_allclose(mixed.values, sum(w * part.values for w, part in parts), atol=1e-13)
    assert_allclose(mixed.full_utility, sum(w * part.full_utility for w, part in parts), atol=1e-13)
    alone = flat.value_owners(*data, np.arange(60), utility=mix(terms), **{**how, "k": 2})
    assert_allclose(alone.values, flat.value(*data, utility=mix(terms), **{**how, "k": 2}).values, atol=1e-12)


def test_short_lists_of_owners_keep_the_bound_of_a_mixture() -> None:
    rng = np.random.default_rng(8)
    game, worst = Hard() - 2 * Soft(), 0.0
    for _ in range(10):
        y, owners, order = rng.integers(0, 2, 24), np.arange(24) % 6, rng.permutation(24)[np.newaxis]
        whole = flat.value_owners_from_neighbors(order, owners, y, [0], k=3, utility=game)
        short = flat.value_owners_from_neighbors(order[:, :7], owners, y, [0], k=3, utility=game)
        assert short.error_bound is not None
        worst = max(worst, float(np.abs(short.values - whole.values).max()))
        assert np.abs(short.values - whole.values).max() <= short.error_bound
    assert worst > 1e-3


@pytest.mark.parametrize("method", ["coalitions", "permutations"])
def test_mixtures_of_owners_are_sampled(method: str) -> None:
    data, owners = task(9, n_queries=3), np.arange(60) % 5
    game = 0.5 * Hard() - 2 * Soft()
    exact = flat.value_owners(*data, owners, utility=game, k=3)
    found = flat.value_owners(*data, owners, utility=game, k=3, method=method, n_samples=3000, random_state=0)
    assert found.standard_error is not None
    assert np.abs((found.values - exact.values) / found.standard_error).max() < 4.5


@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley"])
def test_radii_are_mixed_by_one_search(semivalue: str) -> None:
    data = task(10)
    terms: list[tuple[float, Game]] = [(0.5, Threshold(0.8)), (-2.0, Threshold(2.0, empty=0.0)), (1.0, Threshold(0.8))]
    for some in (terms, terms[:1], terms[::2]):
        mixed = pivotal.value(*data, utility=mix(some), semivalue=semivalue)
        parts = [(w, pivotal.value(*data, utility=game, semivalue=semivalue)) for w, game in some]
        assert_allclose(mixed.values, sum(w * part.values for w, part in parts), atol=1e-14)
        assert_allclose(mixed.full_utility, sum(w * part.full_utility for w, part in parts), atol=1e-14)
        assert_allclose(mixed.empty_utility, sum(w * part.empty_utility for w, part in parts), atol=1e-14)
    X, y = data[:2]
    each = pivotal.KNNValuation(utility=mix(terms)).fit(X, y).update()  # points value each other
    alone = [w * pivotal.KNNValuation(utility=game).fit(X, y).update().values_ for w, game in terms]
    assert_allclose(each.values_, sum(alone), atol=1e-14)


def test_many_points_within_the_largest_radius_are_told_apart() -> None:
    rng = np.random.default_rng(11)
    X, Q = rng.normal(size=(700, 2)), rng.normal(size=(40, 2))  # balls longer than the first lists
    y, t = rng.integers(0, 3, 700), rng.integers(0, 3, 40)
    game = Threshold(0.3) + 3 * Threshold(1.5)
    expected = [pivotal.value(X, y, Q, t, utility=part).values for _, part in game.parts()]
    assert_allclose(pivotal.value(X, y, Q, t, utility=game).values, expected[0] + 3 * expected[1], atol=1e-14)


def test_what_cannot_be_mixed_says_so() -> None:
    with pytest.raises(ValueError, match="must have one task; got classification and regression"):
        Hard() + Regression()
    with pytest.raises(ValueError, match="or all by those within a radius; got both"):
        0.5 * Threshold(0.5) + 0.5 * Soft()
    several = 0.5 * Threshold(0.5) + 0.5 * Threshold(1.0)
    with pytest.raises(ValueError, match="got lists without distances"):
        pivotal.value_from_neighbors([[0, 1]], [0, 1], [0], utility=several)
    with pytest.raises(ValueError, match="labels do not say who is within which"):
        several.utility([0], None, 0, [0, 1], 1)
    with pytest.raises(ValueError, match="owners play mixtures of games of the k nearest"):
        flat.value_owners(*task(0), np.arange(60) % 3, utility=several)
    with pytest.raises(TypeError, match="finite number; got 'two'"):
        Hard() * "two"  # type: ignore[operator]
    with pytest.raises(TypeError, match="finite number; got nan"):
        float("nan") * Hard()
    with pytest.raises(TypeError):
        Hard() + 1  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"Use pivotal.value_retrieval"):
        pivotal.value(*task(0), utility=pivotal.NDCG())
    with pytest.raises(ValueError, match="takes unweighted"):
        pivotal.value(*task(0), utility=Hard() + Plurality(), weights="distance")


def test_mixtures_of_mixtures_are_flat_and_have_words() -> None:
    game = 2 * (0.5 * Hard() + Soft()) - Plurality()
    assert [weight for weight, _ in game.parts()] == [1.0, 2.0, -1.0]
    assert str(game) == "1 * hard + 2 * soft + -1 * plurality"
    assert game == 2 * (0.5 * Hard() + Soft()) - Plurality()
