"""How much chosen rows look like the data: the distance of two kernel means, label by label.

The kernel of two rows of one class is a Gaussian of their distance, of different classes 0. Of few rows all pairs are
kept; of many, random Fourier features whose products are near it (Rahimi and Recht, 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels.coalition_arrays import Likeness, SmallFloats
from pivotal.neighbors import blocks

_ALL_PAIRS: Final = 4000  # rows of which all pairs are kept
_PAIRS_LOOKED_AT: Final = 1000  # rows whose distances give the scale
_NARROW: Final = 4.0  # the median squared distance is this many times the width of the kernel
_FREQUENCIES: Final = (128, 512)  # fewest and most
_FEATURES: Final = 5 * 10**7  # frequencies of all rows together, if that is between the two
_ROWS_TURNED: Final = 8192  # whose features are computed at once
_TRIES: Final = 4 * 10**6  # looks at a row for a place, of all places together
_FEWEST_TRIES: Final = 256  # rows that are looked at for each place at least


def draw_tries(n_candidates: int, n_places: int, n_rows: int, rng: np.random.Generator) -> CodeArray:
    """Draw the candidates to look at for some of the places, n_rows; shape (n_rows, n_tries).

    All candidates are looked at if they are few, or there are few places.
    """
    count = max(_FEWEST_TRIES, _TRIES // n_places)
    if count >= n_candidates:
        return np.tile(np.arange(n_candidates, dtype=np.int32), (n_rows, 1))
    return rng.integers(n_candidates, size=(n_rows, count), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class KernelMeans:
    """The kernel of the rows, or random features; it does not depend on how many are chosen."""

    data: SelectionData
    seed: int

    @property
    def of_pairs(self) -> bool:
        """Whether all pairs are kept, rather than features."""
        return self.data.n_rows <= _ALL_PAIRS or not self.data.has_features

    @cached_property
    def _width(self) -> float:
        """Squared distance at which the kernel falls to 1/e."""
        rng = np.random.default_rng(self.seed)
        n_rows = self.data.n_rows
        rows = np.sort(rng.choice(n_rows, min(n_rows, _PAIRS_LOOKED_AT), replace=False))
        apart = self._squared(rows, rows)[np.triu_indices(len(rows), 1)]
        width = float(np.median(apart)) / _NARROW
        return width if width > 0.0 else max(float(apart.mean()) / _NARROW, 1e-300)

    @cached_property
    def _points(self) -> Any:
        """Features whose squared distances count: rows of length 1 where only angles do."""
        X = self.data.X
        if self.data.metric != "cosine":
            return X
        from sklearn.preprocessing import normalize

        return normalize(X)

    def _squared(self, rows: IndexArray, others: IndexArray) -> FloatArray:
        """Return squared distances of rows."""
        if not self.data.has_features:
            return np.asarray(self.data.X[rows][:, others], dtype=np.float64) ** 2
        from sklearn.metrics.pairwise import euclidean_distances

        one, two = self._points[rows], self._points[others]
        distances: FloatArray = euclidean_distances(one, two, squared=True)
        return distances

    @cached_property
    def pairs(self) -> SmallFloats:
        """Kernel of all pairs, 0 where the labels differ; shape (n_rows, n_rows)."""
        n_rows, codes = self.data.n_rows, self.data.codes
        pairs = np.zeros((n_rows, n_rows), np.float32)
        for code in range(self.data.n_classes):
            rows = np.flatnonzero(codes == code)
            pairs[np.ix_(rows, rows)] = np.exp(-self._squared(rows, rows) / self._width)
        np.fill_diagonal(pairs, 1.0)
        return pairs

    @cached_property
    def features(self) -> SmallFloats:
        """Random Fourier features, each row of length 1; shape (n_rows, n_features)."""
        rng = np.random.default_rng(self.seed)
        X = self._points
        fewest, most = _FREQUENCIES
        count = max(fewest, min(most, _FEATURES // self.data.n_rows))
        frequencies = rng.normal(scale=np.sqrt(2.0 / self._width), size=(X.shape[1], count))
        features = np.empty((self.data.n_rows, 2 * count), np.float32)
        for part in blocks(self.data.n_rows, _ROWS_TURNED):
            turned = np.asarray(X[part] @ frequencies)
            features[part, :count], features[part, count:] = np.cos(turned), np.sin(turned)
        features /= np.float32(np.sqrt(count))
        return features

    def herd(
        self, pool: npt.NDArray[np.bool_], include: npt.NDArray[np.bool_], quotas: IndexArray, rng: np.random.Generator
    ) -> IndexArray:
        """Return rows whose mean follows that of the pool, class by class; those included come first.

        Those included are in the pool, and count for the quotas, the rows of each class. The generator is for what is
        looked at, where there are many rows.
        """
        chosen = [np.flatnonzero(include)]
        for code in range(self.data.n_classes):
            rows = np.flatnonzero(pool & (self.data.codes == code))
            lacking = int(quotas[code]) - int(include[rows].sum())
            if lacking > 0:
                chosen.append(rows[self._herd_class(rows, include[rows], lacking, rng)])
        return np.concatenate(chosen)

    def _herd_class(
        self, rows: IndexArray, taken: npt.NDArray[np.bool_], n: int, rng: np.random.Generator
    ) -> IndexArray:
        from pivotal.kernels.herding import herd_by_features, herd_by_kernel

        chosen, taken = np.empty(n, np.int64), taken.copy()
        if self.of_pairs:
            pairs = np.ascontiguousarray(self.pairs[np.ix_(rows, rows)])
            sums = pairs[taken].sum(axis=0, dtype=np.float64)
            herd_by_kernel(pairs, pairs.mean(axis=1, dtype=np.float64), sums, taken, chosen)
            return chosen
        features = np.ascontiguousarray(self.features[rows])
        tries = draw_tries(len(rows), n, n, rng)
        total = features[taken].sum(axis=0, dtype=np.float64)
        herd_by_features(features, features.mean(axis=0, dtype=np.float64), total, taken, tries, chosen)
        return chosen

    def begin(self, pool: npt.NDArray[np.bool_], shares: FloatArray, n: int, scale: float) -> Likeness:
        """Return the likeness of n rows to be counted in, to the pool with its classes in some shares, 1 in all.

        The scale is what the squared distance of the means counts.
        """
        codes, counts = self.data.codes, self.data.class_counts(pool)
        per_row = np.where(pool, (shares / np.maximum(counts, 1))[codes], 0.0)
        nothing = np.empty((0, 0), np.float32)
        if self.of_pairs:
            pull = np.asarray(self.pairs @ per_row.astype(np.float32), dtype=np.float64)
            return Likeness(self.pairs, pull, np.zeros(len(codes)), nothing, np.empty((0, 0)), float(n), scale)
        means = np.zeros((self.data.n_classes, self.features.shape[1]))
        for code in range(self.data.n_classes):
            rows = np.flatnonzero(pool & (codes == code))
            if rows.size:
                means[code] = shares[code] * self.features[rows].mean(axis=0, dtype=np.float64)
        return Likeness(nothing, np.empty(0), np.empty(0), self.features, means, float(n), scale)

    def discrepancy(self, pool: npt.NDArray[np.bool_], shares: FloatArray, chosen: IndexArray) -> float:
        """Return the squared distance of the mean of chosen rows from that of the pool."""
        codes, counts = self.data.codes, self.data.class_counts(pool)
        weights = np.where(pool, (shares / np.maximum(counts, 1))[codes], 0.0)
        weights[chosen] -= 1.0 / len(chosen)
        if self.of_pairs:
            return float(weights @ (self.pairs @ weights.astype(np.float32)))
        total = 0.0
        for code in range(self.data.n_classes):
            rows = np.flatnonzero(codes == code)
            total += float(np.square(weights[rows] @ self.features[rows]).sum())
        return total
