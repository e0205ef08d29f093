"""What the weighted kernels share: mixing two table rows, summing, and walking a backward table forwards.

The weighted games need, at every rank i, a forward table (who among the nearer points joined) and a backward table
(what the farther points will do). The forward table is carried along from the nearest rank outwards; the backward
table is built from the farthest rank inwards, so it is met in the wrong order. Keeping it for every rank would cost
O(n) tables. Instead a few are kept as checkpoints and the ones between are built again when they are wanted:

    rank        0 . . . . . . . . . . . . . . n
    first       x ◄── ── x ◄── ── x ◄── ── ── x     tables kept on the way in: every `stride`-th
    later             x◄x◄x                         the gap up to the next kept one, filled when the walk reaches it

The kept tables form a stack whose top is the nearest. With 2·sqrt(n) slots every table is built twice; with n slots
once; with fewer than 2·sqrt(n) a few times more, but three slots are enough to finish.
"""

from __future__ import annotations

import math

import numpy as np

from pivotal.core.types import FloatArray, IndexArray
from pivotal.kernels._compile import kernel

FEWEST_SLOTS = 3  # the farthest table, the one wanted now, and one to build in
_FEW_SLOTS = 8  # with fewer the tables between are built many times over
_ROOMY = 1 << 18  # reals (2 MiB): up to here there is a slot for every rank, and nothing is built twice
_FULL = 1 << 23  # reals (64 MiB): from here on time is spent rather than memory


def count_slots(row: int, ranks: int) -> int:
    """Say how many backward tables are worth keeping.

    Parameters
    ----------
    row : int
        Size of one table.
    ranks : int
        Length of the list.

    Returns
    -------
    int
        About 2·sqrt(ranks); one per rank where tables are small, and as few as eight where they are very large.
    """
    twice = 2 * math.isqrt(max(ranks, 1)) + 2 + FEWEST_SLOTS
    affordable = max(_FEW_SLOTS, min(twice, _FULL // row))
    return max(FEWEST_SLOTS, min(ranks + 2, max(affordable, _ROOMY // row)))


@kernel
def blend(p: float, joins: float, stays: float) -> float:
    """Return p·joins + (1-p)·stays.

    Either form is exact where the two agree, so that the rounding of 1-p causes no drift over many thousand ranks, and
    neither ever takes away more than half of what is there.
    """
    if p <= 0.5:
        return stays + p * (joins - stays)
    return joins + (1.0 - p) * (stays - joins)


@kernel
def mix(p: float, other: FloatArray, joins: int, old: FloatArray, stays: int, new: FloatArray, size: int) -> None:
    """Fill new[stays + j] with the blend of other[joins + j] and old[stays + j] for j < size.

    Rows are given by their places, not as slices, because many are short and slices cost time. The places are unsigned:
    only then is it known that they do not count from the end, and the loop vectorises.
    """
    if size <= 0:
        return
    a = np.uintp(joins)
    b = np.uintp(stays)
    for j in range(np.uintp(size)):
        new[b + j] = blend(p, other[a + j], old[b + j])


@kernel
def mix_constant(p: float, joins: float, old: FloatArray, stays: int, new: FloatArray, size: int) -> None:
    """Do what `mix` does where the row of those that join is one constant."""
    if size <= 0:
        return
    b = np.uintp(stays)
    for j in range(np.uintp(size)):
        new[b + j] = blend(p, joins, old[b + j])


@kernel
def total(terms: FloatArray) -> float:
    """Sum `terms` pairwise, in place: elementwise loops vectorise, and the error grows with log(size) only."""
    size = terms.shape[0]
    rest = 0.0
    while size > 8:
        half = size // 2
        if size > 2 * half:
            rest += terms[size - 1]
        near = terms[:half]
        far = terms[half : 2 * half]
        for j in range(half):
            near[j] += far[j]
        size = half
    for j in range(size):
        rest += terms[j]
    return rest


@kernel
def choose_stride(gap: int, free: int) -> int:
    """Say how far apart to keep tables when filling a gap of `gap` ranks with `free` slots.

    The kept tables and the largest gap between them should fit into the free slots together. The smallest such stride
    is best: the gaps are walked often and should be short. When nothing fits, half of the slots go to this level.
    """
    if gap <= free:
        return 1
    for stride in range(2, free):
        if (gap + stride - 1) // stride + stride <= free + 1:
            return stride
    half = max(1, (free + 1) // 2)
    return (gap + half - 1) // half


@kernel
def settle(slot: IndexArray, position: IndexArray, top: int, base: int, wanted: int, stride: int) -> int:
    """Book the table just built in slot[top + 1] from the one in slot[top]; return the new top of the stack.

    Parameters
    ----------
    slot, position : int64 arrays of shape (n_slots,)
        Where each stacked table lies, and the rank it belongs to; slot[top + 1] is free to build in.
    top : int
        Index of the table it was built from.
    base, wanted, stride : int
        The climb began at rank `base` and goes to `wanted`, keeping every stride-th table and the one of `base`.
    """
    rank = position[top]
    if rank == base or (rank - wanted) % stride == 0:
        top += 1
    else:
        spare = slot[top]
        slot[top] = slot[top + 1]
        slot[top + 1] = spare
    position[top] = rank - 1
    return top
