"""The paper's evaluation as commands: measured cell by cell, written beside what the paper says.

    reproduce("mislabel")    run an experiment, or "all": a table, figures and a page
    EXPERIMENTS              the experiments by name
    published("f1")          the paper's tables as data

A cell is one method on one data set in one run, kept in a small file, so that a stopped run resumes.
"""

from __future__ import annotations

from pivotal.research.experiments._published import published
from pivotal.research.experiments._run_experiments import EXPERIMENTS, Reproduction, reproduce

__all__ = ["EXPERIMENTS", "Reproduction", "published", "reproduce"]
