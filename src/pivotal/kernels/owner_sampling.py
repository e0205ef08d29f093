"""Sampling with owners as players: a sample is a random coalition of owners, or a random order in which they join."""

from __future__ import annotations

import math

from pivotal.core.types import FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.owner_arrays import Owned, OwnerScratch, Rules
from pivotal.kernels.owner_branching import IN, OUT, UNKNOWN, admit, list_playing_ranks, utility_of_members, weight_of
from pivotal.kernels.sample_arrays import Estimates, Law, SampleScratch, Streams
from pivotal.kernels.sampling_draws import log_absence, shuffle, start_stream, uniform
from pivotal.kernels.sampling_sums import close_batch, record


@kernel
def gather(
    q: int,
    n: int,
    without: int,
    absent: float,
    n_known: int,
    owned: Owned,
    rules: Rules,
    workspace: OwnerScratch,
    stream: IndexArray,
) -> tuple[int, int]:
    """Collect the nearest members of a coalition; return how many, and of how many owners it is known who is in.

    Owners are drawn when they first come up, so no owner is drawn that does not matter.

    Parameters
    ----------
    q, n : int
        The query, and the number of ranks that play.
    without : int
        An owner who is out, whatever was drawn; -1 for none.
    absent : float
        Chance of an owner to be out.
    n_known : int
        Owners drawn so far.
    owned, rules, workspace
        Who is near, the utility of a coalition, and memory.
    stream : int64 array of shape (4,)
        Advanced.
    """
    owners, playing_ranks, status, size = owned.owners[q], workspace.playing_ranks, workspace.status, 0
    for j in range(n):
        owner = owners[playing_ranks[j]]
        if owner == without:
            continue
        if status[owner] == UNKNOWN:
            status[owner] = IN if uniform(stream) >= absent else OUT
            workspace.known[n_known] = owner
            n_known += 1
        if status[owner] == IN:
            admit(q, playing_ranks[j], size, owned, rules, workspace)
            size += 1
            if size == rules.k:
                break
    return size, n_known


@kernel
def link_ranks(q: int, n: int, owned: Owned, workspace: OwnerScratch) -> None:
    """Lead from each owner to their nearest rank among the seats, and from each rank to the owner's next."""
    heads, nexts, owners = workspace.heads, workspace.nexts, owned.owners[q]
    for owner in range(heads.shape[0]):
        heads[owner] = -1
    for j in range(n - 1, -1, -1):
        rank = workspace.playing_ranks[j]
        nexts[rank] = heads[owners[rank]]
        heads[owners[rank]] = rank


@kernel
def gather_with(q: int, owner: int, n_others: int, owned: Owned, rules: Rules, workspace: OwnerScratch) -> int:
    """Collect the nearest members of a coalition that an owner joins, given its nearest before; return how many."""
    rank, j, size = workspace.heads[owner], 0, 0
    while size < rules.k and (rank >= 0 or j < n_others):
        if j == n_others or (rank >= 0 and rank < workspace.others[j]):
            admit(q, rank, size, owned, rules, workspace)
            rank = workspace.nexts[rank]
        else:
            admit(q, workspace.others[j], size, owned, rules, workspace)
            j += 1
        size += 1
    return size


