"""What all pictures share: colours, a figure of its own, axes without a frame."""

from __future__ import annotations

from typing import Final

from pivotal.core.extras import needed

with needed("plots need matplotlib", "plots"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK: Final = "#1f2937"
MUTED: Final = "#9ca3af"
VALUE_COLOR: Final = "#2563eb"
HIGHLIGHT_COLOR: Final = "#dc2626"


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of this many inches that belongs to no window."""
    return Figure(figsize=(width, height), dpi=100, layout="constrained")


def prepare_axes(ax: Axes | None) -> Axes:
    """Return axes to draw on, without the frame on top and to the right; of a new figure when None."""
    if ax is None:
        ax = new_figure(7.0, 4.0).subplots()
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def literal(text: str) -> str:
    """Return text that is drawn as it is: a dollar sign in a label of the user's begins no formula."""
    return text.replace("$", r"\$")
