"""The shipped oracle: it agrees with the reference and finds what is wrong."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

import reference
from effort import examples
from pivotal.core.semivalues import BetaShapley, Measure
from pivotal.core.verify import Verification, verify
from strategies import SmallGame, build_game, measures, semivalues, small_games, small_regressions, utilities


@settings(deadline=None)
@given(game=small_games(max_n=6), utility=utilities(), semivalue=semivalues())
def test_equals_the_reference(
    game: SmallGame, utility: tuple[str, dict[str, Any]], semivalue: tuple[str, tuple[Any, ...]]
) -> None:
    votes = None if utility[0] == "soft-k" else game.votes
    exact = reference.semivalues(
        game.labels, game.target, game.k, utility[0], semivalue[1], votes, game.classes, **utility[1]
    )
    report = verify(
        game.labels,
        game.target,
        k=game.k,
        utility=build_game(*utility),
        semivalue=semivalue[0],
        votes=votes,
        classes=game.classes,
        values=[float(value) for value in exact],
    )
    assert_allclose(report.exact, [float(value) for value in exact], rtol=0, atol=1e-12)
    assert report.ok
    report.raise_if_wrong()


@settings(deadline=None)
@given(game=small_regressions(max_n=6), semivalue=semivalues())
def test_equals_the_reference_in_regressions(game: SmallGame, semivalue: tuple[str, tuple[Any, ...]]) -> None:
    exact = reference.semivalues(game.labels, game.target, game.k, "regression", semivalue[1], game.votes)
    report = verify(game.labels, game.target, k=game.k, utility="regression", semivalue=semivalue[0], votes=game.votes)
    assert_allclose(report.exact, [float(value) for value in exact], rtol=1e-12, atol=1e-11)
    assert report.ok


@examples(30)
@given(game=small_games(max_n=5), measure=measures())
def test_takes_semivalues_of_ones_own(
    game: SmallGame, measure: tuple[tuple[list[float], list[float]], tuple[Any, ...]]
) -> None:
    exact = reference.semivalues(game.labels, game.target, game.k, "hard", measure[1], game.votes, game.classes)
    report = verify(
        game.labels, game.target, k=game.k, semivalue=Measure(*measure[0]), votes=game.votes, classes=game.classes
    )
    assert_allclose(report.exact, [float(value) for value in exact], rtol=0, atol=1e-12)


def test_labels_may_be_words_and_arrays() -> None:
    words = verify(["b", "a", "b"], "b", k=1)
    numbers = verify(np.array([1, 0, 1]), 1, k=1)
    assert words.exact.tolist() == numbers.exact.tolist() == [0.75, -0.25, 0.25]


def test_a_larger_label_set_changes_the_game() -> None:
    assert verify([1], 1, k=1, utility="soft").exact.tolist() == [0.0]
    assert verify([1], 1, k=1, utility="soft", classes=[0, 1, 2, 3]).exact.tolist() == [0.75]


def test_names_the_entry_that_is_wrong() -> None:
    report = verify([1, 0, 1], 1, k=1, values=[0.75, -0.25, 0.5])
    assert not report.ok
    assert report.entry == 2
    assert report.largest_difference == pytest.approx(0.25)
    assert report.exact.tolist() == [0.75, -0.25, 0.25]
    with pytest.raises(ValueError, match=r"entry 2 is off by 0\.25, more than 1e-10\. Compare with the values in"):
        report.raise_if_wrong()


def test_a_value_that_is_no_number_is_wrong() -> None:
    report = verify([1, 0, 1], 1, k=1, values=[0.75, np.nan, 0.25])
    assert not report.ok
    assert (report.entry, report.largest_difference) == (1, np.inf)


def test_tolerance_is_in_units_of_the_spread() -> None:
    values = verify([100.0, 0.0], 0.0, k=1, utility="regression").exact
    assert verify([100.0, 0.0], 0.0, k=1, utility="regression", values=values + 9e-7).ok
    assert not verify([100.0, 0.0], 0.0, k=1, utility="regression", values=values + 1.1e-6).ok
    assert verify([1, 0], 1, k=1, values=[0.5 + 1e-3, -0.5], tol=1e-2).allowed == 1e-2


def test_axioms_that_have_nothing_to_check_say_so() -> None:
    assert verify([1, 0, 1], 1, k=1).axioms == {"null player": None, "symmetry": None, "efficiency": None}


def test_null_player() -> None:
    right = verify([1, 0, 1], 1, k=2, votes=[1, 0, 1])
    assert right.axioms["null player"] is True
    wrong = verify([0, 1], 1, k=3, votes=[1, 0], values=[0.0, 0.3])
    assert wrong.axioms["null player"] is False


def test_symmetry() -> None:
    labels = [1, 1, 0]
    exact = verify(labels, 1, k=3)
    assert exact.axioms["symmetry"] is True
    assert exact.exact[0] == exact.exact[1]
    assert verify(labels, 1, k=3, values=exact.exact + np.array([0.1, 0.0, 0.0])).axioms["symmetry"] is False


@pytest.mark.parametrize("semivalue", ["shapley", BetaShapley(1, 1)])
def test_efficiency_is_checked_for_shapley(semivalue: Any) -> None:
    report = verify([1, 0, 1, 1], 1, k=2, utility="soft", semivalue=semivalue)
    assert report.axioms["efficiency"] is True
    assert report.exact.sum() == pytest.approx(0.5 - 0.5, abs=1e-15)
    off = verify([1, 0, 1, 1], 1, k=2, utility="soft", semivalue=semivalue, values=report.exact + 1e-3)
    assert off.axioms["efficiency"] is False


@pytest.mark.parametrize("semivalue", ["banzhaf", "loo", "beta(4,1)"])
def test_efficiency_is_not_asked_of_others(semivalue: str) -> None:
    assert verify([1, 0, 1, 1], 1, k=2, semivalue=semivalue).axioms["efficiency"] is None


def test_broken_axioms_alone_are_an_error() -> None:
    report = Verification(
        exact=np.zeros(2),
        largest_difference=0.0,
        entry=0,
        allowed=1e-10,
        axioms={"null player": True, "symmetry": False, "efficiency": False},
        title="a game",
    )
    assert not report.ok
    with pytest.raises(ValueError, match=r"must satisfy every axiom that applies; broken: symmetry, efficiency\."):
        report.raise_if_wrong()


def test_reads_as_text() -> None:
    text = str(verify([1, 0, 0], 1, k=3, semivalue="shapley", values=[0.75, 0.0, 0.0]))
    assert text.splitlines() == [
        "WRONG: Hard(tie='lose', other_classes='count', scale='mean'), shapley, k=3, 3 points, 8 coalitions",
        "  largest difference  0.417 at entry 0 (allowed 1e-10)",
        "  null player         nothing to check",
        "  symmetry            holds",
        "  efficiency          BROKEN",
        "  exact values        [ 0.333333 -0.166667 -0.166667]",
    ]
    unasked = str(verify([1], 1, k=1))
    assert unasked.startswith("ok: ")
    assert "1 point, 2 coalitions" in unasked
    assert "largest difference" not in unasked


def test_fifteen_points_take_seconds() -> None:
    labels = np.random.default_rng(5).integers(0, 3, 15)
    start = perf_counter()
    report = verify(labels, 1, k=4, utility="wang2024", semivalue="shapley")
    assert perf_counter() - start < 10.0
    assert report.axioms["efficiency"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [1] * 21}, r"all coalitions of 1 to 20 points; got 21\. Keep the nearest points only\."),
        ({"labels": []}, r"all coalitions of 1 to 20 points; got 0\."),
        ({"k": 0}, r"k must be an integer of at least 1; got k=0"),
        ({"tol": -1.0}, r"tol must be a finite number of at least 0"),
        ({"classes": [1, 2]}, r"classes must contain every label; 0 is missing\. Add it to classes\."),
        ({"votes": [1]}, r"votes must have one entry per label, shape \(2,\); got shape \(1,\)"),
        ({"votes": [1, -1]}, r"votes must be non-negative integers; got \[1, -1\]\. Round them first\."),
        ({"votes": [0.5, 1.0]}, r"votes must be non-negative integers; got \[0\.5, 1\.0\]"),
        ({"values": [0.0]}, r"values must have one entry per label, shape \(2,\); got shape \(1,\)"),
        ({"utility": "hrad"}, r"utility must name a game; got 'hrad'"),
        ({"semivalue": "shaply"}, r"semivalue must be one of"),
        ({"utility": "soft-k", "votes": [1, 2]}, r"every vote must be 1; got a vote of 2"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    defaults: dict[str, Any] = {"labels": [0, 1], "target": 1, "k": 1}
    with pytest.raises(ValueError, match=message):
        verify(**{**defaults, **arguments})
