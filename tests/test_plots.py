"""Plots show the numbers of the result, on axes that belong to nobody else."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

import flat
from absent import PLOTS, load_without
from pivotal.report.plots import plot_histogram, plot_intervals, plot_rank_intervals, plot_values
from pivotal.results.values import Values


@pytest.fixture
def values():
    return Values([0.25, -0.5, 0.75, 0.0, -0.5], n_queries=4, full_utility=0.9, empty_utility=0.0)


def test_curve_shows_the_values_in_order_over_a_zero_line(values):
    ax = plot_values(values)
    zero, curve = ax.lines
    assert list(zero.get_ydata()) == [0.0, 0.0]
    assert curve.get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert curve.get_ydata().tolist() == [0.75, 0.25, 0.0, -0.5, -0.5]
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "value"


@pytest.mark.parametrize("highlight", [[4, 0], np.array([True, False, False, False, True]), [0, 4, 4]])
def test_curve_marks_points_at_their_rank(values, highlight):
    ax = plot_values(values, highlight=highlight, highlight_label="flipped", label="all")
    (dots,) = ax.collections
    assert np.asarray(dots.get_offsets()).tolist() == [[2.0, 0.25], [5.0, -0.5]]
    assert sorted(text.get_text() for text in ax.get_legend().get_texts()) == ["all", "flipped"]


@pytest.mark.parametrize("highlight", [[], None, np.zeros(5, dtype=bool)])
def test_nothing_to_mark_draws_no_marks(values, highlight):
    assert not plot_values(values, highlight=highlight).collections


def test_histogram_counts_every_point_once(values):
    ax = plot_histogram(values, bins=5)
    heights = [bar.get_height() for bar in ax.patches]
    expected, edges = np.histogram(values.values, 5)
    assert heights == expected.tolist()
    assert [bar.get_x() for bar in ax.patches] == pytest.approx(edges[:-1])


def test_histogram_counts_highlighted_points_in_the_same_bins(values):
    ax = plot_histogram(values, bins=5, highlight=[1, 2], highlight_label="flipped")
    all_bars, marked = (np.array([bar.get_height() for bar in bars]) for bars in ax.containers)
    assert all_bars.sum() == 5
    assert marked.tolist() == [1, 0, 0, 0, 1]
    assert "flipped" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("plot", [plot_values, plot_histogram])
def test_plots_draw_where_they_are_told(values, plot):
    ax = Figure().subplots()
    assert plot(values, ax) is ax


@pytest.mark.parametrize("plot", [plot_values, plot_histogram])
@pytest.mark.parametrize(
    ("highlight", "message"),
    [
        ([5], r"highlight must hold training indices from 0 to 4; got 5"),
        ([-1, 2], r"highlight must hold training indices from 0 to 4; got -1"),
        ([True, False], r"highlight as a mask must have shape \(5,\); got shape \(2,\)"),
        ([[1, 2]], r"highlight must be training indices or a boolean mask, one-dimensional; got shape \(1, 2\)"),
        ([0.5], r"highlight must be training indices or a boolean mask, .* dtype float64"),
    ],
)
def test_highlight_must_name_training_points(values, plot, highlight, message):
    with pytest.raises(ValueError, match=message):
        plot(values, highlight=highlight)


def test_plots_leave_no_global_state_and_need_no_display(tmp_path):
    code = (
        "import sys; from pivotal.report.plots import plot_values; from pivotal.results.values import Values;"
        "ax = plot_values(Values([1.0, 2.0], n_queries=1, full_utility=1.0, empty_utility=0.0));"
        "ax.figure.savefig(sys.argv[1]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "plot.png")], check=True, timeout=120)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_message_names_the_extra(monkeypatch):
    with pytest.raises(ImportError, match=r"plots need matplotlib; install it with: pip install 'pivotal\[plots\]'"):
        load_without(monkeypatch, "matplotlib", *PLOTS)


@pytest.mark.parametrize("name", [r"$\frac{$", "$100-$200", "a$", r"50\$", "$$"])
def test_dollars_in_labels_are_drawn_as_they_are(name):
    X, y = np.arange(6.0)[:, np.newaxis], [name, "b", name, "b", name, "b"]
    values = flat.value(X, y, per_query=True, ids=[f"{name}{row}" for row in range(6)])
    ax = values.explain(0).plot()
    ax.figure.canvas.draw()  # a formula that makes no sense raises here
    for text in [*ax.get_yticklabels(), *(child for child in ax.get_children() if isinstance(child, Text))]:
        drawn, is_formula = text._preprocess_math(text.get_text())
        assert not is_formula
        if "row" in drawn:
            assert name in drawn


# ------------------------------------------------------------------------------------------------------- how sure


@pytest.fixture
def measured():
    rng = np.random.default_rng(0)
    return Values(
        np.concatenate([np.full(5, 0.5), np.full(3, -0.4), rng.normal(0.0, 0.005, 4)]),
        n_queries=100,
        query_standard_error=np.full(12, 0.02),
        error_bound=0.0,
    )


def test_intervals_are_drawn_where_they_are_and_signs_have_colours(measured):
    ax = plot_intervals(measured, level=0.9)
    low, high = measured.interval(0.9)
    signs, order = measured.sign().signs, measured.order()
    drawn = {}
    for lines, dots in zip(ax.collections, ax.lines[1:], strict=True):
        assert lines.get_color()[0][:3] == pytest.approx(to_rgb(dots.get_color()))
        for (x, bottom), (_, top) in lines.get_segments():
            drawn[int(x)] = (bottom, top)
        for x, y in zip(dots.get_xdata(), dots.get_ydata(), strict=True):
            assert y == measured.values[order[int(x) - 1]]
    for rank, point in enumerate(order, 1):
        assert drawn[rank] == pytest.approx((low[point], high[point]))
    counts = [len(dots.get_xdata()) for dots in ax.lines[1:]]
    assert counts == [(signs == 1).sum(), (signs == 0).sum(), (signs == -1).sum()] == [5, 4, 3]
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == ["5 help beyond doubt", "of 4 the sign cannot be told", "3 harm beyond doubt"]
    assert ax.get_title(loc="left").startswith("Intervals cover the choice of the queries")


@pytest.mark.parametrize("best", [True, False])
def test_ranks_are_drawn_from_the_best_to_the_worst(measured, best):
    ax = plot_rank_intervals(measured, n=4, best=best)
    first, last = measured.rank_interval()
    rows = measured.order()[:4] if best else measured.order()[-4:]
    segments = ax.collections[0].get_segments()
    assert [[int(x) for x, _ in one] for one in segments] == [[first[row], last[row]] for row in rows]
    assert ax.lines[0].get_xdata().tolist() == measured.rank()[rows].tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(row) for row in rows]
    ax.figure.canvas.draw()


def test_values_draw_themselves(measured, values):
    for kind in ("values", "intervals", "ranks", "histogram"):
        measured.plot(kind).figure.canvas.draw()
    assert measured.plot("intervals", level=0.5).get_ylabel() == "value, 0.5 interval"
    with pytest.raises(ValueError, match="kind must be one of 'values', 'intervals', 'ranks', 'histogram'; got 'pie'"):
        measured.plot("pie")
    with pytest.raises(ValueError, match="an interval needs a standard error or an error bound"):
        values.plot("intervals")
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got n=0"):
        measured.plot("ranks", n=0)
