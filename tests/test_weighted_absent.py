"""Weighted votes where third classes are taken out first: the convention of Wang, Mittal and Jia, and of shapiq."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import flat
import pivotal
import reference
from effort import examples
from pivotal import conventions
from pivotal.core.games import Hard
from strategies import SmallGame, semivalues, small_games

K = 3
POSITIONS = np.arange(1, 7)
LABELS = [1, 0, 2, 1, 2, 0]  # the query, at 0, is of class 1
TIES = st.sampled_from(["lose", "win"])
SCALES = st.sampled_from(["mean", "sum"])


def values_of(game: SmallGame, utility: Hard, semivalue: str) -> pivotal.Values:
    return pivotal.value_from_neighbors(
        [range(game.n)],
        game.labels,
        [game.target],
        k=game.k,
        votes=[game.votes],
        utility=utility,
        semivalue=semivalue,
        classes=game.classes,
        n_jobs=1,
    )


@pytest.mark.kernels
@given(game=small_games(7, weighted=True), tie=TIES, scale=SCALES, semivalue=semivalues())
@examples(60)
def test_values_equal_enumeration(game: SmallGame, tie: Any, scale: Any, semivalue: tuple[str, Any]) -> None:
    options = {"tie": tie, "other_classes": "ignore", "scale": scale}
    values = values_of(game, Hard(**options), semivalue[0])
    exact = reference.semivalues(
        game.labels, game.target, game.k, "hard", semivalue[1], game.votes, game.classes, **options
    )
    assert_allclose(values.values, [float(value) for value in exact], rtol=0, atol=values.error_bound)
    full_utility = reference.earnings(game.labels, game.votes, game.target, game.classes, game.k, "hard", **options)
    assert_allclose(values.full_utility, float(full_utility), rtol=1e-15)
    assert values.empty_utility == 0.0


@given(game=small_games(7, weighted=True, max_classes=4), tie=TIES)
@examples(30)
def test_each_wrong_class_plays_on_its_own_list(game: SmallGame, tie: Any) -> None:
    utility = Hard(tie=tie, other_classes="ignore", scale="sum")
    total = np.zeros(game.n)
    for wrong in set(game.classes) - {game.target}:
        own = [i for i, label in enumerate(game.labels) if label in (game.target, wrong)]
        if own:
            pair = SmallGame(
                [game.labels[i] for i in own],
                [game.votes[i] for i in own],
                game.target,
                sorted({game.target, wrong}),
                game.k,
            )
            total[own] += values_of(pair, Hard(tie=tie), "shapley").values
    if len(game.classes) > 1:
        assert_allclose(values_of(game, utility, "shapley").values, total, rtol=0, atol=1e-12)


# What shapiq's WeightedKNNExplainer gives. With zeros among the votes it is the same game: they take places.
FAR = np.array([1.0, 2, 3, 4, 20, 30, 40, 50])
PEER = {
    "3 bits": (POSITIONS, LABELS, 3, [0.833333, -0.083333, -0.083333, 0.333333, 0, 0]),
    "7 bits": (POSITIONS, LABELS, 7, [0.833333, -0.083333, -0.083333, 0.333333, 0, 0]),
    "votes of zero": (
        FAR,
        [1, 0, 2, 1, 2, 0, 1, 0],
        3,
        [0.683333, -0.166667, -0.15, 0.183333, 0.1, 0.083333, 0.183333, 0.083333],
    ),
}


@pytest.mark.parametrize(("positions", "labels", "bits", "expected"), PEER.values(), ids=PEER)
def test_values_are_those_of_shapiq(positions: Any, labels: list[int], bits: int, expected: list[float]) -> None:
    values = pivotal.value_from_neighbors(
        [range(len(labels))],
        labels,
        [1],
        k=K,
        votes=conventions["shapiq"].votes([positions], bits),
        utility="shapiq",
        semivalue="shapley",
    )
    assert_allclose(values.values, expected, rtol=0, atol=5e-7)


def test_votes_are_rounded_as_in_the_sources() -> None:
    shapiq, wang = conventions["shapiq"], conventions["wang2024"]
    assert shapiq.votes([POSITIONS]).tolist() == [[8, 4, 3, 2, 2, 1]]
    assert shapiq.votes([POSITIONS], bits=7).tolist() == [[128, 64, 43, 32, 26, 21]]
    assert shapiq.votes([[0, 0, 1, 2]]).tolist() == [[8, 8, 0, 0]]
    assert wang.votes([POSITIONS], bits=7, temperature=0.5).tolist() == [[127, 91, 65, 47, 33, 24]]
    assert wang.votes([[0, 0], [0, 9]], bits=2).tolist() == [[3, 3], [3, 0]]
    assert wang.votes([[1, 2]], temperature=1e-300).tolist() == [[7, 0]]
    assert conventions["jia2019"].votes([[1, 2]]).tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            "shapiq",
            {"distances": [1.0, 2.0]},
            r"distances must have a row per query and a column per point; got shape \(2,\)",
        ),
        ("shapiq", {"distances": [[1.0, np.nan]]}, r"distances must be finite and at least 0; got nan"),
        ("shapiq", {"distances": [[-1.0]]}, r"distances must be finite and at least 0; got -1"),
        ("shapiq", {"distances": [[1.0]], "bits": 0}, r"bits must be"),
        ("wang2024", {"distances": [[1.0]], "temperature": 0.0}, r"temperature must be a finite number above 0; got 0"),
        ("zhang2026", {"distances": [[1.0]]}, r"'zhang2026' leaves the weights to you"),
    ],
)
def test_distances_that_make_no_votes_are_refused(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conventions[name].votes(**arguments)


def test_equal_votes_are_those_of_wang_without_weights() -> None:
    # Votes of 2 take the tables where votes of 1 take the closed form; the published values are sums over classes.
    published = [1.333333, -0.166667, -0.166667, 1.333333, -0.166667, -0.166667]
    for vote in (1, 2):
        values = pivotal.value_from_neighbors(
            [range(6)], LABELS, [1], k=K, votes=[[vote] * 6], utility="wang2024", semivalue="shapley"
        )
        assert_allclose(values.values, published, rtol=0, atol=5e-7)


def test_wang_votes_are_played_by_definition_with_three_classes() -> None:
    votes = conventions["wang2024"].votes([POSITIONS], bits=7, temperature=0.5)
    values = pivotal.value_from_neighbors(
        [range(6)], LABELS, [1], k=K, votes=votes, utility="wang2024", semivalue="shapley"
    ).values
    options = {"other_classes": "ignore", "scale": "sum"}
    exact = reference.semivalues(LABELS, 1, K, "hard", ("shapley",), votes[0].tolist(), **options)
    assert_allclose(values, [float(value) for value in exact], rtol=0, atol=1e-13)


def test_classes_without_members_are_games_like_any_other() -> None:
    known = {"labels": [0, 1, 0], "votes": [3, 2, 1], "target": 0, "k": 2}
    several = SmallGame(classes=[0, 1, 2, 3, 4], **known)  # type: ignore[arg-type]
    two = SmallGame(classes=[0, 1], **known)  # type: ignore[arg-type]
    against_nobody = SmallGame(labels=[0, 0], votes=[3, 1], target=0, classes=[0, 1], k=2)
    utility = Hard(other_classes="ignore", scale="sum")
    expected = values_of(two, utility, "banzhaf").values.copy()
    expected[[0, 2]] += 3 * values_of(against_nobody, utility, "banzhaf").values
    assert_allclose(values_of(several, utility, "banzhaf").values, expected, rtol=0, atol=1e-15)


def crowd(n: int = 240, seed: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(0, 4, n), rng.normal(size=(6, 2)), rng.integers(0, 4, 6)


@pytest.mark.parametrize(("weights", "tie"), [("distance", "lose"), ("rbf", "win")])
def test_short_lists_keep_their_promise(weights: str, tie: Any) -> None:
    data = crowd()
    settings = {"k": 2, "utility": Hard(tie=tie, other_classes="ignore"), "weights": weights, "bits": 3, "n_jobs": 1}
    whole = flat.value(*data, tol=0.0, **settings)
    short = flat.value(*data, tol=1e-3, **settings)
    assert short.details["depth"] < whole.details["depth"] == 240
    assert whole.error_bound < 1e-13
    assert short.error_bound < 2e-3
    assert 0 < np.abs(short.values - whole.values).max() <= short.error_bound


def test_results_depend_on_neither_threads_nor_blocks() -> None:
    data = crowd(100)
    settings = {"k": 3, "utility": Hard(other_classes="ignore"), "weights": "distance", "bits": 4}
    once = flat.value(*data, n_jobs=1, **settings)
    for changes in ({"n_jobs": 2}, {"block_size": 1}, {"block_size": 4}):
        assert_array_equal(flat.value(*data, **{"n_jobs": 1, **changes}, **settings).values, once.values)


def test_points_value_each_other() -> None:
    X, y, _, _ = crowd(25)
    settings = {"k": 2, "utility": Hard(other_classes="ignore"), "weights": "distance", "bits": 3, "n_jobs": 1}
    values = flat.value(X, y, semivalue="shapley", tol=0.0, **settings)
    total = np.zeros(25)
    for i in range(25):
        others = np.arange(25) != i
        query = X[i : i + 1], y[i : i + 1]
        total[others] += flat.value(
            X[others], y[others], *query, semivalue="shapley", tol=0.0, classes=range(4), **settings
        ).values
    assert_allclose(values.values, total / 25, rtol=0, atol=1e-13)
    assert_allclose(values.values.sum(), values.full_utility, rtol=1e-12)
