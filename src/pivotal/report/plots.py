"""Pictures of results. Draws what `Values` holds and computes nothing.

Needs matplotlib, from the extra `plots`. Figures are made without pyplot: no display is needed, no global state is
touched, and a figure is freed when it is no longer used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pivotal.analysis import Curve
from pivotal.core.types import IndexArray
from pivotal.report._axes import HIGHLIGHT_COLOR, INK, MUTED, VALUE_COLOR, literal, new_figure, prepare_axes
from pivotal.report.certainty_plots import plot_intervals, plot_rank_intervals
from pivotal.results.explain import Explanation
from pivotal.results.values import Values

__all__ = [
    "HIGHLIGHT_COLOR", "INK", "MUTED", "VALUE_COLOR", "new_figure", "plot_curves", "plot_explanation", "plot_histogram",
    "plot_intervals", "plot_rank_intervals", "plot_selection", "plot_steps", "plot_values",
]  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_values(
    values: Values,
    ax: Axes | None = None,
    *,
    highlight: ArrayLike | None = None,
    highlight_label: str = "highlighted",
    label: str = "all points",
) -> Axes:
    """Draw the values from the most to the least valuable point.

    Parameters
    ----------
    values : Values
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    highlight : array-like, optional
        Points to mark on the curve: training indices, or a boolean mask of shape (n_train,).
    highlight_label, label : str
        Names in the legend, which is drawn when there are points to mark.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> values = Values([0.25, -0.5, 0.75], n_queries=4, full_utility=0.9, empty_utility=0.0)
    >>> ax = plot_values(values, highlight=[1])
    >>> ax.lines[1].get_ydata()
    array([ 0.75,  0.25, -0.5 ])
    """
    marked = _as_indices(highlight, len(values))
    ax = prepare_axes(ax)
    order = values.order()
    ranks = np.arange(1, len(values) + 1)
    ax.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    ax.plot(ranks, values.values[order], color=VALUE_COLOR, linewidth=1.8, label=label, zorder=2)
    if marked.size:
        places = np.flatnonzero(np.isin(order, marked))
        ax.scatter(
            ranks[places],
            values.values[order[places]],
            s=16,
            color=HIGHLIGHT_COLOR,
            edgecolor="white",
            linewidth=0.4,
            label=highlight_label,
            zorder=3,
        )
        ax.legend(frameon=False)
    ax.set_xlabel("rank, most valuable first")
    ax.set_ylabel("value")
    return ax


def plot_histogram(
    values: Values,
    ax: Axes | None = None,
    *,
    bins: int | str = "auto",
    highlight: ArrayLike | None = None,
    highlight_label: str = "highlighted",
    label: str = "all points",
) -> Axes:
    """Draw how many points have which value.

    Parameters
    ----------
    values : Values
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    bins : int or str, default="auto"
        As `numpy.histogram_bin_edges` takes it.
    highlight : array-like, optional
        Points to count a second time, in front: training indices, or a boolean mask of shape (n_train,).
    highlight_label, label : str
        Names in the legend, which is drawn when there are points to mark.

    Returns
    -------
    ax : matplotlib Axes
    """
    marked = _as_indices(highlight, len(values))
    ax = prepare_axes(ax)
    edges = np.histogram_bin_edges(values.values, bins).tolist()
    ax.hist(values.values, edges, color=VALUE_COLOR, alpha=0.85, label=label)
    if marked.size:
        ax.hist(values.values[marked], edges, color=HIGHLIGHT_COLOR, label=highlight_label)
        ax.legend(frameon=False)
    ax.axvline(0.0, color=MUTED, linewidth=0.8)
    ax.set_xlabel("value")
    ax.set_ylabel("number of points")
    return ax


def plot_curves(curves: Curve | Iterable[Curve], ax: Axes | None = None, *, shares: bool = False) -> Axes:
    """Draw scores against the number of points removed, added or repaired.

    Parameters
    ----------
    curves : Curve or several of them
        As `removal_curve`, `selection_curve` and `repair` make them. One called "random" is drawn in grey.
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    shares : bool, default=False
        Whether to count in shares of the training points.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from pivotal.analysis import Curve
    >>> ax = plot_curves([Curve([0, 1, 2], [1.0, 0.9, 0.4], label="banzhaf hard")])
    >>> ax.lines[0].get_ydata()
    array([1. , 0.9, 0.4])
    """
    drawn = [curves] if isinstance(curves, Curve) else list(curves)
    if not drawn:
        raise ValueError("curves must hold at least one curve; got none.")
    if shares and any("n_train" not in curve.settings for curve in drawn):
        raise ValueError("shares need curves that know the number of training points; use shares=False.")
    ax = prepare_axes(ax)
    for curve in drawn:
        counts = curve.counts / curve.settings["n_train"] if shares else curve.counts
        color = MUTED if curve.label == "random" else None
        ax.plot(counts, curve.scores, linewidth=1.8, label=curve.label, color=color)
    kinds = {str(curve.settings.get("kind", "")) for curve in drawn}
    did = {"removal": "removed", "selection": "added", "repair": "repaired"}.get(kinds.pop() if len(kinds) == 1 else "")
    ax.set_xlabel(f"{'share of the points' if shares else 'points'}{'' if did is None else ' ' + did}")
    scorings = {str(curve.settings.get("scoring", "score")) for curve in drawn}
    ax.set_ylabel(scorings.pop() if len(scorings) == 1 else "score")
    if len(drawn) > 1:
        ax.legend(frameon=False)
    return ax


def plot_explanation(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Draw the points that decide a query as bars: to the right those for its true label, to the left the others.

    Parameters
    ----------
    explanation : Explanation
        As `Values.explain` makes it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.

    Returns
    -------
    ax : matplotlib Axes
    """
    ax = prepare_axes(ax)
    order = np.argsort(explanation.values, kind="stable")
    values = explanation.values[order]
    places = np.arange(len(order))
    colors = [VALUE_COLOR if number > 0 else HIGHLIGHT_COLOR for number in values]
    ax.barh(places, values, color=colors)
    ax.set_yticks(places, [literal(f"row {explanation.ids[i]} ({explanation.labels[i]})") for i in order.tolist()])
    ax.axvline(0.0, color=MUTED, linewidth=0.8)
    ax.set_xlabel("value for this query")
    ax.set_title(literal(f"query {explanation.query} {explanation.verdict}"), fontsize="medium", loc="left")
    return ax


