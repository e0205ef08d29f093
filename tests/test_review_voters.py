"""Voters under edits say what the same trees, landmarks and weights say when all is counted anew."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pivotal.analysis.label_errors import EditableVoters, _edit, find_label_errors, find_with_voters
from pivotal.analysis.label_errors._blend import floor_of, margins
from pivotal.analysis.label_errors._edit_leaves import EditableLeaves
from pivotal.analysis.label_errors._edit_ridge import EditableRidge
from pivotal.neighbors import BruteIndex
from pivotal.review import _scores
from pivotal.review._live import LiveNeighbors
from pivotal.review._scores import Judgement, LiveScores
from pivotal.review._subject import Classes

N_LABELS = 5  # that there are at most: 0 to 4


def table(n, seed, n_classes=3):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    X = rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[codes]
    wrong = rng.random(n) < 0.15
    wrong[:n_classes] = False
    return X, np.where(wrong, rng.integers(0, n_classes, n), codes)


def from_scratch(voters, weights, codes, alive, nearest):
    """Count all votes with plain loops and one fit; nothing of the code under test but the trees and the landmarks."""
    n_rows, n_classes = len(codes), N_LABELS
    there = np.bincount(codes[alive], minlength=n_classes) > 0
    onehot = np.eye(n_classes)[codes]
    total = weights.get("neighbors", 0.0) * nearest
    for name, voter in voters.items():
        if isinstance(voter, EditableLeaves):
            votes = np.zeros((n_rows, n_classes))
            n_outside = (voter._copies == 0).sum(axis=0)
            for leaves, copies in zip(voter._leaves, voter._copies, strict=True):
                for leaf in np.unique(leaves):
                    inside = np.flatnonzero((leaves == leaf) & (copies > 0) & alive)
                    outside = np.flatnonzero((leaves == leaf) & (copies == 0) & alive)
                    if not len(inside):
                        continue
                    drawn = copies[inside].astype(float)
                    residents = (drawn[:, None] * onehot[inside]).sum(0) / drawn.sum()
                    votes[outside] += residents / n_outside[outside][:, None]
                    guests = (onehot[outside] / n_outside[outside][:, None]).sum(0)
                    votes[inside] += guests * (drawn / drawn.sum())[:, None]
            sums = votes.sum(1, keepdims=True)
            chances = np.where(sums > 1e-12, votes / np.maximum(sums, 1e-300), there / there.sum())
        elif isinstance(voter, EditableRidge):
            fit = voter._fit
            design = fit.design(np.arange(n_rows))
            inside = np.isin(np.arange(n_rows), fit.fitted) & alive
            penalty = np.diag(1.0 / fit.diagonal - np.r_[len(fit.fitted), np.ones(len(fit.diagonal) - 1)])
            normal = design[inside].T @ design[inside] + penalty
            predicted = design @ np.linalg.solve(normal, design[inside].T @ onehot[inside])
            for row in np.flatnonzero(inside):  # without the row itself
                others = normal - np.outer(design[row], design[row])
                sums = design[inside].T @ onehot[inside] - np.outer(design[row], onehot[row])
                predicted[row] = design[row] @ np.linalg.solve(others, sums)
            floored = np.maximum(predicted, floor_of(there.sum())) * there
            chances = floored / floored.sum(1, keepdims=True)
        else:
            chances = voter
        total = total + weights[name] * chances
    return total


def expected(votes, codes):
    rows = np.arange(len(codes))
    own = votes[rows, codes]
    rest = votes.copy()
    rest[rows, codes] = -1.0
    rival = np.maximum(rest.max(1), 0.0)
    return own, rival, np.where(rival > own, rest.argmax(1), codes)


def begin(X, codes, **how):
    errors, voters = find_with_voters(X, codes, **how)
    classes = Classes(codes)
    live = LiveNeighbors(BruteIndex(X), classes.given, len(classes), how.get("k", 20))
    return (
        errors,
        voters,
        classes,
        live,
        LiveScores(Judgement.of(errors, voters, np.arange(len(X)), live.codes), classes, live),
    )


def compare(errors, voters, classes, live, scores, within=1e-9):
    names = np.array([int(name) for name in classes.names])
    codes = names[live.codes]  # labels are small integers: their own codes in the reference
    everything = np.arange(len(codes))
    nearest, shares = np.zeros((len(codes), N_LABELS)), live.ballots.shares(everything)
    nearest[:, names[: shares.shape[1]]] = shares
    votes = from_scratch(voters._voters, dict(errors.settings["weights"]), codes, live.alive, nearest)
    own, rival, suggested = expected(votes, codes)
    alive = live.alive
    is_suspect = (rival > own) & (rival >= errors.settings["odds"] * own) & alive
    assert np.array_equal(scores.suspect, is_suspect)
    for what, right in ((scores.support, own), (scores.rivals, rival), (scores.scores, margins(own, rival))):
        assert np.abs(what - right)[is_suspect].max(initial=0.0) < within
    scores.settle(everything)
    assert np.abs(scores.support - own)[alive].max() < within
    assert np.abs(scores.rivals - rival)[alive].max() < within
    assert np.array_equal(names[scores.suggested][alive], suggested[alive])


edits_of_rows = st.lists(
    st.lists(
        st.tuples(st.integers(0, 59), st.integers(0, 4), st.booleans()),
        min_size=1,
        max_size=4,
        unique_by=lambda e: e[0],
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture(autouse=True)
def _time_for_all(monkeypatch):
    """Rows that could be suspects are all counted before an edit returns."""
    monkeypatch.setattr(_scores, "_AT_ONCE", 10**6)


@given(seed=st.integers(0, 10**6), edits=edits_of_rows, watched=st.booleans(), undo=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edits_equal_a_count_from_scratch(seed, edits, watched, undo):
    X, codes = table(60, seed)
    with pytest.MonkeyPatch.context() as patch:
        if not watched:
            patch.setattr(_edit, "_ALL_WATCHED", 0)
            patch.setattr(_scores, "_NEAR", 0.0)
            patch.setattr("pivotal.analysis.label_errors._leaves._ROWS_OF_VOTES", 40)
            patch.setattr("pivotal.analysis.label_errors._voters._FITTED", 40)
        state = begin(X, codes, k=5, n_trees=6, voters=("neighbors", "forest", "linear", "rbf", "laplace"), n_jobs=1)
    _, _, classes, live, scores = state
    first = scores.scores.copy(), scores.suspect.copy()
    before = []
    for batch in edits:
        rows = np.array([row for row, _, _ in batch])
        new = np.array([classes.add(str(label)) for _, label, _ in batch], np.int32)
        stays = np.array([stay for _, _, stay in batch])
        before.append((rows, live.codes[rows].copy(), live.alive[rows].copy()))
        scores.follow(rows, live.edit(rows, new, stays, len(classes)))
    # Designs of kernels are ill-conditioned: those of a row alone and among others differ by that much.
    within = 1e-9 if watched else 1e-7
    compare(*state, within)
    if undo:
        for rows, old, there in reversed(before):
            scores.follow(rows, live.edit(rows, old, there, len(classes)))
        compare(*state, within)
        assert scores.scores == pytest.approx(first[0], abs=within)
        assert np.array_equal(scores.suspect, first[1])


def test_a_large_table_waits_and_still_names_every_suspect(monkeypatch):
    """Few rows are followed at once, and bounds tell which of the others must be counted again."""
    monkeypatch.setattr(_edit, "_ALL_WATCHED", 0)
    X, codes = table(600, 5)
    state = begin(X, codes, k=5, voters=("linear", "rbf"), n_jobs=1)
    _, voters, classes, live, scores = state
    rng = np.random.default_rng(0)
    waited, farthest = 0, 0.0
    for number in range(8):
        rows = rng.choice(600, 1 + 30 * (number == 5), replace=False)
        new = rng.integers(0, 3, len(rows)).astype(np.int32)
        scores.follow(rows, live.edit(rows, new, rng.random(len(rows)) < 0.8, len(classes)))
        slack = voters.slack()
        slack = np.zeros(600) if slack is None else slack
        waited += int((slack > 0).sum())
        stale = np.flatnonzero(live.alive)
        known = scores.support[stale].copy()
        voters.settle(stale)
        scores.refresh(stale)
        moved = np.abs(scores.support[stale] - known)
        assert (moved <= slack[stale] + 1e-12).all()  # no row moved farther than the bound said
        farthest = max(farthest, float(moved.max()))
    assert waited > 500
    assert farthest > 1e-3
    compare(*state, 1e-7)
    scores.renew(threading.RLock())
    assert not voters.is_waiting(slice(None)).any()
    assert voters.slack() is None
    compare(*state, 1e-7)


def test_the_page_begins_with_what_was_found():
    X, codes = table(300, 3)
    errors, voters, _, _, scores = begin(X, codes, k=5, n_trees=20)
    plain = find_label_errors(X, codes, k=5, n_trees=20)
    assert np.array_equal(errors.scores, plain.scores)
    assert isinstance(voters, EditableVoters)
    assert scores.scores == pytest.approx(plain.scores, abs=1e-6)
    assert set(np.flatnonzero(scores.suspect)) == set(plain.suspects)
    assert np.array_equal(voters.labels[voters._codes], codes)


def test_as_many_suspects_as_were_asked_for():
    X, codes = table(200, 4)
    errors, _, classes, live, scores = begin(X, codes, k=5, n_trees=10, n=30)
    assert set(np.flatnonzero(scores.suspect)) == set(errors.suspects)
    row = errors.suspects[0]
    fixed = np.array([classes.code(str(errors.suggested[row]))], np.int32)
    scores.follow(np.array([row]), live.edit(np.array([row]), fixed, np.array([True]), len(classes)))
    assert not scores.suspect[row]


def test_voters_of_numbers_cannot_be_edited():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="voters follow edits of classes"):
        find_with_voters(rng.normal(size=(50, 2)), rng.normal(size=50), n_trees=5)


def test_a_model_stays_as_it_was():
    from sklearn.naive_bayes import GaussianNB

    X, codes = table(200, 6)
    errors = find_label_errors(X, codes, k=5, n_trees=10, model=GaussianNB())
    how = {"k": 5, "n_trees": 10, "seed": errors.settings["seed"]}
    _, without = find_with_voters(X, codes, **how)
    voters = without.with_fixed("model", errors, errors.settings["weights"])
    votes = voters.votes(np.arange(200))
    at = np.arange(200)
    assert votes[at, voters._codes] == pytest.approx(errors.support, abs=1e-6)
    rest = votes.copy()
    rest[at, voters._codes] = -1.0
    assert rest.max(axis=1) == pytest.approx(errors.rival_support, abs=1e-6)
    voters.edit(np.array([7]), np.array([(voters._codes[7] + 1) % 3], np.int32), np.array([True]), 3)
    assert np.abs(voters.votes(at) - votes).max() > 0.0


def test_a_model_beside_the_nearest_rows_is_refused(tmp_path):
    """What each of the two said is not known by itself, so neither can follow an edit."""
    from sklearn.naive_bayes import GaussianNB

    X, codes = table(200, 6)
    errors = find_label_errors(X, codes, k=5, voters=("neighbors", "linear"), model=GaussianNB())
    with pytest.raises(ValueError, match="what a model said cannot be told from what the nearest rows said; review"):
        errors.review(X, journal=tmp_path / "j.db", open_page=False, opened=lambda _: None)


def test_rows_that_wait_are_counted_in_the_background(monkeypatch):
    monkeypatch.setattr(_edit, "_ALL_WATCHED", 0)
    monkeypatch.setattr(_scores, "_AT_ONCE", 3)
    X, codes = table(600, 5)
    state = begin(X, codes, k=5, voters=("linear", "rbf"), n_jobs=1)
    _, _, classes, live, scores = state
    rows = np.arange(40, 70)
    scores.follow(rows, live.edit(rows, (live.codes[rows] + 1) % 3, np.ones(30, bool), len(classes)))
    assert scores.n_waiting > 0
    scores.renew(threading.RLock())
    assert scores.n_waiting == 0
    compare(*state, 1e-7)
