"""`bv-uw`: the dynamic program for unit votes, O(n k^2) for all players together.

Algorithm "Specialized dynamic programming algorithm for unweighted kNN". A coalition without i is a part S1 nearer
than i and a part S2 farther than i. Tables over the two ends of the ranking, shared by all i, count both parts:

    f_i(w, s)       subsets of z_1..z_i   of size s that sum to w                                        (forward)
    b_i(w, s)       subsets of z_i..z_n   of size s that sum to w                                        (backward)
    b_i^u(w, t)     subsets of z_i..z_n   whose t nearest sum to w and whose t-th nearest votes u = -,+  (signed)

With unit votes, the vote of the member that i pushes out is all one needs to know of it. The paper has votes of -1
and +1. A third-class point votes 0 and still takes a place, so there is a third signed table here, b^0; nothing else
changes. Tables are dictionaries over the entries that are not zero, under the paper's indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from pivotal.research.paper._paper_game import check_unit_game

Entries: TypeAlias = dict[tuple[int, int], int]
"""{(w, s): number of subsets}, zeros omitted."""

Tables: TypeAlias = dict[int, Entries]
"""{i: Entries}."""


def _extend(entries: Entries, vote: int, k: int) -> Entries:
    """Let one more point stay out of each subset, or join it: the step of Lemma `dp:unweighted`."""
    extended = dict(entries)
    for (weight, s), count in entries.items():
        if s < k:
            joined = weight + vote, s + 1
            extended[joined] = extended.get(joined, 0) + count
    return extended


def forward(votes: Sequence[int], k: int) -> Tables:
    """Return {i: f_i} for i = 0..n and sizes up to k, by Lemma `dp:unweighted`."""
    votes, k = check_unit_game(votes, k, instead="fast_dp")
    # Printed: f_i(0, 0) = 1 for i = 1..n. The nearest player is combined with f_0, so the table begins there.
    f: Tables = {0: {(0, 0): 1}}
    for i, vote in enumerate(votes, start=1):
        f[i] = _extend(f[i - 1], vote, k)
    return f


def backward(votes: Sequence[int], k: int) -> Tables:
    """Return {i: b_i} for i = 1..n+1 and sizes up to k, by Lemma `dp:unweighted`."""
    votes, k = check_unit_game(votes, k, instead="fast_dp")
    n = len(votes)
    b: Tables = {n + 1: {(0, 0): 1}}
    for i in range(n, 0, -1):
        b[i] = _extend(b[i + 1], votes[i - 1], k)
    return b


def signed_backward(votes: Sequence[int], k: int, sign: int) -> Tables:
    """Return {i: b_i^sign} for i = 1..n+1 and t = 1..k, by Lemma `dp:unweighted-signed`.

    `sign` is the vote of the t-th nearest member: +1 for the paper's b^+, -1 for its b^-, 0 for a third class.
    """
    votes, k = check_unit_game(votes, k, instead="fast_dp")
    if sign not in (-1, 0, 1):
        raise ValueError(f"sign must be -1, 0 or +1; got {sign!r}.")
    n = len(votes)
    # Printed: b_i^+(0, 0) = b_i^-(0, 0) = 1. A 0-th member has no class, and no entry is ever computed from these.
    b: Tables = {n + 1: {}}
    for i in range(n, 0, -1):
        vote = votes[i - 1]
        # Printed for t = 1: only the entry w = w(z_i) is set. Those of the other weights must be carried over too,
        # b_i(w, 1) = b_{i+1}(w, 1), or every b_i^- is forgotten at the next right point. `_extend` carries them all.
        b[i] = _extend(b[i + 1], vote, k)
        if vote == sign:
            # z_i is the nearest, hence the first member; the n - i points behind it may join or not.
            b[i][vote, 1] = b[i].get((vote, 1), 0) + 2 ** (n - i)
    return b


def backward_sums(votes: Sequence[int], k: int) -> Tables:
    """Return {i: B_i} for i = 1..n+1 and t = 0..k-1, where B_i(w, t) = sum over t' <= t of b_i(w, t')."""
    votes, k = check_unit_game(votes, k, instead="fast_dp")
    sums: Tables = {}
    for i, b in backward(votes, k).items():
        weights = {weight for weight, _ in b}
        totals: Entries = {}
        for weight in weights:
            total = 0
            for t in range(k):
                total += b.get((weight, t), 0)
                if total:
                    totals[weight, t] = total
        sums[i] = totals
    return sums


def _swings(shift: int) -> list[tuple[int, int]]:
    """List the sums of the top-k for which a change by `shift` is a gain (+1) or a loss (-1)."""
    gains = [(weight, +1) for weight in range(-shift + 1, 1)]  # (-shift, 0]: [-1, 0] in the paper's C_-
    losses = [(weight, -1) for weight in range(1, -shift + 1)]  # (0, -shift]: [1, 2] in the paper's C_+
    return gains + losses


def unweighted_dp(votes: Sequence[int], k: int) -> list[Fraction]:
    """Compute the Banzhaf values for unit votes by the paper's specialised dynamic program, in O(n k^2).

    Parameters and values are those of `brute_force`; votes are +1, -1 or 0.

    Examples
    --------
    >>> [str(value) for value in unweighted_dp([1, -1, 1, -1], k=2)]
    ['1/4', '-1/2', '1/4', '-1/4']
    """
    votes, k = check_unit_game(votes, k, instead="fast_dp")
    n = len(votes)
    f = forward(votes, k)
    sums = backward_sums(votes, k)
    signed = {sign: signed_backward(votes, k, sign) for sign in (-1, 0, 1)}
    values = []
    for i, vote in enumerate(votes, start=1):
        below = pushed = 0
        for (weight, s), count in f[i - 1].items():
            if s >= k:
                continue  # k members are nearer than i already
            # C_{<k}: at most k - 1 members in all, i only adds its vote. Printed: B_i, which holds subsets with z_i
            # itself; the right table is B_{i+1}, as in the worked example.
            for total, turn in _swings(vote):
                below += turn * count * sums[i + 1].get((total - weight, k - 1 - s), 0)
            # C_- and C_+: k members or more, i adds its vote and pushes out a vote of `sign`. Printed for a wrong i:
            # C_+ with b^-; the member pushed out is a right one, so it takes b^+. Pairs with vote = sign change
            # nothing. C_- is the pair (+1, -1), C_+ is (-1, +1), and the pairs with a zero are the third class.
            for sign, b in signed.items():
                for total, turn in _swings(vote - sign):
                    pushed += turn * count * b[i + 1].get((total - weight, k - s), 0)
        # eqs. `dp:unweighted:bval:positive` and `dp:unweighted:bval:negative`; the turns carry the sign
        values.append(Fraction(below + pushed, 2 ** (n - 1)))
    return values