def plot_steps(steps: pd.DataFrame, ax: Axes | None = None, *, along: str = "k") -> Axes:
    """Draw how much of a ranking stays the same from one setting to the next.

    Parameters
    ----------
    steps : pandas DataFrame
        As `Sweep.steps` makes it: rank correlation and overlap of the least valuable points, for pairs of neighbours.
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    along : str, default="k"
        The setting that changes.

    Returns
    -------
    ax : matplotlib Axes
        Correlations are solid lines, overlaps dashed ones of the same colour.
    """
    if steps.empty:
        raise ValueError(f"a plot along {along} needs at least two settings; got one. Sweep over several.")
    ax = prepare_axes(ax)
    others = [name for name in steps.columns if name not in ("from", "to", "spearman", "overlap")]
    varied = [name for name in others if len(steps[name].unique()) > 1]
    for labels, part in steps.groupby(varied, sort=False) if varied else [((), steps)]:
        name = " ".join(str(label) for label in labels)
        places = part["to"] if along in ("k", "bits") else part["to"].astype(str)
        (line,) = ax.plot(places, part["spearman"], marker="o", markersize=3, label=f"{name} rank correlation".strip())
        label = f"{name} overlap of the least valuable".strip()
        ax.plot(places, part["overlap"], linestyle="--", color=line.get_color(), label=label)
    ax.set_ylim(top=1.02)
    ax.set_xlabel(f"{along}, against the one before")
    ax.set_ylabel("what stays the same")
    ax.legend(frameon=False)
    return ax


def plot_selection(curve: pd.DataFrame, ax: Axes | None = None, *, size: int | None = None) -> Axes:
    """Draw expected accuracies over the number of selected rows, with bands of two standard errors.

    Parameters
    ----------
    curve : DataFrame
        As `Selection.curve` makes it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    size : int, optional
        A size to mark.

    Returns
    -------
    ax : matplotlib Axes
    """
    ax = prepare_axes(ax)
    lines = (("accuracy", "selected", VALUE_COLOR), ("random", "random", MUTED))
    for name, label, color in lines:
        middle, error = curve[name], 2.0 * curve[f"{name}_error"]
        ax.fill_between(curve["size"], middle - error, middle + error, color=color, alpha=0.15, linewidth=0.0)
        ax.plot(curve["size"], middle, color=color, linewidth=1.8, marker="o", markersize=3, label=label)
    ax.axhline(curve["everything"].iloc[0], color=INK, linewidth=1.0, linestyle="--", label="everything")
    if size is not None:
        ax.axvline(size, color=MUTED, linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_xlabel("selected rows")
    ax.set_ylabel("expected accuracy")
    ax.legend(frameon=False)
    return ax


def _as_indices(highlight: ArrayLike | None, n_train: int) -> IndexArray:
    """Turn indices or a mask into sorted training indices without repeats."""
    chosen = np.asarray([] if highlight is None else highlight)
    if chosen.size == 0:
        return np.empty(0, dtype=np.int64)
    if chosen.dtype == np.bool_:
        if chosen.shape != (n_train,):
            raise ValueError(f"highlight as a mask must have shape ({n_train},); got shape {chosen.shape}.")
        return np.flatnonzero(chosen).astype(np.int64, copy=False)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"highlight must be training indices or a boolean mask, one-dimensional; "
            f"got shape {chosen.shape} and dtype {chosen.dtype}."
        )
    if chosen.min() < 0 or chosen.max() >= n_train:
        outside = chosen[(chosen < 0) | (chosen >= n_train)][0]
        raise ValueError(f"highlight must hold training indices from 0 to {n_train - 1}; got {outside}.")
    return np.unique(chosen).astype(np.int64, copy=False)
