"""Gains of points outside a coalition: against brute force, and against the exact values of the engine."""

from __future__ import annotations

import numpy as np
import pytest

import pivotal
from pivotal.engine.editing.coalition import Coalition, shares_of_places
from pivotal.kernels.coalition_arrays import Likeness
from pivotal.kernels.exchange import exchange

pytestmark = pytest.mark.kernels


def problem(seed: int, n: int = 14, n_classes: int = 3):
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(n, 2)), rng.integers(n_classes, size=n).astype(np.int32)
    apart = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    lists = np.argsort(apart, axis=1, kind="stable")[:, :-1].astype(np.int32)
    return X, codes, lists


def brute_utility(members, lists, codes, targets, weights, absent, k):
    """Mean over 1..k of the share of right votes among the nearest members; missing ones vote `absent`."""
    total = 0.0
    for q, near in enumerate(lists):
        votes = [float(codes[i] == targets[q]) for i in near if i >= 0 and i in members][:k]
        votes += [absent[q]] * (k - len(votes))
        total += weights[q] * np.mean([np.mean(votes[:size]) for size in range(1, k + 1)])
    return total


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("length", [13, 6])
def test_gains_equal_brute_force_while_points_enter_and_leave(k, length):
    _, codes, lists = problem(k)
    rng = np.random.default_rng(length)
    lists, weights, absent = lists[:, :length], rng.random(14), rng.random(14)
    coalition = Coalition(lists, codes, codes, k=k, weights=weights, absent=absent)
    members: set[int] = set()
    for _ in range(40):
        point = int(rng.integers(14))
        if point in members:
            members.remove(point)
            coalition.leave(point)
        else:
            members.add(point)
            coalition.enter(point)
        before = brute_utility(members, lists, codes, codes, weights, absent, k)
        assert coalition.utility == pytest.approx(before, abs=1e-12)
        for i in set(range(14)) - members:
            after = brute_utility(members | {i}, lists, codes, codes, weights, absent, k)
            assert coalition.now.gains[i] == pytest.approx(after - before, abs=1e-12)
        gains = coalition.gains
        for i in members:
            after = brute_utility(members - {i}, lists, codes, codes, weights, absent, k)
            assert gains[i] == pytest.approx(before - after, abs=1e-12)
        assert set(coalition.members.tolist()) == members


