"""Real data, some labels flipped, and the question whether the values find them.

The soft-label game is the one to ask: it counts right votes, so a wrong label among right ones always costs. In the
hard-label game only a point that changes the winner counts, so a lone wrong label is outvoted and worth about zero;
the demo reports both.
"""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from sklearn.datasets import load_digits

from pivotal._types import AnyArray, FloatArray, IndexArray
from pivotal._validation import check_k
from pivotal.results import Values
from pivotal.valuation import value

try:
    from pivotal import plots
except ImportError as error:
    _no_plots = str(error)
else:
    _no_plots = ""

_N_SHOWN: Final = 5  # points listed at each end
_GRID: Final = (5, 6)  # digits in the picture


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What the demo found.

    Parameters
    ----------
    values : Values
        Soft-label value of every digit under the labels as given.
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
    k: int = 5,
    noise: float = 0.05,
    seed: int = 0,
    echo: Callable[[str], object] = print,
) -> DemoResult:
    """Flip labels of scikit-learn's digits, value every point, and look for the flips among the least valuable.

    No clean labels are needed: every point is valued by its part in predicting the labels of all the others.

    Parameters
    ----------
    out_dir : path-like
        Directory for `values.parquet` and, with matplotlib installed, `values.png`; created when missing.
    k : int, default=5
        Number of neighbours.
    noise : float, default=0.05
        Share of the labels to flip, more than 0 and at most 0.5.
    seed : int, default=0
        Seed of the random flips.
    echo : callable, default=print
        Receives the report line by line.

    Returns
    -------
    result : DemoResult
    """
    k = check_k(k)
    if not (math.isfinite(noise) and 0.0 < noise <= 0.5):
        raise ValueError(f"noise must be more than 0 and at most 0.5; got noise={noise}.")
    if operator.index(seed) < 0:
        raise ValueError(f"seed must be a whole number of at least 0; got seed={seed}.")
    out = _make_directory(out_dir)
    digits = load_digits()
    true: AnyArray = digits.target
    given, flipped = _flip_labels(true, noise, np.random.default_rng(seed))
    n_flipped = len(flipped)
    echo(f"{len(true)} handwritten digits; {n_flipped} labels flipped to another digit at random.")

    start = time.perf_counter()
    values = value(digits.data, given, k=k, utility="soft")
    seconds = time.perf_counter() - start
    hard_values = value(digits.data, given, k=k, utility="hard")
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
    worst_first = values.rank()[::-1]
    for title, indices in (("Least", worst_first), ("Most", worst_first[::-1])):
        echo("")
        echo(f"{title} valuable:   index   label given   true label       value")
        for index in indices[:_N_SHOWN]:
            echo(f"{index:>{len(title) + 18}}{given[index]:>14}{true[index]:>13}{values.values[index]:>12.2e}")
    echo("")

    files = [out / "values.parquet"]
    values.save(files[0])
    if _no_plots:
        echo(f"No picture: {_no_plots}.")
    else:
        files.append(out / "values.png")
        _draw(files[1], values, digits.images, given, true, flipped, found)
    echo(f"Written: {', '.join(str(file) for file in files)}")
    return DemoResult(
        values, hard_values, given, true, flipped, found, found_in_twice, found_hard, seconds, tuple(files)
    )


def _make_directory(out_dir: str | os.PathLike[str]) -> Path:
    out = Path(out_dir)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot create the directory {out}: {error.strerror}; choose another.") from error
    return out


def _flip_labels(labels: AnyArray, noise: float, rng: np.random.Generator) -> tuple[AnyArray, IndexArray]:
    """Move a share of the labels to another class, all other classes alike."""
    flipped = np.sort(rng.choice(len(labels), size=max(1, round(noise * len(labels))), replace=False))
    classes, codes = np.unique(labels, return_inverse=True)
    codes[flipped] = (codes[flipped] + rng.integers(1, len(classes), size=len(flipped))) % len(classes)
    return classes[codes], flipped


def _count_found(values: Values, flipped: IndexArray, size: int) -> int:
    """Count the flipped labels among the `size` least valuable points."""
    return int(np.isin(flipped, values.rank()[::-1][:size]).sum())


def _draw(
    path: Path,
    values: Values,
    images: FloatArray,
    given: AnyArray,
    true: AnyArray,
    flipped: IndexArray,
    found: int,
) -> None:
    """Draw the least valuable digits beside the curve of all values."""
    n_train, n_flipped = len(values), len(flipped)
    was_flipped = np.isin(np.arange(n_train), flipped)
    bold = {"color": plots.INK, "fontsize": 12.5, "fontweight": "bold"}
    figure = plots.new_figure(12.0, 5.6)
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.0, 1.15), wspace=0.04)[0]

    left.suptitle("The least valuable digits, worst first", **bold)
    for tile, index in zip(left.subplots(*_GRID).flat, values.rank()[::-1], strict=False):
        color = plots.HIGHLIGHT_COLOR if was_flipped[index] else plots.INK
        tile.imshow(images[index], cmap="gray_r", interpolation="bicubic")
        tile.set(xticks=[], yticks=[])
        tile.spines[:].set(color=color, linewidth=1.6)
        text = f"{true[index]} labelled {given[index]}" if was_flipped[index] else f"{given[index]}, not flipped"
        tile.set_title(text, color=color, fontsize=9, pad=4)

    right.suptitle(f"{found} of {n_flipped} flipped labels are among the {n_flipped} least valuable points", **bold)
    ax = right.subplots()
    names = {"label": f"all {n_train} digits", "highlight_label": "flipped labels"}
    plots.plot_values(values, ax, highlight=flipped, **names)
    ax.axvspan(n_train - n_flipped + 0.5, n_train + 0.5, color=plots.HIGHLIGHT_COLOR, alpha=0.08, linewidth=0)
    ax.margins(x=0.01)
    ax.set_ylabel("soft-label Banzhaf value")
    ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    figure.savefig(path)
