"""Far points by shells: no value is off by more than the bound, and nothing depends on how the work is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from pivotal import KNNValuation
from pivotal.core.frozen import read_only
from pivotal.core.games import Hard, Soft
from pivotal.core.semivalues import Shapley
from pivotal.core.spec import Spec
from pivotal.engine.exact import Engine
from pivotal.engine.far_points import FarPoints, _TwoKinds
from pivotal.engine.game_shape import GameShape
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.engine.truncation import NeighborVotes
from pivotal.engine.whole_orders import WholeOrders
from pivotal.kernels.shell_counts import SHELLS, Points, count_tile, make_shell_scratch
from pivotal.neighbors import BruteIndex

pytestmark = pytest.mark.kernels

N = 12_000
TOL = 2e-3


def whole_orders(engine: Engine, index: BruteIndex) -> WholeOrders | None:
    spec = Spec.of(k=engine.k, utility=engine.game, semivalue=engine.semivalue)
    return WholeOrders.of(engine, index, NeighborVotes(engine, spec, n_players=engine.n_players), 1)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who counted queries: shells or whole orders."""
    who: list[str] = []
    for kind, method in ((FarPoints, "_count_block"), (WholeOrders, "count")):
        plain = getattr(kind, method)

        def told(self: Any, *args: Any, plain: Any = plain, kind: type = kind, **more: Any) -> Any:
            who.append(kind.__name__)
            return plain(self, *args, **more)

        monkeypatch.setattr(kind, method, told)
    return who


