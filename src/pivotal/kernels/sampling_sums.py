"""Sampling games that know a coalition by two sums over its k nearest members.

    LEAD    two classes             votes for minus votes against; members    won when the lead exceeds a threshold
    SHARE   soft label              right votes; votes                        their ratio
    COUNT   soft label, over k      right members; members                    the first over k
    ERROR   regression              votes times residual; votes               minus the square of their ratio

The second sum is 0 for a coalition that has the utility of the empty set. A sample is a random coalition or a random
order of the points; either gives every point a marginal contribution at once. Nearly all of them are exactly 0: they
are known by their number alone, and only the others are visited.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.sample_arrays import COUNT, LEAD, SHARE, Estimates, Law, SampleScratch, Streams
from pivotal.kernels.sampling_draws import draw_members, shuffle, start_stream


@kernel
def utility_of_sums(kind: int, rule: float, empty: float, first: float, second: float) -> float:
    """Return the utility of a coalition, given its two sums; `rule` is the threshold of a lead, or k."""
    if second == 0.0:
        return empty
    if kind == LEAD:
        return 1.0 if first > rule else 0.0
    if kind == SHARE:
        return first / second
    if kind == COUNT:
        return first / rule
    return -(first / second) * (first / second)


@kernel
def record(i: int, gain: float, weight: float, sample_stats: FloatArray, moments: FloatArray) -> None:
    """Count a marginal contribution that is not 0: Welford's running mean and squared deviation.

    Parameters
    ----------
    i : int
        Rank, counted from 0.
    gain, weight : float
        Its marginal contribution, and what that counts.
    sample_stats : float64 array of shape (3, >= n)
        For each rank: how many were counted, their mean, the sum of their squared deviations; updated.
    moments : float64 array of shape (2,)
        Sums of the squares and of the fourth powers of the contributions themselves, over all ranks; updated.
    """
    square = gain * gain
    moments[0] += square
    moments[1] += square * square
    sample_stats[0, i] += 1.0
    away = weight * gain - sample_stats[1, i]
    sample_stats[1, i] += away / sample_stats[0, i]
    sample_stats[2, i] += away * (weight * gain - sample_stats[1, i])


@kernel
def close_batch(
    last: int, size: int, total: int, scratch: SampleScratch, means: FloatArray, variances: FloatArray
) -> None:
    """Add a batch to the estimates of its query, and clear the tallies.

    Parameters
    ----------
    last : int
        Farthest rank that was counted.
    size, total : int
        Samples in the batch, at least 2, and of the query.
    scratch : SampleScratch
        Its `where` and `sample_stats`.
    means, variances : float64 arrays of shape (depth,)
        Of the query; updated.
    """
    sample_stats, where, share = scratch.sample_stats, scratch.where, size / total
    for i in range(last + 1):
        count = sample_stats[0, i]
        if count > 0.0:
            # The samples that were not counted are zeros: they join as one group of mean 0.
            deviation = sample_stats[2, i] + sample_stats[1, i] * sample_stats[1, i] * count * ((size - count) / size)
            means[where[i]] += share * sample_stats[1, i] * (count / size)
            variances[where[i]] += share * share * deviation / (size * (size - 1.0))
            sample_stats[0, i], sample_stats[1, i], sample_stats[2, i] = 0.0, 0.0, 0.0


@kernel
def coalition_batch(
    size: int,
    n: int,
    k: int,
    kind: int,
    rule: float,
    empty: float,
    scale: float,
    law: Law,
    terms: FloatArray,
    scratch: SampleScratch,
    moments: FloatArray,
) -> int:
    """Draw coalitions of one list; return the farthest rank that could change anything.

    Only the nearest k + 1 members matter: where a member is taken out the (k+1)-th moves up, a point nearer than the
    k-th pushes it out when put in, and all others contribute nothing.

    Parameters
    ----------
    size, n, k : int
        Samples, ranks, and neighbours that vote.
    kind, rule, empty : as in `utility_of_sums`
    scale : float
        What marginal contributions are multiplied with.
    law : Law
        Where coalitions are drawn from.
    terms : float64 array of shape (2, >= n)
        What each rank adds to the two sums.
    scratch : SampleScratch
        Contributions are counted in its `sample_stats`.
    moments : float64 array of shape (2,)
        As in `record`.
    """
    nearest, farthest = scratch.nearest, 0
    for _ in range(size):
        found = draw_members(n, k + 1, law, nearest, scratch.stream)
        first, second = 0.0, 0.0
        for j in range(min(found, k)):
            first += terms[0, nearest[j]]
            second += terms[1, nearest[j]]
        now = utility_of_sums(kind, rule, empty, first, second)
        # Sums with the point that moves up when a member leaves, and without the one pushed out when a point joins.
        up_first, up_second, out_first, out_second, last = first, second, first, second, n - 1
        if found > k:
            up_first += terms[0, nearest[k]]
            up_second += terms[1, nearest[k]]
        if found >= k:
            last = int(nearest[k - 1])
            out_first -= terms[0, last]
            out_second -= terms[1, last]
        farthest = max(farthest, last)
        j = 0
        for i in range(last + 1):
            if j < found and nearest[j] == i:
                j += 1
                gain = now - utility_of_sums(kind, rule, empty, up_first - terms[0, i], up_second - terms[1, i])
            else:
                gain = utility_of_sums(kind, rule, empty, out_first + terms[0, i], out_second + terms[1, i]) - now
            if gain != 0.0:
                record(i, scale * gain, 1.0, scratch.sample_stats, moments)
    return farthest


@kernel
def join(i: int, k: int, size: int, top: IndexArray) -> int:
    """Put rank i among the nearest k and return how many these are now; where they are k already, i is nearer."""
    place = size if size < k else k - 1  # the k-th is overwritten: it is pushed out
    while place > 0 and top[place - 1] > i:
        top[place] = top[place - 1]
        place -= 1
    top[place] = i
    return min(size + 1, k)


@kernel
def permutation_batch(
    size: int,
    n: int,
    k: int,
    kind: int,
    rule: float,
    empty: float,
    scale: float,
    law: Law,
    terms: FloatArray,
    scratch: SampleScratch,
    moments: FloatArray,
) -> None:
    """Let the points of one list join in random orders, and keep the nearest k; parameters as in `coalition_batch`.

    Points that are not `counts` join without effect.
    """
    order, top, counts = scratch.order, scratch.nearest, scratch.counts
    for i in range(n):
        order[i] = i
    for _ in range(size):
        shuffle(order, n, scratch.stream)
        now, present = empty, 0
        for s in range(n):
            i = int(order[s])
            if not counts[i] or (present == k and i > top[k - 1]):
                continue
            present = join(i, k, present, top)
            first, second = 0.0, 0.0
            for j in range(present):
                first += terms[0, top[j]]
                second += terms[1, top[j]]
            after = utility_of_sums(kind, rule, empty, first, second)
            if after != now:
                record(i, scale * (after - now), law.weights[s], scratch.sample_stats, moments)
            now = after


@kernel
def sum_estimates(
    terms: FloatArray,
    empty: FloatArray,
    k: int,
    kind: int,
    rule: float,
    scale: float,
    law: Law,
    streams: Streams,
    scratch: SampleScratch,
    estimates: Estimates,
) -> None:
    """Add batches of samples to the estimates of each query's neighbours.

    Parameters
    ----------
    terms : float64 array of shape (n_queries, 2, depth)
        What each neighbour adds to the two sums.
    empty : float64 array of shape (n_queries,)
        Utility of the empty set.
    k, kind, rule, scale : as in `coalition_batch`
    law, streams, scratch, estimates
        How samples are drawn, from which streams, with what memory, and what is updated.
    """
    n_queries, depth = estimates.means.shape
    for i in range(depth):
        scratch.where[i] = i
        scratch.counts[i] = True
    for q in range(n_queries):
        moments = estimates.moments[q]
        for b in range(streams.batches.shape[0]):
            start_stream(streams.seed, int(streams.queries[q]), 0, int(streams.batches[b]), scratch.stream)
            size, last = int(streams.sizes[b]), depth - 1
            if law.permute:
                permutation_batch(size, depth, k, kind, rule, empty[q], scale, law, terms[q], scratch, moments)
            else:
                last = coalition_batch(size, depth, k, kind, rule, empty[q], scale, law, terms[q], scratch, moments)
            close_batch(last, size, streams.total, scratch, estimates.means[q], estimates.variances[q])


@kernel
def pair_estimates(
    slots: CodeArray,
    votes: CodeArray,
    games: int,
    k: int,
    rule: float,
    scale: float,
    law: Law,
    streams: Streams,
    scratch: SampleScratch,
    estimates: Estimates,
) -> None:
    """Do the same for the mean over games of two classes each from which all other classes are omitted.

    Every game has samples of its own, so that variances add up.

    Parameters
    ----------
    slots : int32 array of shape (n_queries, depth)
        0 for the right class, 1..games for the wrong ones.
    votes : int32 array of shape (n_queries, depth)
        Votes of the neighbours.
    games : int
        Wrong classes.
    k, rule, scale, law, streams, scratch, estimates : as in `sum_estimates`
    """
    n_queries, depth = estimates.means.shape
    terms, where, counts = scratch.terms, scratch.where, scratch.counts
    for q in range(n_queries):
        moments, memberless = estimates.moments[q], games
        # After the last rival stand all that have no members here: they play one and the same game.
        for rival in range(1, games + 2):
            n, against = 0, 0
            for i in range(depth):
                slot = slots[q, i]
                counts[i] = slot in (0, rival)
                against += slot == rival
                # Coalitions are drawn from the two classes alone; in an order all take part.
                if law.permute or counts[i]:
                    where[n] = i
                    terms[0, n] = votes[q, i] if slot == 0 else -votes[q, i]
                    terms[1, n] = 1.0
                    n += 1
            memberless -= against > 0
            weight = scale if against > 0 else scale * memberless
            if n == 0 or weight == 0.0 or (against == 0 and rival <= games):
                continue
            for b in range(streams.batches.shape[0]):
                start_stream(streams.seed, int(streams.queries[q]), rival, int(streams.batches[b]), scratch.stream)
                size, last = int(streams.sizes[b]), n - 1
                if law.permute:
                    permutation_batch(size, n, k, LEAD, rule, 0.0, weight, law, terms, scratch, moments)
                else:
                    last = coalition_batch(size, n, k, LEAD, rule, 0.0, weight, law, terms, scratch, moments)
                close_batch(last, size, streams.total, scratch, estimates.means[q], estimates.variances[q])
