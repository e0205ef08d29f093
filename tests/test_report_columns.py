"""What a row has in each column, beside its neighbours: packed, measured, and shown from the command line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pivotal
from pivotal.cli import main
from pivotal.report import write_report
from pivotal.report._own_columns import pack_columns, read_columns

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


def test_numbers_are_numbers_and_gaps_are_gaps() -> None:
    columns = read_columns(FRAME, 60)
    assert columns is not None
    packed = pack_columns(columns, np.arange(60), range(60), 10**6)
    assert packed is not None
    assert packed["names"] == list(FRAME)
    assert packed["stds"][:2] == pytest.approx([FRAME.height.std(ddof=0), FRAME.weight.astype(float).std(ddof=0)])
    assert packed["stds"][2:] == [None, None, None]
    assert packed["rows"]["2"][2] is None
    assert packed["rows"]["0"][1] == float(FRAME.weight[0])


def test_the_most_interesting_come_first_where_there_is_little_room() -> None:
    columns = read_columns({"x": np.arange(60)}, 60)
    assert columns is not None
    packed = pack_columns(columns, np.arange(0, 60, 2), [8, 3, 4, 2], 45)
    assert packed is not None
    assert list(packed["rows"]) == ["4", "2"]  # places among those shown; 3 is not shown
    assert pack_columns(columns, np.arange(60), range(60), 5) is None
    wide = read_columns({f"x{n}": np.arange(60) for n in range(70)}, 60)
    assert wide is not None
    few = pack_columns(wide, np.arange(60), [0], 10**6)
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
    assert told["cells"]["rows"]["5"][0] == pytest.approx(FRAME.height[5], rel=1e-5)
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
