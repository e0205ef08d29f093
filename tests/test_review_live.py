"""Edits one at a time give what a fresh computation on the edited rows gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flat
import pivotal
from pivotal.analysis.label_errors import find_label_errors, find_with_voters
from pivotal.neighbors import BruteIndex, KeptLists
from pivotal.review._live import LiveNeighbors, list_length
from pivotal.review._scores import Judgement, LiveScores
from pivotal.review._subject import Classes


def points(n, seed, n_classes=3, duplicates=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)).astype(float) if duplicates else rng.normal(size=(n, 3))
    return X, rng.integers(0, n_classes, n).astype(np.int32)


def live_scores(found, live, codes):
    return LiveScores(Judgement.of(*found, np.arange(len(codes)), codes), Classes(np.arange(3)), live)


def edit(scores, live, rows, codes, alive, n_classes=3):
    scores.follow(rows, live.edit(rows, codes, alive, n_classes))


def check(live, X, k):
    """All that is known of the rows is what the library computes afresh from those that are there."""
    rows = np.flatnonzero(live.alive)
    labels = live.codes[rows]
    fresh = pivotal.value(X[rows], labels, k=k, utility="soft", neighbors="brute")
    assert live.values(rows) == pytest.approx(fresh.values, abs=1e-11)
    assert not live.values()[~live.alive].any()
    plurality = pivotal.value(X[rows], labels, k=k, utility="plurality", neighbors="brute")
    assert live.accuracy == pytest.approx(plurality.full_utility, abs=1e-12)
    nearest = BruteIndex(X[rows]).search_self(0, len(rows), live.depth)[0]
    assert np.array_equal(live.neighbors(rows), rows[nearest])
    reach = pivotal.Banzhaf().reach(min(k, len(live.codes) - 1), live.depth)
    votes = np.zeros((len(rows), 4))
    for place, near in enumerate(rows[nearest]):
        np.add.at(votes[place], live.codes[near], reach / reach.sum())
    assert live.votes(rows) == pytest.approx(votes[:, : live.votes(rows).shape[1]], abs=1e-12)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 40),
    k=st.integers(1, 6),
    duplicates=st.booleans(),
    edits=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 2), st.booleans()), min_size=1, max_size=6),
)
def test_edits_equal_a_fresh_computation(seed, n, k, duplicates, edits):
    X, codes = points(n, seed, duplicates=duplicates)
    live = LiveNeighbors(BruteIndex(X), codes, 3, k)
    for row, code, stays in edits:
        if not stays and live.n_alive - live.alive[row % n] < 2:
            continue
        live.edit(np.array([row % n]), np.array([code], np.int32), np.array([stays]), 3)
    check(live, X, k)


def test_edits_of_a_larger_table_whose_lists_are_cut_short():
    X, codes = points(600, 5, 4)
    live = LiveNeighbors(BruteIndex(X), codes, 4, 2)
    assert live.depth < 100  # so that lists end long before the last row
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows = rng.choice(600, 3, replace=False)
        live.edit(rows, rng.integers(0, 4, 3).astype(np.int32), rng.random(3) < 0.7, 4)
    check(live, X, 2)


def test_a_neighbourhood_that_is_dropped_is_searched_again():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 0.1, (120, 2)), rng.normal(8, 0.1, (120, 2)), rng.normal(4, 1, (60, 2))])
    codes = rng.integers(0, 3, 300).astype(np.int32)
    live = LiveNeighbors(BruteIndex(X), codes, 3, 2)
    gone = np.arange(100)
    live.edit(gone, codes[gone], np.zeros(100, bool), 3)
    assert live._longer  # lists ran out
    check(live, X, 2)
    live.edit(np.array([150]), np.array([0], np.int32), np.array([True]), 3)
    live.edit(gone[:50], codes[:50], np.ones(50, bool), 3)
    check(live, X, 2)


def test_taking_an_edit_back_restores_every_list_and_all_but_the_last_digits():
    X, codes = points(300, 2, duplicates=True)
    live = LiveNeighbors(BruteIndex(X), codes, 3, 4)
    values, lists, accuracy = live.values(), live.neighbors(np.arange(300)), live.accuracy
    rows = np.array([3, 50, 77])
    live.edit(rows, np.array([0, 1, 2], np.int32), np.array([True, False, False]), 3)
    live.edit(rows, codes[rows], np.ones(3, bool), 3)
    assert np.array_equal(live.neighbors(np.arange(300)), lists)
    assert live.values() == pytest.approx(values, abs=1e-17)
    assert live.accuracy == accuracy


def test_a_new_class_joins():
    X, codes = points(80, 3)
    live = LiveNeighbors(BruteIndex(X), codes, 3, 3)
    live.edit(np.array([5, 6]), np.array([3, 3], np.int32), np.ones(2, bool), 4)
    check(live, X, 3)


def test_edits_name_every_row_whose_votes_change():
    X, codes = points(500, 4, 3)
    live = LiveNeighbors(BruteIndex(X), codes, 3, 3)
    for code, stays in (((codes[17] + 1) % 3, True), (codes[17], False), (codes[17], True)):
        before = live.ballots.shares(np.arange(500))
        touched = live.edit(np.array([17]), np.array([code], np.int32), np.array([stays]), 3)
        changed = np.flatnonzero((live.ballots.shares(np.arange(500)) != before).any(axis=1))
        assert changed.size
        assert set(changed) <= set(touched)
        assert len(touched) < 400


def test_harmed_rows_are_those_with_the_most_negative_values():
    X, codes = points(200, 6, 2)
    live = LiveNeighbors(BruteIndex(X), codes, 2, 3)
    per_query = flat.KNNValuation(k=3, utility="soft", per_query=True).fit(X, codes).update().result_.per_query
    column = per_query.toarray()[:, 9]  # value of row 9 to every other
    queries, worth = live.harmed(9, 4)
    assert len(queries) == 4
    assert worth == pytest.approx(np.sort(column)[:4], abs=1e-11)
    assert column[queries] == pytest.approx(worth, abs=1e-11)


def test_the_last_two_rows_cannot_be_dropped():
    X, codes = points(4, 7)
    live = LiveNeighbors(BruteIndex(X), codes, 3, 1)
    with pytest.raises(ValueError, match="at least two rows"):
        live.edit(np.arange(3), codes[:3], np.zeros(3, bool), 3)
    check(live, X, 1)


def scored(n_trees):
    X, codes = points(300, 8, 3)
    X[:, 0] += 2.0 * codes
    noisy = codes.copy()
    noisy[:30] = (noisy[:30] + 1) % 3
    found = find_with_voters(X, noisy, k=5, n_trees=n_trees)
    live = LiveNeighbors(BruteIndex(X), noisy, 3, 5)
    return found[0], live, live_scores(found, live, noisy), noisy, codes


@pytest.mark.parametrize("n_trees", [0, 10])
def test_scores_begin_as_they_were_found_and_return_when_all_is_undone(n_trees):
    errors, live, scores, noisy, codes = scored(n_trees)
    assert scores.scores == pytest.approx(errors.scores, abs=1e-6)  # which is found in single precision
    assert np.array_equal(np.flatnonzero(scores.suspect), np.sort(errors.suspects))
    first = (scores.scores.copy(), scores.suggested.copy(), scores.suspect.copy())
    rows = np.arange(20)
    edit(scores, live, rows, codes[rows], np.ones(20, bool), 3)
    assert (scores.scores != first[0]).any()
    edit(scores, live, rows, noisy[rows], np.ones(20, bool), 3)
    assert scores.scores == pytest.approx(first[0], abs=1e-12)
    assert np.array_equal(scores.suggested, first[1])
    assert np.array_equal(scores.suspect, first[2])


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 6),
    duplicates=st.booleans(),
    edits=st.lists(st.tuples(st.integers(0, 119), st.integers(0, 2), st.booleans()), min_size=1, max_size=8),
)
def test_where_neighbours_alone_vote_scores_are_those_of_a_fresh_search(seed, k, duplicates, edits):
    X, codes = points(120, seed, duplicates=duplicates)
    X[:, 0] += 2.0 * codes
    live = LiveNeighbors(BruteIndex(X), codes, 3, k)
    scores = live_scores(find_with_voters(X, codes, k=k, n_trees=0), live, codes)
    for row, code, stays in edits:
        edit(scores, live, np.array([row]), np.array([code], np.int32), np.array([stays]), 3)
    rows = np.flatnonzero(live.alive)
    fresh = find_label_errors(X[rows], live.codes[rows], k=k, n_trees=0)
    assert scores.scores[rows] == pytest.approx(fresh.scores, abs=1e-12)
    assert scores.confidence[rows] == pytest.approx(fresh.confidence, abs=1e-12)
    rival = np.abs(scores.rivals[rows] - scores.support[rows])
    clear = rival > 1e-12  # where votes are equal, either label may be named
    assert np.array_equal(scores.suggested[rows][clear], fresh.suggested[clear])
    edge = np.abs(scores.rivals[rows] - 2.0 * scores.support[rows]) < 1e-12
    assert np.array_equal(scores.suspect[rows][~edge], fresh.probable[~edge])


def test_live_values_are_those_of_the_editing_engine():
    """A second way to follow edits, which moves points up where one is removed."""
    X, codes = points(150, 11, 3)
    live = LiveNeighbors(BruteIndex(X), codes, 3, 4)
    model = flat.KNNValuation(k=4, utility="soft", editable=True).fit(X, codes).update()
    rng = np.random.default_rng(1)
    for step in range(12):
        row = int(rng.choice(np.flatnonzero(live.alive)))
        place = int(live.alive[:row].sum())
        if step % 3:
            code = int((live.codes[row] + 1) % 3)
            model.relabel(place, code)
            live.edit(np.array([row]), np.array([code], np.int32), np.array([True]), 3)
        else:
            model.remove(place)
            live.edit(np.array([row]), live.codes[[row]], np.array([False]), 3)
    assert live.values(np.flatnonzero(live.alive)) == pytest.approx(model.values_, abs=1e-12)


def test_one_search_serves_all():
    X, codes = points(200, 12)
    kept = KeptLists(BruteIndex(X), list_length(5, 200))
    shares = []
    kept.fill(on_progress=shares.append)
    assert shares[-1] == 1.0
    errors = find_label_errors(X, codes, k=5, n_trees=0, neighbors=kept)
    alone = find_label_errors(X, codes, k=5, n_trees=0)
    assert np.array_equal(errors.scores, alone.scores)
    assert errors.settings["neighbors_exact"]
    live = LiveNeighbors(kept, codes, 3, 5)
    assert live._lists is kept.indices
    assert live.values() == pytest.approx(LiveNeighbors(BruteIndex(X), codes, 3, 5).values(), abs=0)
    with pytest.raises(ValueError, match="forgotten"):
        kept.distances  # noqa: B018
    assert np.array_equal(kept.search_self(0, 9, 3)[1], BruteIndex(X).search_self(0, 9, 3)[1])


def test_another_opinion_takes_over_with_all_that_changed_since():
    """All voters are asked about a table with a row dropped; meanwhile another decision is taken."""
    X, codes = points(160, 13, 3)
    X[:, 0] += 2.0 * codes
    live = LiveNeighbors(BruteIndex(X), codes, 3, 5)
    scores = live_scores(find_with_voters(X, codes, k=5, n_trees=0), live, codes)
    edit(scores, live, np.array([3, 9]), (codes[[3, 9]] + 1) % 3, np.array([True, False]), 3)
    rows, then = np.flatnonzero(live.alive), live.codes.copy()
    meanwhile = np.array([40]), np.array([(codes[40] + 1) % 3], np.int32), np.array([True])
    edit(scores, live, *meanwhile, 3)
    expected = scores.scores.copy(), scores.suggested.copy()
    assert scores.n_changed == 2
    again = find_with_voters(X[rows], then[rows], k=5, n_trees=0)
    scores.replace(Judgement.of(*again, rows, then))
    assert scores.n_changed == 1
    assert scores.scores[live.alive] == pytest.approx(expected[0][live.alive], abs=1e-12)
    assert np.array_equal(scores.suggested[live.alive], expected[1][live.alive])
    assert not scores.suspect[~live.alive].any()


def test_scores_that_follow_come_near_those_of_voters_fitted_anew():
    errors, live, scores, _, codes = scored(30)
    rows = np.arange(30)  # where errors were planted
    edit(scores, live, rows, codes[rows], np.ones(30, bool))
    X = points(300, 8, 3)[0]
    X[:, 0] += 2.0 * codes
    again = find_label_errors(X, codes, k=5, n_trees=30)
    moved = np.abs(again.scores - errors.scores) > 0.1
    assert moved.sum() > 20
    assert np.abs(scores.scores - again.scores)[moved].mean() < 0.3 * np.abs(errors.scores - again.scores)[moved].mean()