def points(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "clusters":
        X += 6 * rng.normal(size=(5, d))[rng.integers(0, 5, n)]
    elif kind == "grid":
        X = rng.integers(-3, 4, (n, d)).astype(float)
    elif kind == "far from the origin":
        X = X * 1e-3 + 1e5
    elif kind == "an outlier":
        X[0] = 1e6
    return X.astype(np.float32) if kind == "single precision" else X


@pytest.mark.parametrize("game", ["hard", Hard(tie="win"), "soft", "soft-k"], ids=str)
@pytest.mark.parametrize("kind", ["normal", "single precision", "clusters", "an outlier"])
@pytest.mark.parametrize("itself", [False, True], ids=["test set", "self-valuation"])
def test_no_value_is_off_by_more_than_the_bound(game: Any, kind: str, itself: bool, counted: list[str]) -> None:
    if itself and kind != "normal":
        pytest.skip("one kind of points will do for all points as queries")
    rng = np.random.default_rng(2)
    n = 2 * 1024 * 8 if itself else N
    X, queries = points(kind, n, 4, 0), points("normal", 5, 4, 1)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    targets = rng.integers(0, 2, 5)
    how: dict[str, Any] = {"k": 5, "utility": game, "semivalue": "shapley"}
    if itself:  # a few of the points by all others
        own = np.array([3, 77, n - 1])
        shape = GameShape(n - 1, 2, n - 1)
        engine, exact = (Engine(Spec.of(tol=tol, **how), y.astype(np.int32), shape) for tol in (TOL, 1e-16))
        index = BruteIndex(X)
        for one in (engine, exact):
            counter = FarPoints.of(one, index, lambda one=one: whole_orders(one, index))
            counter.count(lambda part: (index.rows(X[own[part]]), own[part]), y[own].astype(np.int32))
        near, true = engine.result(ids=None, settings={}), exact.result(ids=None, settings={})
    else:
        near = KNNValuation(tol=TOL, **how).fit(X, y).update(queries, targets).result_
        true = KNNValuation(**how).fit(X, y).update(queries, targets).result_
    assert counted[0] == "FarPoints"
    assert np.abs(near.values - true.values).max() <= near.error_bound <= 1.01 * TOL
    assert near.full_utility == true.full_utility
    assert np.abs(near.values - true.values).max() > 0.0


@given(
    st.sampled_from([Hard(), Hard(tie="win"), Soft(), Soft(divide_by="k")]),
    st.integers(1, 9),
    st.sampled_from(["right first", "wrong first", "shuffled", "blocks"]),
    st.floats(0.02, 0.98),
    st.integers(0, 10**6),
)
@examples(80)
def test_the_bound_holds_for_every_order_within_shells(game: Any, k: int, order: str, share: float, seed: int) -> None:
    """Nobody knows the order within a shell: the worst is tried, with wide shells and lopsided ones."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate(([40], rng.integers(0, 60, 12)))
    labels, counts = [], np.zeros((len(sizes), 2), np.int32)
    for b, size in enumerate(sizes):
        here = (rng.random(size) < (share if order != "blocks" else b % 2)).astype(np.int32)
        if b > 0 and order != "shuffled":
            here = np.sort(here)[:: -1 if order == "right first" else 1]
        counts[b] = np.bincount(here, minlength=2)
        labels.append(here)
    ranks, n = np.concatenate(labels), int(sizes.sum())
    own_engine = Engine(Spec.of(utility=game, semivalue="shapley", k=k), ranks, GameShape(n, 2, n))
    table, target = np.zeros((len(sizes), 2)), np.ones(1, np.int32)
    values, bound = _TwoKinds(own_engine, 64).solve(ranks[np.newaxis, :40], target, counts, table)
    solver, exact = make_solver(game, Shapley(), k, n, 2), np.empty((1, n))
    solver.solve(Block(ranks[np.newaxis], None, target), solver.scratch(), exact)
    shell = np.repeat(np.arange(len(sizes)), sizes)
    found = np.concatenate((values, table[shell, ranks][40:]))
    assert np.abs(found - exact[0]).max() <= bound + 1e-14


@pytest.mark.parametrize("game", ["hard", "soft"])
def test_threads_blocks_and_batches_change_no_bit(game: str, counted: list[str]) -> None:
    rng = np.random.default_rng(4)
    X, queries = points("single precision", N, 5, 4), rng.normal(size=(30, 5))
    queries[7] = 1e13  # goes by the order of all points
    y, targets, weights = rng.integers(0, 2, N), rng.integers(0, 2, 30), rng.random(30)
    how: dict[str, Any] = {"k": 5, "utility": game, "semivalue": "shapley", "tol": TOL}
    one = KNNValuation(n_jobs=1, **how).fit(X, y).update(queries, targets, weights).result_
    assert "WholeOrders" in counted
    for n_jobs, block_size in ((2, None), (3, 1), (2, 7)):
        model = KNNValuation(n_jobs=n_jobs, block_size=block_size, **how).fit(X, y)
        model.update(queries[:13], targets[:13], weights[:13]).update(queries[13:], targets[13:], weights[13:])
        np.testing.assert_array_equal(model.result_.values, one.values)
        assert model.result_.error_bound == one.error_bound


@pytest.mark.parametrize("kind", ["grid", "far from the origin"])
def test_distances_too_much_alike_keep_the_bound(kind: str) -> None:
    rng = np.random.default_rng(5)
    X, y = points(kind, N, 3, 5), rng.integers(0, 2, N)
    queries, targets = X[:4] + 0.01, y[:4]
    how: dict[str, Any] = {"k": 5, "semivalue": "shapley"}
    near = KNNValuation(tol=TOL, **how).fit(X, y).update(queries, targets).result_
    true = KNNValuation(**how).fit(X, y).update(queries, targets).result_
    assert np.abs(near.values - true.values).max() <= near.error_bound <= 1.01 * TOL


@pytest.mark.parametrize("squared", [False, True])
def test_points_near_a_wall_are_where_their_exact_distance_says(squared: bool) -> None:
    rng = np.random.default_rng(6)
    X, labels = rng.normal(size=(6000, 3)), np.zeros(6000, np.int32)
    index = BruteIndex(X, "sqeuclidean" if squared else "euclidean", n_jobs=1)
    shells = index.shells(300, 5000)
    assert shells is not None
    queries, targets = rng.normal(size=(2, 3)), np.ones(2, np.int32)
    plain = shells.count(queries, labels, targets, np.full(2, -1))
    factor, walls = shells._walls(queries)
    measured = np.zeros_like(plain.counts)
    found = np.empty((2, shells.room), np.int32), np.zeros(2, np.int64)
    wide = walls._replace(slack=np.full(2, 1e9))  # nobody is believed: all are measured
    for tile in shells._tiles(factor, slice(0, 6000)):
        how = Points(read_only(X), queries, squared, shells._scale**2), labels, targets
        count_tile(tile, wide, *how, measured, *found, make_shell_scratch(4096))
    np.testing.assert_array_equal(plain.counts, measured)
    assert plain.counts.shape == (2, SHELLS + 2, 2)
    assert plain.counts.sum() == 12_000
    distances = np.linalg.norm(X - queries[0], axis=1)
    assert distances[plain.near[0]].max() < np.delete(distances, plain.near[0]).min()


def test_who_goes_by_shells() -> None:
    rng = np.random.default_rng(7)
    X, labels = rng.normal(size=(N, 2)), rng.integers(0, 3, N).astype(np.int32)
    index = BruteIndex(X)

    def counter(game: Any, tol: float, n_classes: int = 2, **more: Any) -> Any:
        spec = Spec.of(utility=game, semivalue=more.pop("semivalue", Shapley()), tol=tol)
        engine = Engine(spec, labels % n_classes, GameShape(N, n_classes, N, **more))
        return FarPoints.of(engine, index, lambda: whole_orders(engine, index))

    assert isinstance(counter(Hard(), TOL), FarPoints)
    assert isinstance(counter(Soft(), TOL, n_classes=3), FarPoints)
    assert isinstance(counter(Hard(), TOL, n_classes=3), WholeOrders)
    assert isinstance(counter(Hard(), 1e-16), WholeOrders)
    assert isinstance(counter(Hard(), TOL, largest_vote=3), WholeOrders)
