"""The smallest selection that will do."""

from __future__ import annotations

from typing import Final

from pivotal.analysis.selection._expectation import Estimation, Expectation

_SHARES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
_HALVINGS: Final = 3


def smallest_keeping(estimation: Estimation, keep: float) -> Expectation:
    """Return what to expect of the smallest selection that keeps a share of the accuracy of all rows.

    Sizes from 1 to 70 % of the rows are tried, then sizes between the first that will do and the one before it. If
    none will do, all rows that may be selected are.

    Parameters
    ----------
    estimation : Estimation
        How selections are judged.
    keep : float
        Share of the accuracy.
    """
    most, n_classes = estimation.wishes.n, estimation.data.n_classes
    minimum = max(int(estimation.wishes.include.sum()), int(estimation.wishes.cheapest), min(n_classes, most))
    sizes = sorted({min(most, max(minimum, round(share * most))) for share in _SHARES})
    found = estimation.of_sizes(sizes)
    first = next((i for i, expected in enumerate(found) if _keeps(expected, keep)), None)
    if first is None:
        below, best = sizes[-1], estimation.of_sizes([most])[0]
    else:
        below, best = sizes[first - 1] if first else 0, found[first]
    for _ in range(_HALVINGS):
        middle = (below + best.size) // 2
        if first == 0 or middle <= below or middle >= best.size or best.size - below < 0.1 * best.size:
            break
        expected = estimation.of_sizes([middle])[0]
        if _keeps(expected, keep):
            best = expected
        else:
            below = middle
    return best


def _keeps(expected: Expectation, keep: float) -> bool:
    return expected.accuracy >= keep * expected.everything
