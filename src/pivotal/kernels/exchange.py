"""A coalition that points enter and leave: what each other point would add to it, and exchanges that raise the total.

The utility of a query is the leave-one-out soft vote, averaged over k = 1..K: the j-th nearest member counts
``shares[j]`` if it has the query's label. A newcomer that finds j members nearer takes place j and moves the others
back by one, so what it adds depends on j and on its label alone. These 2 K numbers per query are kept. A point that
enters or leaves changes them for the queries that had it among their K nearest, and only for the points on their lists
that come before the K-th member.
"""

from __future__ import annotations

import numpy as np

from pivotal.core.types import CodeArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.coalition_arrays import Likeness, NeighborArrays, Standing


@kernel
def count_entries(points: CodeArray, counts: IndexArray) -> None:
    """Count on how many lists each point stands."""
    for q in range(points.shape[0]):
        for rank in range(points.shape[1]):
            if points[q, rank] < 0:
                break
            counts[points[q, rank]] += 1


@kernel
def place_entries(points: CodeArray, ends: IndexArray, queries: CodeArray, ranks: CodeArray) -> None:
    """Write each point's queries and its ranks there behind the last ones written, which `ends` keeps count of."""
    for q in range(points.shape[0]):
        for rank in range(points.shape[1]):
            point = points[q, rank]
            if point < 0:
                break
            queries[ends[point]] = q
            ranks[ends[point]] = rank
            ends[point] += 1


@kernel
def tabulate(lists: NeighborArrays, now: Standing, q: int) -> None:
    """Fill `adds` of a query from its nearest members."""
    k, count = lists.shares.shape[0], now.counts[q]
    before = 0.0
    for place in range(k):
        before += lists.shares[place] * (now.agrees[q, place] if place < count else lists.absent[q])
    last = min(count, k - 1)  # the last place that is taken once a point has entered
    for place in range(last + 1):
        after = 0.0
        for other in range(k):
            if other < place:
                after += lists.shares[other] * now.agrees[q, other]
            elif other > last:
                after += lists.shares[other] * lists.absent[q]
            elif other > place:
                after += lists.shares[other] * now.agrees[q, other - 1]
        now.adds[q, place, 0] = lists.weights[q] * (after - before)
        now.adds[q, place, 1] = lists.weights[q] * (after + lists.shares[place] - before)


@kernel
def update_gains(lists: NeighborArrays, now: Standing, q: int, sign: float) -> None:
    """Add what newcomers add to a query to their gains, or take it away."""
    k, count = lists.shares.shape[0], now.counts[q]
    rank = 0
    for place in range(min(count, k - 1) + 1):
        stop = now.nearest[q, place] if place < count else lists.points.shape[1]
        while rank < stop:
            point = lists.points[q, rank]
            if point < 0:
                return
            now.gains[point] += sign * now.adds[q, place, 1 if lists.codes[point] == lists.targets[q] else 0]
            rank += 1
        rank += 1  # the member itself


@kernel
def begin(lists: NeighborArrays, now: Standing) -> None:
    """Fill `adds` and `gains` of a coalition without members."""
    for q in range(lists.points.shape[0]):
        tabulate(lists, now, q)
        update_gains(lists, now, q, 1.0)


@kernel
def enter(lists: NeighborArrays, now: Standing, point: int) -> None:
    """Let a point become a member."""
    k = lists.shares.shape[0]
    now.members[point] = True
    for e in range(lists.starts[point], lists.starts[point + 1]):
        q, rank = lists.queries[e], lists.ranks[e]
        count = now.counts[q]
        if count == k and rank > now.nearest[q, k - 1]:
            continue
        update_gains(lists, now, q, -1.0)
        place = min(count, k - 1)
        while place > 0 and now.nearest[q, place - 1] > rank:
            now.nearest[q, place] = now.nearest[q, place - 1]
            now.agrees[q, place] = now.agrees[q, place - 1]
            place -= 1
        now.nearest[q, place] = rank
        now.agrees[q, place] = 1.0 if lists.codes[point] == lists.targets[q] else 0.0
        now.counts[q] = min(count + 1, k)
        tabulate(lists, now, q)
        update_gains(lists, now, q, 1.0)


