"""Data made to measure: as many points as asked for, the same ones for the same seed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pivotal.core.atomic import atomic_open
from pivotal.core.random import as_generator, as_seeds
from pivotal.core.types import AnyArray
from pivotal.core.validation import check_count, check_probability
from pivotal.research.datasets._dataset import Dataset

_CHUNK: Final = 1 << 16  # rows drawn at a time; part of the recipe, since every chunk has a seed of its own


def synthetic(
    n: int,
    n_features: int = 32,
    n_classes: int = 2,
    *,
    noise: float = 0.1,
    random_state: int | np.random.Generator | None = 0,
    out: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Draw points from a Gaussian, one region per class with flat borders, and some labels wrong.

    The paper times its algorithms on "a synthetic 32-dimensional dataset" and says no more about it; this is a data set
    of that size. Every class has a random direction, and a point belongs to the class along whose direction it lies
    farthest; with two classes that is the side of a plane. Points are drawn in chunks, so that the first rows are the
    same whatever n is, and with `out` no more than a chunk is in memory.

    Parameters
    ----------
    n : int
        Number of points.
    n_features : int, default=32
        Number of features.
    n_classes : int, default=2
        Number of classes.
    noise : float, default=0.1
        Chance that a label is moved to another class.
    random_state : int, numpy.random.Generator or None, default=0
        What the points depend on.
    out : path-like, optional
        A `.npy` file for the features, for more points than memory holds; X is then a memory map of it.

    Returns
    -------
    dataset : Dataset
        X is float32.

    Examples
    --------
    >>> from pivotal.research.datasets import synthetic
    >>> small, large = synthetic(1000), synthetic(100_000)
    >>> large.X.shape, large.n_classes, bool((large.X[:1000] == small.X).all())
    ((100000, 32), 2, True)
    """
    n, n_features = check_count(n, "n"), check_count(n_features, "n_features")
    n_classes = check_count(n_classes, "n_classes", 2)
    noise = check_probability(noise, "noise")
    chunks = _draw_chunks(n, n_features, n_classes, noise, as_seeds(random_state))
    y = np.empty(n, dtype=np.int64)
    if out is None:
        X: AnyArray = np.empty((n, n_features), dtype=np.float32)
        for start, points, labels in chunks:
            X[start : start + len(labels)] = points
            y[start : start + len(labels)] = labels
    else:
        X = _write_chunks(Path(out), chunks, (n, n_features), y)
    recipe = f"Gaussian, {n_classes} directions, random_state={random_state if isinstance(random_state, int) else '?'}"
    note = f"{noise:.0%} of the labels moved to another class" if noise else ""
    return Dataset(X, y, "synthetic", recipe, note)


def two_d_planes(n: int, *, random_state: int | np.random.Generator | None = 0) -> Dataset:
    """Draw rows of the 2dplanes data: not the published rows, but more of the same distribution.

    Breiman, Friedman, Olshen and Stone (1984, p. 238): X1 is -1 or 1, X2 to X10 are -1, 0 or 1, all alike and
    independent. If X1 = 1 then Y = 3 + 3 X2 + 2 X3 + X4 + e, else Y = -3 + 3 X5 + 2 X6 + X7 + e, where e is standard
    normal. The label is 1 if Y is below the mean of Y.

    Parameters
    ----------
    n : int
        Number of rows, two at least.
    random_state : int, numpy.random.Generator or None, default=0
        What the rows depend on.

    Examples
    --------
    >>> from pivotal.research.datasets import two_d_planes
    >>> two_d_planes(1000)
    Dataset(2dplanes: 1000 rows, 10 features, 2 classes; regenerated, not the published rows)
    """
    n = check_count(n, "n", 2)
    rng = as_generator(random_state)
    X = rng.integers(-1, 2, size=(n, 10)).astype(np.float32)
    X[:, 0] = 2 * rng.integers(2, size=n) - 1
    weights = np.array([3.0, 2.0, 1.0])
    target = np.where(X[:, 0] == 1, 3.0 + X[:, 1:4] @ weights, -3.0 + X[:, 4:7] @ weights) + rng.standard_normal(n)
    y = (target < target.mean()).astype(np.int64)
    return Dataset(
        X,
        y,
        "2dplanes",
        "regenerated, not the published rows",
        variant="regenerated",
        labels="1 = target below its mean, 0 = otherwise",
        feature_names=tuple(f"x{i}" for i in range(1, 11)),
    )


_Chunk = tuple[int, npt.NDArray[np.float32], npt.NDArray[np.int64]]


def _draw_chunks(
    n: int, n_features: int, n_classes: int, noise: float, seeds: np.random.SeedSequence
) -> Iterator[_Chunk]:
    """Yield (first row, points, labels) chunk by chunk."""
    directions = np.random.default_rng(seeds.spawn(1)[0]).standard_normal((n_features, n_classes))
    for start in range(0, n, _CHUNK):
        size = min(_CHUNK, n - start)
        for_points, for_labels = (np.random.default_rng(seed) for seed in seeds.spawn(2))
        points = for_points.standard_normal((size, n_features), dtype=np.float32)
        labels = (points.astype(np.float64) @ directions).argmax(axis=1)
        moved = for_labels.random((size, 2))  # both numbers of a row together, so that the first rows stay the same
        shift = np.where(moved[:, 0] < noise, 1 + (moved[:, 1] * (n_classes - 1)).astype(np.int64), 0)
        yield start, points, (labels + shift) % n_classes


def _write_chunks(path: Path, chunks: Iterator[_Chunk], shape: tuple[int, int], y: npt.NDArray[np.int64]) -> AnyArray:
    """Write the points to a `.npy` file, whole or not at all, and return it as a memory map."""
    if path.suffix != ".npy":
        raise ValueError(f"out must name a file that ends in .npy; got {path}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the directory {path.parent} does not exist; create it first.")
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False, "shape": shape}
    # Written rather than mapped: a full disk is then an error and not the end of the process.
    with atomic_open(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start, points, labels in chunks:
            file.write(points.data)
            y[start : start + len(labels)] = labels
    mapped: AnyArray = np.load(path, mmap_mode="r")
    return mapped
