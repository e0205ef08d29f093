"""Timing a contender in a process of its own, which may be another Python.

The process gets a directory with the task in it and leaves the outcome there. It is told where this package lies; in
another Python that comes behind everything of its own and only for this package, so that it uses its own NumPy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from pivotal.research.bench.contender import Contender
from pivotal.research.bench.measurement import Limits, Outcome, measure
from pivotal.research.bench.ours import OURS
from pivotal.research.bench.peers import PEERS
from pivotal.research.bench.task import Task

__all__ = ["main", "measure_in_subprocess"]

_HOME: Final = Path(__file__).parents[3]
_START: Final = """
import sys
abroad = sys.argv[2] == "abroad"
sys.path.insert(len(sys.path) if abroad else 0, sys.argv[1])
from pivotal.research.bench.subprocess_runner import main
if abroad:
    sys.path.pop()
main(sys.argv[3])
"""
# Seconds for starting up, and for the small runs beforehand.
_PATIENCE: Final = 120.0


def measure_in_subprocess(contender: Contender, task: Task, limits: Limits, python: str = sys.executable) -> Outcome:
    """Do as `measure` does, in a new process, for a contender of `OURS` or `PEERS`.

    `python` is 3.11 or newer, with NumPy and the contender's package; FileNotFoundError where there is no such Python.
    """
    abroad = python != sys.executable
    environment = {name: text for name, text in os.environ.items() if not (abroad and name == "PYTHONPATH")}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        task.save(folder / "task.npz")
        job = {"name": contender.name, "limits": asdict(limits)}
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [python, "-c", _START, str(_HOME), "abroad" if abroad else "at home", str(folder)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                cwd=folder,
                env=environment,
                timeout=_PATIENCE + limits.rounds * limits.seconds * 2,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return Outcome("skipped", f"stopped after {error.timeout:.0f} s")
        except OSError as error:
            raise FileNotFoundError(f"cannot run {python}: {error.strerror}; give the path of a Python.") from error
        if done.returncode != 0 or not (folder / "outcome.json").exists():
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            return Outcome("failed", f"its process ended without an answer: {last}")
        answer: dict[str, Any] = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
        values = np.load(folder / "values.npy") if (folder / "values.npy").exists() else None
        return Outcome(**answer, values=values)


def main(directory: str) -> None:
    """Do the work that lies in a directory; the other end of `measure_in_subprocess`."""
    folder = Path(directory)
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    contenders = {contender.name: contender for contender in (*OURS, *PEERS.values())}
    outcome = measure(contenders[job["name"]], Task.load(folder / "task.npz"), Limits(**job["limits"]))
    if outcome.values is not None:
        np.save(folder / "values.npy", outcome.values)
    answer = asdict(replace(outcome, values=None))
    del answer["values"]
    (folder / "outcome.json").write_text(json.dumps(answer), encoding="utf-8")