@kernel
def coalitions_of_owners(
    size: int, q: int, n: int, scale: float, owned: Owned, rules: Rules, law: Law, workspace: OwnerScratch,
    scratch: SampleScratch, moments: FloatArray,
) -> None:  # fmt: skip
    """Draw coalitions of owners and count what each owner near enough to matter contributes.

    Parameters
    ----------
    size, q, n : int
        Samples, the query, and the number of seats taken.
    scale : float
        What marginal contributions are multiplied with.
    owned, rules, law : Owned, Rules, Law
        Who is near, the utility of a coalition, and where coalitions are drawn from.
    workspace, scratch
        Memory; contributions are counted in `scratch.sample_stats`.
    moments : float64 array of shape (2,)
        As in `sampling_sums.record`.
    """
    known, status, stream = workspace.known, workspace.status, scratch.stream
    for _ in range(size):
        absent = math.exp(log_absence(law, stream))
        n_others, near = gather(q, n, -1, absent, 0, owned, rules, workspace, stream)
        now, n_known = utility_of_members(q, n_others, owned, rules, workspace), near
        for j in range(n_others):
            workspace.others[j] = workspace.members[j]
        # An owner without a point nearer than the k-th of the coalition changes nothing.
        for i in range(near):
            owner = known[i]
            if status[owner] == IN:
                present, n_known = gather(q, n, owner, absent, n_known, owned, rules, workspace, stream)
                gain = now - utility_of_members(q, present, owned, rules, workspace)
            else:
                present = gather_with(q, owner, n_others, owned, rules, workspace)
                gain = utility_of_members(q, present, owned, rules, workspace) - now
            if gain != 0.0:
                record(owner, scale * gain, 1.0, scratch.sample_stats, moments)
        for i in range(n_known):
            status[known[i]] = UNKNOWN


@kernel
def orders_of_owners(
    size: int, q: int, scale: float, owned: Owned, rules: Rules, law: Law, workspace: OwnerScratch,
    scratch: SampleScratch, moments: FloatArray,
) -> None:  # fmt: skip
    """Let the owners join in random orders, and keep the nearest k points; as `coalitions_of_owners`."""
    order, others, heads, k = scratch.order, workspace.others, workspace.heads, rules.k
    n_owners = heads.shape[0]
    for owner in range(n_owners):
        order[owner] = owner
    for _ in range(size):
        shuffle(order, n_owners, scratch.stream)
        now, present = float(owned.empty[q]), 0
        for s in range(n_owners):
            owner = int(order[s])
            if heads[owner] < 0 or (present == k and heads[owner] > others[k - 1]):
                continue
            present = gather_with(q, owner, present, owned, rules, workspace)
            for j in range(present):
                others[j] = workspace.members[j]
            after = utility_of_members(q, present, owned, rules, workspace)
            if after != now:
                record(owner, scale * (after - now), law.weights[s], scratch.sample_stats, moments)
            now = after


@kernel
def owner_estimates(
    owned: Owned,
    rules: Rules,
    law: Law,
    streams: Streams,
    workspace: OwnerScratch,
    scratch: SampleScratch,
    estimates: Estimates,
) -> None:
    """Add batches of samples to the estimates of the owners, for each query.

    Parameters
    ----------
    owned, rules : Owned, Rules
        Who is near, and the utility of a coalition.
    law, streams : Law, Streams
        How samples are drawn, and from which streams.
    workspace, scratch : OwnerScratch, SampleScratch
        Memory.
    estimates : Estimates
        Of shape (n_queries, n_owners); updated.
    """
    n_queries, n_owners = estimates.means.shape
    for owner in range(n_owners):
        scratch.where[owner] = owner
    for q in range(n_queries):
        memberless, moments = rules.rivals, estimates.moments[q]
        for rival in range(1, rules.rivals + 2) if rules.pairs else range(1):
            n, against = list_playing_ranks(q, rival, owned, workspace.playing_ranks)
            memberless -= against > 0
            weight = weight_of(rival, against, memberless, rules)
            if n == 0 or weight == 0.0:
                continue
            link_ranks(q, n, owned, workspace)
            for b in range(streams.batches.shape[0]):
                start_stream(streams.seed, int(streams.queries[q]), rival, int(streams.batches[b]), scratch.stream)
                size = int(streams.sizes[b])
                if law.permute:
                    orders_of_owners(size, q, weight, owned, rules, law, workspace, scratch, moments)
                else:
                    coalitions_of_owners(size, q, n, weight, owned, rules, law, workspace, scratch, moments)
                close_batch(n_owners - 1, size, streams.total, scratch, estimates.means[q], estimates.variances[q])
