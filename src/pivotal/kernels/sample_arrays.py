"""What the sampling kernels are handed, bundled: it loads without a compiler."""

from __future__ import annotations

from typing import NamedTuple

from pivotal.core.types import AnyArray, FloatArray, IndexArray

# By which two sums a game knows a coalition, see `sampling_sums`.
LEAD, SHARE, COUNT, ERROR = 0, 1, 2, 3


class Law(NamedTuple):
    """How samples are drawn, for one semivalue and lists of one length."""

    permute: bool
    """Whether a sample is an order in which the points join, not a coalition."""

    nodes: FloatArray
    """log(1 - p) of the values that p takes, shape (n_nodes,); empty for p ~ Beta(beta, alpha)."""

    shares: FloatArray
    """Their cumulated chances."""

    alpha: float
    beta: float

    weights: FloatArray
    """Orders: what a contribution counts when s others came before, over what it counts in the Shapley value."""


class Streams(NamedTuple):
    """Which streams are drawn from."""

    seed: IndexArray
    """32-bit words, shape (4,)."""

    queries: IndexArray
    """Numbers of the queries, shape (n_queries,)."""

    batches: IndexArray
    """Numbers of the batches, shape (n_batches,)."""

    sizes: IndexArray
    """Samples in each batch, at least 2."""

    total: int
    """Samples of a query, over all its batches and not only these."""

    def of_part(self, number: int) -> Streams:
        """Streams of their own for a part of a mixture; those of the first part are these."""
        # An odd factor, so that numbers that differ give words that differ.
        return self._replace(seed=self.seed ^ ((number * 0x9E3779B1) & 0xFFFFFFFF))


class SampleScratch(NamedTuple):
    """Memory of one thread."""

    stream: IndexArray
    """Shape (4,)."""

    nearest: IndexArray
    """Nearest members of a coalition; shape (k + 1,)."""

    order: IndexArray
    """An order of the ranks; shape (depth,)."""

    where: IndexArray
    """Which neighbour a rank is; shape (depth,)."""

    counts: AnyArray
    """Which play; bool, shape (depth,)."""

    sample_stats: FloatArray
    """Marginal contributions so far, see `record`: shape (3, depth), zero between batches."""

    terms: FloatArray
    """What each rank adds to the two sums; shape (2, depth)."""

    votes: FloatArray
    """Votes of the classes: shape (n_classes + 1,), zero between samples."""


class Estimates(NamedTuple):
    """What a kernel updates."""

    means: FloatArray
    """Estimated values of each query's neighbours, shape (n_queries, depth)."""

    variances: FloatArray
    """The variances that they have by chance, of the same shape."""

    moments: FloatArray
    """Sums of squares and of fourth powers of all contributions, before they are weighted; shape (n_queries, 2)."""
