"""From a result and the data behind it to one page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.atomic import check_file, write_text
from pivotal.core.pictures import describe_missing
from pivotal.core.random import as_generator
from pivotal.core.types import IndexArray
from pivotal.core.validation import check_count, is_lazy
from pivotal.core.version import __version__
from pivotal.report._advice import as_advice
from pivotal.report._certainty_parts import certainty_chart, certainty_columns
from pivotal.report._facts import describe, guarantees
from pivotal.report._groups import by_group, by_response, histogram
from pivotal.report._html_page import assemble
from pivotal.report._own_columns import pack_columns
from pivotal.report._report_inputs import Inputs, read_inputs
from pivotal.report._shown import choose_shown, columns_of, describe_sample, number_neighbours
from pivotal.report._suspects import Suspects, find_neighbours, find_suspects, read_suspects
from pivotal.report._words import grouped, number
from pivotal.report.encode import as_json, as_text, pack
from pivotal.report.point_map import project
from pivotal.results.values import Values

_BYTES: Final = 2_900_000  # of a report on up to 10 000 points
_TEXT: Final = 600  # characters shown of a text
_FEW: Final = 10  # points that make no curve
_NO_POINTS: Final = np.empty(0, dtype=np.int64)


def write_report(
    values: Values,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    owners: npt.ArrayLike | None = None,
    text: npt.ArrayLike | None = None,
    images: Any = None,
    image_root: str | os.PathLike[str] | None = None,
    coordinates: npt.ArrayLike | None = None,
    columns: Any = None,
    suspects: Any = None,
    k: int | None = None,
    title: str | None = None,
    max_points: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
    advice: Literal["python", "command line"] = "python",
) -> Path | str:
    """Write one HTML file that shows a result: it opens in any browser, without a network.

    Every part that lacks its input is omitted, and the page says what would make it appear.

    Parameters
    ----------
    values : Values
    path : path-like
        File to write, or URL such as s3://bucket/report.html; an existing file is replaced only once the new one is
        complete.
    X, y : array-like of shape (n_train, n_features) and (n_train,), optional
        Training points and their labels, as they were valued: classes, numbers, or a table of 0 and 1 with a column
        per label. With them come the map, the nearest neighbours and the suspected label errors.
    X_test, y_test : as X and y, optional
        Points to draw the removal and selection curves on.
    owners : array-like of shape (n_train,), optional
        Owner of each training point.
    text : sequence of n_train str, optional
        What each point says, to be shown beside it.
    images : array of shape (n_train, height, width[, channels]) or n_train paths, optional
        Shown as thumbnails; needs Pillow. Files are read if they are PNG, JPEG, GIF, WEBP, BMP or TIFF; what cannot be
        read, is missing or is too large leaves a blank, and the page and a warning say how many.
    image_root : path-like, optional
        Folder that paths of images are relative to, and outside of which none is read: for paths from a table that
        others wrote. Any path is read by default.
    coordinates : array-like of shape (n_train, 2), optional
        Places on the map; the two main axes of X by default.
    columns : data frame or mapping of str to sequence, optional
        The table that the points come from: what a row has in each column is shown beside what its neighbours have,
        differences first.
    suspects : LabelErrors or False, optional
        From `pivotal.find_label_errors`; looked for when None, at its defaults, and omitted when False.
    k : int, optional
        Neighbours of the model behind the curves; that of the values by default.
    title : str, optional
        Heading of the page.
    max_points : int, default=10_000
        Most points to show one by one. Of more, the page shows the suspects, both ends of the ranking and a random
        sample, and says so; sums, means and counts are those of all points.
    random_state : int, Generator or None, default=0
        For the sample and the random orders. The same input gives the same file.
    advice : {"python", "command line"}, default="python"
        Whether the page names arguments of this function or options of `pivotal value` where it says how to get more.

    Returns
    -------
    path : Path, or str for a URL
        The file written.

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left behind.

    Examples
    --------
    >>> import tempfile
    >>> from pivotal import Values
    >>> values = Values([0.25, -0.5, 0.75], n_queries=4, full_utility=0.9, empty_utility=0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(values, Path(folder) / "report.html", y=["cat", "dog", "cat"])
    ...     page.name, page.stat().st_size < 1_000_000
    ('report.html', True)
    """
    if not isinstance(values, Values):
        lazy = " Compute them first, with .compute()." if is_lazy(values) else ""
        raise TypeError(f"values must be a pivotal.Values; got {type(values).__name__}.{lazy}")
    target = check_file(path, "report.html")
    max_points = check_count(max_points, "max_points")
    words = as_advice(advice)
    rng = as_generator(random_state)
    inputs = read_inputs(
        values,
        X=X,
        y=y,
        X_test=X_test,
        y_test=y_test,
        owners=owners,
        text=text,
        images=images,
        image_root=image_root,
        coordinates=coordinates,
        columns=columns,
        k=k,
    )
    heading = as_text("What each training point is worth" if title is None else title)
    payload = _payload(inputs, heading, suspects, max_points, rng, words)
    write_text(target, assemble(heading, payload), path)
    if payload["not_shown"]:
        warnings.warn(payload["not_shown"], stacklevel=2)
    return Path(path) if isinstance(target, Path) else os.fspath(path)


def _payload(
    inputs: Inputs, title: str, given: Any, max_points: int, rng: np.random.Generator, advice: Mapping[str, str]
) -> dict[str, Any]:
    """Gather all that the page shows."""
    values = inputs.values
    seed = int(rng.integers(2**31))
    suspects, why_no_suspects = _suspects(inputs, given, advice["suspects"])
    if suspects is not None and len(values) > max_points:  # half of the places, at most
        suspects = suspects.first(max(1, max_points // (2 + 2 * suspects.nearest.shape[1])))
    curves, why_no_curves = _curves(inputs, seed, advice["curves"])
    shown, columns, neighbours = _points(inputs, suspects, max_points, rng, advice["more_points"])
    places = _map(inputs, shown, seed)
    without_neighbours = inputs.X is not None and inputs.metric is None and suspects is None
    parts = [
        ("Suspected label errors", suspects is None, why_no_suspects),
        ("Neighbours of the points", without_neighbours, f"{inputs.why_no_metric}."),
        ("A map of the points", places is None, advice["map"]),
        ("Removal and selection curves", curves is None, why_no_curves),
        ("Values by class", inputs.y is None, advice["classes"]),
        ("Values by owner", inputs.owners is None, advice["owners"]),
        ("What the points look like", inputs.text is None and inputs.images is None, advice["looks"]),
    ]
    payload: dict[str, Any] = {
        "title": title,
        "version": __version__,
        "sentence": describe(values),
        "n_train": len(values),
        "stats": _stats(values),
        "guarantees": guarantees(values),
        "settings": [
            [name, as_text(_plain(content), 400)]
            for name, content in values.settings.items()
            if content is not None and content is not False
        ],
        "histogram": _histogram(values),
        "certainty": certainty_chart(values),
        "points": columns,
        "map": places,
        "suspects": None if suspects is None else suspects.as_table(shown),
        "curves": curves,
        "groups": _groups(inputs),
        "left_out": [{"part": part, "needs": needs} for part, is_missing, needs in parts if is_missing],
        "not_shown": "",
    }
    _add_words_and_images(inputs, payload, shown, suspects, neighbours)
    return payload


def _points(
    inputs: Inputs, suspects: Suspects | None, max_points: int, rng: np.random.Generator, more: str
) -> tuple[IndexArray, dict[str, Any], dict[int, IndexArray]]:
    """Choose the points shown and pack what is known of them; return them, this, and their neighbours by point."""
    values = inputs.values
    first = _NO_POINTS if suspects is None else np.column_stack([suspects.points, suspects.nearest[suspects.points]])
    shown = choose_shown(values, first.ravel(), max_points, rng)
    columns = columns_of(values, shown, inputs.labels, inputs.responses, inputs.owners)
    columns |= certainty_columns(values, shown)
    columns["note"] = describe_sample(len(shown), len(values), more)
    whose, lists = _NO_POINTS, np.empty((0, 0), np.int64)
    if suspects is not None:
        whose = shown if len(shown) == len(values) else suspects.points
        lists = suspects.nearest[whose]
    elif inputs.metric is not None and 1 < len(values) == len(shown):
        whose, lists = shown, find_neighbours(inputs.X, inputs.metric, inputs.metric_params)
    if lists.shape[1]:
        columns |= number_neighbours(shown, whose, lists)
    return shown, columns, dict(zip(whose.tolist(), lists, strict=True))


def _stats(values: Values) -> list[list[str]]:
    stats = [["training points", grouped(len(values))], ["queries", grouped(values.n_queries)]]
    if values.full_utility is not None and values.empty_utility is not None:
        stats.append(["utility of the full set", number(values.full_utility)])
        stats.append(["utility of the empty set", number(values.empty_utility)])
    return [*stats, ["points with negative value", f"{number(100 * (values.values < 0).mean(), 3)} %"]]


def _histogram(values: Values) -> dict[str, Any]:
    worth = values.values
    above, below, nothing = (number(100 * part.mean(), 3) for part in (worth > 0, worth < 0, worth == 0))
    note = f"{above} % of the points have a positive value, {below} % a negative one"
    note += ". " if nothing == "0" else f", and {nothing} % are exactly 0. "
    note += f"The median is {number(float(np.median(worth)), 3)}, the mean {number(float(worth.mean()), 3)}."
    return {**histogram(worth), "note": note}


def _map(inputs: Inputs, shown: IndexArray, seed: int) -> dict[str, Any] | None:
    if inputs.coordinates is not None:
        places, axes, note = inputs.coordinates[shown], ["", ""], "Coordinates as given."
    elif inputs.X is None or inputs.metric == "precomputed":
        return None
    else:
        places, axes, note = project(inputs.X, inputs.values.values, shown, seed)
    note += " Blue is a positive value, orange a negative one. Drag to move; Ctrl and wheel, or the buttons, zoom."
    return {"places": pack(places, "f8"), "axes": axes, "note": note}


def _suspects(inputs: Inputs, given: Any, advice: str) -> tuple[Suspects | None, str]:
    """Return the suspects, or the reason why there are none."""
    if given is False:
        return None, "they were switched off with suspects=False."
    if given is not None:
        return read_suspects(given, len(inputs.values)), ""
    if inputs.X is None or inputs.y is None:
        return None, advice
    if inputs.many is None and len(pd.unique(inputs.y)) < 2:
        return None, "there is only one class." if inputs.responses is None else "all numbers are the same."
    if inputs.metric is None:
        return None, f"{inputs.why_no_metric}; pass suspects= from pivotal.find_label_errors."
    how = inputs.metric, inputs.metric_params
    task = "regression" if inputs.responses is not None else "classification" if inputs.many is None else "multilabel"
    targets = inputs.y if inputs.many is None else inputs.many
    return find_suspects(inputs.X, targets, task, inputs.values.ids, *how), ""


def _curves(inputs: Inputs, seed: int, advice: str) -> tuple[dict[str, Any] | None, str]:
    """Return the curves, or the reason why there are none."""
    if inputs.many is not None:
        return None, "they are of one label per point, and these have many."
    if inputs.X is None or inputs.y is None or inputs.X_test is None or inputs.y_test is None:
        return None, advice
    if inputs.metric is None:
        return None, f"{inputs.why_no_metric}."
    if inputs.metric == "precomputed":
        return None, "they need features, and X holds distances."
    if len(inputs.values) < _FEW:
        return None, f"they need at least {_FEW} training points."
    from pivotal.report._curve_charts import draw_curves

    return draw_curves(inputs, seed), ""


def _groups(inputs: Inputs) -> list[dict[str, Any]]:
    numbers = inputs.values.values
    tables: list[dict[str, Any]] = []

    def add(title: str, name: str, table: dict[str, Any], note: str = "") -> None:
        if len(table["name"]) < table["total"]:
            note += f" Of {grouped(table['total'])}, those with the highest and the lowest sums are listed."
        tables.append({"title": title, "name": name, "table": table, "note": note.strip()})

    if inputs.labels is not None:
        add("Classes", "Class", by_group(numbers, inputs.labels))
    if inputs.responses is not None:
        note = "Ranges of the response with about as many points each."
        add("Responses", "Response", by_response(numbers, inputs.responses), note)
    if inputs.owners is not None:
        note = "Sums of the values of single points, not the value of an owner that joins with all points at once."
        add("Owners", "Owner", by_group(numbers, inputs.owners), note)
    return tables


def _add_words_and_images(
    inputs: Inputs,
    payload: dict[str, Any],
    shown: IndexArray,
    suspects: Suspects | None,
    neighbours: dict[int, IndexArray],
) -> None:
    """Add texts and thumbnails, as many as there is room for."""
    columns = payload["points"]
    room = int(_BYTES * max(1.0, len(shown) / 10_000)) - len(assemble(payload["title"], payload).encode())
    if inputs.text is not None:
        share = room // 2 if inputs.images is not None or inputs.columns is not None else room
        columns["text"] = _clip([as_text(words, _TEXT) for words in inputs.text[shown]], share)
        room -= len(as_json(columns["text"]).encode())
    order = _by_interest(inputs.values, suspects)
    if inputs.columns is not None:
        half = room // 2 if inputs.images is not None else room
        columns["cells"] = pack_columns(inputs.columns, neighbours, shown, order, half)
        room -= len(as_json(columns["cells"]).encode())
    if inputs.images is not None:
        places = {int(point): place for place, point in enumerate(shown)}
        made = inputs.images.thumbnails((point for point in order if point in places), room)
        columns["images"] = {str(places[point]): uri for point, uri in made.uris.items()}
        columns["sharp"] = inputs.images.sharp
        payload["not_shown"] = describe_missing(made.left_out)
        if payload["not_shown"]:
            columns["note"] += f" {payload['not_shown']}"
        if not made.complete:
            columns["note"] += f" There was room for the images of {grouped(len(made.uris))} of them."


def _clip(texts: list[str], room: int) -> list[str]:
    """Shorten the longest texts until all fit."""
    longest = _TEXT
    while longest > 8 and len(as_json(texts).encode()) > room:
        longest = longest * 3 // 4
        texts = [as_text(words, longest) for words in texts]
    return texts


def _by_interest(values: Values, suspects: Suspects | None) -> list[int]:
    """Return training indices: suspects, their neighbours, then from both ends of the ranking inwards."""
    order = values.order()
    ends = np.column_stack([order, order[::-1]]).ravel()
    if suspects is not None:
        ends = np.concatenate([suspects.points, suspects.nearest[suspects.points].ravel(), ends])
    return list(pd.unique(ends))


def _plain(content: Any) -> Any:
    """Return a setting as people write it."""
    if isinstance(content, tuple):
        return ", ".join(as_text(_plain(item)) for item in content)
    return dict(content) if hasattr(content, "keys") else content
