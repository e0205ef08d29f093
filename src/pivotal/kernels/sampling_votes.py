"""Sampling votes of many classes: a coalition is known by the votes that its k nearest members give to each class.

Hard votes are won against each wrong class by itself, where all classes take up places; the plurality vote is won
against all of them at once.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.sample_arrays import Estimates, Law, SampleScratch, Streams
from pivotal.kernels.sampling_draws import draw_members, shuffle, start_stream
from pivotal.kernels.sampling_sums import close_batch, join, record


@kernel
def utility_of_votes(
    nearest: IndexArray,
    size: int,
    without: int,
    extra: int,
    slots: CodeArray,
    votes: CodeArray,
    games: int,
    threshold: float,
    plurality: bool,
    vote_counts: FloatArray,
) -> float:
    """Return the utility of a coalition: the number of games won, or 1 for winning the plurality.

    Parameters
    ----------
    nearest : int64 array of shape (>= size,)
        Ranks of its nearest members.
    size : int
        How many of them vote.
    without, extra : int
        Rank that is omitted, and one that votes besides; -1 for none.
    slots, votes : int32 arrays of shape (depth,)
        Class of each rank, 0 for the right one, and its votes.
    games : int
        Wrong classes, shown or not.
    threshold : float
        A lead above it wins.
    plurality : bool
        Whether the right class must beat all others at once.
    vote_counts : float64 array of shape (> largest slot,)
        Scratch, zero on entry and on exit.
    """
    members, right = 0, 0.0
    for j in range(size + (extra >= 0)):
        i = nearest[j] if j < size else extra
        if i != without:
            members += 1
            vote_counts[slots[i]] += votes[i]
    right = vote_counts[0]
    vote_counts[0] = 0.0
    rivals, won, most = 0, 0, 0.0
    for j in range(size + (extra >= 0)):
        i = nearest[j] if j < size else extra
        against = vote_counts[slots[i]]
        if against > 0.0:  # each class once, as it is cleared when it has been looked at
            vote_counts[slots[i]] = 0.0
            rivals += 1
            won += right - against > threshold
            most = max(most, against)
    if members == 0:
        return 0.0
    if plurality:
        return 1.0 if right > most else 0.0
    return float(won + (games - rivals) * (right > threshold))


@kernel
def vote_coalitions(
    size: int,
    n: int,
    k: int,
    slots: CodeArray,
    votes: CodeArray,
    games: int,
    rule: float,
    plurality: bool,
    scale: float,
    law: Law,
    scratch: SampleScratch,
    moments: FloatArray,
) -> int:
    """Draw coalitions of one list, as `coalition_batch` does; return the farthest rank that could change anything."""
    nearest, vote_counts, farthest = scratch.nearest, scratch.votes, 0
    for _ in range(size):
        found = draw_members(n, k + 1, law, nearest, scratch.stream)
        top = min(found, k)
        # Votes when a point joins: without the k-th, which is pushed out.
        stay = top if found < k else k - 1
        last = n - 1 if found < k else int(nearest[k - 1])
        farthest = max(farthest, last)
        now = utility_of_votes(nearest, top, -1, -1, slots, votes, games, rule, plurality, vote_counts)
        j = 0
        for i in range(last + 1):
            if j < found and nearest[j] == i:
                j += 1
                gain = now - utility_of_votes(nearest, found, i, -1, slots, votes, games, rule, plurality, vote_counts)
            else:
                gain = utility_of_votes(nearest, stay, -1, i, slots, votes, games, rule, plurality, vote_counts) - now
            if gain != 0.0:
                record(i, scale * gain, 1.0, scratch.sample_stats, moments)
    return farthest


@kernel
def vote_permutations(
    size: int,
    n: int,
    k: int,
    slots: CodeArray,
    votes: CodeArray,
    games: int,
    rule: float,
    plurality: bool,
    scale: float,
    law: Law,
    scratch: SampleScratch,
    moments: FloatArray,
) -> None:
    """Let the points of one list join in random orders, as `permutation_batch` does."""
    order, top, vote_counts = scratch.order, scratch.nearest, scratch.votes
    for i in range(n):
        order[i] = i
    for _ in range(size):
        shuffle(order, n, scratch.stream)
        now, present = 0.0, 0
        for s in range(n):
            i = int(order[s])
            if present == k and i > top[k - 1]:
                continue
            present = join(i, k, present, top)
            after = utility_of_votes(top, present, -1, -1, slots, votes, games, rule, plurality, vote_counts)
            if after != now:
                record(i, scale * (after - now), law.weights[s], scratch.sample_stats, moments)
            now = after


@kernel
def vote_estimates(
    slots: CodeArray,
    votes: CodeArray,
    games: int,
    k: int,
    rule: float,
    plurality: bool,
    scale: float,
    law: Law,
    streams: Streams,
    scratch: SampleScratch,
    estimates: Estimates,
) -> None:
    """Add batches of samples to the estimates of each query's neighbours.

    Parameters
    ----------
    slots : int32 array of shape (n_queries, depth)
        0 for the right class, 1, 2, ... for the wrong ones.
    votes : int32 array of shape (n_queries, depth)
        Votes of the neighbours.
    games, rule, plurality : as in `utility_of_votes`
    k, scale, law, streams, scratch, estimates : as in `sampling_sums.sum_estimates`
    """
    n_queries, n = estimates.means.shape
    for i in range(n):
        scratch.where[i] = i
    for q in range(n_queries):
        who, own_votes, moments = slots[q], votes[q], estimates.moments[q]
        for b in range(streams.batches.shape[0]):
            start_stream(streams.seed, int(streams.queries[q]), 0, int(streams.batches[b]), scratch.stream)
            size, last = int(streams.sizes[b]), n - 1
            if law.permute:
                vote_permutations(size, n, k, who, own_votes, games, rule, plurality, scale, law, scratch, moments)
            else:
                last = vote_coalitions(size, n, k, who, own_votes, games, rule, plurality, scale, law, scratch, moments)
            close_batch(last, size, streams.total, scratch, estimates.means[q], estimates.variances[q])
