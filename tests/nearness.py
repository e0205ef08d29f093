"""Points that are hard to put in order of distance, and their order by a full sort."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal


def all_distances(X, queries, *, squared=False):
    """Sums of squared differences in double precision, feature by feature."""
    X, queries = np.asarray(X, dtype=np.float64), np.asarray(queries, dtype=np.float64)
    totals = np.zeros((len(queries), len(X)))
    for j in range(X.shape[1]):
        gaps = X[:, j] - queries[:, j, np.newaxis]
        totals += gaps * gaps
    return totals if squared else np.sqrt(totals)


def nearest(distances, depth):
    """Sort everything by distance, then index."""
    all_columns = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    indices = np.lexsort((all_columns, distances), axis=1)[:, :depth]
    return indices, np.take_along_axis(distances, indices, 1)


def assert_same(answer, expected):
    assert answer[0].dtype == np.int64
    assert answer[1].dtype == np.float64
    assert_array_equal(answer[0], expected[0])
    assert_array_equal(answer[1], expected[1])


def far_from_the_origin(rng, shape):
    return 1e6 + 1e-3 * rng.standard_normal(shape)


def grid(rng, shape):
    return rng.integers(-1, 2, shape).astype(float)


def near_duplicates(rng, shape):
    return rng.standard_normal((3, shape[1]))[rng.integers(0, 3, shape[0])] * (1 + 1e-15 * rng.integers(0, 3, shape))


def all_equal(rng, shape):
    return np.full(shape, rng.standard_normal())


def far_apart(rng, shape):
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 13, (shape[0], 1))


def far_features(rng, shape):
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 9, shape[1]) + 10.0 ** rng.integers(-8, 9, shape[1])


def vanishing(rng, shape):
    return rng.standard_normal(shape) * 1e-170


def huge(rng, shape):
    return rng.standard_normal(shape) * 1e138


def farthest_first(rng, shape):
    return -np.sort(-np.abs(rng.standard_normal((shape[0], 1))), axis=0) * np.ones(shape)


def plain(rng, shape):
    return rng.standard_normal(shape)


def scattered(rng, shape):
    """Mostly zeros, some rows with nothing else, many ties."""
    return np.where(rng.random(shape) < 0.1, rng.integers(-2, 3, shape) + 0.1, 0.0)


HARD_CASES = [
    plain, far_from_the_origin, grid, near_duplicates, all_equal, far_apart, far_features, vanishing, huge,
    farthest_first,
]  # fmt: skip
