"""Real data, some labels flipped, and the question whether the values find them.

The soft-label game is the one to ask: it counts right votes, so a wrong label among right ones always costs. In the
hard-label game only a point that changes the winner counts, so a lone wrong label is outvoted and worth about zero;
the demo reports both.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_count, check_k
from pivotal.report import write_report
from pivotal.research.bench.stopwatch import timed
from pivotal.research.datasets import Dataset, flip_labels, load
from pivotal.results.values import Values
from pivotal.valuation.value import value

try:
    from pivotal.report import plots
except ImportError as error:
    _no_plots = str(error)
else:
    _no_plots = ""

_N_SHOWN: Final = 5  # points listed at each end
_GRID: Final = (5, 6)  # images in the picture
_MOST: Final = 5000  # points valued; more would be drawn from


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo found.

    Parameters
    ----------
    data : Dataset
        The points and their true labels.
    values : Values
        Soft-label value of every point under the labels as given.
    hard_values : Values
        The same in the hard-label game.
    given, true : int array of shape (n_train,)
        Labels with and without the flips.
    flipped : int array of shape (n_flipped,)
        Training indices whose label was flipped, ascending.
    found : int
        How many of them are among the n_flipped least valuable points.
    found_in_twice : int
        How many of them are among the 2 n_flipped least valuable points.
    found_hard : int
        How many of them are among the n_flipped least valuable points of the hard-label game.
    seconds : float
        Time of the soft-label valuation, with compilation if this was the first.
    files : tuple of Path
        Files written.
    """

    data: Dataset
    values: Values
    hard_values: Values
    given: AnyArray
    true: AnyArray
    flipped: IndexArray
    found: int
    found_in_twice: int
    found_hard: int
    seconds: float
    files: tuple[Path, ...]


def run_demo(
    out_dir: str | os.PathLike[str],
    *,
    data: str = "digits",
    data_home: str | os.PathLike[str] | None = None,
    k: int = 5,
    noise: float = 0.05,
    seed: int = 0,
    echo: Callable[[str], object] = print,
) -> DemoResult:
    """Flip labels of real data, value every point, and look for the flips among the least valuable.

    No clean labels are needed: every point is valued by its part in predicting the labels of all the others.

    Parameters
    ----------
    out_dir : path-like
        Directory for `values.parquet`, `report.html`, `train.csv` and, with matplotlib, `values.png`; created when
        missing.
    data : str, default="digits"
        A data set that `pivotal.datasets.load` knows. Of more than 5000 points, 5000 are drawn at random; tables are
        standardised, images are not.
    data_home : path-like, optional
        Folder with data files; the environment variable PIVOTAL_DATA when None.
    k : int, default=5
        Number of neighbours.
    noise : float, default=0.05
        Share of the labels to flip, more than 0 and at most 0.5.
    seed : int, default=0
        Seed of the random flips, and of the draw.
    echo : callable, default=print
        Receives the report line by line.

    Returns
    -------
    result : DemoResult
    """
    k = check_k(k)
    if not (math.isfinite(noise) and 0.0 < noise <= 0.5):
        raise ValueError(f"noise must be more than 0 and at most 0.5; got noise={noise}.")
    check_count(seed, "seed", 0)
    points = load(data, data_home=data_home).sample(_MOST, random_state=seed)
    out = _make_directory(out_dir)
    true: AnyArray = points.y
    given, is_flipped = flip_labels(true, noise, random_state=seed)
    flipped = np.flatnonzero(is_flipped)
    n_flipped = len(flipped)
    things, other = ("handwritten digits", "digit") if data == "digits" else (f"points of {data}", "class")
    echo(f"{len(true)} {things}; {n_flipped} labels flipped to another {other} at random.")
    if data != "digits":
        echo(f"The data: {points.source}{'; ' if points.note else ''}{points.note}.")

    X = _as_points(points)
    values, seconds = timed(lambda: value(X, given, k=k, utility="soft"))
    hard_values = value(X, given, k=k, utility="hard")
    echo(f"Every point valued by the predictions of all others, k={k}, soft label: {seconds:.2f} s.")
    echo(f"No value is off by more than {values.error_bound:.1e}.")
    echo("")

    found, found_in_twice = (_count_found(values, flipped, n * n_flipped) for n in (1, 2))
    found_hard = _count_found(hard_values, flipped, n_flipped)
    for count, size in ((found, n_flipped), (found_in_twice, 2 * n_flipped)):
        share = 100 * count / n_flipped
        echo(f"Among the {size:3d} least valuable points: {count} of the {n_flipped} flipped labels ({share:.0f} %).")
    echo(
        f'With utility="hard" it is {found_hard} of {n_flipped}: that game asks who changes a prediction, '
        "and a lone wrong label is outvoted."
    )
    worst_first = values.order()[::-1]
    for title, indices in (("Least", worst_first), ("Most", worst_first[::-1])):
        echo("")
        echo(f"{title} valuable:   index   label given   true label       value")
        for index in indices[:_N_SHOWN]:
            echo(f"{index:>{len(title) + 18}}{given[index]:>14}{true[index]:>13}{values.values[index]:>12.2e}")
    echo("")

    kept, picture, report, table = (out / name for name in ("values.parquet", "values.png", "report.html", "train.csv"))
    values.save(kept)
    if _no_plots:
        echo(f"No picture: {_no_plots}.")
    else:
        _draw(picture, values, points, given, flipped, found)
    images = points.images if find_spec("PIL") else None  # thumbnails need Pillow, the rest does not
    title = f"{points.name}: {n_flipped} of {len(given)} labels flipped"
    write_report(values, report, X=X, y=given, images=images, title=title)
    # The points with their labels as given and as they are, to be reviewed.
    kind = "feature" if points.image is None else "pixel"
    columns = {f"{kind}_{place}": column for place, column in enumerate(points.X.T)}
    pd.DataFrame({**columns, "label": given, "true_label": true}).to_csv(table, index=False)
    files = (kept, *([] if _no_plots else [picture]), report, table)
    echo(f"Written: {', '.join(map(str, files))}")
    echo("")
    echo("Decide about the suspects yourself, in the browser, and see how many of the flipped labels you catch:")
    echo(f"  pivotal review {shlex.quote(str(table))} --label label --truth true_label")
    labels, counts = (given, true, flipped), (found, found_in_twice, found_hard)
    return DemoResult(points, values, hard_values, *labels, *counts, seconds, files)


