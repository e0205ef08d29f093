"""The report in a real browser: it opens without an error, and everything on it works by mouse and by keyboard."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import pivotal
from pivotal import Values
from pivotal.report import compact_html, write_report

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; Debian's package is chromium"),
]

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
LONG = "a-name-without-a-single-space-" * 8
DIGITS = load_digits()
X, LABELS = DIGITS.data[:260], DIGITS.target[:260].copy()
WRONG = [11, 57, 140]
LABELS[WRONG] = (LABELS[WRONG] + 5) % 10


@dataclass(frozen=True)
class Report:
    """A file and the values in it."""

    values: Values
    path: Path


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """All parts: images, owners, suspects, curves."""
    values = pivotal.value(X, LABELS, DIGITS.data[300:360], DIGITS.target[300:360], k=5, utility="soft")
    path = write_report(
        values,
        tmp_path_factory.mktemp("digits") / "digits.html",
        X=X,
        y=LABELS,
        X_test=DIGITS.data[300:360],
        y_test=DIGITS.target[300:360],
        images=DIGITS.images[:260],
        owners=np.where(np.arange(260) % 3, "ann", "bob"),
    )
    return Report(values, path)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Names that are markup, names without a space, a hundred classes."""
    names = [f"{EVIL} {i}" if i % 2 else f"{LONG}{i}" for i in range(120)]
    labels = [EVIL, LONG, *(f"Klasse {i} ü 日本" for i in range(100)), *["=HYPERLINK(1)"] * 18]
    numbers = np.random.default_rng(0).normal(size=120)
    values = Values(
        numbers, n_queries=3, ids=names, standard_error=np.abs(numbers), settings={"utility": EVIL, "note": LONG}
    )
    path = write_report(
        values,
        tmp_path_factory.mktemp("hostile") / "hostile.html",
        y=labels,
        text=[EVIL, *[LONG] * 119],
        owners=[EVIL] * 60 + [LONG] * 60,
        coordinates=np.random.default_rng(1).normal(size=(120, 2)),
        title=f"{EVIL} {LONG}",
    )
    return Report(values, path)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One point and nothing else."""
    values = Values([0.0], n_queries=1)
    return Report(values, write_report(values, tmp_path_factory.mktemp("small") / "small.html"))


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> Report:
    responses = X[:, 10] / 7
    values = pivotal.value(X[:80], responses[:80], X[80:120], responses[80:120], k=3, utility="regression")
    path = write_report(
        values,
        tmp_path_factory.mktemp("regression") / "regression.html",
        X=X[:80],
        y=responses[:80],
        X_test=X[80:120],
        y_test=responses[80:120],
    )
    return Report(values, path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # Containers often run tests as root, for whom Chromium's sandbox does not start.
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


class Opened:
    """Opens pages and remembers whatever they complain about or ask the network for."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def __call__(self, report: Report | Path, width: int = 1160, scheme: str = "light") -> Any:
        path = report if isinstance(report, Path) else report.path
        context = self._browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._note(request.url))
        page.goto(path.as_uri())
        return page

    def _note(self, address: str) -> None:
        if not address.startswith(("file:", "data:", "blob:")):
            self.complaints.append(address)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    pages = Opened(browser)
    yield pages
    pages.close()
    assert pages.complaints == []


def cells(page: Any, table: str, column: int) -> list[str]:
    return page.eval_on_selector_all(
        f"{table} tbody tr > td:nth-child({column})", "cells => cells.map(c => c.innerText)"
    )


def read(number: str) -> float:
    return float(number.replace("−", "-").replace("\u202f", ""))


# ------------------------------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize("name", ["digits", "hostile", "small", "regression"])
def test_it_opens_without_a_complaint_and_nothing_sticks_out(
    name: str, opened: Opened, request: pytest.FixtureRequest
) -> None:
    page = opened(request.getfixturevalue(name), 400, "dark")
    assert page.evaluate("document.querySelectorAll('#histogram svg').length") == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for table in ("#suspect-table", "#point-table"):
        for row in page.locator(f"{table} tbody tr[tabindex]").all()[:1]:
            row.click()
    for width, scheme in [(400, "light"), (400, "dark"), (700, "dark"), (1160, "light")]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"html[data-theme={scheme}]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, scheme)


