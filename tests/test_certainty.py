"""How sure values are: intervals hold what they say, signs are seldom wrong, and both say what they rest on."""

from __future__ import annotations

import numpy as np
import pytest

import flat
import pivotal
from pivotal import Values
from pivotal.results.certainty import _adjusted


def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, 4)) + 1.2 * np.eye(3, 4)[y], y


@pytest.fixture(scope="module")
def many() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Values of 300 training points for each of 6000 test points, by game; some labels are wrong."""
    rng = np.random.default_rng(0)
    X, y = draw(300, rng)
    y[:25] = rng.integers(0, 3, 25)
    X_test, y_test = draw(6000, rng)
    games = {"soft": {"utility": "soft"}, "shapley": {"utility": "soft", "semivalue": "shapley"}, "hard": {}}
    found = {}
    for name, game in games.items():
        rows = flat.value(X, y, X_test, y_test, per_query=True, **game).per_query.toarray()
        found[name] = rows, rows.mean(axis=0)
    return found


def of_rows(rows: np.ndarray, **more: object) -> Values:
    errors = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
    return Values(rows.mean(axis=0), n_queries=len(rows), error_bound=0.0, query_standard_error=errors, **more)


@pytest.mark.parametrize("game", ["soft", "shapley", "hard"])
@pytest.mark.parametrize("n", [50, 200, 1000])
def test_intervals_hold_the_value_over_all_test_points(many, game, n):
    """Test sets drawn from a large one: 95 % of the intervals, or more, hold what the large one says."""
    rows, true = many[game]
    rng = np.random.default_rng(1)
    for level in (0.8, 0.95):
        held = []
        for _ in range(30):
            low, high = of_rows(rows[rng.choice(len(rows), n, replace=False)]).interval(level)
            held.append(np.mean((low <= true) & (true <= high)))
        assert np.mean(held) > level - 0.01
    # They are no wider than they need be where there are many queries.
    if n == 1000:
        assert np.mean(held) < 0.99


@pytest.mark.parametrize("game", ["soft", "shapley", "hard"])
def test_signs_are_seldom_wrong(many, game):
    rows, true = many[game]
    rng = np.random.default_rng(2)
    wrong, told = 0, 0
    for _ in range(30):
        signs = of_rows(rows[rng.choice(len(rows), 1500, replace=False)]).sign().signs
        told += int((signs != 0).sum())
        wrong += int((signs[signs != 0] != np.sign(true[signs != 0])).sum())
    assert told > 30 * 20
    assert wrong <= 0.05 * told


def test_signs_of_noise_are_not_told():
    """Every true value is 0: any sign told is wrong, and there is one in at most a twentieth of the runs."""
    rng = np.random.default_rng(3)
    runs = [len(of_rows(rng.standard_normal((200, 400))).sign().unknown) < 400 for _ in range(60)]
    assert np.mean(runs) <= 0.12


def test_half_as_much_again_is_needed_as_is_said(many):
    """With as many queries as are said to settle half of the open signs, about half of them are settled."""
    rows, _ = many["soft"]
    before = of_rows(rows[:700]).sign()
    needed = before.queries_needed(0.3)
    assert 700 < needed < 6000
    after = of_rows(rows[: int(needed)]).sign()
    settled = np.mean(after.signs[before.unknown] != 0)
    assert 0.1 < settled < 0.6


def test_what_is_covered_is_said():
    exact = Values([0.5, -0.5], n_queries=10, error_bound=0.01)
    assert exact.interval().covers == "truncation, integration and rounding"
    sampled = Values([0.5, -0.5], n_queries=10, error_bound=0.01, standard_error=[0.1, 0.1])
    assert sampled.interval().covers == "sampling, truncation, integration and rounding"
    both = Values(
        [0.5, -0.5], n_queries=10, error_bound=0.01, standard_error=[0.1, 0.1], query_standard_error=[0.2, 0.2]
    )
    whole, these = both.interval(), both.interval(queries=False)
    assert whole.covers == "the choice of the queries, sampling, truncation, integration and rounding"
    assert these.covers == sampled.interval().covers
    assert (whole.low < these.low).all()
    assert (whole.high > these.high).all()
    with pytest.raises(ValueError, match="at least two queries"):
        exact.interval(queries=True)
    with pytest.raises(ValueError, match="signs need the spread"):
        exact.sign()


def test_errors_add_up_as_variances():
    one = Values([0.5] * 3, n_queries=10**6, query_standard_error=[0.3] * 3, standard_error=[0.4] * 3, error_bound=0.0)
    low, high = one.interval(0.95)
    assert (high - low)[0] == pytest.approx(2 * 1.95996 * 0.5, rel=0.2)


def test_exact_intervals_stay_as_they_were():
    values = pivotal.value([[0.0], [1.0], [2.0]], ["a", "b", "b"], [[0.4]], ["a"], k=1)
    low, high = values.interval()
    assert np.all(high - low <= 4 * values.error_bound)


def test_rank_intervals_by_comparing_all_pairs():
    rng = np.random.default_rng(4)
    values = Values(rng.standard_normal(40), n_queries=50, query_standard_error=rng.random(40), error_bound=0.0)
    low, high = values.interval(0.8)
    best, worst = values.rank_interval(0.8)
    for i in range(40):
        assert best[i] == 1 + (low > high[i]).sum()
        assert worst[i] == 40 - (high < low[i]).sum()
    assert (best <= values.rank()).all()
    assert (values.rank() <= worst).all()


def test_stability_is_the_share_of_draws():
    rng = np.random.default_rng(5)
    X, y = draw(60, rng)
    X_test, y_test = draw(80, rng)
    values = flat.value(X, y, X_test, y_test, utility="soft", per_query=True)
    stable = values.stability(5)
    assert list(stable.index) == list(values.order()[:5])
    rows, hits = values.per_query.toarray(), np.zeros(60)
    for _ in range(2000):
        hits[np.argsort(-rows[rng.integers(0, 80, 80)].mean(axis=0))[:5]] += 1
    np.testing.assert_allclose(stable.to_numpy(), hits[values.order()[:5]] / 2000, atol=0.12)
    assert "stability" in values.top(5)
    assert "stability" in values.bottom(5)
    certain = flat.value(X, y, X_test[:1].repeat(9, axis=0), y_test[:1].repeat(9), per_query=True)
    assert (certain.stability(1) == 1.0).all()
    with pytest.raises(ValueError, match="per_query=True"):
        pivotal.value(X, y, X_test, y_test).stability()
    with pytest.raises(ValueError, match="these have weights"):
        flat.value(X, y, X_test, y_test, per_query=True, query_weights=np.arange(1.0, 81.0)).stability()


def test_weights_count_as_fewer_queries():
    rng = np.random.default_rng(6)
    X, y = draw(60, rng)
    X_test, y_test = draw(80, rng)
    weights = np.r_[np.ones(40), np.full(40, 1e-9)]
    weighted = pivotal.value(X, y, X_test, y_test, query_weights=weights)
    assert weighted.effective_queries == pytest.approx(40)
    half = pivotal.value(X, y, X_test[:40], y_test[:40])
    np.testing.assert_allclose(weighted.interval().low, half.interval().low, atol=1e-6)


def test_words():
    values = Values([0.5, -0.4, 0.01], n_queries=100, query_standard_error=[0.02, 0.02, 0.02])
    told = str(values.sign())
    assert told.startswith("1 point harms beyond doubt and 1 helps (false discovery rate 5%); of 1 the sign cannot be")
    assert "from 100 queries" in told
    assert "would settle half of them" in told
    assert np.asarray(values.sign()).tolist() == [1, -1, 0]
    nothing = Values([0.0, 0.0], n_queries=100, query_standard_error=[0.0, 0.0]).sign()
    assert nothing.queries_needed() == np.inf
    assert "settle" not in str(nothing)
    with pytest.raises(ValueError, match="rate must lie between 0 and 1"):
        values.sign(0.0)
    with pytest.raises(ValueError, match="share must be more than 0"):
        values.sign().queries_needed(0.0)


def test_adjusted_p_values_are_those_of_the_step_up_procedure():
    rng = np.random.default_rng(7)
    p_values = rng.random(30) ** 3
    adjusted = _adjusted(p_values)
    for rate in (0.01, 0.05, 0.2):
        ordered = np.sort(p_values)
        passing = np.flatnonzero(ordered <= rate * np.arange(1, 31) / 30)
        rejected = p_values <= (ordered[passing[-1]] if len(passing) else -1.0)
        np.testing.assert_array_equal(adjusted <= rate, rejected)


def test_payouts_have_intervals_that_hold():
    """Owners' shares of a large test set lie in the intervals of small ones."""
    rng = np.random.default_rng(9)
    X, y = draw(90, rng)
    owners = np.array(["ann", "bob", "cy"])[np.arange(90) % 3]
    y[owners == "cy"] = rng.integers(0, 3, 30)
    how = {"utility": "soft", "semivalue": "shapley"}
    large = pivotal.value(X, y, *draw(4000, rng), **how)
    true = pivotal.analysis.payouts(large, owners)["payout"]
    held = []
    for _ in range(20):
        shares = pivotal.analysis.payouts(
            pivotal.value(X, y, *draw(150, rng), method=pivotal.Exact(per_query=True), **how), owners, level=0.9
        )
        assert (shares["low"] <= shares["payout"]).all()
        held += [(shares["low"][name] <= true[name] <= shares["high"][name]) for name in true.index]
    assert 0.75 < np.mean(held) <= 1.0
    with pytest.raises(ValueError, match="per_query=True"):
        pivotal.analysis.payouts(large, owners, level=0.9)
    with pytest.raises(ValueError, match="level must lie"):
        pivotal.analysis.payouts(
            pivotal.value(X, y, *draw(150, rng), method=pivotal.Exact(per_query=True), **how), owners, level=2.0
        )


def test_the_command_line_pays_with_intervals(tmp_path):
    import pandas as pd

    from pivotal.cli import main

    rng = np.random.default_rng(10)
    X, y = draw(120, rng)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, who=np.where(np.arange(120) % 2, "ann", "bob"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["pay", str(tmp_path / "t.csv"), "--label", "y", "--owner", "who", "--utility", "soft", "--interval", "0.9"]
    assert main([*words, "-o", str(tmp_path / "shares.csv"), "--quiet"]) == 0
    shares = pd.read_csv(tmp_path / "shares.csv")
    assert ((shares["low"] <= shares["payout"]) & (shares["payout"] <= shares["high"])).all()
    assert main([*words, "--method", "permutations"]) == 2
