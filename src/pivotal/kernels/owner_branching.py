"""Owners as players: a coalition of owners has all their points, and its k nearest points vote.

The points of a query are walked through, nearest first. Whenever one comes up whose owner has not been decided on, the
walk branches: the owner is in, or out. When k points are in, or none is left, no other can change what the coalition
coalition, so the end of a branch stands for all coalitions that agree with it. Say a owners are in and b are out, and
the coalition has utility v. Owners that are in have v added to their value, times the chance that the other a - 1 are
in and the b are out; owners that are out have v taken away, times the chance that the a are in and the other b - 1 are
out; for the rest it makes no difference. Such a chance is the integral of p^a (1-p)^b over the measure of the
semivalue.

There are at most 2^n branches for n owners. Each owner who is in brings a point or more, so no branch has more than k
of them: these are far fewer branches when k is small.
"""

from __future__ import annotations

from pivotal.core.types import FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.owner_arrays import BEST, DISCOUNTED, FIRST, VOTES, Owned, OwnerScratch, Rules
from pivotal.kernels.sampling_sums import utility_of_sums
from pivotal.kernels.sampling_votes import utility_of_votes

UNKNOWN, IN, OUT = 0, 1, 2


@kernel
def utility_of_members(q: int, size: int, owned: Owned, rules: Rules, workspace: OwnerScratch) -> float:
    """Return the utility of a coalition for query q whose nearest points are the first `size` members."""
    if rules.kind == VOTES:
        slots, votes = owned.slots[q], owned.votes[q]
        return utility_of_votes(
            workspace.members,
            size,
            -1,
            -1,
            slots,
            votes,
            rules.rivals,
            rules.rule,
            rules.plurality,
            workspace.vote_counts,
        )
    totals = workspace.totals
    if rules.kind >= DISCOUNTED:
        return float(totals[0, size])
    return utility_of_sums(rules.kind, rules.rule, float(owned.empty[q]), totals[0, size], totals[1, size])


@kernel
def admit(q: int, rank: int, size: int, owned: Owned, rules: Rules, workspace: OwnerScratch) -> None:
    """Let a rank be the next member after the nearest `size`."""
    workspace.members[size] = rank
    if rules.kind >= DISCOUNTED:
        now, term = workspace.totals[0, size], owned.terms[q, 0, rank]
        if rules.kind == DISCOUNTED:
            now += term * rules.discounts[size]
        elif rules.kind == FIRST and now == 0.0:
            now = term * rules.discounts[size]
        elif rules.kind == BEST:
            now = max(now, term)
        workspace.totals[0, size + 1] = now
    elif rules.kind != VOTES:
        workspace.totals[0, size + 1] = workspace.totals[0, size] + owned.terms[q, 0, rank]
        workspace.totals[1, size + 1] = workspace.totals[1, size] + owned.terms[q, 1, rank]


@kernel
def list_playing_ranks(q: int, rival: int, owned: Owned, playing_ranks: IndexArray) -> tuple[int, int]:
    """List the ranks that play against a rival, or all if it is 0; return how many, and how many are the rival's."""
    n, against = 0, 0
    for r in range(owned.lengths[q]):
        if rival > 0:
            slot = owned.slots[q, r]
            against += slot == rival
            if slot not in (0, rival):
                continue
        playing_ranks[n] = r
        n += 1
    return n, against


@kernel
def weight_of(rival: int, against: int, memberless: int, rules: Rules) -> float:
    """Say what a game counts. After the last rival stand all without members: they play one and the same game."""
    if rival == 0 or against > 0:
        return rules.scale
    return 0.0 if rival <= rules.rivals else rules.scale * memberless


@kernel
def matters(joined: int, out: int, chances: FloatArray) -> bool:
    """Whether coalitions with this many owners in and out are ever drawn; those with more of either are drawn less."""
    return (joined > 0 and chances[joined - 1, out] > 0.0) or (out > 0 and chances[joined, out - 1] > 0.0)


