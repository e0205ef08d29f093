"""Which method, how many samples, when to stop, and from which seed."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass

import numpy as np

from pivotal.core.random import check_random_state
from pivotal.core.types import IndexArray
from pivotal.core.validation import check_positive, is_integer

__all__ = ["DEFAULT_SAMPLES", "METHODS", "Plan", "as_plan", "batch_sizes", "check_samples", "seed_words"]

METHODS = ("exact", "coalitions", "permutations")
DEFAULT_SAMPLES = 1000
_BATCH = 256  # most samples that share a stream
_GROWTH = 15.0  # a pass draws at most this many times the samples of all before it: early errors are rough
_MARGIN = 1.1  # more than the errors so far say is needed, so that one more pass is likely to be enough
_NO_LIMIT = "Omit it for no limit."
_HASTE = 0.9  # of the time that is left, as the next pass may be slower than the last


@dataclass(frozen=True)
class Plan:
    """A method and, if it samples, from where and when to stop: at whichever limit comes first."""

    method: str  # one of METHODS
    n_samples: int | None = None  # per query, at most
    target_se: float | None = None  # largest standard error that is good enough
    max_time: float | None = None  # seconds
    random_state: int | np.random.Generator | None = None  # where the streams start; None asks the system

    @property
    def fixed(self) -> bool:
        """Whether the number of samples is known beforehand."""
        return self.target_se is None and self.max_time is None

    @property
    def first(self) -> int:
        """Samples per query in the first pass, which is always finished."""
        if self.fixed:
            assert self.n_samples is not None
            return self.n_samples
        return self._within(_BATCH, 0)

    def next(self, drawn: int, error: float, pace: float, overhead: float, elapsed: float) -> int:
        """Samples per query in the next pass; 0 to stop.

        So far, `drawn` samples per query took `elapsed` seconds, and the largest standard error is `error`. In the last
        pass a sample of every query took `pace` seconds, and `overhead` seconds did not go into sampling.
        """
        if self.fixed or drawn == self.n_samples:
            return 0
        size = _GROWTH * drawn
        if self.target_se is not None:
            if error <= self.target_se:
                return 0
            size = min(size, drawn * (_MARGIN * (error / self.target_se) ** 2 - 1.0))
        if self.max_time is not None:
            affordable = (_HASTE * (self.max_time - elapsed) - overhead) / max(pace, 1e-12)
            if affordable < 2.0:
                return 0
            size = min(size, affordable)
        return self._within(max(2, math.ceil(size)), drawn)

    def _within(self, size: int, drawn: int) -> int:
        """Keep to n_samples, and never leave a single sample over: it could not tell its own error."""
        if self.n_samples is None:
            return size
        left = self.n_samples - drawn
        return left if left - size < 2 else size


def batch_sizes(n_samples: int) -> IndexArray:
    """Cut samples into batches of nearly equal size, none of one."""
    n_batches = -(-n_samples // _BATCH)
    return np.array([n_samples * (b + 1) // n_batches - n_samples * b // n_batches for b in range(n_batches)])


def as_plan(
    method: object,
    n_samples: object = None,
    target_se: object = None,
    max_time: object = None,
    random_state: object = None,
) -> Plan:
    """Return the plan that is meant; 1000 samples per query if nothing limits the sampling.

    Examples
    --------
    >>> as_plan("coalitions", random_state=0)
    Plan(method='coalitions', n_samples=1000, target_se=None, max_time=None, random_state=0)
    """
    if not isinstance(method, str) or method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, n=1) if isinstance(method, str) else []
        hint = f"Did you mean {near[0]!r}? " if near else ""
        known = ", ".join(map(repr, METHODS))
        raise ValueError(f"method must be one of {known}; got {method!r}. {hint}pivotal.value knows more names.")
    limits = {"n_samples": n_samples, "target_se": target_se, "max_time": max_time}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if method == "exact" and given:
        name, limit = next(iter(given.items()))
        raise ValueError(
            f'{name} is for sampling; got {name}={limit!r} with method="exact", which draws no samples. '
            'Omit it, or use method="coalitions".'
        )
    samples = None if n_samples is None else check_samples(n_samples)
    if method != "exact" and not given:
        samples = DEFAULT_SAMPLES
    error = None if target_se is None else check_positive(target_se, "target_se", fix=_NO_LIMIT)
    seconds = None if max_time is None else check_positive(max_time, "max_time", fix=_NO_LIMIT)
    return Plan(method, samples, error, seconds, check_random_state(random_state))


def check_samples(n_samples: object) -> int:
    """Return the number of samples, of which one alone would not do."""
    if is_integer(n_samples, minimum=2):
        return int(n_samples)
    raise ValueError(
        f"n_samples must be an integer of at least 2, as one sample cannot show its error; got {n_samples!r}."
    )


def seed_words(random_state: int | np.random.Generator | None) -> IndexArray:
    """Return four 32-bit words from a seed of any size, from a generator (which moves on), or from the system."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(0, 2**32, size=4, dtype=np.int64)
    return np.random.SeedSequence(random_state).generate_state(4).astype(np.int64)
