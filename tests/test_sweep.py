"""Many settings from one search: every column is what a call of its own gives, and the diagnostics add up."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

import flat
import pivotal
from effort import examples
from pivotal import RBF, Hard, Shapley, value
from pivotal.core.binomials import binomial_chance
from pivotal.neighbors import BruteIndex
from pivotal.valuation.sweep import Sweep, bits_diagnostic, sweep
from pivotal.valuation.sweep._sweep_settings import Setting

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.integers(0, 3, 40)
QUERIES, TARGETS = RNG.normal(size=(9, 2)), RNG.integers(0, 3, 9)
DATA = (X, Y, QUERIES, TARGETS)


def check_against_value(swept: Sweep, *data: Any, **how: Any) -> None:
    for setting, result in swept.results.items():
        chosen = {**setting._asdict(), "bits": setting.bits or None, **how}
        assert result.equals(flat.value(*data, **chosen)), setting


def test_every_setting_is_what_a_call_of_its_own_gives() -> None:
    swept = sweep(*DATA, k=[1, 3, 60], utility=["hard", "soft", "plurality"], semivalue=["banzhaf", "shapley"])
    assert len(swept) == 18
    check_against_value(swept, *DATA)


def test_weighted_votes_and_their_bits() -> None:
    swept = flat.sweep(*DATA, k=[2, 4], weights=["uniform", "distance", "rbf"], bits=[2, 5], block_size=4)
    assert [s.bits for s in swept.results if s.k == 2] == [0, 2, 5, 2, 5]  # unweighted needs no bits
    check_against_value(swept, *DATA)


@given(seed=st.integers(0, 2**32 - 1), block_size=st.integers(1, 4), each_other=st.booleans(), weighted=st.booleans())
@examples(15)
def test_any_data(seed: int, block_size: int, each_other: bool, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n, n_queries = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    data = [rng.integers(0, 3, (n, 1)), rng.integers(0, 3, n)]  # full of ties
    if not each_other:
        data += [rng.integers(0, 3, (n_queries, 1)), rng.integers(0, 3, n_queries)]
    how: dict[str, Any] = {"classes": range(3), "tol": 0.01}
    if weighted:
        how["query_weights"] = rng.random(n if each_other else n_queries) + 0.1
    swept = flat.sweep(*data, k=range(1, 4), semivalue=["banzhaf", "loo"], block_size=block_size, **how)
    check_against_value(swept, *data, **how)


def test_lists_that_must_grow() -> None:
    rng = np.random.default_rng(1)
    data = (
        rng.normal(size=(700, 1)),
        rng.choice(3, 700, p=[0.495, 0.495, 0.01]),
        rng.normal(size=(5, 1)),
        [2, 0, 1, 2, 2],
    )
    game = Hard(other_classes="ignore")
    swept = flat.sweep(*data, k=[1, 2], utility=["hard", game], block_size=2)
    for k in (1, 2):
        for utility in ("hard", game):
            assert swept.values(k=k, utility=utility).equals(value(*data, k=k, utility=utility))


def test_one_search_serves_all_settings() -> None:
    class Counting(BruteIndex):
        searches = 0

        def _find(self, queries: Any, depth: int) -> Any:
            self.searches += 1
            return super()._find(queries, depth)

    index = Counting(X)
    sweep(*DATA, k=range(1, 6), semivalue=["banzhaf", "shapley"], neighbors=index)
    assert index.searches == 2  # the other is the sample that an index of the user's is held against


def test_classes_of_queries_may_be_balanced() -> None:
    swept = flat.sweep(*DATA, k=[1, 2], class_weight="balanced")
    check_against_value(swept, *DATA, class_weight="balanced")


def test_many_labels_and_names() -> None:
    y, targets = np.eye(3, dtype=int)[Y], np.eye(3, dtype=int)[TARGETS]
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(40)])
    swept = sweep(frame, y, QUERIES, targets, k=[1, 2])
    check_against_value(swept, frame, y, QUERIES, targets)
    assert swept.table.index[3] == "row 3"


def test_progress_counts_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    sweep(*DATA, k=[1, 2], progress=True)
    assert "18/18" in capsys.readouterr().err
    sweep(*DATA, k=[1, 2])
    assert capsys.readouterr().err == ""


def test_an_approximate_index_tells_its_recall() -> None:
    pytest.importorskip("faiss")
    swept = sweep(*DATA, k=[1, 2], neighbors="faiss-hnsw")
    assert all(result.recall is not None for result in swept.results.values())
    assert swept.values(k=1).settings["neighbors"] == "faiss-hnsw"


def test_regression() -> None:
    check_against_value(sweep(*DATA, utility="regression", k=2), *DATA)


@pytest.fixture(scope="module")
def swept() -> Sweep:
    return sweep(*DATA, k=range(1, 6), utility=["hard", "soft"], semivalue=[Shapley(), "banzhaf"])


def test_the_table_is_labelled(swept: Sweep) -> None:
    table = swept.table
    assert table.shape == (40, 20)
    assert table.columns.names == ["utility", "semivalue", "weights", "bits", "k"]
    assert table.columns[0] == ("hard", "shapley", "uniform", 0, 1)
    assert table.index.name == "id"
    assert np.array_equal(table["soft", "banzhaf", "uniform", 0, 3], value(*DATA, k=3, utility="soft").values)
    assert repr(swept).startswith("Sweep(n_train=40, settings=20: utility hard, soft; semivalue shapley, banzhaf;")


def test_parts_are_chosen_by_name_or_object(swept: Sweep) -> None:
    part = swept.where(utility=Hard(), semivalue="shapley")
    assert list(part.results) == [Setting("hard", "shapley", "uniform", 0, k) for k in range(1, 6)]
    assert part.values(k=2).equals(value(*DATA, k=2, semivalue="shapley"))
    with pytest.raises(ValueError, match=r"no k=9. utility hard, soft; .* k 1, 2, 3, 4, 5"):
        swept.where(k=9)
    with pytest.raises(ValueError, match=r"values are those of one setting; got 5 that fit. Also say k"):
        part.values()
    with pytest.raises(ValueError, match=r"settings of a sweep are utility, .*; got 'metric'"):
        swept.where(metric="cosine")


def test_rank_correlations_are_those_of_scipy(swept: Sweep) -> None:
    part = swept.where(utility="soft", semivalue="banzhaf")
    for method, scipy_method in (("spearman", spearmanr), ("kendall", kendalltau)):
        matrix = part.rank_correlation("k", method)
        assert list(matrix.index) == [1, 2, 3, 4, 5]
        one, other = part.values(k=2).values, part.values(k=5).values
        assert matrix.loc[2, 5] == pytest.approx(scipy_method(one, other).statistic)
    everything = swept.rank_correlation(along=None)
    assert everything.shape == (20, 20)
    assert np.allclose(np.diag(everything), 1.0)
    with pytest.raises(
        ValueError, match=r"everything else fixed; got several of utility and of semivalue. Choose with where"
    ):
        swept.rank_correlation("k")
    with pytest.raises(ValueError, match=r"along must be one of utility, .*; got 'depth'"):
        swept.rank_correlation("depth")
    with pytest.raises(ValueError, match=r"method must be 'spearman' or 'kendall'; got 'pearson'"):
        part.rank_correlation(method="pearson")


def test_steps_compare_neighbours(swept: Sweep) -> None:
    steps = swept.steps(share=0.1)
    assert len(steps) == 4 * 4
    first = steps.iloc[0]
    assert (first["utility"], first["from"], first["to"]) == ("hard", 1, 2)
    part = swept.where(utility="hard", semivalue="shapley")
    one, other = part.values(k=1), part.values(k=2)
    assert first["spearman"] == pytest.approx(spearmanr(one.values, other.values).statistic)
    least = [set(v.order()[-4:].tolist()) for v in (one, other)]
    assert first["overlap"] == len(least[0] & least[1]) / 4


def test_stability_sums_up_the_steps(swept: Sweep) -> None:
    stability = swept.stability()
    assert len(stability) == 4
    steps = swept.steps()
    mine = steps[(steps["utility"] == "soft") & (steps["semivalue"] == "banzhaf")]
    row = stability.loc["soft", "banzhaf", "uniform", 0]
    assert row["spearman"] == pytest.approx(mine["spearman"].mean())
    assert row["smallest_spearman"] == mine["spearman"].min()
    assert row["overlap"] == pytest.approx(mine["overlap"].mean())
    assert row["smallest_overlap"] == mine["overlap"].min()
    along_games = swept.stability("utility")
    assert list(along_games.index.names) == ["semivalue", "weights", "bits", "k"]
    with pytest.raises(ValueError, match=r"stability needs at least two settings along bits; got one"):
        swept.stability("bits")


@pytest.mark.parametrize("share", [0, -0.1, 1.5, "5 %", True, np.nan])
def test_shares_are_checked(swept: Sweep, share: Any) -> None:
    with pytest.raises(ValueError, match=r"share must lie above 0 and be at most 1; got"):
        swept.steps(share=share)


def test_values_that_are_all_the_same_have_no_ranking() -> None:
    flat = sweep([[0.0], [0.0]], [1, 1], [[0.0]], [0], k=[1, 2], classes=[0, 1])
    assert np.isnan(flat.steps()["spearman"][0])


def test_the_plot_shows_the_steps(swept: Sweep) -> None:
    steps = swept.steps()
    ax = swept.plot()
    assert len(ax.lines) == 8
    assert ax.lines[0].get_xdata().tolist() == [2, 3, 4, 5]
    assert ax.lines[0].get_ydata().tolist() == steps["spearman"][:4].tolist()
    assert ax.lines[1].get_ydata().tolist() == steps["overlap"][:4].tolist()
    assert ax.lines[0].get_label() == "hard shapley rank correlation"
    assert ax.get_xlabel() == "k, against the one before"
    alone = swept.where(utility="hard", semivalue="shapley").plot(ax=ax)
    assert alone is ax
    assert ax.lines[8].get_label() == "rank correlation"
    assert swept.plot("semivalue").lines[0].get_xdata().tolist() == ["banzhaf"]
    with pytest.raises(ValueError, match=r"a plot along weights needs at least two settings; got one"):
        swept.plot("weights")


def test_bits_are_measured_against_the_finest() -> None:
    found = bits_diagnostic(*DATA, bits=[8, 1, 4], k=3, utility="soft", weights=RBF(0.5), semivalue="shapley")
    finest = value(*DATA, bits=8, k=3, utility="soft", weights=RBF(0.5), semivalue="shapley").values
    coarse = found.sweep.values(bits=1).values
    assert list(found.table.index) == [1, 4, 8]
    assert found.table.loc[1, "largest_change"] == np.abs(coarse - finest).max()
    assert found.table.loc[1, "mean_change"] == pytest.approx(np.abs(coarse - finest).mean())
    assert found.table.loc[1, "relative_change"] == np.abs(coarse - finest).max() / np.abs(finest).max()
    assert found.table.loc[1, "spearman"] == pytest.approx(spearmanr(coarse, finest).statistic)
    assert found.table.loc[8].tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]


def test_recommended_bits() -> None:
    def recommended(agreement: float, change: float) -> int | None:
        return bits_diagnostic(*DATA, bits=[1, 4, 7], k=2, agreement=agreement, change=change).recommended

    assert recommended(0.0, 1.0) == 1
    assert recommended(1.0, 0.0) is None
    table = bits_diagnostic(*DATA, bits=[1, 4, 7], k=2).table
    assert recommended(float(table.loc[4, "spearman"]), float(table.loc[4, "relative_change"])) == 4


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"k": []}, "k must be one or several; got none. Omit it for the default"),
        ({"k": [1, 0]}, "k must be an integer of at least 1; got k=0"),
        ({"utility": ["hard", "regression"]}, "must all be for classes or all for numbers; got both"),
        ({"utility": "threshold(1.0)"}, r"a sweep is over games of the k nearest; got threshold\(1.0\)"),
        ({"utility": ["hard", "plurality"], "weights": "distance"}, 'utility="plurality" takes unweighted'),
        ({"semivalue": ["nonsense"]}, "semivalue must"),
        ({"weights": ["loud"]}, "weights must be one of"),
        ({"bits": [7, 17]}, "bits must be an integer from 1 to 16; got bits=17"),
        ({"y_test": None}, "X_test and y_test go together; got only one of them"),
        ({"query_weights": [1.0]}, "query_weights must have one number per query"),
    ],
    ids=str,
)
def test_bad_sweeps(how: dict[str, Any], message: str) -> None:
    call = {"X_train": X, "y_train": Y, "X_test": QUERIES, "y_test": TARGETS, "k": 2, **how}
    with pytest.raises(ValueError, match=message):
        flat.sweep(**call)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"weights": "uniform"}, 'bits are for weighted votes; got weights="uniform"'),
        ({"bits": [7]}, r"bits must be at least two numbers to compare; got \[7\]"),
        ({"bits": [0, 7]}, "bits must be an integer from 1 to 16"),
        ({"k": [1, 2]}, "only bits may vary; got 4 settings for 2 numbers of bits"),
        ({"agreement": 1.5}, r"agreement must lie in \[0, 1\]; got 1.5"),
        ({"change": -1}, r"change must lie in \[0, 1\]; got -1"),
    ],
    ids=str,
)
def test_bad_diagnostics(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bits_diagnostic(*DATA, **{"bits": [1, 2], **how})


# Identity.


def test_functions_that_differ_are_different_columns() -> None:
    near, nearer = (lambda d: np.exp(-d)), (lambda d: np.exp(-4.0 * d))
    swept = sweep(*DATA, k=3, weights=[near, nearer, near, lambda d: np.exp(-d), "uniform"])
    assert [setting.weights for setting in swept.results] == ["<lambda> (1)", "<lambda> (2)", "uniform"]
    assert swept.table.columns.is_unique
    for choice in (near, nearer, "uniform"):
        assert swept.values(weights=choice).equals(value(*DATA, k=3, weights=choice))
    assert swept.values(weights="<lambda> (2)").equals(value(*DATA, k=3, weights=nearer))
    assert not swept.values(weights=near).equals(swept.values(weights=nearer))
    with pytest.raises(ValueError, match="it has no weights='<lambda>'"):
        swept.values(weights=lambda d: np.exp(-2.0 * d))
    assert swept.where(k=3).values(weights=near).equals(swept.values(weights=near))


def test_one_function_keeps_its_name() -> None:
    def falling(distances: Any) -> Any:
        return 1.0 / (1.0 + distances)

    swept = sweep(*DATA, k=3, weights=[falling, falling])
    assert [setting.weights for setting in swept.results] == ["falling"]
    assert swept.values(weights=falling).equals(swept.values(weights="falling"))


def test_closures_semivalues_and_games_are_told_by_content() -> None:
    def falling(scale: float) -> Any:
        return lambda d: np.exp(-d / scale)

    @dataclass(frozen=True)
    class Named(pivotal.Semivalue):
        q: float
        name = "mine"

        def joined(self, n: Any, s: int) -> Any:
            return binomial_chance(np.asarray(n), s, self.q)

        def mass(self, a: int, b: int) -> float:
            return float(self.q**a * (1.0 - self.q) ** b)

    assert len(sweep(*DATA, k=2, weights=[falling(1.0), falling(2.0), falling(1.0)])) == 2
    swept = sweep(*DATA, k=2, semivalue=[Named(0.5), Named(0.1), Named(0.5)])
    assert [setting.semivalue for setting in swept.results] == ["mine (1)", "mine (2)"]
    for q in (0.5, 0.1):
        assert swept.values(semivalue=Named(q)).equals(value(*DATA, k=2, semivalue=Named(q)))


def test_functions_that_cannot_be_told_by_content_are_themselves() -> None:
    lock = threading.Lock()

    def locked(scale: float) -> Any:
        def weigh(distances: Any) -> Any:
            with lock:
                return np.exp(-distances / scale)

        return weigh

    one, other = locked(1.0), locked(2.0)
    swept = sweep(*DATA, k=2, weights=[one, other, one])
    assert [setting.weights for setting in swept.results] == ["weigh (1)", "weigh (2)"]
    assert swept.values(weights="weigh (2)").equals(value(*DATA, k=2, weights=other))
