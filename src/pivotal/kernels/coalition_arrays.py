"""What the kernels of a coalition that changes are handed, bundled: it loads without a compiler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import CodeArray, FloatArray, IndexArray

SmallFloats = npt.NDArray[np.float32]


class NeighborArrays(NamedTuple):
    """Who is near whom, which does not change while points enter and leave."""

    points: CodeArray
    """Nearest training points of each query, nearest first, shape (n_queries, length); -1 behind the last of a list."""

    starts: IndexArray
    """Where the entries of each training point begin in `queries` and `ranks`, shape (n_train + 1,)."""

    queries: CodeArray
    """Queries on whose lists a training point stands, shape (n_entries,)."""

    ranks: CodeArray
    """Its ranks there."""

    codes: CodeArray
    """Class of each training point."""

    targets: CodeArray
    """Class of each query."""

    weights: FloatArray
    """How much each query counts."""

    absent: FloatArray
    """Vote of a neighbour that a query does not have."""

    shares: FloatArray
    """What the vote of the nearest member counts, of the second nearest, and so on; shape (k,), 1 in all."""


class Standing(NamedTuple):
    """Who is in the coalition, and what every other point would add to it; written in place."""

    members: npt.NDArray[np.bool_]
    """Shape (n_train,)."""

    nearest: CodeArray
    """Ranks of the nearest members on the list of each query, ascending, shape (n_queries, k)."""

    counts: CodeArray
    """How many of them there are."""

    agrees: FloatArray
    """1 where such a member has the label of the query, else 0."""

    adds: FloatArray
    """What a newcomer adds, by the number of nearer members and by whether its label is the query's (1) or not (0);
    shape (n_queries, k, 2)."""

    gains: FloatArray
    """What each point outside adds to the utility, summed over the queries; shape (n_train,)."""


class Likeness(NamedTuple):
    """How much the coalition looks like the data: a kernel mean, of which either all entries or features are known."""

    kernel: SmallFloats
    """Kernel of pairs of training points, 0 for different labels, shape (n_train, n_train); or without entries."""

    pull: FloatArray
    """Mean of the kernel with the data, shape (n_train,), where `kernel` has entries."""

    sums: FloatArray
    """Sum of the kernel with the members; written in place."""

    features: SmallFloats
    """Features whose products are the kernel of rows of one class, shape (n_train, n_features); or without entries."""

    rest: FloatArray
    """Mean of the features of the data less that of the members, for each class; written in place."""

    size: float
    """Number of members that the mean is taken over."""

    scale: float
    """What the squared distance of the means counts, in the unit of the gains."""
