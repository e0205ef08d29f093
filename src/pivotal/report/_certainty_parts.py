"""How sure the values are: intervals and signs by rank, and what is told of each point shown."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pivotal.core.types import IndexArray
from pivotal.report._words import count, grouped
from pivotal.report.encode import pack, pack_whole
from pivotal.results.values import Values

_LEVEL: Final = 0.95
_MOST: Final = 400  # points of the chart


def certainty_chart(values: Values) -> dict[str, Any] | None:
    """Return intervals by rank, with a sentence on signs; None where nothing is known of the spread over queries."""
    if values.query_standard_error is None:
        return None
    interval, signs = values.interval(_LEVEL, given_neighbors=True), values.sign()
    order = values.order()
    places = np.unique(np.linspace(0, len(order) - 1, min(_MOST, len(order))).round().astype(np.int64))
    rows = order[places]
    note = (
        f"{signs} Bars are intervals that hold the true value in {_LEVEL:.0%} of cases; they cover {interval.covers}."
    )
    if len(rows) < len(values):
        note += f" {count(len(rows), 'point')} of {grouped(len(values))} are drawn, evenly by rank; all are counted."
    return {
        "note": note,
        "rank": (places + 1).tolist(),
        "value": values.values[rows].tolist(),
        "low": interval.low[rows].tolist(),
        "high": interval.high[rows].tolist(),
        "sign": signs.signs[rows].tolist(),
        "counts": {"up": len(signs.helpful), "quiet": len(signs.unknown), "down": len(signs.harmful)},
    }


def certainty_columns(values: Values, shown: IndexArray) -> dict[str, Any]:
    """Pack the intervals of values and ranks of the points shown, and whether their sign is known."""
    if values.query_standard_error is None:
        return {}
    interval = values.interval(_LEVEL, given_neighbors=True)
    best, worst = values.rank_interval(_LEVEL, given_neighbors=True)
    return {
        "half_width": pack(0.5 * (interval.high - interval.low)[shown], "f8"),
        "best": pack_whole(best[shown]),
        "worst": pack_whole(worst[shown]),
        "sign": pack_whole(values.sign().signs[shown].astype(np.int64) + 1),
    }