def _make_directory(out_dir: str | os.PathLike[str]) -> Path:
    out = Path(out_dir)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot create the directory {out}: {error.strerror}; choose another.") from error
    return out


def _as_points(data: Dataset) -> AnyArray:
    """Return the features as they are compared: tables standardised, pixels as they are."""
    if data.image is not None:
        return data.X
    from sklearn.preprocessing import scale

    scaled: AnyArray = scale(data.X.astype(np.float64))
    return scaled


def _count_found(values: Values, flipped: IndexArray, size: int) -> int:
    """Count the flipped labels among the `size` least valuable points."""
    return int(np.isin(flipped, values.order()[::-1][:size]).sum())


def _draw(path: Path, values: Values, data: Dataset, given: AnyArray, flipped: IndexArray, found: int) -> None:
    """Draw the curve of all values, beside the least valuable images where the data is images."""
    n_train, n_flipped = len(values), len(flipped)
    bold = {"color": plots.INK, "fontsize": 12.5, "fontweight": "bold"}
    images = data.images
    figure = plots.new_figure(12.0 if images is not None else 8.0, 5.6)
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    right = figure
    if images is not None:
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.0, 1.15), wspace=0.04)[0]
        left.suptitle(f"The least valuable {_plural(data)}, worst first", **bold)
        for tile, index in zip(left.subplots(*_GRID).flat, values.order()[::-1], strict=False):
            is_flipped = index in flipped
            color = plots.HIGHLIGHT_COLOR if is_flipped else plots.INK
            image = images[index] if images.ndim == 3 else images[index] / images.max()
            tile.imshow(image, cmap="gray_r", interpolation="bicubic")
            tile.set(xticks=[], yticks=[])
            tile.spines[:].set(color=color, linewidth=1.6)
            text = f"{data.y[index]} labelled {given[index]}" if is_flipped else f"{given[index]}, not flipped"
            tile.set_title(text, color=color, fontsize=9, pad=4)

    right.suptitle(f"{found} of {n_flipped} flipped labels among the {n_flipped} least valuable points", **bold)
    ax = right.subplots()
    names = {"label": f"all {n_train} {_plural(data)}", "highlight_label": "flipped labels"}
    plots.plot_values(values, ax, highlight=flipped, **names)
    ax.axvspan(n_train - n_flipped + 0.5, n_train + 0.5, color=plots.HIGHLIGHT_COLOR, alpha=0.08, linewidth=0)
    ax.margins(x=0.01)
    ax.set_ylabel("soft-label Banzhaf value")
    ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    figure.savefig(path)


def _plural(data: Dataset) -> str:
    return "digits" if data.name in ("digits", "mnist") else "points" if data.image is None else "images"
