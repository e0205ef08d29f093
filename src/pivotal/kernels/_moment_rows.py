"""One row of a table of moments: mixed with another, and what a point changes in it."""

from __future__ import annotations

import numpy as np

from pivotal.core.types import FloatArray
from pivotal.kernels._compile import kernel
from pivotal.kernels._vote_tables import blend, mix


@kernel
def mix_moments(
    p: float,
    mark: float,
    degree: int,
    other: FloatArray,
    joins: int,
    old: FloatArray,
    stays: int,
    new: FloatArray,
    size: int,
) -> None:
    """Do what `mix` does for all moments, where a point of mark `mark` joins those of the other row."""
    mix(p, other, joins, old, stays, new, size)
    other_plane = other.shape[0] // (degree + 1)
    plane = old.shape[0] // (degree + 1)
    a0 = np.uintp(joins)
    a1 = np.uintp(joins + other_plane)
    b1 = np.uintp(stays + plane)
    for j in range(np.uintp(size)):
        new[b1 + j] = blend(p, other[a1 + j] + mark * other[a0 + j], old[b1 + j])
    if degree == 1:
        return
    a2 = np.uintp(joins + 2 * other_plane)
    b2 = np.uintp(stays + 2 * plane)
    for j in range(np.uintp(size)):
        joined = other[a2 + j] + mark * (2.0 * other[a1 + j] + mark * other[a0 + j])
        new[b2 + j] = blend(p, joined, old[b2 + j])


@kernel
def add_gains(
    forward: FloatArray,
    mark: float,
    degree: int,
    other: FloatArray,
    joins: int,
    backward: FloatArray,
    stays: int,
    terms: FloatArray,
    size: int,
) -> None:
    """Add what a point of mark `mark` changes in one row to `terms`."""
    other_plane = other.shape[0] // (degree + 1)
    plane = backward.shape[0] // (degree + 1)
    a0 = np.uintp(joins)
    a1 = np.uintp(joins + other_plane)
    b0 = np.uintp(stays)
    b1 = np.uintp(stays + plane)
    if degree == 1:
        for j in range(np.uintp(size)):
            gain0 = other[a0 + j] - backward[b0 + j]
            gain1 = other[a1 + j] + mark * other[a0 + j] - backward[b1 + j]
            terms[j] += forward[b1 + j] * gain0 + forward[b0 + j] * gain1
        return
    a2 = np.uintp(joins + 2 * other_plane)
    b2 = np.uintp(stays + 2 * plane)
    for j in range(np.uintp(size)):
        gain0 = other[a0 + j] - backward[b0 + j]
        gain1 = other[a1 + j] + mark * other[a0 + j] - backward[b1 + j]
        gain2 = other[a2 + j] + mark * (2.0 * other[a1 + j] + mark * other[a0 + j]) - backward[b2 + j]
        terms[j] += forward[b2 + j] * gain0 + 2.0 * forward[b1 + j] * gain1 + forward[b0 + j] * gain2
