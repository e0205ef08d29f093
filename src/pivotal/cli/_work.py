"""What the commands on tables share: read, prepare, value."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pivotal.cli._parser import UsageError
from pivotal.cli._screen import Screen

if TYPE_CHECKING:
    import pandas as pd

    from pivotal.core.types import AnyArray, IndexArray
    from pivotal.results.values import Values
    from pivotal.tables import Prepared, Roles, Table
    from pivotal.tables.distributed import DistributedTable

# Options of the command line that are arguments of pivotal.value.
_SETTINGS: Final = ("k", "utility", "semivalue", "weights", "bits", "metric", "neighbors", "tol", "method")
# Options that are fields of Roles.
_OF_COLUMNS: Final = (
    *("id", "features", "ignore", "categorical", "text", "image", "numbers", "dates"),
    *("missing", "scale", "max_categories", "classes"),
)
# Those of values that rules do not use which choose rows by something else.
OF_VALUES: Final = (
    *("utility", "semivalue", "weights", "bits", "tol", "method", "params"),
    *("samples", "target_se", "max_time"),
)


class Data(NamedTuple):
    """A table that was read, cut and prepared."""

    table: Table  # all rows, as they were read
    rows: IndexArray  # those that are valued: all but the rows held out
    prepared: Prepared  # their features and labels, and those of the test rows
    label: str  # name of the column that is predicted
    regression: bool  # whether it is a number
    files: list[str]  # where the table was read from

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.table.name


class DistributedData(NamedTuple):
    """A table that workers read and prepare."""

    name: str  # what messages call it
    prepared: DistributedTable  # features and labels of its rows, and of the test rows
    regression: bool  # whether the label is a number


def load(
    options: argparse.Namespace,
    screen: Screen,
    *,
    targets: tuple[str | None, ...],
    results: str | None = None,
    instead_of_numbers: str | None = None,
    no_features: Iterable[tuple[str, str]] = (),
) -> Data:
    """Read the table and the test rows, and make features of them.

    Files that will be written are looked at first, so that nothing is computed in vain; `results` is the one among them
    that holds results rather than rows. `instead_of_numbers` says what to do about labels that are numbers, where the
    command has no `--utility`; `no_features` are pairs of an option and the column that it names.
    """
    check_outputs(options, targets, results)
    from dataclasses import replace

    import numpy as np

    from pivotal.tables import prepare, read_many, split
    from pivotal.tables.read import MAX_ROWS

    max_rows = MAX_ROWS if options.max_rows is None else options.max_rows
    reading = {
        "max_rows": max_rows,
        "delimiter": options.delimiter,
        "encoding": options.encoding,
        "decimal": options.decimal,
        "header": not options.no_header,
    }
    start = time.perf_counter()
    screen.detail(f"reading {' '.join(options.table)}")
    table, files = read_many(options.table, **reading)
    test_path, share = getattr(options, "test", None), getattr(options, "split", None)
    test, test_files = read_many([test_path], **reading) if test_path else (None, [])
    check_targets(options, targets, [*files, *test_files, *options.embeddings])
    table, test = with_vectors(options, table, test)
    options.ignore = [*options.ignore, *(table.check_column(column, by) for by, column in no_features)]
    label = options.label or _usual_label(table)
    if options.unlabelled == "drop":
        table, test = with_labels(screen, table, label), None if test is None else with_labels(screen, test, label)
    rows = np.arange(len(table))
    train = table
    if share is not None:
        rows, held_out = split(table, label, share, options.seed)
        train, test = table.take(rows), table.take(held_out)
    regression = is_regression(options)
    roles = roles_of(options, label, progress=screen.progress)
    if instead_of_numbers is not None:
        roles = replace(roles, instead_of_numbers=instead_of_numbers)
    prepared = prepare(train, test, roles, regression=regression)
    held = f", {len(table) - len(rows)} of them held out at random" if share is not None else ""
    apart = f"; {len(test)} test rows in {test.name}" if test is not None and share is None else ""
    screen.note(f"{table.name}: {count_rows(len(table))}{held}{apart}")
    screen.columns(prepared.treatments)
    if prepared.y_test is not None and not regression:
        screen.note_unknown(prepared.y, prepared.y_test)
    screen.detail(f"read and prepared in {time.perf_counter() - start:.2f} s; {prepared.X.shape[1]} features")
    return Data(table, rows, prepared, label, regression, files)


def with_labels(screen: Screen, table: Table, label: str) -> Table:
    """Return the rows of a table that have a label, and say how many have none."""
    from pivotal.tables.prepare import labelled

    rows = labelled(table, label)
    if len(rows) < len(table):
        screen.note(f"{table.name}: {count_rows(len(table) - len(rows))} without a label omitted")
        table = table.take(rows)
    return table


def with_vectors(options: argparse.Namespace, table: Table, test: Table | None) -> tuple[Table, Table | None]:
    """Put embeddings that lie in files of their own beside the tables."""
    beside = getattr(options, "test_embeddings", [])
    if not options.embeddings and not beside:
        return table, test
    from pivotal.tables.vectors_beside import with_embeddings

    if len(beside) != (len(options.embeddings) if test is not None else 0):
        raise UsageError(
            "test rows need embeddings as the table has them, and only then; name as many files with --test-embeddings "
            "as with --embeddings."
        )
    return (
        with_embeddings(table, options.embeddings, options.id),
        test if test is None else with_embeddings(test, beside, options.id),
    )


def roles_of(options: argparse.Namespace, label: str, *, progress: bool = False) -> Roles:
    """Return which column plays which part, and what texts and images are made features by."""
    from pivotal.tables import Roles
    from pivotal.tables.columns import GAPS
    from pivotal.tables.embedding import Embedding

    general = given(options, batch_size="embed_batch", device="embed_device", cache="embed_cache")
    if options.embed_cache == "none":
        general["cache"] = False
    return Roles(
        label,
        owner=getattr(options, "owner", None),
        gaps=GAPS | set(options.na),
        embedding=Embedding.of(options.embed, **({"progress": progress} | options.embed_options | general)),
        **{name: getattr(options, name) for name in _OF_COLUMNS},
    )


def count_rows(n: int) -> str:
    """Say how many rows there are."""
    return "1 row" if n == 1 else f"{n} rows"


def check_outputs(options: argparse.Namespace, targets: tuple[str | None, ...], results: str | None) -> None:
    """Turn down outputs that cannot be written, before anything is read."""
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed must be an integer from 0 to {2**32 - 1}; got {options.seed}.")
    _check_method(options)
    check_targets(options, targets, options.table)
    if results is not None:
        from pivotal.tables import check_results_target

        check_results_target(results)


def _check_method(options: argparse.Namespace) -> None:
    """Refuse a method that needs test rows where there are none."""
    if getattr(options, "method", None) is None:
        return
    from pivotal.core.method_choice import as_choice

    rows = [getattr(options, "test", None), getattr(options, "split", None)]
    # These commands score their choice on the test rows, so they do not value by them.
    unused = getattr(options, "rows_value_each_other", False)
    if "a test set" in as_choice(options.method).method.needs and (unused or rows == [None, None]):
        fix = "choose another" if unused else "name some with --test, or hold some out with --split 0.2"
        raise UsageError(f"--method {options.method} needs test rows to value by; {fix}.")


def check_targets(options: argparse.Namespace, targets: tuple[str | None, ...], inputs: list[str]) -> None:
    """Turn down outputs that cannot be written, or that are inputs."""
    from pivotal.tables import check_target
    from pivotal.tables.read import format_of, is_pair, parts_of
    from pivotal.tables.targets import is_stream
    from pivotal.tables.write import check_rows_target

    written = [target for target in targets if target is not None]
    if written.count("-") > 1:
        raise UsageError("only one output can go to standard output.")
    if len(set(written)) < len(written):
        raise UsageError("outputs must go to different files; give each a name of its own.")
    for target in written:
        for file in target.split(",") if is_pair(target) else [target]:
            check_target(file, [*(parts_of(name)[0] for name in inputs), *([options.config] if options.config else [])])
        if target != getattr(options, "report", None) and not is_stream(target):
            format_of(target)
            check_rows_target(target)


def check_report(path: str | None, example: str) -> None:
    """Turn down a report that is no HTML file."""
    if path is not None and not path.lower().endswith((".html", ".htm")):
        raise UsageError(f"the report is an HTML file, for example --report {example}; got {path}.")


def need_output(options: argparse.Namespace) -> None:
    """Turn down a command that makes a table and is not told where to put it."""
    if options.out is None:
        raise UsageError("say where to write the rows with -o, for example -o rows.csv; - is standard output.")


def _usual_label(table: Table) -> str:
    from pivotal.tables.read_table import usual_label

    try:
        return usual_label(table)
    except ValueError:
        table.check_labels_are_here()
        last = table.columns[-1]
        raise UsageError(f"say which column of {table.name} holds the labels, for example --label {last!r}.") from None


def is_regression(options: argparse.Namespace) -> bool:
    """Whether the label is a number to be predicted."""
    utility = getattr(options, "utility", None)
    if utility is None:
        return False
    from pivotal.core.games import as_game

    return as_game(utility).task == "regression"


def value_rows(
    options: argparse.Namespace,
    screen: Screen,
    data: Data | DistributedData,
    *,
    against_test: bool = True,
    defaults: Mapping[str, Any] | None = None,
) -> Values:
    """Value the rows with the options given; those that were not keep the library's defaults, or `defaults`.

    Test rows are the queries if `against_test` says so; otherwise, or without any, this is self-valuation.
    """
    from pivotal.core.config import config_context
    from pivotal.core.method_choice import method
    from pivotal.valuation.value import value

    settings = {**(defaults or {}), **given(options, *_SETTINGS)}
    of_sampling = given(options, n_samples="samples", target_se="target_se", max_time="max_time")
    parameters = {**(getattr(options, "params", None) or {}), **of_sampling}
    if settings.get("method", "exact") != "exact":
        parameters["random_state"] = options.seed
    if parameters:
        settings["method"] = method(settings.get("method", "exact"), **parameters)
    machine = given(options, "max_memory", "checkpoint")
    prepared = data.prepared
    X_test, y_test = (prepared.X_test, prepared.y_test) if against_test else (None, None)
    if X_test is None and prepared.X.shape[0] < 2:
        raise ValueError(
            f"{data.name} has 1 row, and self-valuation needs at least two; add rows, or test rows with --test."
        )
    start = time.perf_counter()
    with config_context(n_jobs=options.jobs, progress=screen.progress, **machine):
        found: Any = value(prepared.X, prepared.y, X_test, y_test, ids=prepared.ids, **settings)
        lazy = isinstance(data, DistributedData) or "checkpoint" in machine
        values: Values = found.compute() if lazy else found
    screen.detail(f"valued in {time.perf_counter() - start:.2f} s: {dict(values.settings)}")
    screen.tell(describe(values, by_test=X_test is not None))
    if values.query_standard_error is not None:
        screen.tell(str(values.sign()).replace("queries", "test rows" if X_test is not None else "rows"))
    return values


def given(options: argparse.Namespace, *names: str, **renamed: str) -> dict[str, Any]:
    """Return the options that were given; of those that are called otherwise in the library, under its names."""
    called = {name: name for name in names} | renamed
    found = {name: getattr(options, option, None) for name, option in called.items()}
    return {name: choice for name, choice in found.items() if choice is not None}


def flags_given(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Return which of some options were given, as they are written."""
    return [f"--{name.replace('_', '-')}" for name in given(options, *names)]


