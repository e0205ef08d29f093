"""Conventions of others: numbers that their programs print, reproduced by enumeration and by the engine.

The setting is six training points at x = 1, 2, ..., 6, one query at x = 0 of class 1, and k = 3. The expected values,
rounded to six digits, come from running the packages named or, for rows without a name, from the definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from pivotal.core.games import Convention, Game, Hard, Plurality, Soft, as_game, conventions
from pivotal.core.semivalues import as_semivalue
from pivotal.core.verify import verify
from pivotal.valuation.from_neighbors import value_from_neighbors
from pivotal.valuation.value import value

POSITIONS = np.arange(1.0, 7.0)
TWO_CLASSES = [1, 0, 0, 1, 1, 0]
THREE_CLASSES = [1, 0, 2, 1, 2, 0]
K = 3
HALF_A_UNIT = 5.1e-7  # of the sixth digit

# What `reference` calls each game.
REFERENCE_NAMES: dict[Game, tuple[str, dict[str, Any]]] = {
    Hard(): ("hard", {}),
    Hard(tie="win"): ("hard", {"tie": "win"}),
    Hard(other_classes="ignore", scale="sum"): ("hard", {"other_classes": "ignore", "scale": "sum"}),
    Hard(tie="win", other_classes="ignore"): ("hard", {"tie": "win", "other_classes": "ignore"}),
    Plurality(): ("plurality", {}),
    Soft(): ("soft", {}),
    Soft(divide_by="k"): ("soft-k", {}),
}
REFERENCE_SEMIVALUES = {
    "banzhaf": ("banzhaf",),
    "shapley": ("shapley",),
    "loo": ("loo",),
    "beta(4,1)": ("beta", 4, 1),
}


def shapiq_votes(bits: int) -> list[int]:
    votes: list[int] = np.round(POSITIONS.min() / POSITIONS * 2**bits).astype(int).tolist()
    return votes


def wang_votes(bits: int, temperature: float) -> list[int]:
    loudness = np.exp(-POSITIONS / POSITIONS.max() / temperature)
    votes: list[int] = np.round(loudness / loudness.max() * (2**bits - 1)).astype(int).tolist()
    return votes


@dataclass(frozen=True)
class Row:
    """One row of the comparison."""

    labels: list[int]
    utility: str | Game
    semivalue: str
    expected: list[float]
    votes: list[int] | None = field(default=None)

    @property
    def game(self) -> Game:
        return as_game(self.utility)


A, B = TWO_CLASSES, THREE_CLASSES
THIRD = 1 / 3
ROWS = {
    # pyDVL, OpenDataVal, dattri and shapiq's KNNExplainer
    "A-jia-shapley": Row(A, "jia2019", "shapley", [0.2, -0.133333, -0.133333, 0.2, 0.2, 0]),
    "B-jia-shapley": Row(B, "jia2019", "shapley", [0.25, -0.083333, -0.083333, 0.25, 0, 0]),
    "A-jia-banzhaf": Row(A, "jia2019", "banzhaf", [0.229167, -0.104167, -0.104167, 0.229167, 0.229167, 0]),
    # Zhang's program for unweighted soft labels
    "A-wang2023-shapley": Row(A, "wang2023", "shapley", [0.2, -0.3, -0.3, 0.2, 0.2, -0.166667]),
    "B-wang2023-shapley": Row(
        B, "wang2023", "shapley", [0.305556, -0.194444, -0.194444, 0.305556, -0.111111, -0.111111]
    ),
    "A-wang2023-banzhaf": Row(A, "wang2023", "banzhaf", [0.1875, -0.229167, -0.229167, 0.1875, 0.1875, -0.125]),
    # Wang's tables with a uniform kernel, on two classes the same game as Zhang's
    "A-hard-shapley": Row(A, "zhang2026", "shapley", [THIRD, -0.45, -0.45, THIRD, THIRD, -0.1]),
    "A-wang2024-shapley": Row(A, "wang2024", "shapley", [THIRD, -0.45, -0.45, THIRD, THIRD, -0.1]),
    "B-wang2024-shapley": Row(B, "wang2024", "shapley", [4 * THIRD, -0.5 * THIRD, -0.5 * THIRD] * 2),
    "A-wang2024-rbf": Row(
        A,
        "wang2024",
        "shapley",
        [0.483333, -0.516667, -0.433333, 0.233333, 0.233333, 0],
        wang_votes(bits=7, temperature=0.5),
    ),
    # shapiq's WeightedKNNExplainer
    "A-shapiq-3-bits": Row(
        A, "shapiq", "shapley", [0.766667, -0.15, -0.15, 0.266667, 0.266667, 0], shapiq_votes(bits=3)
    ),
    "A-shapiq-7-bits": Row(
        A, "shapiq", "shapley", [0.816667, -0.183333, -0.1, 0.233333, 0.233333, 0], shapiq_votes(bits=7)
    ),
    # By definition
    "A-hard-banzhaf": Row(A, "zhang2026", "banzhaf", [0.34375, -0.34375, -0.34375, 0.34375, 0.34375, -0.09375]),
    "A-hard-loo": Row(A, "zhang2026", "loo", [0, -1, -1, 0, 0, 0]),
    "A-hard-beta": Row(A, "zhang2026", "beta(4,1)", [0.571429, -0.22381, -0.22381, 0.571429, 0.571429, -0.166667]),
    "A-hard-tie-wins-banzhaf": Row(A, Hard(tie="win"), "banzhaf", [0.25, -0.4375, -0.4375, 0.25, 0.25, -0.1875]),
    "B-plurality-banzhaf": Row(B, "plurality", "banzhaf", [0.375, -0.1875, -0.1875, 0.375, -0.0625, -0.0625]),
    "B-hard-banzhaf": Row(B, "zhang2026", "banzhaf", [0.375, -0.28125, -0.21875, 0.375, -0.09375, -0.09375]),
    "B-hard-shapley": Row(B, "zhang2026", "shapley", [0.408333, -0.366667, -0.316667, 0.408333, -0.066667, -0.066667]),
}

every_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())


@every_row
def test_enumeration_reproduces_the_published_numbers(row: Row) -> None:
    name, options = REFERENCE_NAMES[row.game]
    values = reference.semivalues(
        row.labels, 1, K, name, REFERENCE_SEMIVALUES[row.semivalue], votes=row.votes, **options
    )
    assert_allclose([float(value) for value in values], row.expected, rtol=0, atol=HALF_A_UNIT)


@every_row
def test_verify_reproduces_the_published_numbers(row: Row) -> None:
    report = verify(row.labels, 1, k=K, utility=row.utility, semivalue=row.semivalue, votes=row.votes)
    assert_allclose(report.exact, row.expected, rtol=0, atol=HALF_A_UNIT)
    assert report.ok


@every_row
def test_the_engine_reproduces_the_published_numbers(row: Row) -> None:
    values = value_from_neighbors(
        [[0, 1, 2, 3, 4, 5]],
        row.labels,
        [1],
        k=K,
        utility=row.utility,
        semivalue=row.semivalue,
        votes=None if row.votes is None else [row.votes],
    )
    assert_allclose(values.values, row.expected, rtol=0, atol=HALF_A_UNIT)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.votes is None])
def test_the_engine_reproduces_the_published_numbers_from_positions(name: str) -> None:
    row = ROWS[name]
    values = value(
        POSITIONS[:, np.newaxis], row.labels, [[0.0]], [1], k=K, utility=row.utility, semivalue=row.semivalue
    )
    assert_allclose(values.values, row.expected, rtol=0, atol=HALF_A_UNIT)


def test_votes_are_those_of_the_programs() -> None:
    assert shapiq_votes(bits=3) == [8, 4, 3, 2, 2, 1]
    assert shapiq_votes(bits=7) == [128, 64, 43, 32, 26, 21]
    assert wang_votes(bits=7, temperature=0.5) == [127, 91, 65, 47, 33, 24]


def test_every_convention_is_played_by_its_name_and_by_its_entry() -> None:
    assert list(conventions) == [
        "zhang2026",
        "jia2019",
        "wang2023",
        "wang2024",
        "shapiq",
        "pydvl",
        "opendataval",
        "dattri",
    ]
    for name, entry in conventions.items():
        assert entry.name == name
        assert as_game(name) == as_game(entry) == entry.game
        as_semivalue(entry.semivalue)
        assert (entry.bits is None) == (entry.weights == "unweighted")
        assert entry.game in REFERENCE_NAMES


def test_the_default_is_the_convention_of_zhang() -> None:
    assert conventions["zhang2026"].game == as_game("hard")
    assert as_semivalue(conventions["zhang2026"].semivalue) == as_semivalue("banzhaf")


def test_those_after_jia_play_one_game() -> None:
    same = {conventions[name].game for name in ("jia2019", "pydvl", "opendataval", "dattri")}
    assert same == {Soft(divide_by="k")}


def test_conventions_are_read_only_and_describe_themselves() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        conventions["mine"] = conventions["shapiq"]  # type: ignore[index]
    text = str(conventions["shapiq"])
    assert text.startswith(
        "shapiq: Hard(tie='win', other_classes='ignore', scale='mean'), shapley, mean over queries\n"
    )
    assert "round(w * 2^bits), 3 bits" in text
    assert "votes: unweighted\n" in str(conventions["jia2019"])
    assert isinstance(conventions["jia2019"], Convention)
