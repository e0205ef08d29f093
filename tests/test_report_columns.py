"""What a row has in each column, beside its neighbours: packed, measured, and shown from the command line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pivotal
from pivotal.cli import main
from pivotal.report import write_report
from pivotal.report._own_columns import pack_columns, read_columns
from pivotal.report.row_cells import RowCells

CHROMIUM = shutil.which("chromium")
RNG = np.random.default_rng(0)
KINDS = RNG.integers(0, 2, 60)
FRAME = pd.DataFrame(
    {
        "height": RNG.normal(size=60) + 6 * KINDS,
        "weight": [f"{number:.2f}" for number in RNG.normal(size=60)],
        "city": ["Rome", "Oslo", ""] * 20,
        "note": [f"words of row {n}" for n in range(60)],
        "animal": np.where(KINDS, "dog", "cat"),
    }
)
WRONG = 7
FRAME.loc[WRONG, "animal"] = "cat" if KINDS[WRONG] else "dog"


def data_in(page: Path) -> dict[str, Any]:
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    return told


def test_differences_are_those_of_a_row_from_the_median_of_its_neighbours() -> None:
    columns = read_columns(FRAME, 60)
    assert columns is not None
    near = {row: np.array([(row + step) % 60 for step in (1, 2, 3)]) for row in range(50)}
    packed = pack_columns(columns, near, np.arange(60), range(60), 10**6)
    assert packed is not None
    assert packed["names"] == list(FRAME)
    assert packed["rows"]["2"][2] == ""
    assert packed["rows"]["0"][1] == FRAME.weight[0]
    assert set(packed["differs"]) == {str(row) for row in range(50)}
    weights = FRAME.weight.astype(float)
    for row in range(50):
        differs = packed["differs"][str(row)]
        for place, numbers in enumerate((FRAME.height, weights)):
            middle = np.median(numbers[near[row]])
            assert differs[place] == pytest.approx(abs(numbers[row] - middle) / numbers.std(ddof=0), abs=1e-3)
        for place, name in ((2, "city"), (3, "note"), (4, "animal")):
            others = [cell for cell in FRAME[name][near[row]] if cell != FRAME[name][row]]
            most = max((others.count(cell) for cell in others), default=0)
            assert differs[place] == pytest.approx(1.5 * most / len(near[row]), abs=1e-3)


def test_the_review_page_and_the_report_measure_alike() -> None:
    frame = FRAME.assign(gaps=np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60.0)), sure=KINDS == 1)
    columns = read_columns(frame, 60)
    assert columns is not None
    near = {row: np.array([(7 * row + step) % 60 for step in (1, 5, 9, 30)]) for row in range(60)}
    packed = pack_columns(columns, near, np.arange(60), range(60), 10**6)
    assert packed is not None
    page = RowCells(pa.Table.from_pandas(frame, preserve_index=False))
    for row in range(60):
        cells = {cell["name"]: cell for cell in page.compare(row, near[row])}
        assert [cells[name]["differs"] for name in packed["names"]] == packed["differs"][str(row)]
        assert [cells[name]["cell"] for name in packed["names"]] == packed["rows"][str(row)]
        assert sorted((cell["differs"] for cell in cells.values()), reverse=True) == [
            cell["differs"] for cell in cells.values()
        ]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_gaps_among_neighbours_are_passed_over(width: int) -> None:
    rng = np.random.default_rng(width)
    x = np.where(rng.random(200) < 0.4, np.nan, rng.normal(size=200))
    near = rng.integers(0, 200, (200, width))
    found = RowCells({"x": x}).differences(np.arange(200), near)[:, 0]
    for row in range(200):
        there = x[near[row]][~np.isnan(x[near[row]])]
        far = 0.0 if not len(there) else 1.5 if np.isnan(x[row]) else abs(x[row] - np.median(there)) / np.nanstd(x)
        assert found[row] == pytest.approx(far, abs=1e-3)


def test_words_are_found_in_texts_and_digits_in_numbers() -> None:
    cells = RowCells(pa.table({"a": [1.5, 2.0, float("nan")], "b": ["X1", "é", None], "c": [True, False, True]}))
    found = {words: cells.find(words).tolist() for words in ("1", ".5", "nan", "tru", "x", "É")}
    assert found == {
        "1": [True, False, False], ".5": [True, False, False], "nan": [False, False, True],
        "tru": [True, False, True], "x": [True, False, False], "É": [False, True, False],
    }  # fmt: skip


def test_numbers_with_a_decimal_comma_are_numbers() -> None:
    cells = RowCells({"x": np.array(["1,5", "2,5", "", "40,0"], dtype=object)}, ",")
    assert cells.differences(np.array([3, 2]), np.array([[0, 1], [0, 1]]))[:, 0] == pytest.approx(
        [(40.0 - 2.0) / np.std([1.5, 2.5, 40.0]), 1.5], abs=1e-3
    )
    assert RowCells({"x": np.array(["1,5", "2,5"], dtype=object)}).differences(np.array([0]), np.array([[1]])) == 1.5


def test_the_most_interesting_come_first_where_there_is_little_room() -> None:
    columns = read_columns({"x": np.arange(60)}, 60)
    assert columns is not None
    packed = pack_columns(columns, {}, np.arange(0, 60, 2), [8, 3, 4, 2], 80)
    assert packed is not None
    assert list(packed["rows"]) == ["4", "2"]  # places among those shown; 3 is not shown
    assert pack_columns(columns, {}, np.arange(60), range(60), 5) is None
    wide = read_columns({f"x{n}": np.arange(60) for n in range(70)}, 60)
    assert wide is not None
    few = pack_columns(wide, {}, np.arange(60), [0], 10**6)
    assert few is not None
    assert (len(few["names"]), few["left_out"]) == (60, 10)


def test_columns_that_do_not_fit_are_turned_down(tmp_path: Path) -> None:
    values = pivotal.Values([0.1, 0.2], n_queries=1)
    with pytest.raises(ValueError, match="a row per training point, 2; 'x' has 3"):
        write_report(values, tmp_path / "r.html", columns={"x": [1, 2, 3]})
    with pytest.raises(TypeError, match="columns must be a data frame or a mapping"):
        write_report(values, tmp_path / "r.html", columns=[1, 2])


def test_the_command_line_hands_on_the_columns_of_the_table(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "r.html"
    assert main(["value", str(tmp_path / "t.csv"), "--label", "animal", "--report", str(page), "--quiet"]) == 0
    told = data_in(page)["points"]
    assert told["cells"]["names"] == ["height", "weight", "city"]
    assert len(told["cells"]["rows"]) == 60
    assert float(told["cells"]["rows"]["5"][0]) == pytest.approx(FRAME.height[5], rel=1e-5)
    assert told["text"][5] == "words of row 5"
    assert main(["value", str(tmp_path / "t.csv"), "--label", "animal", "--split", "0.5", "--report", str(page)]) == 0
    held = data_in(page)["points"]
    assert len(held["cells"]["rows"]) == 30  # the rows that are valued, not those held out


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_differences_come_first_on_the_page(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    X = np.column_stack([FRAME.height, FRAME.weight.astype(float)])
    values = pivotal.value(X, FRAME.animal, k=5, utility="soft")
    columns = {"same": ["all"] * 60, "height": FRAME.height, "odd": np.arange(60) == WRONG}
    notes = FRAME.note.tolist()
    page = write_report(values, tmp_path / "r.html", X=X, y=FRAME.animal, columns=columns, text=notes)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page()
        failures: list[str] = []
        shown.on("pageerror", lambda error: failures.append(str(error)))
        shown.goto(Path(page).as_uri())
        shown.locator("#suspects tbody tr").first.click()
        table = shown.locator("#suspects .detail .compared").first
        names = table.locator("tbody th").all_inner_texts()
        assert names[:3] == ["Label", "Text", "odd"]
        assert names[-1] == "same"
        cells = table.locator("tbody tr").nth(2).locator("td").all_inner_texts()
        assert cells == ["True", *["False"] * 5]
        assert table.locator("tbody tr").nth(1).locator("td").first.inner_text() == f"words of row {WRONG}"
        assert failures == []
        browser.close()
