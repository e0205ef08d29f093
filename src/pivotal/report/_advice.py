"""What would make a missing part of the page appear, in the words of who made it: Python, or the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MAKERS: Final = ("python", "command line")
# One sentence for each part that may be missing, from its verb on. On the command line features and labels are there.
_SENTENCES: Final = {
    "suspects": ("pass X and y, or suspects= from pivotal.find_label_errors.", "they need features and labels."),
    "map": ("pass X, the features, or coordinates.", "it needs features."),
    "curves": (
        "pass X and y, and X_test and y_test to score the model on.",
        "name test rows with --test, or hold some out with --split.",
    ),
    "classes": ("pass y, the labels.", "they need labels."),
    "owners": (
        "pass owners, one name for each training point.",
        "name the column of the owners with --owner.",
    ),
    "looks": ("pass text or images.", "name columns to look at with --text or --image."),
    "more_points": (
        "Values.to_frame() has every row, and max_points= shows more.",
        "-o writes every row, and --max-points shows more.",
    ),
}


def as_advice(name: str) -> Mapping[str, str]:
    """Return the sentences for the one who made the page."""
    if name not in _MAKERS:
        raise ValueError(f"advice must be one of {', '.join(map(repr, _MAKERS))}; got {name!r}.")
    return {part: said[_MAKERS.index(name)] for part, said in _SENTENCES.items()}
