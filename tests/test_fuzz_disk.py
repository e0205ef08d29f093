"""What is read from disk may be anything: no crash, no error but those that name the file, nothing half believed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZING = Path(__file__).with_name("fuzzing.py")


@pytest.mark.faults
@pytest.mark.parametrize("kind", ["checkpoints", "values", "pictures"])
def test_hostile_files(kind: str, tmp_path: Path) -> None:
    program = [sys.executable, str(FUZZING), kind, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-5_000:]  # below 0 it was a signal
    assert done.stdout.splitlines()[-1] == "done"
