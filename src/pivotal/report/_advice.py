"""What would make a missing part of the page appear, in the words of who made it: Python, or the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["MissingPartAdvice", "as_advice"]


@dataclass(frozen=True, kw_only=True)
class MissingPartAdvice:
    """One sentence for each part that may be missing, from its verb on."""

    suspects: str
    map: str
    curves: str
    classes: str
    owners: str
    looks: str
    more_points: str


_PYTHON: Final = MissingPartAdvice(
    suspects="pass X and y, or suspects= from pivotal.find_label_errors.",
    map="pass X, the features, or coordinates.",
    curves="pass X and y, and X_test and y_test to score the model on.",
    classes="pass y, the labels.",
    owners="pass owners, one name for each training point.",
    looks="pass text or images.",
    more_points="Values.to_frame() has every row, and max_points= shows more.",
)
# Features and labels are always there.
_COMMAND_LINE: Final = MissingPartAdvice(
    suspects="they need features and labels.",
    map="it needs features.",
    curves="name test rows with --test, or hold some out with --split.",
    classes="they need labels.",
    owners="name the column of the owners with --owner.",
    looks="name columns to look at with --text or --image.",
    more_points="-o writes every row, and --max-points shows more.",
)


def as_advice(name: Literal["python", "command line"]) -> MissingPartAdvice:
    """Look up the words."""
    known = {"python": _PYTHON, "command line": _COMMAND_LINE}
    if name not in known:
        raise ValueError(f"advice must be one of {', '.join(map(repr, known))}; got {name!r}.")
    return known[name]
