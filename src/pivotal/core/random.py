"""What `random_state` means, everywhere: an integer, a generator, or None for chance."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from pivotal.core.validation import is_integer

__all__ = ["RandomState", "as_generator", "as_seeds", "check_random_state", "kept_seed"]

RandomState: TypeAlias = int | np.random.Generator | None


def check_random_state(random_state: object) -> RandomState:
    """Return a seed, a generator or None as it is, and nothing else."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):  # as scikit-learn passes it around; it moves on as well
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if is_integer(random_state, minimum=0):
        return int(random_state)
    raise ValueError(f"random_state must be an integer of at least 0, a numpy Generator or None; got {random_state!r}.")


def as_generator(random_state: object) -> np.random.Generator:
    """Return a generator; one that is given is used as it is and moves on."""
    return np.random.default_rng(check_random_state(random_state))


def as_seeds(random_state: object) -> np.random.SeedSequence:
    """Return seeds that can be split further."""
    checked = check_random_state(random_state)
    return np.random.SeedSequence(int(checked.integers(2**63)) if isinstance(checked, np.random.Generator) else checked)


def kept_seed(random_state: object) -> int | None:
    """Return what a result keeps of a random state: its seed, where it is one."""
    return int(random_state) if is_integer(random_state) else None
