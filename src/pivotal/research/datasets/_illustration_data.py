"""The two-dimensional set behind the paper's first figure: every part of it has a name.

The figure's points are not published. These are made so that all that the paper says about it is true here, for k = 5
and the hard-label game; the tests hold it to that:

    at "boundary", exactly three points have a leave-one-out value, and none once the data is duplicated;
    Banzhaf values are sparser than Shapley values;
    at "far", a query well inside its class, Banzhaf values are next to nothing;
    noise in the upper left corner leaves Banzhaf values alone and takes a quarter or more of the Shapley values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pivotal.core.random import as_seeds
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import check_count

_K: Final = 5  # neighbours in the figure
_CENTRE: Final = np.array([1.6, 0.8])  # of class 1; that of class 0 is on the other side of the origin
_FAR: Final = 1.25  # how far out the far query is, in distances of the centre
_UPPER_LEFT: Final = np.array([-1.0, 1.0]) / np.sqrt(2.0)
_NOISE_RADIUS: Final = 0.8
_CANDIDATES: Final = 4096  # places tried for the boundary query


@dataclass(frozen=True, eq=False, repr=False)
class Illustration:
    """Points in the plane and two queries, all by name.

    Parameters
    ----------
    X : float64 array of shape (n, 2)
        Training points.
    y : int64 array of shape (n,)
        Their classes, 0 or 1.
    parts : array of str of shape (n,)
        What each point is: "data", "noise" or "copy".
    queries : mapping of str to float64 array of shape (2,)
        Where "boundary" and "far" are; both belong to class 1.
    """

    X: FloatArray
    y: npt.NDArray[np.int64]
    parts: AnyArray
    queries: dict[str, FloatArray]

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.parts == part)} {part}" for part in dict.fromkeys(self.parts))
        return f"Illustration({counts}; queries {' and '.join(self.queries)})"

    def rows(self, part: str) -> npt.NDArray[np.intp]:
        """Return the indices of the "data", the "noise" or the "copy" points."""
        if part not in ("data", "noise", "copy"):
            raise ValueError(f"part must be data, noise or copy; got {part!r}.")
        return np.flatnonzero(self.parts == part)

    def query(self, name: str) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return one query and its label, as `pivotal.value` takes them."""
        if name not in self.queries:
            raise ValueError(f"name must be {' or '.join(self.queries)}; got {name!r}.")
        return self.queries[name][np.newaxis], np.ones(1, dtype=np.int64)


def illustration(
    n: int = 80, *, noise: int = 0, duplicate: bool = False, random_state: int | np.random.Generator | None = 0
) -> Illustration:
    """Draw the two-dimensional set of the paper's first figure.

    Parameters
    ----------
    n : int, default=80
        Points of the two classes together, 20 at least.
    noise : int, default=0
        Points with random labels, half of each class, to add in the upper left corner; farther from both queries than
        all the data. The paper does not say how many it adds; twice as many as there are data points takes more than a
        quarter of the Shapley values.
    duplicate : bool, default=False
        Whether to add a copy of every data point.
    random_state : int, numpy.random.Generator or None, default=0
        What the points depend on; the data is the same with and without noise and copies.

    Returns
    -------
    picture : Illustration

    Examples
    --------
    >>> import pivotal
    >>> from pivotal.research.datasets import illustration
    >>> picture = illustration(duplicate=True)
    >>> picture
    Illustration(80 data, 80 copy; queries boundary and far)
    >>> values = pivotal.value(picture.X, picture.y, *picture.query("boundary"), k=5, semivalue="loo")
    >>> float(abs(values.values).max())  # of two equal points, neither is needed
    0.0
    """
    n, noise = check_count(n, "n", 20), check_count(noise, "noise", 0)
    for_data, for_noise = (np.random.default_rng(seed) for seed in as_seeds(random_state).spawn(2))
    y = np.arange(n) % 2
    X = for_data.standard_normal((n, 2)) + np.where(y[:, np.newaxis] == 1, _CENTRE, -_CENTRE)
    queries = {"boundary": _find_boundary(X, y, for_data), "far": _FAR * _CENTRE}
    parts = [("data", X, y)]
    if noise:
        angle, radius = for_noise.random((2, noise))
        ring = np.sqrt(radius) * _NOISE_RADIUS * np.array([np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)])
        corner = _find_corner(X, np.stack(list(queries.values())))
        parts.append(("noise", corner + ring.T, for_noise.permutation(np.arange(noise) % 2)))
    if duplicate:
        parts.append(("copy", X, y))
    names, points, labels = zip(*parts, strict=True)
    return Illustration(
        np.concatenate(points),
        np.concatenate(labels).astype(np.int64),
        np.repeat(names, [len(some) for some in labels]),
        queries,
    )


def _find_boundary(X: FloatArray, y: npt.NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    """Return a place between the classes where the vote is 3 to 2 and the next neighbour is on the other side."""
    places = rng.uniform(-1.5, 1.5, size=(_CANDIDATES, 2))
    nearest = ((places[:, np.newaxis] - X) ** 2).sum(axis=2).argsort(axis=1, kind="stable")[:, : _K + 1]
    right = y[nearest] == 1
    misfit = abs(right[:, :_K].sum(axis=1) - (_K + 1) // 2) + right[:, _K]
    midline = abs(places @ _CENTRE) / 1000.0  # among equals, the one nearest the middle
    best: FloatArray = places[(misfit + midline).argmin()]
    return best


def _find_corner(X: FloatArray, queries: FloatArray) -> FloatArray:
    """Return the middle of a disc in the upper left that is farther from the queries than all points are."""
    reach = np.sqrt(((queries[:, np.newaxis] - X) ** 2).sum(axis=2)).max(axis=1) + 1.1 * _NOISE_RADIUS
    along = queries @ _UPPER_LEFT
    away = along + np.sqrt(reach**2 - (queries**2).sum(axis=1) + along**2)
    corner: FloatArray = away.max() * _UPPER_LEFT
    return corner
