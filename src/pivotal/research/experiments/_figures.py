"""Figures in the paper's layout: a panel for each data set, a line for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STYLES", "draw_lines", "legend", "panels", "save", "style"]

_COLUMNS: Final = 4  # panels in a row, as in the appendix

STYLES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "bv": ("#93c5fd", "-"),
        "bv-fast": ("#1d4ed8", "-"),
        "bv-mc": ("#60a5fa", "--"),
        "bv-uw": ("#0891b2", "-"),
        "sv": ("#b91c1c", "-"),
        "sv-mc": ("#f87171", "--"),
        "sv-uw": ("#ea580c", "-"),
        "sv-soft": ("#ca8a04", "-"),
        "beta-mc": ("#7c3aed", "--"),
        "lava": ("#15803d", ":"),
        "inf": ("#84cc16", ":"),
        "loo": ("#1f2937", ":"),
        "rand": ("#9ca3af", "-"),
        "select": ("#db2777", "-"),
        "bf": ("#000000", "-"),
    }
)
"""Colour and line of each method: the same in all figures."""


def style(method: str) -> dict[str, Any]:
    """Return how a method is drawn."""
    color, line = STYLES.get(method, ("#6b7280", "-."))
    return {"color": color, "linestyle": line, "linewidth": 1.3}


def panels(names: Sequence[str], *, height: float = 2.1) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel for each name, four in a row."""
    from pivotal.report.plots import new_figure

    columns = min(_COLUMNS, max(1, len(names)))
    rows = -(-len(names) // columns)
    figure = new_figure(2.7 * max(columns, 2), height * rows + 0.8)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, name in zip(grid, names, strict=False):
        ax.set_title(name, fontsize="small")
        ax.tick_params(labelsize="x-small")
        ax.spines[["top", "right"]].set_visible(False)
    for ax in grid[len(names) :]:
        ax.set_visible(False)
    return figure, list(grid[: len(names)])


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put one legend above all panels."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(
            list(found.values()), list(found), loc="outside upper center", ncols=6, frameon=False, fontsize="x-small"
        )


def draw_lines(ax: Axes, frame: pd.DataFrame, x: str, y: str) -> None:
    """Draw the mean of y against x for each method."""
    for name, lines in frame.groupby("method", sort=False):
        means = lines.groupby(x)[y].mean()
        ax.plot(means.index.to_numpy(dtype=float), means, label=str(name), **style(str(name)))


def save(figure: Figure, target: Path) -> list[Path]:
    """Write a figure as PNG and as SVG; the same figure makes the same file."""
    from matplotlib import rc_context

    written = []
    for ending, about in ((".png", {"Software": None}), (".svg", {"Date": None})):
        file = target.with_suffix(ending)
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "pivotal", "path.simplify": True}):
            figure.savefig(file, metadata=about)
        written.append(file)
    return written