def test_the_theme_follows_the_system_and_the_button(digits: Report, opened: Opened) -> None:
    page = opened(digits, scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.body).color"
    before = page.evaluate(f"[{paper}, {ink}]")
    assert page.inner_text("#theme") == "Light mode"
    page.click("#theme")
    after = page.evaluate(f"[{paper}, {ink}]")
    assert page.inner_text("#theme") == "Dark mode"
    assert after[0] == "rgb(255, 255, 255)"
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_every_part_is_there_or_told(digits: Report, small: Report, opened: Opened) -> None:
    page = opened(digits)
    sections = page.eval_on_selector_all("main > section:not([hidden])", "all => all.map(one => one.id)")
    assert sections == ["overview", "distribution", "certainty", "map", "curves", "suspects", "groups", "points"]
    signs = digits.values.sign()
    assert page.inner_text("#certainty-note").startswith(str(signs)[:40])
    keys = page.eval_on_selector_all("#certainty-key span", "all => all.map(one => one.innerText)")
    assert keys[1] == f"of {len(signs.unknown)} the sign cannot be told"
    assert page.locator("#interval-chart svg path").count() >= len(digits.values)
    assert page.locator("#curve-charts svg").count() == 2
    assert page.locator("#scatter canvas").count() >= 1
    bare = opened(small)
    shown = bare.eval_on_selector_all("main > section:not([hidden])", "all => all.map(one => one.id)")
    assert shown == ["overview", "distribution", "points", "left-out"]
    assert bare.locator("#left-out-list li").count() == 6


# ------------------------------------------------------------------------------------------------------------- tables


