"""What the tables in a folder were measured with: kept beside them, so that pages can be written without the data."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pivotal.core.atomic import write_text
from pivotal.research.experiments._setup import Facts, Setup

__all__ = ["keep_setup", "kept_setups"]

_FILE: Final = "setup.json"


def keep_setup(folder: Path, experiment: str, setup: Setup, machine: str) -> None:
    """Note with which setup an experiment was measured, and on what machine.

    Parameters
    ----------
    folder : Path
        Where its table is.
    experiment : str
        Its name.
    setup : Setup
    machine : str
        What measured it.
    """
    known = _read(folder)
    known[experiment] = {
        "data": {name: asdict(facts) for name, facts in setup.data.items()},
        "methods": list(setup.methods),
        "runs": setup.runs,
        "quick": setup.quick,
        "seed": setup.seed,
        "budget": setup.budget,
        "machine": machine,
    }
    write_text(folder / _FILE, json.dumps(known, indent=1) + "\n")


def kept_setups(folder: Path) -> dict[str, tuple[Setup, str]]:
    """Return the setup and the machine of every experiment that was measured in this folder."""
    found = {}
    for name, kept in _read(folder).items():
        data = {key: Facts(**facts) for key, facts in kept["data"].items()}
        options = {key: kept[key] for key in ("runs", "quick", "seed", "budget")}
        found[name] = Setup(data, tuple(kept["methods"]), **options), str(kept["machine"])
    return found


def _read(folder: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return kept
