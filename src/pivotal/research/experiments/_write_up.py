"""From the table of an experiment to its page and figures: nothing is measured here."""

from __future__ import annotations

from collections.abc import Callable, Set
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pivotal.core.atomic import write_text
from pivotal.research.experiments._contenders import CONTENDERS
from pivotal.research.experiments._experiment import Experiment
from pivotal.research.experiments._paper_items import numbers_of
from pivotal.research.experiments._setup import Setup, as_datasets

if TYPE_CHECKING:
    import pandas as pd

_THUMBNAIL: Final = 320  # pixels across


def write_table(table: pd.DataFrame, target: Path) -> tuple[Path, pd.DataFrame]:
    """Write a table, and return it as a reader of the file will see it."""
    import pandas as pd

    text = table.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    file = target.with_name(f"{target.name}.csv")
    write_text(file, text)
    return file, pd.read_csv(StringIO(text))


def find_table(folder: Path, name: str) -> pd.DataFrame | None:
    """Return the table of an experiment that is in a folder, packed or not; None if there is no such table."""
    import pandas as pd

    for ending in (".csv", ".csv.gz"):
        file = folder / f"{name}{ending}"
        if file.is_file():
            return pd.read_csv(file)
    return None


def write_page(
    one: Experiment,
    table: pd.DataFrame,
    setup: Setup,
    folder: Path,
    *,
    machine: str,
    missing: int = 0,
    echo: Callable[[str], object],
) -> list[Path]:
    """Draw the figures of an experiment from the table that is kept and write its page; return the files, it last.

    `missing` are the cells that are not measured yet; `echo` gets a line where figures cannot be drawn.
    """
    files = _draw(one, table, folder, echo)
    page = folder / f"{one.name}.md"
    write_text(page, _page(one, table, setup, machine, drawn={file.name for file in files}, missing=missing))
    return [*files, page]


def _draw(one: Experiment, table: pd.DataFrame, folder: Path, echo: Callable[[str], object]) -> list[Path]:
    from pivotal.research.experiments._figures import save

    files: list[Path] = []
    for number, picture in enumerate(one.pictures):
        try:
            figure = picture.draw(table)
        except ImportError as error:
            echo(f"{one.name}: no figure; {error}.")
            return []
        if figure is None:
            continue
        files += save(figure, folder / picture.stem(one.name), (".png", ".svg") if number == 0 else (".svg",))
        if number == 0:
            small = folder / f"{one.name}-small.png"
            figure.savefig(small, dpi=_THUMBNAIL / figure.get_figwidth(), metadata={"Software": None})
            files.append(small)
    return files


def _page(one: Experiment, table: pd.DataFrame, setup: Setup, machine: str, *, drawn: Set[str], missing: int) -> str:
    shown = {
        picture.token: f"![{picture.caption}]({name})" if (name := f"{picture.stem(one.name)}.svg") in drawn else ""
        for picture in one.pictures
    }
    parts = [
        f"# {one.title}",
        f"{numbers_of(one.name)} of the paper. Measured by `{_command(one, setup)}`; "
        "[set-up and deviations](setup.md), [all figures and tables](index.md).",
        *(["**A quick run on little data, to show that all works: its numbers mean nothing.**"] if setup.quick else []),
        *([f"**Written up early: {missing} cells are not measured yet.**"] if missing else []),
        one.pictures[0].token,
        *one.explain(table, setup).paragraphs(),
        "## Measured on",
        machine,
    ]
    return "\n\n".join(text for part in parts if (text := shown.get(part, part))) + "\n"


def _command(one: Experiment, setup: Setup) -> str:
    words = ["pivotal", "reproduce", one.name, "--runs", str(setup.runs), "--seed", str(setup.seed)]
    if one.needs_data and set(setup.data) != set(as_datasets(None, quick=setup.quick)):
        words += ["--datasets", *setup.data]
    if (one.needs_data or one.name == "scalability") and setup.methods != tuple(CONTENDERS):
        words += ["--methods", *setup.methods]
    if one.name == "scalability" and not setup.quick:
        words += ["--budget", f"{setup.budget:g}"]
    return " ".join([*words, "--quick"] if setup.quick else words)
