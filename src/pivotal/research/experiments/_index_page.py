"""The first page of a reproduction: a row for each figure and table of the paper, by its number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pivotal.core.atomic import write_text
from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import SUMMARY
from pivotal.research.experiments._experiment import Experiment
from pivotal.research.experiments._paper_items import ITEMS, PaperItem

_INTRODUCTION: Final = (
    "Zhang, Oettershagen, Wang, Gionis: *Efficient Banzhaf-Based Data Valuation for k-Nearest Neighbors "
    "Classification*. One row per figure and table of its evaluation.\n\n"
    "The paper prints numbers in its tables only, so Tables A1–A4 are compared number by number. Of a figure, what the "
    "text says about it is compared with what we measured: a statement **agrees** or **differs** where the 95 % "
    "interval of the paired difference over the data sets says so, and is **open** where the interval holds 0. The "
    "paper scores models on the test set that the values are computed from; we also score them on fresh points that no "
    "value has seen.\n\n"
    "[Set-up and deviations](setup.md) has what holds for all pages. `pivotal reproduce all --pages-only` writes all "
    "pages again from the tables in the folder."
)


def write_index(folder: Path, experiments: Mapping[str, Experiment]) -> None:
    """List the figures and tables of the paper whose pages are in the folder, with what each page says in words."""
    rows = [_row(folder, item, experiments) for item in ITEMS if (folder / f"{item.experiment}.md").is_file()]
    body = table(["in the paper", "ours", "verdict", "main deviation"], rows) if rows else "Nothing is measured yet."
    write_text(folder / "index.md", f"# The paper's experiments\n\n{_INTRODUCTION}\n\n{body}\n")


def _row(folder: Path, item: PaperItem, experiments: Mapping[str, Experiment]) -> list[str]:
    page = folder / f"{item.experiment}.md"
    small = folder / f"{item.experiment}-small.png"
    title = experiments[item.experiment].title.split(":")[0] if item.experiment in experiments else "Set-up"
    picture = f"[![{title}]({small.name}){{ width=160 }}]({page.name})<br>" if small.is_file() else ""
    found = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(SUMMARY)]
    counts = "; ".join(_counts(line) for line in found)
    verdict = item.verdict or f"{counts[:1].upper()}{counts[1:]}."
    return [f"**{item.number}**: {item.shows}", f"{picture}[{title}]({page.name})", verdict, item.deviation]


def _counts(line: str) -> str:
    """Keep how many statements agree, and which differ."""
    counts, _, apart = line.removeprefix(SUMMARY).removesuffix(".").partition(". What differs: ")
    return f"{counts} ({apart})" if apart else counts
