r"""Hard votes, unweighted: closed forms in one pass from the farthest point to the nearest.

By the push-out identity (see the theory page), for i nearer than m,

    value(i) = small(class of i) + sum over m > i of push[m] * E[ v(T + i) - v(T + m) ]

where m is the k-th member of the coalition and T are the k-1 members before it, drawn at random from the m-2 points
nearer than m, i omitted. The expectation depends on i only through its class, so one running sum per class of i
serves all points. A vote is won when its lead, right minus wrong, exceeds a threshold (0: ties lose; -1: ties win),
so i and m make a difference exactly when the lead of T is at the threshold:

    i \ m     right                       wrong                      third class
    right     -                           lead in {t, t+1}           lead = t
    wrong     minus: lead in {t, t+1}     -                          minus: lead = t+1
    third     minus: lead = t             lead = t+1                 -

With more than two classes the game is the mean over the wrong classes of the two-class games, in which points of
third classes vote 0 but take a place. A wrong class without a member gives the same game as every other such class.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly, chance_of_lead
from pivotal.kernels.hard_small import small_coalitions
from pivotal.kernels.many_classes import MOST_DRAWS, Span, many_class_pass
from pivotal.kernels.two_classes import two_class_pass


@kernel
def many_class_terms(
    slots: CodeArray,
    n: int,
    present: int,
    memberless: int,
    k: int,
    threshold: int,
    push: FloatArray,
    sizes: FloatArray,
    counts: IndexArray,
    sums: FloatArray,
    values: FloatArray,
) -> None:
    """As `many_class_pass`, for any k: each chance is computed by itself, whatever its size.

    Parameters
    ----------
    slots : int32 array of shape (>= n,)
        0 for the right class, 1..present for the wrong classes that have members, nearest first.
    n, present, memberless : int
        Number of points, of wrong classes with members, and of wrong classes without.
    k, threshold, push, sizes : as in `pivotal.kernels.two_classes.two_class_pass`
    counts : int64 array of shape (>= present + 1,)
        Scratch: members of each class among the points nearer than the one pushed out.
    sums : float64 array of shape (5, >= present + 1)
        Scratch: running sums, what rounding lost of them, small coalitions; chances, and their sums so far.
    values : float64 array of shape (>= n,)
        Output, overwritten.
    """
    for c in range(present + 1):
        counts[c] = 0
        sums[0, c] = 0.0
        sums[1, c] = 0.0
    for i in range(n):
        counts[slots[i]] += 1
    right = counts[0]
    # Small coalitions. A third-class point changes nothing there, save that alone it ties with no class.
    bystander = (present + memberless - 1) * (sizes[0] if threshold < 0 else 0.0)
    sums[2, 0] = memberless * small_coalitions(right - 1, 0, n - right, 1, k, threshold, sizes)
    for c in range(1, present + 1):
        zero = n - right - counts[c]
        sums[2, 0] += small_coalitions(right - 1, counts[c], zero, 1, k, threshold, sizes)
        sums[2, c] = bystander + small_coalitions(right, counts[c] - 1, zero, -1, k, threshold, sizes)

    for i in range(n - 1, -1, -1):
        values[i] = sums[0, slots[i]] + (sums[1, slots[i]] + sums[2, slots[i]])
        rank = i + 1
        if rank <= k:
            continue
        out = slots[i]  # the class of the one pushed out
        counts[out] -= 1
        right = counts[0]
        others = rank - 2
        if out > 0:
            if right > 0:
                rivals = others - (right - 1)
                lost = chance_of_lead(right - 1, counts[out], rivals - counts[out], k - 1, threshold + 1)
                n_absent = memberless
                for c in range(1, present + 1):
                    if counts[c] > 0:
                        lost += chance_of_lead(right - 1, counts[c], rivals - counts[c], k - 1, threshold)
                    else:
                        n_absent += 1
                if n_absent > 0:
                    lost += n_absent * chance_of_lead(right - 1, 0, rivals, k - 1, threshold)
                sums[0, 0], sums[1, 0] = add_exactly(sums[0, 0], sums[1, 0], push[rank] * lost)
            rivals = others - right
            gained = chance_of_lead(right, counts[out], rivals - counts[out], k - 1, threshold + 1)
            for c in range(1, present + 1):
                if c != out and counts[c] > 0:
                    lost = chance_of_lead(right, counts[c] - 1, rivals - counts[c] + 1, k - 1, threshold + 1)
                    sums[0, c], sums[1, c] = add_exactly(sums[0, c], sums[1, c], push[rank] * gained)
                    sums[0, c], sums[1, c] = add_exactly(sums[0, c], sums[1, c], -push[rank] * lost)
        else:
            # In the game against another class, a wrong point is a third-class one. Sums from both ends, so that
            # leaving its own game out needs no subtraction.
            rivals = others - right
            alone = chance_of_lead(right, 0, rivals, k - 1, threshold)
            before = memberless * alone
            for c in range(1, present + 1):
                chance = alone
                if counts[c] > 0:
                    chance = chance_of_lead(right, counts[c], rivals - counts[c], k - 1, threshold)
                sums[3, c] = chance
                sums[4, c] = before
                before += chance
            after = 0.0
            for c in range(present, 0, -1):
                if counts[c] > 0:
                    own = chance_of_lead(right, counts[c] - 1, rivals - counts[c] + 1, k - 1, threshold)
                    own += chance_of_lead(right, counts[c] - 1, rivals - counts[c] + 1, k - 1, threshold + 1)
                    lost = (sums[4, c] + after) + own
                    sums[0, c], sums[1, c] = add_exactly(sums[0, c], sums[1, c], -push[rank] * lost)
                after += sums[3, c]


@kernel
def hard_values(
    codes: CodeArray,
    targets: CodeArray,
    n_classes: int,
    k: int,
    threshold: int,
    absent: bool,
    scale: float,
    push: FloatArray,
    sizes: FloatArray,
    slot_of_class: CodeArray,
    votes: CodeArray,
    counts: IndexArray,
    sums: FloatArray,
    span: Span,
    values: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` with the values of each query's neighbours.

    Parameters
    ----------
    codes : int32 array of shape (n_queries, depth)
        Class of each neighbour, nearest first.
    targets : int32 array of shape (n_queries,)
        True class of each query.
    n_classes, k, threshold : int
        Number of classes; the nearest k vote; a lead above the threshold wins.
    absent : bool
        Whether points of third classes are omitted from a two-class game, or take a place in it.
    scale : float
        What the sum over the wrong classes is multiplied with.
    push : float64 array of shape (depth + 1,)
        Chance that rank m is pushed out.
    sizes : float64 array of shape (depth + 1, k) where `absent`, otherwise (1, k)
        Chance that exactly s others joined, in a game of this many points; of `depth` points in the one row.
    slot_of_class : int32 array of shape (n_classes,)
        Scratch, all -1 on entry and on exit.
    votes : int32 array of shape (depth,)
        Scratch.
    counts : int64 array of shape (n_classes + 1,)
        Scratch.
    sums : float64 array of shape (5, n_classes + 1)
        Scratch.
    span : Span
        Scratch.
    values : float64 array of shape (depth,)
        Scratch.
    out : float64 array of shape (n_queries, depth)
        Output, overwritten.
    """
    n_queries, depth = codes.shape
    games = max(1, n_classes - 1)
    for q in range(n_queries):
        if games == 1 and not absent:
            for i in range(depth):
                votes[i] = 2 * (codes[q, i] == targets[q]) - 1
            two_class_pass(votes, depth, k, threshold, push, sizes[0], span.rows, out[q])
            for i in range(depth):
                out[q, i] *= scale
            continue
        present = 0
        slot_of_class[targets[q]] = 0
        for i in range(depth):
            if slot_of_class[codes[q, i]] < 0:
                present += 1
                slot_of_class[codes[q, i]] = present
        if absent:
            out[q, :] = 0.0
            for rival in range(1, present + 1 + (games > present)):
                n = 0
                for i in range(depth):
                    slot = slot_of_class[codes[q, i]]
                    if slot in (0, rival):
                        votes[n] = 1 if slot == 0 else -1
                        n += 1
                if n == 0:
                    continue
                two_class_pass(votes, n, k, threshold, push, sizes[n], span.rows, values)
                # Past the last rival with members stand all that have none.
                weight = scale if rival <= present else scale * (games - present)
                n = 0
                for i in range(depth):
                    if slot_of_class[codes[q, i]] in (0, rival):
                        out[q, i] += weight * values[n]
                        n += 1
        else:
            for i in range(depth):
                votes[i] = slot_of_class[codes[q, i]]
            if k - 1 <= MOST_DRAWS:
                many_class_pass(votes, depth, present, games - present, k, threshold, push, sizes[0], span, values)
            else:
                many_class_terms(
                    votes, depth, present, games - present, k, threshold, push, sizes[0], counts, sums, values
                )
            for i in range(depth):
                out[q, i] = scale * values[i]
        slot_of_class[targets[q]] = -1
        for i in range(depth):
            slot_of_class[codes[q, i]] = -1
