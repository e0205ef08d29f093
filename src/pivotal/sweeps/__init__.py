"""Many settings from one search: every game, semivalue, weighting, precision and k that is asked for, in one table."""

from __future__ import annotations

from pivotal.sweeps._bits import BitsDiagnostic, bits_diagnostic
from pivotal.sweeps._run import sweep
from pivotal.sweeps._settings import Setting
from pivotal.sweeps._sweep import Sweep

__all__ = ["BitsDiagnostic", "Setting", "Sweep", "bits_diagnostic", "sweep"]