@kernel
def leave(lists: NeighborArrays, now: Standing, point: int) -> None:
    """Let a member go; its gain is what it would add again."""
    k, length = lists.shares.shape[0], lists.points.shape[1]
    now.members[point] = False
    for e in range(lists.starts[point], lists.starts[point + 1]):
        q, rank = lists.queries[e], lists.ranks[e]
        count = now.counts[q]
        if count == 0 or rank > now.nearest[q, count - 1]:
            continue
        update_gains(lists, now, q, -1.0)
        place = 0
        while now.nearest[q, place] != rank:
            place += 1
        last = now.nearest[q, count - 1]
        for other in range(place, count - 1):
            now.nearest[q, other] = now.nearest[q, other + 1]
            now.agrees[q, other] = now.agrees[q, other + 1]
        now.counts[q] = count - 1
        if count == k:
            for follower in range(last + 1, length):
                other = lists.points[q, follower]
                if other < 0:
                    break
                if now.members[other]:
                    now.nearest[q, k - 1] = follower
                    now.agrees[q, k - 1] = 1.0 if lists.codes[other] == lists.targets[q] else 0.0
                    now.counts[q] = k
                    break
        tabulate(lists, now, q)
        update_gains(lists, now, q, 1.0)
    now.gains[point] = gain_of(lists, now, point)


@kernel
def gain_of(lists: NeighborArrays, now: Standing, point: int) -> float:
    """Return what a point outside adds, from the queries that have it on their lists."""
    k = lists.shares.shape[0]
    total = 0.0
    for e in range(lists.starts[point], lists.starts[point + 1]):
        q, rank = lists.queries[e], lists.ranks[e]
        place = 0
        while place < now.counts[q] and now.nearest[q, place] < rank:
            place += 1
        if place < k:
            total += now.adds[q, place, 1 if lists.codes[point] == lists.targets[q] else 0]
    return total


@kernel
def total_utility(lists: NeighborArrays, now: Standing) -> float:
    """Return the utility of the coalition, summed over the queries."""
    total = 0.0
    for q in range(lists.points.shape[0]):
        for place in range(lists.shares.shape[0]):
            vote = now.agrees[q, place] if place < now.counts[q] else lists.absent[q]
            total += lists.weights[q] * lists.shares[place] * vote
    return total


@kernel
def likeness_gain(like: Likeness, codes: CodeArray, point: int) -> float:
    """Return what a point outside adds by making the members look like the data, apart from a constant."""
    apart: float = 0.0
    if like.kernel.shape[0] > 0:
        apart = like.pull[point] - like.sums[point] / like.size
    else:
        for f in range(like.features.shape[1]):
            apart += like.features[point, f] * like.rest[codes[point], f]
    return like.scale * (2.0 * apart / like.size - 1.0 / (like.size * like.size))


@kernel
def most_likeness(like: Likeness, code: int) -> float:
    """Return what no point of a class can add more than by its likeness; of any class if that is -1."""
    if like.kernel.shape[0] > 0 or code < 0:
        return 1e300
    square: float = 0.0
    for f in range(like.rest.shape[1]):
        square += like.rest[code, f] * like.rest[code, f]
    # Features have length 1, in single precision.
    best_gain: float = like.scale * (2.0 * 1.0001 * square**0.5 / like.size - 1.0 / (like.size * like.size))
    return best_gain


@kernel
def count_in(like: Likeness, codes: CodeArray, point: int, sign: float) -> None:
    """Count a point among the members whose mean is compared with the data, or no longer."""
    if like.kernel.shape[0] > 0:
        for other in range(like.sums.shape[0]):
            like.sums[other] += sign * like.kernel[point, other]
    else:
        for f in range(like.features.shape[1]):
            like.rest[codes[point], f] -= sign * like.features[point, f] / like.size