def test_the_search_box_filters(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    page.fill("#search", "bob")
    assert page.inner_text("#point-table .pager span") == f"1–25 of {int((np.arange(260) % 3 == 0).sum())}"
    page.fill("#search", "no such thing")
    assert page.inner_text("#point-table .pager span") == "Nothing found"
    assert page.locator("#point-table tbody tr").count() == 0
    page.fill("#search", "")
    assert page.inner_text("#point-table .pager span") == "1–25 of 260"


def test_headers_sort(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    ranked = digits.values.values[digits.values.order()]
    assert [read(text) for text in cells(page, "#point-table", 2)] == pytest.approx(ranked[:25], abs=1e-5)
    header = page.locator("#point-table th", has_text="Value")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert [read(text) for text in cells(page, "#point-table", 2)] == pytest.approx(ranked[::-1][:25], abs=1e-5)
    page.locator("#point-table th", has_text="Point").locator("button").click()
    assert cells(page, "#point-table", 4)[:12] == [str(i) for i in range(12)]


def test_pages_turn(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    back, on = page.locator("#point-table .pager button").all()
    assert back.is_disabled()
    for _ in range(10):
        on.click()
    assert page.inner_text("#point-table .pager span") == "251–260 of 260"
    assert on.is_disabled()
    back.click()
    assert page.inner_text("#point-table .pager span") == "226–250 of 260"


def test_a_click_on_a_suspect_shows_its_neighbours(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    assert {int(text) for text in cells(page, "#suspect-table", 4)} >= set(WRONG)
    page.locator("#suspect-table tbody tr", has_text=f"Row {WRONG[0]} is labelled").click()
    gaps = np.linalg.norm(X - X[WRONG[0]], axis=1)
    gaps[WRONG[0]] = np.inf
    near = np.argsort(gaps, kind="stable")[:5]
    listed = page.eval_on_selector_all(
        "#suspect-table .neighbours li",
        "items => items.map(item => [...item.children].map(part => part.innerText))",
    )
    assert [(int(name), int(label)) for _, name, label, _ in listed] == [(i, LABELS[i]) for i in near]
    assert page.locator("#suspect-table .neighbours img").count() == 5
    # The map tells of the same point.
    assert page.get_attribute("#chosen .point", "data-point") == str(WRONG[0])
    page.locator("#suspect-table tbody tr[aria-expanded=true]").click()
    assert page.locator("#suspect-table .neighbours").count() == 0


def test_the_download_has_what_the_search_leaves(digits: Report, opened: Opened, tmp_path: Path) -> None:
    page = opened(digits)
    page.fill("#search", "bob")
    owned = np.flatnonzero(np.arange(260) % 3 == 0)
    assert 0 < len(owned) < len(LABELS)
    told = f"Download CSV ({len(owned)} points of {len(LABELS)})"
    assert page.inner_text("#download").replace("\u202f", "") == told
    with page.expect_download() as waiting:
        page.click("#download")
    waiting.value.save_as(tmp_path / "found.csv")
    assert pd.read_csv(tmp_path / "found.csv")["id"].tolist() == owned.tolist()
    page.fill("#search", "")
    assert page.inner_text("#download") == "Download CSV"


def test_the_download_has_every_row(digits: Report, opened: Opened, tmp_path: Path) -> None:
    page = opened(digits)
    with page.expect_download() as waiting:
        page.click("#download")
    waiting.value.save_as(tmp_path / "values.csv")
    table = pd.read_csv(tmp_path / "values.csv", dtype={"value": str})
    assert table.columns.tolist() == ["id", "value", "rank", "low", "high", "label", "owner", "suggested"]
    low, high = digits.values.interval(0.95)
    np.testing.assert_allclose(table[["low", "high"]], np.column_stack([low, high]), atol=1e-15)
    assert [float(text) for text in table["value"]] == digits.values.values.tolist()
    assert np.array_equal(table["rank"], digits.values.to_frame()["rank"])
    assert np.array_equal(table["label"], LABELS)
    assert table.loc[WRONG, "suggested"].tolist() == DIGITS.target[WRONG].tolist()


# ---------------------------------------------------------------------------------------------------------------- map


def test_a_click_on_the_map_tells_of_the_point(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    page.locator("#scatter").scroll_into_view_if_needed()
    # The last one drawn lies on top: the point with the strongest value.
    x, y = page.evaluate(
        """() => {
            const host = document.getElementById("scatter");
            const chart = echarts.getInstanceByDom(host);
            const data = chart.getOption().series[0].data;
            const [x, y] = chart.convertToPixel({ seriesIndex: 0 }, data[data.length - 1]);
            const box = host.getBoundingClientRect();
            return [box.left + x, box.top + y];
        }"""
    )
    strongest = int(np.abs(digits.values.values).argmax())
    page.mouse.move(x, y)
    assert str(strongest) in page.inner_text(".tip")
    page.mouse.click(x, y)
    assert page.get_attribute("#chosen .point", "data-point") == str(strongest)


def test_the_map_zooms_by_buttons_and_keys(digits: Report, opened: Opened) -> None:
    page = opened(digits)

    def spans() -> list[list[float]]:
        chart = "echarts.getInstanceByDom(document.getElementById('scatter'))"
        return page.evaluate(f"{chart}.getOption().dataZoom.map(zoom => [zoom.start, zoom.end])")

    assert spans() == [[0, 100], [0, 100]]
    page.click("#zoom-in")
    (low, high), _ = spans()
    assert high - low == pytest.approx(62.5)
    page.focus("#scatter")
    page.keyboard.press("ArrowRight")
    assert spans()[0] == pytest.approx([low + 12.5, high + 12.5])
    page.keyboard.press("-")
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert spans() == [[0, 100], [0, 100]]
    page.keyboard.press("+")
    page.click("#zoom-all")
    assert spans() == [[0, 100], [0, 100]]


def hover(page: Any, selector: str, across: float) -> None:
    host = page.locator(selector)
    host.scroll_into_view_if_needed()
    box = host.bounding_box()
    page.mouse.move(box["x"] + across * box["width"], box["y"] + box["height"] / 2)


def test_charts_tell_what_is_under_the_pointer(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    for _ in range(2):  # first with plain counts, then on a log scale
        for across in np.linspace(0.1, 0.9, 9):
            hover(page, "#histogram", across)
        assert "point" in page.inner_text("#histogram .tip")
        page.click("#logarithmic")
    hover(page, "#curve-charts .chart >> nth=0", 0.5)
    told = page.inner_text("#curve-charts .tip")
    assert "points removed" in told
    assert "least valuable first: " in told
    assert "random: " in told


def test_counts_can_be_seen_on_a_log_scale(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    page.click("#logarithmic")
    kind = "echarts.getInstanceByDom(document.getElementById('histogram')).getOption().yAxis[0].type"
    assert page.evaluate(kind) == "log"
    assert page.get_attribute("#logarithmic", "aria-pressed") == "true"


def test_bins_with_one_point_are_seen_on_a_log_scale(opened: Opened, tmp_path: Path) -> None:
    values = Values([*np.zeros(500), -3.0, 1.0, 2.0], n_queries=1)
    page = opened(Report(values, write_report(values, tmp_path / "one.html")))
    heights = """() => [...document.querySelectorAll("#histogram svg path")]
        .filter((bar) => [getComputedStyle(document.documentElement).getPropertyValue("--up").trim(),
                          getComputedStyle(document.documentElement).getPropertyValue("--down").trim()]
                         .includes(bar.getAttribute("fill")))
        .map((bar) => bar.getBBox().height).filter((height) => height > 3).length"""
    assert page.evaluate(heights) == 1  # on a plain scale they are thinner than a line
    page.click("#logarithmic")
    assert page.evaluate(heights) == 4


# ----------------------------------------------------------------------------------------------------------- keyboard


def test_tab_reaches_every_control_and_enter_opens_rows(digits: Report, opened: Opened) -> None:
    page = opened(digits)
    reached = []
    for _ in range(90):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(() => { const at = document.activeElement; const home = at.closest('[id]:not(thead *):not(tbody *)');"
                "return at.id || `${home ? home.id : ''} ${at.tagName} ${at.innerText.trim().slice(0, 12)}`; })()"
            )
        )
        if reached[-1] == "search":
            break
    controls = ["theme", "logarithmic", "zoom-in", "zoom-out", "zoom-all", "scatter", "download", "search"]
    assert [item for item in reached if item in controls] == controls
    assert sum(item.startswith("suspect-table TR") for item in reached) >= len(WRONG)
    assert any(item.startswith("suspect-table BUTTON") for item in reached)

    page.locator("#point-table tbody tr").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#point-table .point").count() == 1
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.cells[0].innerText") == "2"
    page.keyboard.press(" ")
    assert page.get_attribute("#point-table .point", "data-point") == str(digits.values.order()[1])
    page.keyboard.press("Escape")
    assert page.locator("#point-table .point").count() == 0


# ------------------------------------------------------------------------------------------------------------ hostile


def test_markup_in_the_data_is_shown_as_text(hostile: Report, opened: Opened, tmp_path: Path) -> None:
    page = opened(hostile)
    assert page.inner_text("h1") == f"{EVIL} {LONG}"
    page.fill("#search", "onerror")
    assert any(EVIL in text for text in cells(page, "#point-table", 4))
    for row in page.locator("#point-table tbody tr[tabindex]").all()[:2]:
        row.click()
    for table in page.locator("#group-tables > div").all():
        assert EVIL in table.locator("tbody").inner_text() or table.locator(".pager").is_visible()
    point = page.evaluate(
        """() => {
            const host = document.getElementById("scatter");
            const chart = echarts.getInstanceByDom(host);
            chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: 0 });
            return document.querySelectorAll("#scatter .tip").length;
        }"""
    )
    assert point == 1
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('img:not([src^=\"data:\"])').length") == 0
    page.fill("#search", "")
    with page.expect_download() as waiting:
        page.click("#download")
    waiting.value.save_as(tmp_path / "values.csv")
    table = pd.read_csv(tmp_path / "values.csv")
    assert table["id"].tolist() == [name[:199] + "…" if len(name) > 200 else name for name in hostile.values.ids]
    assert table["label"].iloc[-1] == "'=HYPERLINK(1)"  # no formula in a spreadsheet


def test_the_compact_form_reads_on_light_and_dark(hostile: Report, opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    form = compact_html(hostile.values)
    dark = f'<div style="color:#eee;background:#111">{form}</div>'
    path.write_text(f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">{dark}', encoding="utf-8")
    page = opened(path, width=400)
    assert page.evaluate("window.hacked") is None
    assert page.locator("svg rect").count() >= 1
    assert page.evaluate("getComputedStyle(document.querySelector('td')).color") == "rgb(238, 238, 238)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
