"""What the commands on tables share: read, prepare, value."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._parser import UsageError
from pivotal.cli._screen import Screen

if TYPE_CHECKING:
    import pandas as pd

    from pivotal._types import AnyArray, IndexArray
    from pivotal.results import Values
    from pivotal.tables import Prepared, Table

# Options of the command line that are arguments of pivotal.value, and what they are called there.
_SETTINGS: Final = {
    "k": "k",
    "utility": "utility",
    "semivalue": "semivalue",
    "weights": "weights",
    "bits": "bits",
    "metric": "metric",
    "neighbors": "neighbors",
    "tol": "tol",
    "max_memory": "max_memory",
    "method": "method",
    "params": "method_params",
    "samples": "n_samples",
    "target_se": "target_se",
    "max_time": "max_time",
}


@dataclass(frozen=True, eq=False)
class Data:
    """A table that was read, cut and prepared.

    Parameters
    ----------
    table : Table
        All rows, as they were read.
    rows : int array
        Those that are valued: all but the rows held out.
    prepared : Prepared
        Their features and labels, and those of the test rows.
    label : str
        Name of the column that is predicted.
    regression : bool
        Whether it is a number.
    """

    table: Table
    rows: IndexArray
    prepared: Prepared
    label: str
    regression: bool


def load(
    options: argparse.Namespace, screen: Screen, *, targets: tuple[str | None, ...], results: str | None = None
) -> Data:
    """Read the table and the test rows, and make features of them.

    Parameters
    ----------
    options : Namespace
    screen : Screen
    targets : tuple of str or None
        Files that will be written: looked at first, so that nothing is computed in vain.
    results : str, optional
        The one among them that holds results rather than rows of the table.
    """
    if options.seed < 0:
        raise ValueError(f"--seed must be a whole number of at least 0; got {options.seed}.")
    _check_targets(options, targets, options.table)
    if results is not None:
        from pivotal.tables import check_results_target

        check_results_target(results)
    import numpy as np

    from pivotal.tables import Roles, prepare, read_many, split
    from pivotal.tables.columns import GAPS

    reading = {"max_rows": options.max_rows, "delimiter": options.delimiter, "encoding": options.encoding}
    start = time.perf_counter()
    screen.detail(f"reading {' '.join(options.table)}")
    table, files = read_many(options.table, **reading)
    test_path, share = getattr(options, "test", None), getattr(options, "split", None)
    test, test_files = read_many([test_path], **reading) if test_path else (None, [])
    _check_targets(options, targets, [*files, *test_files])
    label = options.label or _usual_label(table)
    rows = np.arange(len(table))
    train = table
    if share is not None:
        rows, held_out = split(table, label, share, options.seed)
        train, test = table.take(rows), table.take(held_out)
    regression = _is_regression(options)
    roles = Roles(
        label,
        id=options.id,
        owner=getattr(options, "owner", None),
        features=options.features,
        ignore=options.ignore,
        categorical=options.categorical,
        text=options.text,
        image=options.image,
        missing=options.missing,
        scale=options.scale,
        gaps=GAPS | set(options.na),
        max_categories=options.max_categories,
    )
    prepared = prepare(train, test, roles, regression=regression)
    held = f", {len(table) - len(rows)} of them held out at random" if share is not None else ""
    apart = f"; {len(test)} test rows in {test.name}" if test is not None and share is None else ""
    screen.note(f"{table.name}: {_rows(len(table))}{held}{apart}")
    screen.columns(prepared.treatments)
    screen.detail(f"read and prepared in {time.perf_counter() - start:.2f} s; {prepared.X.shape[1]} features")
    return Data(table, rows, prepared, label, regression)


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _check_targets(options: argparse.Namespace, targets: tuple[str | None, ...], inputs: list[str]) -> None:
    """Turn down outputs that cannot be written, or that are inputs."""
    from pivotal.tables import check_target
    from pivotal.tables._targets import is_stream
    from pivotal.tables.read import format_of, is_pair

    written = [target for target in targets if target is not None]
    if written.count("-") > 1:
        raise UsageError("only one output can go to standard output.")
    if len(set(written)) < len(written):
        raise UsageError("outputs must go to different files; give each a name of its own.")
    for target in written:
        for file in target.split(",") if is_pair(target) else [target]:
            check_target(file, [*inputs, *([options.config] if options.config else [])])
        if target != getattr(options, "report", None) and not is_stream(target):
            format_of(target)


def need_output(options: argparse.Namespace) -> None:
    """Turn down a command that makes a table and is not told where to put it."""
    if options.out is None:
        raise UsageError("say where to write the rows with -o, for example -o rows.csv; - is standard output.")


def _usual_label(table: Table) -> str:
    if table.format in ("npz", "npy") and "y" in table.columns:
        return "y"
    last = table.columns[-1]
    raise UsageError(f"say which column of {table.name} holds the labels, for example --label {last!r}.")


def _is_regression(options: argparse.Namespace) -> bool:
    utility = getattr(options, "utility", None)
    if utility is None:
        return False
    from pivotal.games import as_game

    return as_game(utility).task == "regression"


def value_rows(
    options: argparse.Namespace,
    screen: Screen,
    data: Data,
    *,
    against_test: bool = True,
    defaults: Mapping[str, Any] | None = None,
) -> Values:
    """Value the rows with the options given; those that were not keep the library's defaults, or `defaults`.

    Parameters
    ----------
    options : Namespace
    screen : Screen
    data : Data
    against_test : bool, default=True
        Whether the test rows are the queries; else, or without any, the rows value each other.
    defaults : mapping, optional
        Arguments of `pivotal.value` that this command sets where nothing was said.
    """
    from pivotal.valuation import value

    chosen = {name: getattr(options, option) for option, name in _SETTINGS.items()}
    settings = {**(defaults or {}), **{name: choice for name, choice in chosen.items() if choice is not None}}
    if settings.get("method", "exact") != "exact":
        settings["random_state"] = options.seed
    prepared = data.prepared
    X_test, y_test = (prepared.X_test, prepared.y_test) if against_test else (None, None)
    if X_test is None and len(prepared.X) < 2:
        raise ValueError(
            f"{data.table.name} has 1 row, and rows that value each other must be at least two; add rows, or test rows "
            "with --test."
        )
    start = time.perf_counter()
    values = value(
        prepared.X,
        prepared.y,
        X_test,
        y_test,
        ids=prepared.ids,
        n_jobs=options.jobs,
        progress=screen.progress,
        **settings,
    )
    screen.detail(f"valued in {time.perf_counter() - start:.2f} s: {dict(values.settings)}")
    screen.tell(describe(values, by_test=X_test is not None))
    return values


def describe(values: Values, *, by_test: bool) -> str:
    """Return one sentence on what was computed, and how far it can be off."""
    settings = values.settings
    how = ", ".join(
        f"{name} = {settings[name]}" for name in ("method", "semivalue", "utility", "k") if name in settings
    )
    by = f"by {values.n_queries} test rows" if by_test else "by each other"
    words = [f"{_rows(len(values))} valued {by} ({how})"]
    if values.standard_error is not None:
        words.append(f"standard errors up to {values.standard_error.max():.1e}")
    elif values.error_bound is not None:
        words.append(f"no value is off by more than {values.error_bound:.1e}")
    if values.recall is not None:
        words.append(f"{values.recall:.1%} of the true neighbours found")
    return "; ".join(words) + "."


def extreme_rows(values: Values, prepared: Prepared, n: int, *, best: bool) -> pd.DataFrame:
    """Return the n most or least valuable rows with their labels and something to read."""
    frame = values.top(n) if best else values.bottom(n)
    places: AnyArray = frame.index.to_numpy()
    shown = frame.assign(label=prepared.y[places])
    if prepared.text is not None:
        shown["text"] = [prepared.text[place] for place in places]
    return shown
