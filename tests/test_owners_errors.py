"""Owners as players: every mistake is explained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flat
from pivotal.core.games import Game, Hard

GOOD: dict[str, Any] = {
    "X_train": [[0.0], [1.0]], "y_train": [0, 1], "X_test": [[0.5]], "y_test": [1], "owners": ["a", "b"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"owners": ["a"]}, r"groups must have one entry per training point, shape \(2,\); got shape \(1,\)"),
        ({"owners": [["a", "b"]]}, r"groups must have one entry .* got shape \(1, 2\)"),
        ({"owners": "ab"}, r"groups must have one entry .* got shape \(\)"),
        ({"owners": ["a", None]}, "groups must name a group for every training point; got 1 missing"),
        ({"owners": [np.nan, 1.0]}, "groups must name a group for every training point; got 1 missing"),
        ({"k": 0}, "k must be an integer of at least 1; got k=0"),
        ({"tol": -1.0}, "tol must be a finite number"),
        ({"bits": 0}, "bits must be an integer"),
        ({"X_train": [[np.nan], [1.0]]}, "X_train must be finite"),
        ({"X_test": [[np.inf]]}, "X_test must be finite"),
        ({"X_test": [[1.0, 2.0]]}, "X_test must have as many columns"),
        ({"X_train": [[0.0]]}, "X_train and y_train must have the same length"),
        ({"y_test": [1, 0]}, "X_test and y_test must have the same length"),
        ({"y_train": []}, "y_train must hold at least one label"),
        ({"utility": "nonsense"}, "utility must name a game"),
        ({"semivalue": "nonsense"}, "semivalue must be one of"),
        ({"weights": "nonsense"}, "weights must be one of"),
        ({"weights": "rbf", "utility": "soft-k"}, "takes unweighted"),
        ({"neighbors": "nonsense"}, "neighbors must be one of"),
        ({"method": "coalition"}, "method must name a method; got 'coalition'. Did you mean 'coalitions'"),
        ({"method": "lava"}, "groups are valued by the methods exact, coalitions and permutations"),
        ({"method": "exact", "per_query": True}, "for all queries together"),
        ({"ids": [1, 2]}, "have names of their own; got ids"),
        ({"X_test": None, "y_test": None}, "groups are valued by a test set; got none"),
        ({"method": "exact", "n_samples": 10}, "n_samples is for sampling"),
        ({"n_samples": 1}, "n_samples must be an integer of at least 2"),
        ({"target_se": 0.0}, "target_se must be a finite number above 0"),
        ({"max_time": -1}, "max_time must be a finite number above 0"),
        ({"method": "coalitions", "random_state": -1}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"block_size": 0}, "block_size must be an integer of at least 1"),
    ],
)
def test_bad_input_is_explained(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flat.value_owners(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [[0, 0]]}, "at most once per query"),
        ({"indices": [[0, 2]]}, "indices must lie between 0 and 1"),
        ({"indices": [[]]}, "indices must have a row per query"),
        ({"votes": [[1, -1]]}, "votes must be integers"),
        ({"votes": [[1, 2]], "utility": "soft-k"}, "takes unweighted"),
        ({"owners": ["a"]}, "groups must have one entry per training point"),
    ],
)
def test_bad_lists_are_explained(change: dict[str, Any], message: str) -> None:
    good = {"indices": [[0, 1]], "owners": ["a", "b"], "y_train": [0, 1], "y_test": [1]}
    with pytest.raises(ValueError, match=message):
        flat.value_owners_from_neighbors(**{**good, **change})


def test_too_many_cases_are_refused_before_any_search() -> None:
    rng = np.random.default_rng(0)
    data = (rng.random((100, 2)), np.arange(100) % 2, [[0.5, 0.5]], [1])
    with pytest.raises(ValueError, match=r"at most 16777216 cases per query; 100 owners and k=20 can make"):
        flat.value_owners(*data, np.arange(100), k=20, method="exact")
    many = 2000  # more cases than a double can count
    lists = np.arange(many)[np.newaxis]
    with pytest.raises(ValueError, match=r"2000 owners and k=1000 can make about 2\^1999\. Use method="):
        flat.value_owners_from_neighbors(
            lists, np.arange(many), np.arange(many) % 2, [1], k=1000, tol=0.0, semivalue="shapley", method="exact"
        )


def test_a_game_of_ones_own_cannot_be_played_by_owners() -> None:
    class Odd(Hard):
        pass

    class Mine(Game):
        utility = Hard.utility
        full_utility = Hard.full_utility

    assert flat.value_owners(**GOOD, utility=Odd(), k=1).values.shape == (2,)
    with pytest.raises(TypeError, match="owners play the games Hard, Plurality, Soft, Regression and Threshold"):
        flat.value_owners(**GOOD, utility=Mine(), k=1)
