"""Curves are drawn as they are."""

from __future__ import annotations

import pytest

from pivotal.analysis import Curve, removal_curve
from pivotal.report.plots import plot_curves


def test_curves_are_drawn_as_they_are():
    data = ([[0.0], [1.0], [2.0], [3.0]], ["cat", "dog", "cat", "dog"], [[0.2], [1.2], [3.2]], ["cat", "cat", "dog"])
    ours = removal_curve([0.2, -0.1, 0.3, 0.1], *data, k=1, label="ours")
    chance = removal_curve(None, *data, k=1, order="random", random_state=0)
    ax = plot_curves([ours, chance])
    assert [line.get_ydata().tolist() for line in ax.lines] == [ours.scores.tolist(), chance.scores.tolist()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "random"]
    assert ax.get_xlabel() == "points removed"
    assert ax.get_ylabel() == "accuracy"
    ax = plot_curves(ours, shares=True)
    assert ax.lines[0].get_xdata().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert ax.get_xlabel() == "share of the points removed"
    assert ax.get_legend() is None


def test_curves_that_cannot_be_drawn_are_explained():
    with pytest.raises(ValueError, match="curves must hold at least one curve"):
        plot_curves([])
    with pytest.raises(ValueError, match="shares need curves that know the number of training points"):
        plot_curves(Curve([0, 1], [0.0, 1.0]), shares=True)
