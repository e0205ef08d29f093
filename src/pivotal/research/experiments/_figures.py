"""Figures in the paper's layout: panels by data set, a line for each method, in colours that all can tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pivotal.research.experiments._frames import pick

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "black": "#000000",
        "orange": "#e69f00",
        "sky": "#56b4e9",
        "green": "#009e73",
        "blue": "#0072b2",
        "red": "#d55e00",
        "purple": "#cc79a7",
        "grey": "#8a8f98",
    }
)
"""The colours of Okabe and Ito, which people with any kind of colour vision tell apart, and a grey."""

SPLITS: Final = MappingProxyType({"seen": "test set", "fresh": "fresh points"})
"""What models are scored on, and how panels name it."""

STYLES: Final[Mapping[str, tuple[str, Any]]] = MappingProxyType(
    {
        # A colour for a kind of value; within it the line tells: solid weighted, dashed unweighted, dotted sampled.
        "bv": ("sky", "-"),
        "bv-fast": ("blue", "-"),
        "bv-mc": ("blue", ":"),
        "bv-uw": ("blue", "--"),
        "sv": ("red", "-"),
        "sv-mc": ("red", ":"),
        "sv-uw": ("red", "--"),
        "sv-soft": ("orange", "-"),
        "beta-mc": ("purple", ":"),
        "lava": ("green", "-"),
        "inf": ("green", (0, (5, 1, 1, 1))),
        "loo": ("black", ":"),
        "rand": ("grey", "-"),
        "select": ("purple", "-"),
        "bf": ("black", "-"),
    }
)
"""Colour and line of each method: the same in all figures."""


def style(method: str) -> dict[str, Any]:
    """Return how a method is drawn."""
    color, line = STYLES.get(method, ("grey", "-."))
    return {"color": COLORS[color], "linestyle": line, "linewidth": 2.0 if method == "rand" else 1.5}


def panels(
    names: Sequence[str], *, columns: int = 4, width: float = 2.7, height: float = 2.1
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel for each name, and room for one more where the last row is not full."""
    from pivotal.report.plots import new_figure

    columns = min(columns, max(1, len(names)))
    rows = -(-len(names) // columns)
    figure = new_figure(width * columns, height * rows + 0.8)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, name in zip(grid, names, strict=False):
        ax.set_title(name, fontsize="small")
        ax.tick_params(labelsize="x-small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(linewidth=0.4, alpha=0.4)
    for ax in grid[len(names) :]:
        ax.set_visible(False)
    return figure, list(grid[: len(names)])


def draw_by_data(frame: pd.DataFrame, x: str, y: str, labels: tuple[str, str], *, error: str | None = None) -> Figure:
    """Draw the lines of every data set, on the test set as in the paper beside those on fresh points, with one scale.

    There is a line for each method, with a band of one standard error: of the column `error`, or of the rows that have
    the same x. `labels` say what x and y are.
    """
    shown = list(product(dict.fromkeys(frame["data"]), SPLITS))
    figure, axes = panels([f"{name}, {SPLITS[on]}" for name, on in shown], height=1.9)
    for number, (ax, (name, on)) in enumerate(zip(axes, shown, strict=True)):
        if number % len(SPLITS):
            ax.sharey(axes[number - number % len(SPLITS)])
            ax.tick_params(labelleft=False)
        _draw_lines(ax, pick(frame, data=name, on=on), x, y, error=error)
    figure.supxlabel(labels[0], fontsize="small")
    figure.supylabel(labels[1], fontsize="small")
    legend(figure, axes)
    return figure


def draw_against_random(draw: Callable[[Axes, str], None], labels: tuple[str, str], height: float) -> Figure:
    """Draw what `draw` puts on a panel for the test set and one for fresh points, with one scale, and random at 0."""
    titles = ["on the test set that the values know", "on fresh points"]
    figure, axes = panels(titles, columns=2, width=4.6, height=height)
    for ax, on in zip(axes, SPLITS, strict=True):
        draw(ax, on)
        ax.axhline(0.0, **style("rand"), zorder=0, label="rand")
        ax.set_xlabel(labels[0], fontsize="small")
    axes[0].set_ylabel(labels[1], fontsize="small")
    low, high = zip(*(ax.get_ylim() for ax in axes), strict=True)
    for ax in axes:
        ax.set_ylim(min(low), max(high))
    legend(figure, axes)
    return figure


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put one legend above all panels, in as many columns as there is room for."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        widest = 0.075 * max(map(len, found)) + 0.55  # inches: small letters, and the line before them
        columns = max(1, min(len(found), int(figure.get_figwidth() / widest)))
        how: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": "small"}
        figure.legend(list(found.values()), list(found), loc="outside upper center", **how)


def mark(ax: Axes, text: str, *, x: float | None = None, y: float | None = None) -> None:
    """Draw a thin line at a quantity that the paper speaks of, and name it."""
    how: dict[str, Any] = {"color": COLORS["grey"], "linewidth": 1.0, "linestyle": (0, (2, 2)), "zorder": 0}
    words: dict[str, Any] = {"fontsize": "x-small", "color": "#4b5563", "textcoords": "offset points"}
    if x is not None:
        ax.axvline(x, **how)
        ax.annotate(text, (x, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -9), **words)
    elif y is not None:
        ax.axhline(y, **how)
        ax.annotate(text, (1.0, y), xycoords=("axes fraction", "data"), xytext=(-2, 3), ha="right", **words)


def _draw_lines(ax: Axes, frame: pd.DataFrame, x: str, y: str, *, error: str | None) -> None:
    """Draw y against x for each method; the mean where there are several, and a band of one standard error."""
    for name, lines in frame.groupby("method", sort=False):
        rows = lines.groupby(x)[y]
        means = rows.mean()
        places = means.index.to_numpy(dtype=float)
        doubt = rows.std() / rows.count() ** 0.5 if error is None else lines.groupby(x)[error].mean()
        how = style(str(name))
        ax.plot(places, means, label=str(name), **how)
        if doubt.notna().any():
            ax.fill_between(places, means - doubt, means + doubt, color=how["color"], alpha=0.12, linewidth=0)


def save(figure: Figure, target: Path, endings: Sequence[str]) -> list[Path]:
    """Write a figure as PNG or as SVG; the same figure makes the same file."""
    from matplotlib import rc_context

    written = []
    for ending in endings:
        file = target.with_name(f"{target.name}{ending}")
        about = {"Software": None} if ending == ".png" else {"Date": None}
        # Letters as outlines: their widths, and so the layout, are then the same on every machine.
        with rc_context({"svg.fonttype": "path", "svg.hashsalt": "pivotal", "path.simplify": True}):
            figure.savefig(file, metadata=about)
        written.append(file)
    return written
