"""Which points the page shows, and all that it tells of each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.report._words import grouped
from pivotal.report.encode import as_text, pack, pack_whole
from pivotal.results.values import Values

_NAME: Final = 200  # characters of an id, a label, an owner


def choose_shown(values: Values, first: IndexArray, max_points: int, rng: np.random.Generator) -> IndexArray:
    """Choose at most `max_points` training points, ascending: all, or the first, both ends, and a random sample.

    `first` are those that must be there: suspects with their neighbours.
    """
    if len(values) <= max_points:
        return np.arange(len(values))
    order = values.order()
    end = max_points // 8
    wanted = np.concatenate([first, order[:end], order[len(order) - end :], rng.permutation(len(values))])
    return np.sort(pd.unique(wanted)[:max_points])


def describe_sample(n_shown: int, n_train: int, more: str) -> str:
    """Say whether all points are shown and, if not, which, and how to see more."""
    if n_shown == n_train:
        return "Every point. A click or Enter opens a row; arrow keys move between rows."
    return (
        f"{grouped(n_shown)} of {grouped(n_train)} points are shown here, on the map and in the download: suspected "
        "label errors with their neighbours, the two ends of the ranking, and a random sample of the rest. Everything "
        f"else on this page counts all points. {more}"
    )


def columns_of(
    values: Values, shown: IndexArray, labels: AnyArray | None, responses: FloatArray | None, owners: AnyArray | None
) -> dict[str, Any]:
    """Pack what is known of the points shown, all but texts and images."""
    named = not np.array_equal(values.ids, np.arange(len(values)))
    columns: dict[str, Any] = {
        "value": pack(values.values[shown], "f8"),
        "index": pack_whole(shown),
        "rank": pack_whole(values.rank()[shown]),
        "ids": [as_text(name, _NAME) for name in values.ids[shown]] if named else None,
    }
    if values.standard_error is not None:
        columns["error"] = pack(values.standard_error[shown], "f8")
    if responses is not None:
        columns["response"] = pack(responses[shown], "f8")
    for name, content in (("label", labels), ("owner", owners)):
        if content is not None:
            codes, names = pd.factorize(content[shown])
            columns[name] = pack_whole(codes)
            columns[f"{name}s"] = [as_text(item, _NAME) for item in names]
    return columns


def number_neighbours(shown: IndexArray, owners_of_lists: IndexArray, lists: IndexArray) -> dict[str, Any]:
    """Pack lists of neighbours of shape (n_lists, width), nearest first, -1 where there is no more.

    All are training indices, the ascending points shown among them; in `neighbours`, with a row per point shown, places
    among these stand for them, and `none` for none.
    """
    none = len(shown)
    places = np.full(int(max(shown[-1], lists.max(initial=0), owners_of_lists.max(initial=0))) + 2, none)
    places[shown] = np.arange(none)  # the last entry, which -1 leads to, stays none
    table = np.full((none, lists.shape[1]), none)
    at = places[owners_of_lists]
    table[at[at < none]] = places[lists[at < none]]
    return {"neighbours": pack_whole(table), "width": lists.shape[1], "none": none}
