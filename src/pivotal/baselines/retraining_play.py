"""Playing samples in parallel, and knowing when there are enough of them.

Sample j is drawn from the seed and j alone, and samples are counted in their order. So results depend neither on the
number of processes nor on what was remembered.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from joblib import Parallel, delayed

from pivotal.baselines.retraining_game import ModelGame
from pivotal.baselines.retraining_samplers import Sampler, SamplerPlan
from pivotal.baselines.retraining_store import UtilityStore, key_of
from pivotal.core.coalitions import enumerated_values, members_of
from pivotal.core.plan import check_samples
from pivotal.core.progress import tqdm
from pivotal.core.semivalues import Semivalue
from pivotal.core.threads import count_workers, single_threaded_blas
from pivotal.core.types import FloatArray
from pivotal.core.validation import check_positive

__all__ = ["StopRule", "UtilityTable", "as_stop", "enumerate_all", "sample"]

_COALITIONS_PER_TASK = 16  # a sample of one coalition is too little for a task of its own
_TASKS_PER_ROUND = 4  # for each process, between two looks at the results
_FEWEST_TRUSTED = 32  # samples before a standard error may end the sampling
_LOOK_EVERY = 16  # samples between two looks at the standard errors
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class UtilityTable:
    """Where samples are played."""

    game: ModelGame
    store: UtilityStore  # what is remembered of the game
    tolerance: float | None  # a sample ends when a coalition has the full set's utility, up to less than this
    n_jobs: int | None  # as joblib takes it
    one_task_each: bool  # whether time is limited, so that results should come in soon

    def play(self, plans: Iterable[SamplerPlan]) -> Generator[tuple[SamplerPlan, FloatArray]]:
        """Play the samples, and hand out each in its order with what its coalitions earned."""
        waiting = iter(plans)
        n_workers = count_workers(self.n_jobs)
        with Parallel(n_jobs=self.n_jobs) as parallel:
            while head := list(islice(waiting, 1)):
                # One by one in one process: what was learned from a sample is known for the next.
                per_task = 1 if n_workers == 1 else max(1, _COALITIONS_PER_TASK // len(head[0]))
                per_round = n_workers * per_task * (1 if self.one_task_each or n_workers == 1 else _TASKS_PER_ROUND)
                batch = [*head, *islice(waiting, per_round - 1)]
                keys = [[key_of(mask) for mask in plan.coalitions()] for plan in batch]
                known = [self.store.recall(row) for row in keys]
                tasks = [slice(start, start + per_task) for start in range(0, len(batch), per_task)]
                played = parallel(delayed(_play)(self.game, batch[task], known[task], self.tolerance) for task in tasks)
                utilities = [row for rows in played for row in rows]
                self.store.remember(
                    (key, utility)
                    for of_sample in zip(keys, known, utilities, strict=True)
                    for key, before, utility in zip(*of_sample, strict=True)
                    if np.isnan(before) and not np.isnan(utility)
                )
                yield from zip(batch, utilities, strict=True)


def _play(
    game: ModelGame, plans: Sequence[SamplerPlan], known: Sequence[FloatArray], tolerance: float | None
) -> list[FloatArray]:
    """Return what the coalitions of each sample earned; NaN for those that a truncation spared."""
    utilities = []
    with single_threaded_blas():  # the threads of a small fit wait for each other more than they work
        for plan, before in zip(plans, known, strict=True):
            row = np.full(len(plan), np.nan)
            for position, mask in enumerate(plan.coalitions()):
                utility = before[position]
                row[position] = game.utility(np.flatnonzero(mask)) if np.isnan(utility) else utility
                if tolerance is not None and abs(game.full_utility - row[position]) < tolerance:
                    break
            utilities.append(row)
    return utilities


@dataclass(frozen=True)
class StopRule:
    """When to stop sampling: whichever comes first."""

    n_samples: int | None
    target_se: float | None
    max_time: float | None

    def reached(self, sampler: Sampler, started: float) -> bool:
        """Whether the samples so far are enough, or the time is up."""
        if sampler.n_drawn == self.n_samples:
            return True
        if self.max_time is not None and time.monotonic() - started >= self.max_time:
            return bool(np.isfinite(sampler.errors()).all())
        if self.target_se is None or sampler.n_drawn < _FEWEST_TRUSTED or sampler.n_drawn % _LOOK_EVERY:
            return False
        return bool(sampler.errors().max() <= self.target_se)


def as_stop(n_samples: object, target_se: object, max_time: object, default: int) -> StopRule:
    """Check when to stop; after `default` samples if nothing is said."""
    if n_samples is None and target_se is None and max_time is None:
        n_samples = default
    return StopRule(
        None if n_samples is None else check_samples(n_samples),
        None if target_se is None else check_positive(target_se, "target_se"),
        None if max_time is None else check_positive(max_time, "max_time"),
    )


def sample(table: UtilityTable, sampler: Sampler, stop: StopRule, entropy: int, *, progress: bool) -> None:
    """Draw, play and count samples until there are enough."""
    started = time.monotonic()
    seeds = (np.random.SeedSequence(entropy, spawn_key=(j,)) for j in count())
    plans = (sampler.draw(np.random.default_rng(seed)) for seed in islice(seeds, stop.n_samples))
    bar = tqdm(total=stop.n_samples, unit="sample", disable=not progress, desc="retraining")
    with bar, closing(table.play(plans)) as played:
        for plan, utilities in played:
            sampler.add(plan, utilities)
            bar.update()
            if stop.reached(sampler, started):
                break
    unsure = np.flatnonzero(~np.isfinite(sampler.errors()))
    if unsure.size:
        raise ValueError(
            f"every point must be in two coalitions and out of two; after {sampler.n_drawn} samples point {unsure[0]} "
            "was not. Draw more samples."
        )


def enumerate_all(table: UtilityTable, semivalue: Semivalue, *, progress: bool) -> tuple[FloatArray, float]:
    """Play every coalition; return the values and a bound of their rounding errors."""
    n = table.game.n_players
    utilities = np.empty(2**n)
    no_moves = np.zeros(0, dtype=np.int64)
    plans = (SamplerPlan(no_moves, members_of(mask, n), one_by_one=False) for mask in range(2**n))
    bar = tqdm(total=2**n, unit="coalition", disable=not progress, desc="retraining")
    with bar, closing(table.play(plans)) as played:
        for mask, (_, played_once) in enumerate(played):
            utilities[mask] = played_once[0]
            bar.update()
    # As many additions as coalitions, and weights that are right to a few hundred roundings.
    return enumerated_values(utilities, semivalue), (2.0**n + 256.0) * _EPS * float(np.abs(utilities).max())
