"""The library beside others: the same data, the same game, one run.

    task ──► contenders ──► measure ──► suite ──► report
    points   ours, peers    seconds,    who agrees  table, JSON
                            memory      with whom

A contender is one small class with a name, the package it comes from, the game it plays and `run`. `measure` times one,
here or in a process of its own (`elsewhere`), which may be another Python where the peer lives. The `suite` puts the
rows together and checks that values agree wherever two contenders play the same game.

Nothing here imports more than NumPy until a contender runs, so that the other Python needs nothing but the peer.
"""

from pivotal.research.bench.bench_report import write_json
from pivotal.research.bench.contender import Contender
from pivotal.research.bench.suite import Report, Row, run_bench

__all__ = ["Contender", "Report", "Row", "run_bench", "write_json"]