@kernel
def enter_many(lists: NeighborArrays, now: Standing, like: Likeness, points: IndexArray) -> None:
    """Let points become members, and count them in."""
    for i in range(points.shape[0]):
        enter(lists, now, points[i])
        count_in(like, lists.codes, points[i], 1.0)


@kernel
def best_of(
    lists: NeighborArrays, now: Standing, like: Likeness, candidates: CodeArray, code: int
) -> tuple[int, float]:
    """Return who of the candidates outside adds most, and how much; only of one class, unless that is -1."""
    best, best_gain, likest = -1, -1e300, most_likeness(like, code)
    for c in range(candidates.shape[0]):
        point = candidates[c]
        if now.members[point] or (code >= 0 and lists.codes[point] != code):
            continue
        if now.gains[point] + likest <= best_gain:
            continue
        score = now.gains[point] + likeness_gain(like, lists.codes, point)
        if score > best_gain:
            best, best_gain = point, score
    return best, best_gain


@kernel
def exchange(
    lists: NeighborArrays,
    now: Standing,
    like: Likeness,
    leaving: IndexArray,
    candidates: CodeArray,
    allowed: CodeArray,
) -> float:
    """Let members go one by one, and let the point that adds most take their place: often the same again.

    Parameters
    ----------
    lists, now, like
        The coalition and the data.
    leaving : int64 array
        Members to try, in this order; each is overwritten by the member in its place in the end.
    candidates : int32 array of shape (1, n_candidates) or (n_leaving, n_candidates)
        Who may take a place: the same points for all of them, or some for each.
    allowed : int32 array of shape (n_train,)
        1 for points that may enter, 2 if only in the place of a point of their class, 0 for others. Where candidates
        differ, points near the one that leaves are tried as well, if they are allowed.

    Returns
    -------
    gained : float
        What the exchanges added to the total.
    """
    gained = 0.0
    local = candidates.shape[0] > 1
    tried = np.full(lists.codes.shape[0] if local else 0, -1)
    for i in range(leaving.shape[0]):
        point = leaving[i]
        code = lists.codes[point] if allowed[point] == 2 else -1
        leave(lists, now, point)
        count_in(like, lists.codes, point, -1.0)
        own = now.gains[point] + likeness_gain(like, lists.codes, point)
        best, best_gain = best_of(lists, now, like, candidates[i if local else 0], code)
        if local:
            near, gain = best_near(lists, now, like, point, allowed, code, max(best_gain, own), tried, i)
            if near >= 0:
                best, best_gain = near, gain
        if best_gain > own + 1e-9:
            gained += best_gain - own
            leaving[i] = best
        else:
            best = point
        enter(lists, now, best)
        count_in(like, lists.codes, best, 1.0)
    return gained


@kernel
def best_near(
    lists: NeighborArrays,
    now: Standing,
    like: Likeness,
    point: int,
    allowed: CodeArray,
    code: int,
    best_gain: float,
    tried: IndexArray,
    stamp: int,
) -> tuple[int, float]:
    """Return who of the points near a query that a point has just left adds more than `best_gain`, and how much.

    Points stand on the lists of several queries: `tried` marks with a stamp those that need no second look.
    """
    k = lists.shares.shape[0]
    best, likest = -1, most_likeness(like, code)
    for e in range(lists.starts[point], lists.starts[point + 1]):
        q, rank = lists.queries[e], lists.ranks[e]
        count = now.counts[q]
        stop = now.nearest[q, k - 1] if count == k else lists.points.shape[1]
        if rank >= stop:
            continue
        for r in range(stop):
            other = lists.points[q, r]
            if other < 0:
                break
            if tried[other] == stamp:
                continue
            tried[other] = stamp
            if now.members[other] or allowed[other] == 0 or (code >= 0 and lists.codes[other] != code):
                continue
            if now.gains[other] + likest <= best_gain:
                continue
            score = now.gains[other] + likeness_gain(like, lists.codes, other)
            if score > best_gain:
                best, best_gain = other, score
    return best, best_gain
