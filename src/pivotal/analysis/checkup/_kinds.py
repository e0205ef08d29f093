"""What a check-up looks for: names, thresholds, and what to do about each finding."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from pivotal.core.validation import is_number


class Kind(NamedTuple):
    """One kind of fault."""

    title: str
    """A heading."""

    threshold: float | None
    """What scores below it is found; None where the data decide."""

    score: str
    """What the score means."""

    advice: str
    """What to do about what is found."""

    about: str = "rows"
    """What has a score: rows or columns."""


KINDS: Final[Mapping[str, Kind]] = {
    "label_errors": Kind(
        "Wrong labels",
        None,
        "the score of find_label_errors: low where the neighbourhood speaks against the label",
        "Look at them, most suspicious first, on the page of pivotal review, or take the suggested labels with "
        "pivotal clean --fix.",
    ),
    "conflicts": Kind(
        "Duplicates with different labels",
        1.0,
        "share of the equal or nearly equal rows, itself included, that have its label; targets are scored by "
        "how far they are from each other",
        "At least one of the labels is wrong, or the features do not tell the rows apart: decide on one, or add a "
        "feature.",
    ),
    "leakage": Kind(
        "Training rows in the test set",
        None,
        "distance to the nearest test row over that to its tenth nearest training row; 0 for an equal row",
        "Take them out of the training set or out of the test set, or the test score is too good.",
    ),
    "duplicates": Kind(
        "Exact duplicates",
        0.5,
        "0 for a row that has an equal, 1 for others",
        "Keep one of each, unless the rows were really observed more than once; keep copies on one side of any split.",
    ),
    "near_duplicates": Kind(
        "Near duplicates",
        None,
        "distance to the nearest row that is not equal over that to the tenth, or over a usual one where that is more; "
        "found where chance does not bring as many rows so close, in data of this dimension",
        "Look at a few pairs: recordings of one thing belong on one side of any split.",
    ),
    "outliers": Kind(
        "Outliers",
        None,
        "usual distance to the ten nearest rows over its own; found beyond the far-out fence of the logarithms",
        "Look for broken measurements, other units and rows of another kind.",
    ),
    "class_imbalance": Kind(
        "Rare classes",
        0.1,
        "share of its class over an equal share",
        "Collect more of these classes, or weigh them with class_weight, and judge models by balanced accuracy.",
    ),
    "weak_groups": Kind(
        "Groups that are predicted badly",
        0.75,
        "how well its worst group (class, owner, cluster) is predicted by the nearest rows, over how well all are; "
        "found only where that is beyond chance",
        "Look at the labels of the group, collect more rows like these, or look for a feature that tells them apart.",
    ),
    "order": Kind(
        "Order that is not random",
        0.001,
        "how near to it in the table its nearest rows stand, from 0 (beside it) to 1; 0.5 is chance. The threshold is "
        "for the p-value of a permutation test",
        "Shuffle before you split, or split by time, source or group if that is what the order is.",
    ),
    "no_value": Kind(
        "Rows of no value",
        None,
        "number of queries that have it among their nearest, over k",
        "They can all go at once without any change to the predictions counted here.",
    ),
    "harmful": Kind(
        "Rows that do harm",
        0.05,
        "false discovery rate at which its value to the predictions is told to be negative",
        "Look at their labels first; what is left of them may go, judged on rows that had no part in the choice.",
    ),
    "missing": Kind(
        "Missing cells",
        1.0,
        "share of its columns that have content",
        "Find out why they are missing; for this check-up they were filled with the median or most frequent value.",
    ),
    "empty_columns": Kind(
        "Empty columns",
        0.05,
        "share of the rows with content",
        "Drop them, or repair what should have filled them.",
        "columns",
    ),
    "constant_columns": Kind(
        "Constant columns",
        0.001,
        "share of the rows that differ from the most frequent value",
        "Drop them: they tell no row from another.",
        "columns",
    ),
    "id_columns": Kind(
        "Columns that name the rows",
        0.5,
        "0 for a column that is different in every row and counts or names them, 1 for others",
        "Omit them from the features: with them a model can memorise rows.",
        "columns",
    ),
}


def as_names(chosen: Collection[str] | str | None, name: str) -> tuple[str, ...]:
    """Return names of findings, in the order of the table; None stands for all of them."""
    if chosen is None:
        return tuple(KINDS)
    given = [chosen] if isinstance(chosen, str) else list(chosen)
    for one in given:
        check_name(one, name)
    return tuple(one for one in KINDS if one in given)


def check_name(one: Any, name: str) -> str:
    """Return the name of a finding; raise ValueError, with what was probably meant, where there is no such finding."""
    if isinstance(one, str) and one in KINDS:
        return one
    close = difflib.get_close_matches(str(one).lower().replace("-", "_"), KINDS, n=1)
    fix = f"Did you mean {close[0]!r}?" if close else f"The names are {', '.join(KINDS)}."
    raise ValueError(f"{name} must name findings; got {one!r}. {fix}")


def as_thresholds(given: Mapping[str, float] | None) -> dict[str, float | None]:
    """Return the threshold of every finding: as given, or the usual one."""
    thresholds = {name: kind.threshold for name, kind in KINDS.items()}
    for one, number in (given or {}).items():
        check_name(one, "thresholds")
        if not is_number(number):
            raise ValueError(f"the threshold of {one} must be a finite number; got {number!r}.")
        if one != "label_errors" and not float(number) >= 0.0:
            raise ValueError(f"the threshold of {one} must be at least 0; got {number!r}.")
        thresholds[one] = float(number)
    return thresholds