@kernel
def add_branches(
    q: int,
    n: int,
    weight: float,
    owned: Owned,
    rules: Rules,
    chances: FloatArray,
    workspace: OwnerScratch,
    values: FloatArray,
) -> None:
    """Add the values of the owners in one game of a query.

    Parameters
    ----------
    q, n : int
        The query, and the number of seats taken.
    weight : float
        What the game counts.
    owned, rules : Owned, Rules
        Who is near, and the utility of a coalition.
    chances : float64 array of shape (> most who can be in, > n_owners)
        Chance that a given owners are in and b given ones are out.
    workspace : OwnerScratch
        Scratch; its `playing_ranks` are taken.
    values : float64 array of shape (n_owners,)
        Updated.
    """
    playing_ranks, status, decision_stack, sums = (
        workspace.playing_ranks,
        workspace.status,
        workspace.decision_stack,
        workspace.sums,
    )
    owners, k, empty_utility = owned.owners[q], rules.k, owned.empty[q]
    j, size, depth, joined = 0, 0, 0, 0
    sums[0, 0], sums[1, 0] = 0.0, 0.0
    while True:
        drawn = True
        while j < n and size < k:
            owner = owners[playing_ranks[j]]
            if status[owner] == UNKNOWN:
                status[owner] = IN
                decision_stack[0, depth], decision_stack[1, depth] = j, size
                depth += 1
                joined += 1
                sums[0, depth], sums[1, depth] = 0.0, 0.0
                drawn = matters(joined, depth - joined, chances)
                if not drawn:
                    break
            if status[owner] == IN:
                admit(q, playing_ranks[j], size, owned, rules, workspace)
                size += 1
            j += 1
        if drawn:
            gain, out = weight * (utility_of_members(q, size, owned, rules, workspace) - empty_utility), depth - joined
            if joined > 0:
                sums[0, depth] += gain * chances[joined - 1, out]
            if out > 0:
                sums[1, depth] += gain * chances[joined, out - 1]
        # Back to the last owner who is in, who is put out; an owner who has been both is not decided on any more.
        ahead = False
        while depth > 0 and not ahead:
            j, size = decision_stack[0, depth - 1], decision_stack[1, depth - 1]
            owner = owners[playing_ranks[j]]
            sums[0, depth - 1] += sums[0, depth]
            sums[1, depth - 1] += sums[1, depth]
            if status[owner] == IN:
                values[owner] += sums[0, depth]
                status[owner] = OUT
                joined -= 1
                j += 1
                sums[0, depth], sums[1, depth] = 0.0, 0.0
                ahead = matters(joined, depth - joined, chances)
            else:
                values[owner] -= sums[1, depth]
                status[owner] = UNKNOWN
                depth -= 1
        if not ahead:
            return


@kernel
def owner_values(owned: Owned, rules: Rules, chances: FloatArray, workspace: OwnerScratch, values: FloatArray) -> None:
    """Fill `values`, of shape (n_queries, n_owners), with the value of each owner for each query."""
    for q in range(values.shape[0]):
        values[q, :] = 0.0
        memberless = rules.rivals
        for rival in range(1, rules.rivals + 2) if rules.pairs else range(1):
            n, against = list_playing_ranks(q, rival, owned, workspace.playing_ranks)
            memberless -= against > 0
            weight = weight_of(rival, against, memberless, rules)
            if n > 0 and weight != 0.0:
                add_branches(q, n, weight, owned, rules, chances, workspace, values[q])


@kernel
def chance_of_few(
    q: int, n: int, owned: Owned, chances: FloatArray, workspace: OwnerScratch, ways: FloatArray
) -> float:
    """Return the chance that the owners who join hold fewer than k of the points that play.

    One owner, who holds the most, is omitted: the others are those of a coalition that this owner joins.

    Parameters
    ----------
    q, n, owned, chances, workspace
        As in `add_branches`.
    ways : float64 array of shape (most who can be in, k)
        Scratch: in how many ways this many owners hold this many points.
    """
    counts, known, n_known = workspace.status, workspace.known, 0
    most, k = ways.shape
    owners, playing_ranks = owned.owners[q], workspace.playing_ranks
    for j in range(n):
        owner = owners[playing_ranks[j]]
        if counts[owner] == 0:
            known[n_known] = owner
            n_known += 1
        counts[owner] += 1
    largest = 0
    for i in range(n_known):
        if counts[known[i]] > counts[known[largest]]:
            largest = i
    ways[:, :] = 0.0
    ways[0, 0] = 1.0
    for i in range(n_known):
        held = counts[known[i]]
        counts[known[i]] = 0
        if i != largest:
            for joined in range(most - 1, 0, -1):
                for points in range(k - 1, held - 1, -1):
                    ways[joined, points] += ways[joined - 1, points - held]
    others, chance = max(n_known - 1, 0), 0.0
    for joined in range(min(most - 1, others) + 1):
        total = 0.0
        for points in range(k):
            total += ways[joined, points]
        if total > 0.0:
            chance += total * chances[joined, others - joined]
    return chance if chance < 1.0 else 1.0


@kernel
def unseen(
    owned: Owned, rules: Rules, chances: FloatArray, workspace: OwnerScratch, ways: FloatArray, shares: FloatArray
) -> None:
    """Fill `shares`, of shape (n_queries,), with the chance that points beyond a list vote, mean over its games."""
    for q in range(shares.shape[0]):
        memberless, shares[q], total = rules.rivals, 0.0, 0.0
        for rival in range(1, rules.rivals + 2) if rules.pairs else range(1):
            n, against = list_playing_ranks(q, rival, owned, workspace.playing_ranks)
            memberless -= against > 0
            weight = weight_of(rival, against, memberless, rules)
            if weight != 0.0:
                total += weight
                shares[q] += weight * chance_of_few(q, n, owned, chances, workspace, ways)
        shares[q] /= total
