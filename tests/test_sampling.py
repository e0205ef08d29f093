"""Sampled values: unbiased for every game and semivalue, with standard errors that tell the truth."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import flat
import reference
from effort import examples
from pivotal import Values, value, value_from_neighbors
from pivotal.core.games import Game, Hard, Plurality, Regression, Soft
from pivotal.core.plan import as_plan
from pivotal.core.semivalues import Banzhaf, BetaShapley, LeaveOneOut, Measure, Semivalue, Shapley, as_semivalue
from pivotal.core.spec import Spec
from pivotal.engine.game_shape import GameShape
from pivotal.engine.sampling import SamplingEngine
from strategies import SmallGame, build_game, measures, semivalues, small_games, small_regressions, utilities

SAMPLERS = ["coalitions", "permutations"]
both = pytest.mark.parametrize("method", SAMPLERS)


def sample(
    game: SmallGame, utility: Game, semivalue: str | Semivalue, method: str, seed: int, n_samples: int, **more: Any
) -> Values:
    votes = None if set(game.votes) == {1} else [game.votes]
    return flat.value_from_neighbors(
        [range(game.n)],
        game.labels,
        [game.target],
        k=game.k,
        votes=votes,
        classes=game.classes or None,
        utility=utility,
        semivalue=semivalue,
        method=method,
        n_samples=n_samples,
        random_state=seed,
        n_jobs=1,
        **more,
    )


def enumerate_exactly(game: SmallGame, name: str, law: tuple, options: dict | None = None) -> np.ndarray:
    exact = reference.semivalues(
        game.labels, game.target, game.k, name, law, votes=game.votes, classes=game.classes or None, **(options or {})
    )
    return np.array([float(v) for v in exact])


def assert_near(values: Values, exact: np.ndarray, errors: float = 5.0) -> None:
    assert values.standard_error is not None
    away = np.abs(values.values - exact)
    assert (away <= errors * values.standard_error + 1e-12 * max(1.0, np.abs(exact).max())).all(), (values, exact)


@pytest.mark.kernels
@both
@given(game=small_games(max_n=6), utility=utilities(), semivalue=semivalues(), seed=st.integers(0, 2**64))
@examples(60, derandomize=True)
@example(SmallGame([0], [1], 0, [0], 3), ("hard", {}), ("banzhaf", ("banzhaf",)), 0)
@example(SmallGame([1, 1, 1], [0, 0, 0], 0, [0, 1], 2), ("soft", {}), ("shapley", ("shapley",)), 0)
def test_every_game_is_estimated(method: str, game: SmallGame, utility: tuple, semivalue: tuple, seed: int) -> None:
    name, options = utility
    if name == "soft-k":
        game = SmallGame(game.labels, [1] * game.n, game.target, game.classes, game.k)
    exact = enumerate_exactly(game, name, semivalue[1], options)
    # Six errors: hypothesis looks for the worst of many seeds.
    assert_near(sample(game, build_game(name, options), semivalue[0], method, seed, 200), exact, errors=6.0)


@pytest.mark.kernels
@both
@given(game=small_regressions(max_n=6), semivalue=semivalues(), seed=st.integers(0, 2**64))
@examples(30, derandomize=True)
def test_regression_is_estimated(method: str, game: SmallGame, semivalue: tuple, seed: int) -> None:
    exact = enumerate_exactly(game, "regression", semivalue[1])
    assert_near(sample(game, Regression(), semivalue[0], method, seed, 200), exact, errors=6.0)


@both
@given(game=small_games(max_n=6), measure=measures(), seed=st.integers(0, 2**64))
@examples(30, derandomize=True)
def test_any_measure_is_estimated(method: str, game: SmallGame, measure: tuple, seed: int) -> None:
    spoken, law = measure
    exact = enumerate_exactly(game, "hard", law)
    assert_near(sample(game, Hard(), Measure(*spoken), method, seed, 200), exact, errors=6.0)


LABELS = [0, 1, 2, 0, 1, 0, 2, 1]
VOTES = [7, 6, 6, 4, 3, 2, 1, 0]
CASES = {
    "hard": ("hard", {}),
    "hard, ties win": ("hard", {"tie": "win"}),
    "hard, absent": ("hard", {"other_classes": "ignore", "scale": "sum"}),
    "hard, absent, ties win": ("hard", {"other_classes": "ignore", "tie": "win"}),
    "plurality": ("plurality", {}),
    "soft": ("soft", {}),
    "soft-k": ("soft-k", {"empty": Fraction(1, 4)}),
    "regression": ("regression", {}),
}
MEASURES = {
    "banzhaf": (Banzhaf(), ("banzhaf",)),
    "banzhaf(0.25)": (Banzhaf(0.25), ("banzhaf", Fraction(1, 4))),
    "shapley": (Shapley(), ("shapley",)),
    "beta(4,1)": (BetaShapley(4, 1), ("beta", 4, 1)),
    "beta(2,3)": (BetaShapley(2, 3), ("beta", 2, 3)),
    "measure": (Measure([0.125, 0.75], [0.5, 0.5]), ("nodes", [(Fraction(p), Fraction(1, 2)) for p in (0.125, 0.75)])),
    "loo": (LeaveOneOut(), ("loo",)),
}


@cache
def play(utility: str, weighted: bool, semivalue: str) -> tuple[SmallGame, np.ndarray]:
    """Return a game and its exact values."""
    name, options = CASES[utility]
    game = SmallGame(LABELS, VOTES if weighted else [1] * 8, 0, [0, 1, 2, 3], k=3)
    if name == "regression":
        game = SmallGame([y / 2 for y in LABELS], game.votes, 0.75, [], k=3)
    return game, enumerate_exactly(game, name, MEASURES[semivalue][1], options)


@both
@pytest.mark.parametrize("semivalue", MEASURES)
@pytest.mark.parametrize(
    ("utility", "weighted"),
    [(utility, weighted) for utility in CASES for weighted in (False, True) if (utility, weighted) != ("soft-k", True)],
)
def test_the_mean_over_many_seeds_is_the_value(utility: str, semivalue: str, weighted: bool, method: str) -> None:
    game, exact = play(utility, weighted, semivalue)
    rules, measure = build_game(*CASES[utility]), MEASURES[semivalue][0]
    runs = [sample(game, rules, measure, method, seed, 1200) for seed in range(8)]
    mean = np.mean([run.values for run in runs], axis=0)
    error = np.sqrt(np.mean([run.standard_error**2 for run in runs], axis=0) / len(runs))
    # Eight times 1200 samples; the errors that single runs state must fit how far the runs scatter.
    assert (np.abs(mean - exact) <= 5 * error + 1e-12).all()
    scatter = np.std([run.values for run in runs], axis=0, ddof=1)
    assert (scatter <= 2.0 * error * np.sqrt(len(runs)) + 1e-12).all()


def iris(n_train: int = 40, n_test: int = 20) -> tuple[np.ndarray, ...]:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return X[train], y[train], X[test], y[test]


@both
@pytest.mark.parametrize(
    "how",
    [
        {"semivalue": "banzhaf", "n_samples": 2000},
        {"semivalue": "shapley", "utility": "soft", "n_samples": 100},
        {"semivalue": "beta(4,1)", "weights": "distance", "n_samples": 400},
        {"semivalue": "shapley", "utility": "plurality", "target_se": 0.003},
    ],
    ids=["banzhaf", "soft shapley", "weighted beta", "to a target"],
)
def test_intervals_cover_the_truth_as_often_as_they_say(how: dict[str, Any], method: str) -> None:
    exact = flat.value(
        *iris(), k=3, **{name: how[name] for name in how if name not in ("target_se", "n_samples")}
    ).values
    covered = []
    for seed in range(40):
        low, high = flat.value(*iris(), k=3, method=method, random_state=seed, n_jobs=1, **how).interval(
            0.95, queries=False
        )
        covered.append((low <= exact) & (exact <= high))
    # Forty runs of forty points, which are related: chance alone makes it one percent more or less.
    assert 0.93 <= np.mean(covered) <= 0.97


def test_errors_shrink_with_the_root_of_the_samples() -> None:
    few = flat.value(*iris(), method="coalitions", n_samples=200, random_state=0)
    many = flat.value(*iris(), method="coalitions", n_samples=20_000, random_state=0)
    assert few.standard_error is not None
    assert many.standard_error is not None
    np.testing.assert_allclose(np.median(few.standard_error / many.standard_error), 10.0, rtol=0.15)


def test_a_point_that_was_never_seen_to_matter_keeps_an_error() -> None:
    # Rank 12 of twelve counts if nobody of the eleven nearer ones joined, or nobody of another class: too rare to see.
    labels = [0] * 11 + [1]
    sampled = flat.value_from_neighbors(
        [range(12)], labels, [0], k=1, method="coalitions", n_samples=100, random_state=0, tol=0
    )
    exact = value_from_neighbors([range(12)], labels, [0], k=1, tol=0).values
    assert sampled.values[-1] == 0.0
    low, high = sampled.interval()
    assert (low <= exact).all()
    assert (exact <= high).all()
    assert sampled.standard_error is not None
    assert sampled.standard_error[-1] == pytest.approx(1 / 100)


def test_points_in_no_list_have_the_bound_alone() -> None:
    sampled = flat.value_from_neighbors([[2, 0]], [0, 1, 0, 1], [0], k=1, method="coalitions", random_state=0)
    assert sampled.standard_error is not None
    np.testing.assert_array_equal(sampled.standard_error == 0.0, [False, True, False, True])
    exact = value_from_neighbors([[2, 0]], [0, 1, 0, 1], [0], k=1)
    assert sampled.bias_bound == exact.error_bound > 0.1


def test_leave_one_out_has_one_coalition_and_no_error() -> None:
    exact = value(*iris(), k=3, semivalue="loo")
    sampled = flat.value(*iris(), k=3, semivalue="loo", method="coalitions", n_samples=2, random_state=0)
    np.testing.assert_allclose(sampled.values, exact.values, atol=1e-15)
    assert sampled.standard_error is not None
    assert sampled.standard_error.max() == 0.0


@both
def test_a_target_is_met(method: str) -> None:
    sampled = flat.value(*iris(), k=3, method=method, target_se=0.001, random_state=0)
    assert sampled.standard_error is not None
    assert 0.0005 < sampled.standard_error.max() <= 0.001
    fewest, most = sampled.details["n_samples"]
    assert fewest == most > 256


def test_the_first_limit_counts() -> None:
    capped = flat.value(*iris(), k=3, method="coalitions", target_se=1e-9, n_samples=700, random_state=0)
    assert tuple(capped.details["n_samples"]) == (700, 700)
    easy = flat.value(*iris(), k=3, method="coalitions", target_se=0.5, n_samples=700, random_state=0)
    assert tuple(easy.details["n_samples"]) == (256, 256)


def test_time_is_up_but_every_query_is_sampled_once() -> None:
    hasty = flat.value(*iris(), k=3, method="coalitions", max_time=1e-9, random_state=0)
    assert tuple(hasty.details["n_samples"]) == (256, 256)
    patient = flat.value(*iris(), k=3, method="coalitions", max_time=0.3, random_state=0)
    assert patient.details["n_samples"][0] > 256
    assert patient.n_queries == hasty.n_queries == 20


@both
@pytest.mark.parametrize("limit", [{"n_samples": 600}, {"target_se": 0.005}], ids=["samples", "target"])
@pytest.mark.parametrize("utility", [Hard(), Hard(other_classes="ignore"), Soft()], ids=["hard", "absent", "soft"])
def test_threads_and_blocks_change_no_bit(limit: dict, utility: Game, method: str) -> None:
    how: dict[str, Any] = {"k": 3, "utility": utility, "method": method, **limit}
    first = flat.value(*iris(), n_jobs=1, random_state=7, **how)
    for n_jobs, block_size in ((2, None), (1, 3), (2, 7), (2, 1)):
        again = flat.value(*iris(), n_jobs=n_jobs, block_size=block_size, random_state=7, **how)
        assert again.equals(first)
    other = flat.value(*iris(), n_jobs=1, random_state=8, **how)
    assert not np.array_equal(other.values, first.values)


@both
def test_lists_of_different_lengths(method: str) -> None:
    # With third classes omitted, a query needs as long a list as its rarest pair of classes demands.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.choice(4, size=300, p=[0.6, 0.3, 0.07, 0.03])
    how: dict[str, Any] = {"k": 2, "utility": Hard(other_classes="ignore"), "tol": 1e-2}
    exact = flat.value(X, y, X[:12], y[:12], **how)
    first = flat.value(X, y, X[:12], y[:12], method=method, random_state=0, n_jobs=1, block_size=1, **how)
    assert first.bias_bound == exact.error_bound
    assert_near(first, exact.values)
    assert flat.value(X, y, X[:12], y[:12], method=method, random_state=0, block_size=5, **how).equals(first)


def test_a_pass_that_runs_out_of_time_does_not_count() -> None:
    labels = np.array([0, 1, 0], dtype=np.int32)
    plan = as_plan("coalitions", max_time=1e6, random_state=0)
    engine = SamplingEngine(Spec.of(k=1, tol=0.0), labels, GameShape(3, 2, 3), plan=plan)
    indices, targets = np.array([[0, 1, 2], [2, 1, 0]]), np.array([0, 1], dtype=np.int32)
    passes = engine.passes(2)
    assert next(passes).add(indices, None, targets)
    before = engine.values()
    assert next(passes).add(indices[:1], None, targets[:1])  # and no more of it
    assert list(passes) == []
    np.testing.assert_array_equal(engine.values(), before)
    assert engine.n_queries == 2


def test_without_a_seed_no_two_runs_agree() -> None:
    one, two = (flat.value(*iris(), method="coalitions", n_samples=50) for _ in range(2))
    assert not np.array_equal(one.values, two.values)
    assert one.details["random_state"] is None


def test_generators_are_seeds_too() -> None:
    one, two = (flat.value(*iris(), method="coalitions", random_state=np.random.default_rng(3)) for _ in range(2))
    assert one.equals(two)


@pytest.mark.parametrize("limit", [{"n_samples": 300}, {"target_se": 0.01}], ids=["samples", "target"])
def test_batches_of_queries_add_up(limit: dict) -> None:
    X, y, queries, targets = iris()
    model = flat.KNNValuation(3, method="coalitions", random_state=1, **limit).fit(X, y)
    model.update(queries[:8], targets[:8]).update(queries[8:], targets[8:])
    exact = value(X, y, queries, targets, k=3)
    assert model.n_queries_ == 20
    assert_near(model.result_, exact.values)
    assert model.result_.full_utility == pytest.approx(exact.full_utility)
    if "n_samples" in limit:
        whole = flat.KNNValuation(3, method="coalitions", random_state=1, **limit).fit(X, y).update(queries, targets)
        assert model.result_.equals(whole.result_)
    else:
        assert model.result_.standard_error is not None
        assert model.result_.standard_error.max() <= 0.01


def test_points_may_value_each_other() -> None:
    X, y, *_ = iris()
    assert_near(flat.value(X, y, k=3, method="permutations", random_state=0), value(X, y, k=3).values)


def test_truncation_costs_the_same_as_for_exact_values() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    for semivalue, tol in (("banzhaf", 1e-3), ("shapley", 0.1)):
        how = {"k": 3, "semivalue": semivalue, "tol": tol}
        exact = flat.value(X, y, X[:5], y[:5], **how)
        whole = value(X, y, X[:5], y[:5], k=3, semivalue=semivalue, tol=0)
        for method in SAMPLERS:
            sampled = flat.value(X, y, X[:5], y[:5], method=method, n_samples=3000, random_state=0, **how)
            assert sampled.error_bound is sampled.bound_given_neighbors is None
            assert sampled.bias_bound == exact.error_bound
            assert sampled.details["depth"] == exact.details["depth"] < 300
            assert_near(sampled, exact.values)
            assert sampled.bias_bound is not None
            assert sampled.standard_error is not None
            away = np.abs(sampled.values - whole.values)
            assert (away <= sampled.bias_bound + 5 * sampled.standard_error).all()


def test_long_lists_need_no_truncation() -> None:
    # The cost of a coalition does not depend on n: a hundred thousand ranks, all of them in the game.
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 100_000)
    how: dict[str, Any] = {"k": 5, "semivalue": "shapley"}
    exact = flat.value_from_neighbors([range(100_000)], labels, [1], **how)
    sampled = flat.value_from_neighbors([range(100_000)], labels, [1], method="coalitions", random_state=0, **how)
    assert sampled.details["depth"] == 100_000
    assert_near(sampled, exact.values, errors=6.0)  # the largest of many


def test_settings_tell_how() -> None:
    sampled = flat.value(*iris(), k=3, method="permutations", n_samples=20, random_state=5)
    told = {name: sampled.details[name] for name in ("method", "n_samples", "random_state")}
    assert told == {"method": "permutations", "n_samples": (20, 20), "random_state": 5}
    assert value(*iris()).settings["method"] == "exact"


def test_weighted_plurality_can_be_sampled() -> None:
    game = SmallGame([0, 1, 2, 1, 0, 2], [5, 4, 4, 2, 2, 1], 1, [0, 1, 2], 4)
    exact = enumerate_exactly(game, "plurality", ("banzhaf",))
    assert_near(sample(game, Plurality(), "banzhaf", "coalitions", 0, 2000), exact)


def test_constant_contributions_have_no_deviation() -> None:
    # Sums of squares would lose all digits here: a large contribution that is the same in every sample.
    sampled = flat.value_from_neighbors(
        [[0]], [3.1e7], [3.1e7], utility="regression", method="permutations", n_samples=1000, random_state=0
    )
    assert sampled.values[0] == (3.1e7) ** 2
    assert sampled.standard_error is not None
    # All that remains is what might have gone unseen: one contribution of that size in a thousand.
    assert sampled.standard_error[0] == pytest.approx((3.1e7) ** 2 / 1000)


def test_semivalue_of_ones_own_by_permutations() -> None:
    class Halves(Semivalue):
        name = "halves"

        def joined(self, n: Any, s: int) -> np.ndarray:
            return np.asarray((Banzhaf(0.25).joined(n, s) + Banzhaf(0.75).joined(n, s)) / 2)

        def mass(self, a: int, b: int) -> float:
            return (Banzhaf(0.25).mass(a, b) + Banzhaf(0.75).mass(a, b)) / 2

    exact = value(*iris(), k=3, semivalue=Measure([0.25, 0.75], [0.5, 0.5]), tol=0)
    assert_near(
        flat.value(*iris(), k=3, semivalue=Halves(), method="permutations", tol=0, random_state=0), exact.values
    )
    with pytest.raises(TypeError, match=r'coalitions are drawn from a semivalue whose p.*method="permutations"'):
        value(*iris(), k=3, semivalue=Halves(), method="coalitions")


def test_games_of_ones_own_cannot_be_sampled() -> None:
    class Mine(Soft):
        pass

    class Other(Game):
        def utility(self, *_: Any) -> Fraction:
            return Fraction(0)

        def full_utility(self, labels: np.ndarray, *_: Any) -> np.ndarray:
            return np.zeros(len(labels))

    assert flat.value(*iris(), utility=Mine(), method="coalitions", n_samples=2).n_queries == 20
    with pytest.raises(TypeError, match="sampling knows the games Hard, Plurality, Soft and Regression; got"):
        value(*iris(), utility=Other(), method="coalitions")


def test_semivalues_by_name() -> None:
    one = flat.value(*iris(), semivalue="beta(4,1)", method="coalitions", random_state=0)
    two = flat.value(*iris(), semivalue=as_semivalue("beta(4,1)"), method="coalitions", random_state=0)
    assert one.equals(two)


def test_heavy_weights_that_were_not_drawn_are_reckoned_with() -> None:
    # Few orders of forty points: what contributes are small coalitions, which count next to nothing for Banzhaf.
    labels = [0] * 6 + [1] + [0] * 33
    sampled = flat.value_from_neighbors(
        [range(40)], labels, [0], method="permutations", n_samples=50, random_state=0, tol=0
    )
    exact = value_from_neighbors([range(40)], labels, [0], tol=0).values
    assert np.abs(sampled.values).max() < 0.01
    low, high = sampled.interval()
    assert (low <= exact).all()
    assert (exact <= high).all()
    assert sampled.standard_error is not None
    assert sampled.standard_error.min() > 1 / 50