def test_lists_may_end_early():
    _, codes, lists = problem(3)
    lists = lists[:, :8].copy()
    lists[::2, 5:] = -1
    absent = np.full(14, 0.5)
    coalition = Coalition(lists, codes, codes, k=3, absent=absent).enter(0, 4, 7, 9, 11).leave(4)
    members = {0, 7, 9, 11}
    before = brute_utility(members, lists, codes, codes, np.ones(14), absent, 3)
    for i in set(range(14)) - members:
        after = brute_utility(members | {i}, lists, codes, codes, np.ones(14), absent, 3)
        assert coalition.now.gains[i] == pytest.approx(after - before, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_gains_are_the_engines_soft_values_of_who_joins_last(k):
    X, codes, lists = problem(11, n=18)
    members = [0, 2, 3, 5, 8, 9, 12, 13]
    coalition = Coalition(lists, codes, codes, k=k, absent=np.zeros(18)).enter(*members)
    for newcomer in (1, 4, 17):
        together = [*members, newcomer]
        total = 0.0
        for q in set(range(18)) - {newcomer}:  # the newcomer's own prediction has no part in it
            there = [i for i in together if i != q]
            for size in range(1, k + 1):
                values = pivotal.value(
                    X[there], codes[there], X[[q]], codes[[q]], k=size, utility="soft", semivalue="loo"
                )
                total += values.values[there.index(newcomer)] / k
        assert coalition.now.gains[newcomer] == pytest.approx(total, abs=1e-12)


def test_the_shares_of_places_are_those_of_the_mean_over_k():
    for k in (1, 2, 5, 9):
        by_hand = [sum(1 / size for size in range(place, k + 1)) / k for place in range(1, k + 1)]
        np.testing.assert_allclose(shares_of_places(k), by_hand, rtol=1e-14)
        assert shares_of_places(k).sum() == pytest.approx(1.0)


def likeness_of(n, codes, seed, size, features):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(n, 6)).astype(np.float32)
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    same = codes[:, np.newaxis] == codes
    pairs = ((phi @ phi.T) * same).astype(np.float32)
    nothing = np.empty((0, 0), np.float32)
    if not features:
        return pairs, Likeness(
            pairs, pairs.mean(axis=1).astype(float), np.zeros(n), nothing, np.empty((0, 0)), size, 7.0
        )
    rest = np.array([phi[codes == c].sum(axis=0) / n for c in range(codes.max() + 1)], dtype=float)
    return pairs, Likeness(nothing, np.empty(0), np.empty(0), phi, rest, size, 7.0)


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("within", [1, 2])
@pytest.mark.parametrize("sampled", [False, True])
def test_exchanges_raise_the_objective_by_what_they_say(features, within, sampled):
    n, k, m = 24, 3, 7
    _, codes, lists = problem(5, n=n)
    pairs, like = likeness_of(n, codes, 1, float(m), features)
    absent = np.full(n, 1 / 3)

    def objective(members):
        chosen = sorted(members)
        apart = pairs.mean() - 2 * pairs[chosen].mean() + pairs[np.ix_(chosen, chosen)].mean()
        return brute_utility(members, lists, codes, codes, np.ones(n), absent, k) - 7.0 * apart

    from pivotal.kernels.exchange import count_in

    coalition = Coalition(lists, codes, codes, k=k, absent=absent)
    start = list(range(m))
    for point in start:
        coalition.enter(point)
        count_in(like, coalition.lists.codes, point, 1.0)
    allowed = np.full(n, within, np.int32)
    allowed[20] = 0
    pool = np.flatnonzero(allowed).astype(np.int32)
    candidates = np.tile(pool[:9], (m, 1)) if sampled else pool[np.newaxis]
    leaving = np.array(start)
    before = objective(set(start))
    gained = exchange(coalition.lists, coalition.now, like, leaving, candidates, allowed)
    after = set(leaving.tolist())
    assert after == set(coalition.members.tolist())
    assert len(after) == m
    assert 20 not in after
    assert objective(after) - before == pytest.approx(gained, abs=1e-5)
    assert gained > 0.0
    if within == 2:
        assert sorted(codes[leaving]) == sorted(codes[start])
    if sampled:
        return
    # Nothing that one more pass leaves alone can be raised by any single exchange.
    while exchange(coalition.lists, coalition.now, like, leaving, candidates, allowed) > 0.0:
        pass
    best = objective(set(leaving.tolist()))
    for out in leaving:
        for new in set(pool.tolist()) - set(leaving.tolist()):
            if within == 1 or codes[new] == codes[out]:
                assert objective(set(leaving.tolist()) - {int(out)} | {new}) <= best + 1e-5


def test_gains_are_the_values_of_points_added_by_incremental_editing():
    X, codes, _ = problem(3, n=20)
    points, labels, queries, targets = X[:12], codes[:12], X[12:], codes[12:]
    near = np.argsort(np.square(queries[:, np.newaxis] - points).sum(axis=2), axis=1, kind="stable")
    k, members = 3, [0, 2, 3, 5, 9]
    coalition = Coalition(near, labels, targets, k=k, absent=np.zeros(8)).enter(*members)
    how = {"utility": "soft", "semivalue": "loo", "classes": np.unique(codes)}
    edited = [pivotal.EditableKNNValuation(k=size, **how) for size in range(1, k + 1)]
    for model in edited:
        model.fit(points[members], labels[members]).update(queries, targets)
    for leaving, entering in ((2, 7), (0, 1), (3, 11)):
        expected = coalition.now.gains[entering]
        for model in edited:
            model.add(points[[entering]], labels[[entering]])
        values = [model.values_[-1] for model in edited]
        assert np.mean(values) * len(queries) == pytest.approx(expected, abs=1e-12)
        coalition.enter(entering).leave(leaving)
        for model in edited:
            model.remove(members.index(leaving))
        members = [*(member for member in members if member != leaving), entering]