def choosing(options: argparse.Namespace, screen: Screen) -> dict[str, Any]:
    """Return the arguments that selections and removals have in common."""
    return {
        "k": 5 if options.k is None else options.k,
        "metric": options.metric or "euclidean",
        "neighbors": options.neighbors or "auto",
        "max_memory": options.max_memory,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "progress": screen.progress,
    }


def describe(values: Values, *, by_test: bool) -> str:
    """Return one sentence on what was computed, and how far it can be off."""
    settings = dict(values.settings)
    if settings.get("method") == "exact" and not values.neighbors_exact:
        settings["method"] = "exact given these neighbours"
    said = (name for name in ("method", "semivalue", "utility", "k") if name in settings)
    how = ", ".join(f"{name} = {settings[name]}" for name in said)
    by = f"by {values.n_queries} test rows" if by_test else "by each other"
    words = [f"{count_rows(len(values))} valued {by} ({how})"]
    if values.standard_error is not None:
        words.append(f"standard errors up to {values.standard_error.max():.1e}")
    elif values.error_bound is not None:
        words.append(f"no value is off by more than {values.error_bound:.1e}{_parts(values)}")
    elif values.bound_given_neighbors is not None:
        bound = f"{values.bound_given_neighbors:.1e}{_parts(values)}"
        words.append(f"given these neighbours, no value is off by more than {bound}")
    if values.recall is not None:
        words.append(f"{values.recall:.1%} of the true neighbours found on a sample of the queries")
    elif not values.neighbors_exact:
        words.append("how many of the true neighbours were found is not known")
    return "; ".join(words) + "."


def _parts(values: Values) -> str:
    """Say which part of a bound is proved."""
    return f" ({values.proved_bound or 0.0:.1e} proved, {values.rounding_allowance:.1e} allowed for rounding)"


def extreme_rows(values: Values, data: Data | DistributedData, n: int, *, best: bool) -> pd.DataFrame:
    """Return the n most or least valuable rows with their labels and something to read."""
    import numpy as np

    order = values.order()
    places: AnyArray = (order if best else order[::-1])[:n]
    shown = values.to_frame().iloc[places].reset_index().assign(label=np.asarray(data.prepared.y[places]))
    text = data.prepared.text if isinstance(data, Data) else None
    if text is not None:
        shown["text"] = [text[place] for place in places]
    return shown
