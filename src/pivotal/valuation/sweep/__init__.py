"""Many settings from one search: every game, semivalue, weighting, precision and k that is asked for, in one table."""

from __future__ import annotations

from pivotal.valuation.sweep._bits import BitsDiagnostic, bits_diagnostic
from pivotal.valuation.sweep._sweep_result import Sweep
from pivotal.valuation.sweep._sweep_run import sweep
from pivotal.valuation.sweep._sweep_settings import Setting

__all__ = ["BitsDiagnostic", "Setting", "Sweep", "bits_diagnostic", "sweep"]
