"""What `random_state` means, everywhere: an integer, a generator, or None for chance."""

from __future__ import annotations

import numbers
from typing import TypeAlias

import numpy as np

__all__ = ["RandomState", "as_generator", "as_seeds", "check_random_state"]

RandomState: TypeAlias = int | np.random.Generator | None


def check_random_state(random_state: object) -> RandomState:
    """Return a seed, a generator or None as it is, and nothing else."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(f"random_state must be an integer of at least 0, a numpy Generator or None; got {random_state!r}.")


def as_generator(random_state: object) -> np.random.Generator:
    """Return a generator; one that is given is used as it is and moves on."""
    return np.random.default_rng(check_random_state(random_state))


def as_seeds(random_state: object) -> np.random.SeedSequence:
    """Return seeds that can be split further."""
    checked = check_random_state(random_state)
    return np.random.SeedSequence(int(checked.integers(2**63)) if isinstance(checked, np.random.Generator) else checked)
