"""The page of what holds for all experiments: data, sizes, weights, samples, seeds, and who implements what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pivotal.core.atomic import write_text
from pivotal.research.bench.markdown import table
from pivotal.research.datasets._registry import PAPER
from pivotal.research.experiments._contenders import CONTENDERS
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import held_out_sizes

_METHODS: Final = {
    "bv-fast": ("exact hard-label Banzhaf", "distance", "pivotal's engine; the paper's algorithm gives the same "
    "values"),
    "bv-mc": ("the same by random coalitions", "distance", "pivotal"),
    "bv-uw": ("exact hard-label Banzhaf", "uniform", "pivotal's engine; the paper's algorithm gives the same values"),
    "sv": ("exact hard-label Shapley", "distance", "pivotal's engine, after Wang et al. 2024"),
    "sv-mc": ("the same by random permutations", "distance", "pivotal"),
    "sv-uw": ("exact hard-label Shapley", "uniform", "pivotal's engine, after Wang et al. 2024"),
    "sv-soft": ("exact soft-label Shapley", "uniform", "pivotal's engine, after Jia et al. 2019"),
    "beta-mc": ("Beta Shapley (4, 1) by permutations of a nearest-neighbour model", "uniform",
                "pivotal; the paper takes OpenDataVal's, which retrains a model"),
    "lava": ("class-wise optimal transport, exact", "–",
             "pivotal with POT; the paper takes OpenDataVal's, which solves a smoothed problem"),
    "inf": ("influence on a penalised logistic regression, with its Hessian", "–",
            "pivotal; the paper takes OpenDataVal's, which leaves the Hessian out"),
    "loo": ("leave-one-out of a nearest-neighbour model", "uniform", "pivotal"),
    "rand": ("random numbers", "–", "pivotal"),
}  # fmt: skip


def write_setup_page(folder: Path, setups: Sequence[Setup]) -> None:
    """Write the page of what the experiments with data sets in a folder share; the largest setup is described."""
    setup = max(setups, key=lambda one: (len(one.data), len(one.methods)))
    write_text(folder / "setup.md", "\n\n".join(_parts(folder, setup)) + "\n")


def _parts(folder: Path, setup: Setup) -> list[str]:
    train, test, fresh = held_out_sizes(setup.rows)
    capped = {name: CONTENDERS[name].max_rows for name in setup.methods if CONTENDERS[name].max_rows is not None}
    most = ", ".join(f"`{name}` {rows:,}" for name, rows in capped.items())
    parts = [
        "# Set-up and deviations",
        "What holds for all pages of [the paper's experiments](index.md), and where it is not what the paper did.",
        "## Sizes",
        f"- **Rows.** All methods are compared on samples of at most {setup.rows:,} rows: **{train:,} training "
        f"points, {test} test points, {fresh} fresh points**. The paper speaks of several thousand. One test point is "
        "one hundredth of accuracy, which is why single data sets decide little.\n"
        "- **Fresh points.** Values are computed from the test points. The paper scores models on the same test "
        "points, which flatters the values; we score on both.\n"
        f"- **All rows.** Methods that can are also run on all rows. Others stop: {most or 'none'}. `vehicle` has no "
        "such run, as its 1,860 rows are the sample.\n"
        f"- **Runs.** {setup.runs}, each with its own rows, split, flips and samples. A page that has another number "
        "says so in its command.",
        "## Weights, neighbours, samples",
        "- k = 5. Tables are standardised by their training part; pixels are not.\n"
        "- `bv-fast`, `bv-mc`, `sv` and `sv-mc` weigh votes by inverse distance in 7 bits. The paper says “a uniform "
        "weight function” for all methods and does not name another for its weighted ones.\n"
        f"- Methods by Monte Carlo take {setup.n_samples:,} samples.\n"
        "- Curves are the accuracy of an unweighted model, as in the paper; the curves of a weighted model are drawn "
        "apart.",
        "## Seeds",
        f"- Run r draws rows, split, flipped labels and samples from the seeds {setup.seed} and r, not from the name "
        "of the data set: data sets of one size share the positions of their flips and their random start.\n"
        "- Random values are drawn anew for each data set; the runs on all rows still have one stream for all.",
        "## Who implements what",
        table(
            ["name", "computes", "votes", "implementation"],
            [[f"`{name}`", *_METHODS[name]] for name in setup.methods if name in _METHODS],
        ),
        "[Agreement with OpenDataVal](../agreement.md) measures how far apart the implementations are on small data."
        if (folder.parent / "agreement.md").is_file()
        else "",
        *_beside_opendataval(folder),
        "## Data: Table 1",
        _data_table(setup),
    ]
    return [part for part in parts if part]


def _data_table(setup: Setup) -> str:
    rows = []
    for name, facts in setup.data.items():
        sizes = setup.sizes(name)
        printed = "{:,} × {}".format(*PAPER[name].in_paper) if name in PAPER else "–"
        used = " / ".join(map(str, held_out_sizes(sizes["sample"])))
        rows.append([name, f"{facts.rows:,} × {facts.features}", printed, facts.classes, used, facts.note])
    header = ["data", "rows × features", "in the paper", "classes", "training / test / fresh", "note"]
    return table(header, rows)


def _beside_opendataval(folder: Path) -> list[str]:
    """Say what OpenDataVal's own methods find on the same points, where that was measured."""
    import pandas as pd

    file = folder / "opendataval.csv"
    if not file.is_file():
        return []
    found = pd.read_csv(file)
    numbers = ["ours", "theirs", "rank_correlation"]
    means = found.groupby(["data", "method"], sort=False)[numbers].mean().reset_index()
    rows = [
        [data, f"`{method}`", *(f"{number:.2f}" for number in line)]
        for data, method, line in zip(means["data"], means["method"], means[numbers].to_numpy().tolist(), strict=True)
    ]
    return [
        "### OpenDataVal's own `inf` and `lava`",
        "The implementations that the paper took, on the same points: F1 of finding the flipped labels (as many points "
        f"inspected as were flipped), and the rank correlation of the values; {found['run'].nunique()} runs, "
        f"{found['n_train'].max():,} training points at most (`python benchmarks/opendataval_tables.py`). Where they "
        "differ, what the other pages say of `inf` and `lava` is about the implementations here.",
        table(["data", "method", "F1 ours", "F1 OpenDataVal's", "rank correlation"], rows),
    ]
