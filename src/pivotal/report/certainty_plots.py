"""Pictures of how sure values are: intervals, signs and ranks. Draws what `Values` holds and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pivotal.core.validation import check_count
from pivotal.report._axes import HIGHLIGHT_COLOR, MUTED, VALUE_COLOR, literal, prepare_axes
from pivotal.results.values import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_intervals", "plot_rank_intervals"]


def plot_intervals(
    values: Values,
    ax: Axes | None = None,
    *,
    level: float = 0.95,
    rate: float = 0.05,
    given_neighbors: bool = False,
) -> Axes:
    """Draw the values from the most to the least valuable point, each with its interval and whether its sign is known.

    Parameters
    ----------
    values : Values
        With a standard error over queries.
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    level : float, default=0.95
        Of the intervals, as in `Values.interval`.
    rate : float, default=0.05
        False discovery rate of the signs, as in `Values.sign`.
    given_neighbors : bool, default=False
        As in `Values.interval`.

    Returns
    -------
    ax : matplotlib Axes
        A line of each interval; blue for points that surely help, red for those that surely harm, grey for the others.

    Examples
    --------
    >>> values = Values([0.5, -0.4, 0.01], n_queries=100, query_standard_error=[0.02, 0.02, 0.02])
    >>> ax = plot_intervals(values)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['1 helps beyond doubt', 'of 1 the sign cannot be told', '1 harms beyond doubt']
    """
    interval, signs = values.interval(level, given_neighbors=given_neighbors), values.sign(rate)
    ax = prepare_axes(ax)
    order = values.order()
    ranks = np.arange(1, len(values) + 1)
    ax.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    n_help, n_open, n_harm = len(signs.helpful), len(signs.unknown), len(signs.harmful)
    kinds = (
        (1, VALUE_COLOR, f"{n_help} {'helps' if n_help == 1 else 'help'} beyond doubt"),
        (0, MUTED, f"of {n_open} the sign cannot be told"),
        (-1, HIGHLIGHT_COLOR, f"{n_harm} {'harms' if n_harm == 1 else 'harm'} beyond doubt"),
    )
    width = float(np.clip(300.0 / len(values), 0.4, 4.0))
    for sign, color, label in kinds:
        places = np.flatnonzero(signs.signs[order] == sign)
        rows = order[places]
        ax.vlines(ranks[places], interval.low[rows], interval.high[rows], color=color, alpha=0.35, linewidth=width)
        ax.plot(ranks[places], values.values[rows], ".", color=color, markersize=3, label=label, zorder=3)
    ax.legend(frameon=False, markerscale=3)
    ax.set_xlabel("rank, most valuable first")
    ax.set_ylabel(f"value, {level:.4g} interval")
    ax.set_title(f"Intervals cover {interval.covers}.", fontsize="small", loc="left")
    return ax


def plot_rank_intervals(
    values: Values,
    ax: Axes | None = None,
    *,
    n: int = 20,
    best: bool = True,
    level: float = 0.95,
    given_neighbors: bool = False,
) -> Axes:
    """Draw which ranks the most valuable points may have, as far as the queries leave them open.

    Parameters
    ----------
    values : Values
    ax : matplotlib Axes, optional
        Where to draw; a new figure when None, to be had as `ax.figure`.
    n : int, default=20
        How many points.
    best : bool, default=True
        Whether to show the most valuable; False shows the least valuable.
    level : float, default=0.95
        As in `Values.rank_interval`.
    given_neighbors : bool, default=False
        As in `Values.interval`.

    Returns
    -------
    ax : matplotlib Axes
        A line from the best to the worst rank of each point, and a dot at its rank.
    """
    n = min(check_count(n, "n"), len(values))
    first, last = values.rank_interval(level, given_neighbors=given_neighbors)
    order = values.order()
    rows = order[:n] if best else order[len(values) - n :]
    ax = prepare_axes(ax)
    places = np.arange(n)
    ax.hlines(places, first[rows], last[rows], color=VALUE_COLOR, alpha=0.35, linewidth=4)
    ax.plot(values.rank()[rows], places, "o", color=VALUE_COLOR, markersize=4)
    ax.set_yticks(places, [literal(str(values.ids[row])) for row in rows], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel(f"rank of {len(values)}, {level:.4g} interval")
    return ax
