"""All contenders on one task: who ran, how fast, and whether they agree."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from pivotal.core.types import FloatArray
from pivotal.research.bench.contender import HARD, HARD_ALONE, SOFT, Contender
from pivotal.research.bench.measurement import Limits, Outcome, Status, measure
from pivotal.research.bench.ours import OURS
from pivotal.research.bench.peers import PEERS
from pivotal.research.bench.subprocess_runner import measure_in_subprocess
from pivotal.research.bench.task import Task, make_task

__all__ = ["Report", "Row", "run_bench"]

_FORMAT: Final = 1
# Points of self-valuation, at most: one of the peers keeps all pairs in memory.
_MOST_ALONE: Final = 20_000


@dataclass(frozen=True)
class ValueAgreement:
    """How the values of a peer compare with ours in the same game.

    Parameters
    ----------
    agrees : bool or None
        Whether they are the same up to the peer's arithmetic; None if it only approximates.
    largest_difference : float
        Relative to our largest value.
    correlation : float or None
        Of the two; None if one of them is constant.
    """

    agrees: bool | None
    largest_difference: float | None
    correlation: float | None


@dataclass(frozen=True)
class Row:
    """One contender's part of the report.

    Parameters
    ----------
    name, package, version, method, game, note : str
        Who, and what it computes.
    ours : bool
        Whether this is the library itself.
    n_train, n_queries : int
        Size of its task.
    status : {"ran", "missing", "skipped", "failed"}
        Whether there are values; `reason` says why there are none.
    reason : str
    seconds, megabytes : float or None
        Of the fastest run, and the most memory held during it, above what was held before.
    agreement : ValueAgreement or None
        None for our own rows, and where there is nothing to compare.
    times_slower, times_larger : dict of str to float
        Its time and its memory over those of each row of ours on the same points and queries.
    """

    name: str
    package: str
    version: str
    method: str
    game: str
    note: str
    ours: bool
    n_train: int
    n_queries: int
    status: Status
    reason: str
    seconds: float | None
    megabytes: float | None
    agreement: ValueAgreement | None = None
    times_slower: Mapping[str, float] = field(default_factory=dict)
    times_larger: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Everything that was measured, ready for JSON.

    Parameters
    ----------
    settings, machine : dict
        What was asked, and where it ran.
    rows : list of Row
        Ours first.
    """

    settings: dict[str, Any]
    machine: dict[str, Any]
    rows: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """The report in plain types."""
        return {"format": _FORMAT, **asdict(self)}


def run_bench(
    n: int = 30_000,
    queries: int = 100,
    dim: int = 32,
    k: int = 5,
    *,
    peers: Sequence[str | Contender] | None = None,
    pythons: Mapping[str, str] | None = None,
    limit: float = 120.0,
    rounds: int = 3,
    memory: bool = False,
    seed: int = 0,
    echo: Callable[[str], object] = lambda _: None,
) -> Report:
    """Time this library and its peers on the same points, and compare their values.

    Parameters
    ----------
    n, queries, dim, k : int
        Training points, queries, features and neighbours. Self-valuation uses the first 20 000.
    peers : sequence of str or Contender, optional
        Which ones; all that are known by default.
    pythons : mapping of str to str, optional
        The Python of the environment where a peer lives, for a peer or for all peers of a package.
    limit : float, default=120
        Seconds: a contender that would take longer, going by a small run, is omitted and the report says so.
    rounds : int, default=3
        Runs of which the fastest counts.
    memory : bool, default=False
        Whether to run each contender in a process of its own and watch its memory.
    seed : int, default=0
        Of the points.
    echo : callable, optional
        Told who is being timed.

    Returns
    -------
    Report
    """
    for name, number in (("n", n), ("queries", queries), ("dim", dim), ("k", k), ("rounds", rounds)):
        if number < 1:
            raise ValueError(f"{name} must be an integer of at least 1; got {name}={number}.")
    if not limit > 0:
        raise ValueError(f"limit must be more than 0 seconds; got limit={limit}.")
    if k >= n:
        raise ValueError(f"k must be less than n: peers are wrong or refuse beyond; got k={k}, n={n}.")
    chosen = _choose(peers)
    pythons = dict(pythons or {})
    known = [name for peer in chosen for name in (peer.name, peer.package.lower())]
    for name in pythons:
        if name not in known:
            raise ValueError(f"python must be given for one of {', '.join(dict.fromkeys(known))}; got {name!r}.")
    task = make_task(n, queries, dim, k, seed)
    limits = Limits(rounds, limit, memory)

    def run(contender: Contender) -> tuple[Task, Outcome]:
        echo(f"{contender.package}: {contender.method}, {contender.game}")
        own = task.alone(_MOST_ALONE) if contender.alone else task
        python = pythons.get(contender.name, pythons.get(contender.package.lower()))
        if python is None and not memory:
            return own, measure(contender, own, limits)
        return own, measure_in_subprocess(contender, own, limits, python or sys.executable)

    played = {peer.name: run(peer) for peer in chosen}
    ran = [peer for peer in chosen if played[peer.name][1].status == "ran"]
    games = {SOFT, HARD, *(peer.game for peer in ran), *(HARD_ALONE for peer in ran if peer.alone)}
    ours = [contender for contender in OURS if contender.game in games]
    played |= {contender.name: run(contender) for contender in ours}
    repeats = 1 if memory else rounds
    settings = {"n": n, "queries": queries, "dim": dim, "k": k, "seed": seed, "limit": limit, "rounds": repeats}
    rows = [_row(contender, played, ours) for contender in (*ours, *chosen)]
    return Report(settings, _machine(), rows)


def _choose(peers: Sequence[str | Contender] | None) -> list[Contender]:
    if peers is None:
        return list(PEERS.values())
    for peer in peers:
        if isinstance(peer, str) and peer not in PEERS:
            raise ValueError(f"peers must be some of {', '.join(PEERS)}; got {peer!r}.")
    return [PEERS[peer] if isinstance(peer, str) else peer for peer in peers]


def _row(contender: Contender, played: Mapping[str, tuple[Task, Outcome]], ours: Sequence[Contender]) -> Row:
    task, outcome = played[contender.name]
    is_ours = contender in ours
    slower, larger = {}, {}
    agreement = None
    for own in () if is_ours or outcome.status != "ran" else ours:
        other = played[own.name][1]
        if own.alone != contender.alone or other.status != "ran":
            continue
        if outcome.seconds and other.seconds:
            slower[own.name] = outcome.seconds / other.seconds
        if outcome.megabytes is not None and other.megabytes:
            larger[own.name] = outcome.megabytes / other.megabytes
        if own.game == contender.game and outcome.values is not None and other.values is not None:
            agreement = compare(outcome.values, other.values, contender)
    who = contender.name, contender.package, outcome.version, contender.method, contender.game, contender.note
    found = outcome.status, outcome.reason, outcome.seconds, outcome.megabytes
    return Row(*who, is_ours, task.n_train, task.n_queries, *found, agreement, slower, larger)


def compare(values: FloatArray, exact: FloatArray, contender: Contender) -> ValueAgreement:
    """Compare the values of a contender with the exact ones."""
    if values.shape != exact.shape or not np.isfinite(values).all():
        return ValueAgreement(False, None, None)
    difference = float(np.abs(values - exact).max() / (np.abs(exact).max() or 1.0))
    varied = len(values) > 1 and bool(np.ptp(values) > 0 and np.ptp(exact) > 0)
    correlation = float(np.corrcoef(values, exact)[0, 1]) if varied else None
    return ValueAgreement(difference <= contender.precision if contender.exact else None, difference, correlation)


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
