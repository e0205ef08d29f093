"""Values of single queries: the same games one by one, kept, stored and put into words."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from matplotlib.axes import Axes

import flat
import pivotal
from effort import examples
from pivotal.results.per_query import PerQuery
from specimens import per_query
from strategies import build_game, small_games, utilities

RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=(40, 3)), np.array(["ant", "bee", "cow"])[RNG.integers(0, 3, 40)]
QUERIES, TARGETS = RNG.normal(size=(9, 3)), np.array(["ant", "bee", "cow"])[RNG.integers(0, 3, 9)]


def kept(**how: Any) -> pivotal.Values:
    return flat.value(X, Y, QUERIES, TARGETS, per_query=True, n_jobs=1, **how)


# ------------------------------------------------------------------------------------------------ the matrix


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"semivalue": "shapley", "utility": "soft"},
        {"weights": "distance", "k": 3},
        {"utility": pivotal.Hard(other_classes="ignore"), "k": 2},
        {"block_size": 2},
    ],
)
def test_each_row_is_the_value_of_its_query(how: dict[str, Any]) -> None:
    values = kept(**how)
    matrix = values.per_query
    assert matrix is not None
    assert matrix.shape == (9, 40)
    assert matrix.has_canonical_format
    classes = np.unique(Y)
    for query in range(9):
        alone = flat.value(
            X, Y, QUERIES[query : query + 1], TARGETS[query : query + 1], classes=classes, n_jobs=1, **how
        )
        np.testing.assert_array_equal(matrix[[query]].toarray()[0], alone.values)
    np.testing.assert_allclose(matrix.mean(axis=0), values.values, atol=values.error_bound)
    assert values.queries is not None
    assert values.queries.largest_dropped == 0.0


@pytest.mark.kernels
@examples(25)
@given(game=small_games(max_n=6), utility=utilities())
def test_rows_from_lists_add_up_to_the_values(game: Any, utility: Any) -> None:
    rng = np.random.default_rng(game.n)
    lists = np.argsort(rng.random((3, game.n)), axis=1)
    targets = rng.integers(0, len(game.classes), 3)
    name, options = utility
    values = flat.value_from_neighbors(
        lists,
        game.labels,
        targets,
        k=game.k,
        utility=build_game(name, options),
        classes=game.classes,
        per_query=True,
        n_jobs=1,
    )
    assert values.per_query is not None
    np.testing.assert_allclose(values.per_query.mean(axis=0), values.values, atol=values.error_bound)


def test_points_that_value_each_other_have_no_value_for_themselves() -> None:
    values = flat.value(X, Y, per_query=True, n_jobs=1)
    assert values.per_query is not None
    assert values.per_query.shape == (40, 40)
    assert (values.per_query.diagonal() == 0.0).all()
    np.testing.assert_allclose(values.per_query.mean(axis=0), values.values, atol=1e-15)


def test_several_batches_are_rows_one_after_the_other() -> None:
    model = flat.KNNValuation(per_query=True, n_jobs=1).fit(X, Y)
    model.update(QUERIES[:4], TARGETS[:4]).update(QUERIES[4:], TARGETS[4:])
    assert (model.result_.queries == kept().queries) is True


def test_without_asking_there_are_none() -> None:
    values = pivotal.value(X, Y, QUERIES, TARGETS, n_jobs=1)
    assert values.per_query is None
    with pytest.raises(ValueError, match="per_query=True"):
        values.explain(0)


def test_the_largest_entries_are_kept_where_memory_is_short() -> None:
    whole, cut = kept(semivalue="shapley", k=3), kept(semivalue="shapley", k=3, max_memory=16 * 9 * 10)
    assert whole.per_query is not None
    assert cut.per_query is not None
    assert cut.queries is not None
    np.testing.assert_array_equal(cut.values, whole.values)
    np.testing.assert_array_equal(np.diff(cut.per_query.indptr), 10)
    gap = np.abs(whole.per_query.toarray() - cut.per_query.toarray())
    assert gap.max() == cut.queries.largest_dropped > 0.0
    # what is kept beyond the nearest is at least as large as what is not
    for query in range(9):
        far = cut.queries.ranks[cut.per_query.indptr[query] : cut.per_query.indptr[query + 1]] > 3
        own = cut.per_query.data[cut.per_query.indptr[query] : cut.per_query.indptr[query + 1]]
        assert np.abs(own[far]).min() >= gap[query].max()


def test_what_cannot_be_kept_is_said() -> None:
    with pytest.raises(ValueError, match=r"room for the k=5 nearest of each of the 9 queries, 720 bytes; got 100"):
        kept(max_memory=100)
    with pytest.raises(ValueError, match="got method='coalitions'"):
        kept(method="coalitions", n_samples=2)
    with pytest.raises(ValueError, match="utility='threshold"):
        kept(utility="threshold(1.0)")
    with pytest.raises(ValueError, match="got method='random'"):
        kept(method="rand")


# --------------------------------------------------------------------------------------- kept, copied, compared


def test_the_matrix_survives_a_file_and_a_pickle(tmp_path: Path) -> None:
    values = kept(ids=[f"p{i}" for i in range(40)])
    values.save(tmp_path / "values.parquet")
    loaded = pivotal.Values.load(tmp_path / "values.parquet")
    assert values.equals(loaded)
    assert str(loaded.explain(2)) == str(values.explain(2))
    copied = pickle.loads(pickle.dumps(values))
    assert values.equals(copied)
    assert not copied.per_query.data.flags.writeable
    assert not values.equals(pivotal.value(X, Y, QUERIES, TARGETS, n_jobs=1, ids=values.ids))


def test_regression_survives_a_file(tmp_path: Path) -> None:
    responses = np.arange(40) / 7
    values = flat.value(X, responses, QUERIES, np.arange(9) / 3, utility="regression", per_query=True, n_jobs=1)
    values.save(tmp_path / "values.parquet")
    assert values.equals(pivotal.Values.load(tmp_path / "values.parquet"))


def test_a_file_that_lost_a_column_is_damaged(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    kept().save(tmp_path / "values.parquet")
    table = pq.read_table(tmp_path / "values.parquet").drop_columns(["query_ranks"])
    pq.write_table(table, tmp_path / "less.parquet")
    with pytest.raises(ValueError, match="damaged"):
        pivotal.Values.load(tmp_path / "less.parquet")


def test_normalized_values_are_the_mean_of_normalized_rows() -> None:
    values = kept(semivalue="shapley").normalized()
    assert values.per_query is not None
    np.testing.assert_allclose(values.per_query.mean(axis=0), values.values, atol=1e-14)


def test_rows_must_be_about_the_same_points() -> None:
    with pytest.raises(ValueError, match="a column per training point, 2; got 3 columns"):
        pivotal.Values([0.0, 1.0], n_queries=1, queries=per_query(3))


def test_two_sets_of_rows_differ_by_any_of_their_parts() -> None:
    rows = kept().queries
    assert isinstance(rows, PerQuery)
    assert rows != kept(k=4).queries
    assert rows != "rows"
    with pytest.raises(TypeError):
        hash(rows)
    with pytest.raises(ValueError, match="read-only"):
        rows.matrix.data[0] = 1.0


# ------------------------------------------------------------------------------------------------------- words


def test_an_explanation_names_the_points_for_and_against() -> None:
    values = flat.value(
        [[0.0], [1.0], [2.0], [3.0]], ["cat", "dog", "cat", "cat"], [[0.2], [1.1]], ["cat", "dog"], k=1, per_query=True
    )
    told = values.explain(0, n=1)
    assert str(told) == (
        "query 0 is labelled cat: 1 of its 1 nearest agrees. For: row 0 (cat) +0.625. Against: row 1 (dog) -0.375. "
        "2 others add up to +0.25."
    )
    assert repr(told) == str(told)
    frame = values.explain(0).to_frame()
    assert list(frame["side"]) == ["for", "for", "for", "against"]
    assert list(frame["rank"]) == [1, 3, 4, 2]
    assert list(frame.index) == [0, 2, 3, 1]
    np.testing.assert_array_equal(frame["value"], values.per_query[[0]].toarray()[0][frame.index])


def test_names_of_points_are_used() -> None:
    values = flat.value([[0.0], [1.0]], [1, 0], [[0.2]], [1], k=1, per_query=True, ids=["a", "b"])
    assert "row a (1) +" in str(values.explain(0))


def test_a_regression_is_explained_by_its_mean() -> None:
    values = flat.value(
        [[0.0], [1.0], [5.0]], [2.0, 4.0, 9.0], [[0.2]], [2.5], k=2, utility="regression", per_query=True
    )
    assert str(values.explain(0)).startswith("query 0 has the response 2.5: the mean of its 2 nearest is 3.")


def test_a_query_that_nobody_decides() -> None:
    values = flat.value([[0.0], [1.0]], ["a", "a"], [[0.2]], ["b"], classes=["a", "b"], k=1, per_query=True)
    assert str(values.explain(0)) == "query 0 is labelled b: 0 of its 1 nearest agree. No point changes anything."
    assert values.explain(0).to_frame().empty


@pytest.mark.parametrize("query", [-1, 9, 1.5, True, "first"])
def test_there_must_be_such_a_query(query: Any) -> None:
    with pytest.raises(ValueError, match="from 0 to 8, the last query"):
        kept().explain(query)


def test_an_explanation_shows_at_least_one_point() -> None:
    with pytest.raises(ValueError, match="n must be a positive integer"):
        kept().explain(0, n=0)


def test_an_explanation_is_drawn() -> None:
    told = kept().explain(3)
    ax = told.plot()
    assert isinstance(ax, Axes)
    assert len(ax.patches) == len(told.values)
    assert sorted(bar.get_width() for bar in ax.patches) == pytest.approx(sorted(told.values))
    assert told.plot(ax) is ax
