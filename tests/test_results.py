"""The result object: immutable, ordered, normalised, distinguished and told in one line."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pivotal
from pivotal.results.values import Values
from specimens import NOT_A_GAME, SETTINGS, make, per_query

# ----------------------------------------------------------------------------------------------- construction


def test_fields_are_kept():
    values = make(proved_bound=1e-15, standard_error=[0.1, 0.2, 0.3], ids=["a", "b", "c"], vote_resolution=1 / 127)
    assert values.values.tolist() == [0.25, -0.5, 0.75]
    assert values.values.dtype == np.float64
    assert (values.n_queries, values.full_utility, values.empty_utility) == (4, 0.9, 0.1)
    assert (values.proved_bound, values.vote_resolution) == (1e-15, 1 / 127)
    assert values.standard_error is not None
    assert values.standard_error.tolist() == [0.1, 0.2, 0.3]
    assert values.ids.tolist() == ["a", "b", "c"]
    assert len(values) == 3


def test_ids_default_to_training_indices():
    assert make().ids.tolist() == [0, 1, 2]
    assert make().standard_error is None


def test_numbers_beside_strings_stay_numbers():
    assert make(ids=["a", 1, None]).ids.tolist() == ["a", 1, None]


def test_nothing_can_be_changed():
    mine = np.array([0.25, -0.5, 0.75])
    panels = [1, 2]
    values = make(
        mine, standard_error=mine**2, ids=["a", "b", "c"], settings={"panels": panels, "game": {"tie": "lose"}}
    )
    mine[0] = 9.0
    panels.append(3)
    assert values.values[0] == 0.25
    assert values.settings["panels"] == (1, 2)
    for array in (values.values, values.standard_error, values.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        values.error_bound = 0.0
    with pytest.raises(TypeError, match="does not support item assignment"):
        values.settings["k"] = 7
    with pytest.raises(TypeError, match="does not support item assignment"):
        values.settings["game"]["tie"] = "win"


def test_settings_take_numpy_scalars():
    frozen = make(settings={"k": np.int64(3), "tol": np.float64(0.5), "flag": np.bool_(True)}).settings
    assert [type(frozen[name]) for name in ("k", "tol", "flag")] == [int, float, bool]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": []}, r"values must be one number per training point, at least one; got shape \(0,\)"),
        ({"values": [[1.0]]}, r"values must be one number .* got shape \(1, 1\)"),
        ({"values": 1.0}, r"values must be one number .* got shape \(\)"),
        ({"values": [0.0, math.nan, 1.0]}, r"values must be finite; got nan at training index 1"),
        (
            {"standard_error": [0.1]},
            r"standard_error must have one entry per training point, shape \(3,\); got .*\(1,\)",
        ),
        ({"standard_error": [0.1, -0.2, 0.1]}, r"standard_error must not be negative; got -0.2"),
        ({"standard_error": [0.1, 0.2, math.inf]}, r"standard_error must be finite; got inf at training index 2"),
        ({"ids": ["a", "b"]}, r"ids must have one entry per training point, shape \(3,\); got shape \(2,\)"),
        ({"ids": "abc"}, r"ids must have one entry .* got shape \(\)"),
        ({"n_queries": 0}, r"n_queries must be a positive integer; got 0"),
        ({"n_queries": 2.5}, r"n_queries must be a positive integer; got 2.5"),
        ({"n_queries": True}, r"n_queries must be a positive integer; got True"),
        ({"error_bound": -1e-9}, r"error_bound must be a finite number >= 0; got -1e-09"),
        ({"error_bound": math.inf}, r"error_bound must be a finite number >= 0; got inf"),
        ({"recall": 1.5}, r"recall must lie in \[0, 1\]; got 1.5"),
        ({"vote_resolution": math.nan}, r"vote_resolution must be a finite number >= 0; got nan"),
        ({"full_utility": math.nan}, r"full_utility must be a finite number; got nan"),
        ({"empty_utility": -math.inf}, r"empty_utility must be a finite number; got -inf"),
        ({"settings": {"tol": math.inf}}, r"settings\['tol'\] must be a finite number; got inf"),
    ],
)
def test_bad_contents_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_what_is_not_a_game_has_no_utilities_and_no_bound():
    values = make(**NOT_A_GAME)
    assert (values.full_utility, values.empty_utility, values.error_bound) == (None, None, None)
    assert Values([1.0], n_queries=1).full_utility is None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"metric": max}, r"settings\['metric'\] must be text, a number, None, a list or a mapping; got builtin"),
        ({"a": {"b": [object()]}}, r"settings\['a'\]\['b'\] must be text, .* got object"),
        ({3: "k"}, r"settings must have strings as keys; got 3"),
    ],
)
def test_settings_must_be_json(bad, message):
    with pytest.raises(TypeError, match=message):
        make(settings=bad)


# ----------------------------------------------------------------------------------------------- order and frames


def test_rank_puts_the_most_valuable_first_and_equal_values_by_index():
    assert make([0.0, 1.0, -0.0, 1.0, -2.0]).order().tolist() == [1, 3, 0, 2, 4]


def test_rank_keeps_the_order_of_many_equal_values():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=1000)
    assert make(signs).order().tolist() == [*np.flatnonzero(signs > 0), *np.flatnonzero(signs < 0)]


def test_frame_is_in_training_order():
    frame = make(ids=["a", "b", "c"]).to_frame()
    assert frame.columns.tolist() == ["value", "rank"]
    assert frame.index.name == "id"
    assert frame.index.tolist() == ["a", "b", "c"]
    assert frame["value"].tolist() == [0.25, -0.5, 0.75]
    assert frame["rank"].tolist() == [2, 3, 1]


def test_ranks_are_those_of_pandas():
    values = make([0.3, 0.1, 0.3, -0.2, 0.4])
    assert values.rank().tolist() == [2, 4, 3, 5, 1]
    assert values.rank().tolist() == values.to_frame()["value"].rank(method="first", ascending=False).tolist()
    assert values.order().tolist() == np.argsort(values.rank()).tolist()


def test_the_frame_joins_the_users_own():
    rows = pd.DataFrame({"a": [0.0, 1.0, 2.0]}, index=["x", "y", "z"])
    values = pivotal.value(rows, [0, 1, 1], [[0.1]], [0], k=1)
    assert rows.join(values.to_frame())["value"].tolist() == values.values.tolist()


def test_frame_shows_standard_errors_when_there_are_any():
    assert make(standard_error=[0.1, 0.2, 0.3]).to_frame()["standard_error"].tolist() == [0.1, 0.2, 0.3]


def test_frame_is_the_callers_own():
    values = make()
    frame = values.to_frame()
    frame.loc[0, "value"] = 99.0
    assert values.values[0] == 0.25


def test_top_and_bottom_are_the_two_ends():
    values = make([0.3, 0.1, 0.5, 0.2, 0.4], ids=list("abcde"))
    assert values.top(2).index.tolist() == ["c", "e"]
    assert values.bottom(2).index.tolist() == ["b", "d"]
    assert values.bottom(2)["rank"].tolist() == [5, 4]
    assert len(values.top(100)) == len(values.bottom()) == 5


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_top_needs_a_positive_number(n):
    with pytest.raises(ValueError, match=r"n must be a positive integer; got"):
        make().top(n)
    with pytest.raises(ValueError, match=r"n must be a positive integer; got"):
        make().bottom(n)


# ----------------------------------------------------------------------------------------------- normalisation


def test_normalized_values_sum_to_the_gain():
    values = make(standard_error=[0.1, 0.2, 0.3])
    scaled = values.normalized()
    assert scaled.values == pytest.approx([0.4, -0.8, 1.2])
    assert scaled.values.sum() == pytest.approx(values.full_utility - values.empty_utility)
    assert scaled.standard_error == pytest.approx([0.16, 0.32, 0.48])
    assert scaled.order().tolist() == values.order().tolist()
    assert scaled.details["normalized"] is True
    assert "normalized" not in values.settings


@given(
    truth=st.lists(st.fractions(min_value=-1, max_value=1, max_denominator=1000), min_size=1, max_size=8),
    signs=st.lists(st.sampled_from([-1, 0, 1]), min_size=8, max_size=8),
    bound=st.sampled_from([Fraction(0), Fraction(1, 10**12), Fraction(1, 1000)]),
)
def test_normalized_bound_covers_the_error_of_the_sum(truth, signs, bound):
    """Whatever the true values within the bound, normalising them lands within the new bound."""
    measured = [exact + sign * bound for exact, sign in zip(truth, signs, strict=False)]
    gain = Fraction(1, 2) if sum(measured) > 0 else Fraction(-1, 2)
    declared = float(bound) + 1e-15  # conversion to float is an error too
    values = make([float(x) for x in measured], error_bound=declared, full_utility=float(gain), empty_utility=0.0)
    try:
        scaled = values.normalized()
    except ValueError:
        assert abs(sum(measured)) <= len(truth) * (declared + 1e-12)
        return
    for got, exact in zip(scaled.values, truth, strict=True):
        assert abs(Fraction(got) - gain * exact / sum(truth)) <= Fraction(scaled.error_bound)


@pytest.mark.parametrize(
    ("numbers", "bound"),
    [([0.5, -0.5], 0.0), ([0.0, 0.0], 0.0), ([0.1, 0.2, -0.3], 0.0), ([0.5, -0.5 + 1e-9], 1e-9)],
)
def test_normalizing_needs_a_sum_other_than_zero(numbers, bound):
    with pytest.raises(ValueError, match=r"normalized values need a sum that differs from 0; got .* Use the values"):
        make(numbers, error_bound=bound).normalized()


def test_normalizing_never_turns_the_order_around():
    with pytest.raises(ValueError, match=r"sign of full_utility - empty_utility = 0.8; got -0.75, which would turn"):
        make([-1.0, 0.25]).normalized()
    assert make([-1.0, 0.25], full_utility=0.1, empty_utility=0.9).normalized().order().tolist() == [1, 0]


def test_normalizing_to_no_gain_gives_zeros():
    assert make(full_utility=0.1).normalized().values.tolist() == [0.0, 0.0, 0.0]


def test_what_is_not_a_game_cannot_be_normalized():
    with pytest.raises(
        ValueError, match=r"share the utility .* these values of method 'lava' are not those of a game .* Use"
    ):
        make(**NOT_A_GAME).normalized()
    with pytest.raises(ValueError, match=r"these values are not those of a game"):
        make(empty_utility=None).normalized()


def test_an_unknown_error_stays_unknown_when_normalized():
    scaled = make(error_bound=None).normalized()
    assert scaled.error_bound is None
    assert scaled.values.tolist() == make().normalized().values.tolist()


# ----------------------------------------------------------------------------------------------- owners


def test_owners_are_paid_the_sum_of_their_points():
    sums = make([1.0, 2.0, 3.0, -4.0]).by_owner(["ann", "bob", "ann", "cy"])
    assert isinstance(sums, pd.Series)
    assert sums.to_dict() == {"ann": 4.0, "bob": 2.0, "cy": -4.0}
    assert sums.index.tolist() == ["ann", "bob", "cy"]
    assert (sums.name, sums.index.name) == ("value", "owner")


def test_equal_owners_stay_in_order_of_appearance():
    assert make([1.0, 1.0, 2.0, 1.0]).by_owner(["z", "b", "y", "a"]).index.tolist() == ["y", "z", "b", "a"]


def test_owners_are_taken_by_position_not_by_index():
    assert make().by_owner(pd.Series(["x", "y", "x"], index=[7, 0, 1])).to_dict() == {"x": 1.0, "y": -0.5}


def test_owners_may_be_numbers_and_missing_spellings():
    assert make().by_owner([1, 2, 1]).to_dict() == {1: 1.0, 2: -0.5}
    assert make().by_owner(["nan", "None", ""]).to_dict() == {"nan": 0.25, "None": -0.5, "": 0.75}


def test_owners_must_fit():
    with pytest.raises(
        ValueError, match=r"owners must have one entry per training point, shape \(3,\); got shape \(2,\)"
    ):
        make().by_owner(["ann", "bob"])


@pytest.mark.parametrize("missing", [None, math.nan, pd.NaT])
def test_owners_must_not_be_missing(missing):
    with pytest.raises(ValueError, match=r"owners must name an owner for every training point; got 1 missing. Give"):
        make().by_owner(["ann", missing, "bob"])


# ----------------------------------------------------------------------------------------------- as an array, as text


def test_array_follows_numpy_2():
    values = make()
    assert np.asarray(values) is values.values
    own = np.array(values)
    own[0] = 9.0
    assert values.values[0] == 0.25
    assert np.asarray(values, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(values, dtype=np.float32, copy=False)
    assert float(np.mean(values)) == pytest.approx(1 / 6)


def test_repr_is_one_line_with_the_essentials():
    text = repr(make(error_bound=2e-16))
    for part in ("n_train=3", "n_queries=4", "k=5", "utility=hard", "semivalue=banzhaf", "2e-16", "[-0.5, 0.75]"):
        assert part in text
    assert "\n" not in text
    assert "standard_error<=0.3" in repr(make(standard_error=[0.1, 0.2, 0.3]))


def test_repr_of_what_is_not_a_game_claims_nothing():
    assert repr(make(**NOT_A_GAME)) == "Values(n_train=3, n_queries=4, method=lava, values in [-0.5, 0.75])"
    assert "method=lava" in make(**NOT_A_GAME)._repr_html_()
    assert make(**NOT_A_GAME).to_frame().columns.tolist() == ["value", "rank"]


def test_html_escapes_ids_and_settings():
    page = make(ids=["<script>alert(1)</script>", "a&b", "c"], settings={"utility": "<b>hard</b>"})._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a&amp;b" in page
    assert "&lt;b&gt;hard" in page


def test_html_of_many_points_shows_both_ends():
    page = make(np.linspace(-1, 1, 101))._repr_html_()
    assert page.count("<tr") <= 13
    shown = [f"<th>{index}</th>" in page for index in (100, 96, 95, 50, 4, 0)]
    assert shown == [True, True, False, False, True, True]


# ----------------------------------------------------------------------------------------------- equality, copies


def test_equals_notices_every_field():
    values = make(proved_bound=1e-9, standard_error=[0.1, 0.2, 0.3], ids=["a", "b", "c"])
    assert values.equals(dataclasses.replace(values))
    changes = {
        "values": [0.25, -0.5, 0.5],
        "n_queries": 5,
        "full_utility": 0.8,
        "empty_utility": 0.2,
        "proved_bound": 2e-9,
        "rounding_allowance": 1e-14,
        "neighbors_exact": None,
        "standard_error": None,
        "query_standard_error": [0.1, 0.1, 0.1],
        "ids": ["a", "b", "d"],
        "vote_resolution": 0.5,
        "recall": 0.75,
        "settings": {**SETTINGS, "k": 6},
        "details": {"depth": 7},
        "queries": per_query(3),
    }
    assert set(changes) == {field.name for field in dataclasses.fields(Values)}
    for name, change in changes.items():
        assert not values.equals(dataclasses.replace(values, **{name: change})), name
        if name in NOT_A_GAME:
            assert not values.equals(dataclasses.replace(values, **{name: NOT_A_GAME[name]})), name
    assert make(**NOT_A_GAME).equals(make(**NOT_A_GAME))
    assert not values.equals(np.asarray(values))
    assert values != dataclasses.replace(values)  # `==` is identity: two results are compared with equals


def test_equals_tells_dtypes_of_ids_apart():
    assert not make(ids=[1, 2, 3]).equals(make(ids=[1.0, 2.0, 3.0]))
    assert not make(ids=np.array([1, 2, 3], dtype=object)).equals(make(ids=np.array([1.0, 2, 3], dtype=object)))
    assert make(ids=[1.0, math.nan, 3.0]).equals(make(ids=[1.0, math.nan, 3.0]))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda values: pickle.loads(pickle.dumps(values))])
@pytest.mark.parametrize("fields", [{}, NOT_A_GAME])
def test_copies_are_equal_and_as_frozen(clone, fields):
    values = make(standard_error=[0.1, 0.2, 0.3], ids=np.array(["a", "b", None], dtype=object), **fields)
    twin = clone(values)
    assert twin.equals(values)
    with pytest.raises(ValueError, match="read-only"):
        twin.values[0] = 1.0
