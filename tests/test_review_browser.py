"""The review in a real browser: the whole way by keyboard, on a phone, in two tabs, after a kill."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import pivotal

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine; Debian's package is chromium"),
]

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
LONG = "a-name-without-a-single-space-" * 8
AXE_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits with flipped labels that are known, as `pivotal demo` writes them."""
    source = load_digits()
    rng = np.random.default_rng(0)
    X, true = source.data[:500].astype(int), source.target[:500]
    given = true.copy()
    flipped = rng.choice(500, 30, replace=False)
    given[flipped] = (given[flipped] + rng.integers(1, 10, 30)) % 10
    frame = pd.DataFrame(X, columns=[f"pixel_{place}" for place in range(64)])
    path = tmp_path_factory.mktemp("digits") / "train.csv"
    frame.assign(who=np.where(np.arange(500) % 2, "ann", "bob"), label=given, true_label=true).to_csv(path, index=False)
    return path


class Running:
    """A review in a process of its own."""

    def __init__(self, table: Path, *options: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(pivotal.__file__).parents[1])}
        command = [sys.executable, "-m", "pivotal", "review", str(table), "--label", "label", "--no-open", "--quiet"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=environment)
        found = re.search(r"http\S+", self.process.stdout.readline())
        assert found is not None
        self.url = found.group(0)

    def stop(self, how: int = signal.SIGINT) -> str:
        if self.process.poll() is None:
            self.process.send_signal(how)
        said: str = self.process.communicate(timeout=60)[0]
        return said


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    started: list[Running] = []

    def start(table: Path, *options: str, journal: str = "j.db") -> Running:
        started.append(Running(table, "--journal", str(tmp_path / journal), *options))
        return started[-1]

    yield start
    for one in started:
        one.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # Containers often run tests as root, for whom Chromium's sandbox does not start.
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


class Opened:
    """Opens pages and remembers whatever they complain about, or ask another server for."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def __call__(self, url: str, width: int = 1300, scheme: str = "light", **more: Any) -> Any:
        context = self._browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._note(request.url, url))
        page.goto(url)
        if url.startswith("http"):
            page.wait_for_selector("#strip:not([hidden])")
        return page

    def _note(self, address: str, url: str) -> None:
        if not address.startswith(url.rpartition("/")[0] if url.startswith("http") else ("file:", "data:")):
            self.complaints.append(address)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    pages = Opened(browser)
    yield pages
    pages.close()
    assert [one for one in pages.complaints if "ERR_CONNECTION" not in one] == []


def figure(page: Any, name: str) -> str:
    text: str = page.locator(".figure", has_text=name).locator("strong").inner_text()
    return text.replace("\u202f", "").replace("\xa0", "")


def shown_row(page: Any) -> int:
    return int(page.inner_text("#row-title").removeprefix("Row "))


def next_row(page: Any, before: int) -> None:
    page.wait_for_function("row => document.getElementById('row-title')?.textContent !== `Row ${row}`", arg=before)


def wait_for_view(page: Any, name: str) -> None:
    page.wait_for_function(
        "name => !document.getElementById(name).hidden && document.getElementById(name).children.length", arg=name
    )


def decide_by_truth(page: Any, frame: pd.DataFrame) -> tuple[int, str, int]:
    """Decide about the row that is shown as who knows the truth would, by keyboard alone."""
    row = shown_row(page)
    true, given = int(frame["true_label"][row]), int(frame["label"][row])
    suggested = page.inner_text(".verdict .side:nth-child(3) .tag")
    if true == given:
        key = "k"
        page.keyboard.press("k")
    elif suggested == str(true):
        key = "f"
        page.keyboard.press("f")
    else:
        key = "l"
        page.keyboard.press("l")
        page.keyboard.type(str(true))
        page.keyboard.press("Enter")
    next_row(page, row)
    return row, key, true


# ------------------------------------------------------------------------------------------------------- the whole way


def test_from_the_table_to_the_cleaned_table_by_keyboard_alone(digits: Path, run: Any, opened: Opened, tmp_path: Path):
    before = digits.read_bytes()
    frame = pd.read_csv(digits)
    out, decisions = tmp_path / "cleaned.csv", tmp_path / "decisions.csv"
    review = run(
        digits, "--truth", "true_label", "--ignore", "who", "-o", str(out), "--decisions", str(decisions),
        "--reviewer", "ann",
    )  # fmt: skip
    page = opened(review.url)
    first = float(figure(page, "leave-one-out accuracy").rstrip("%"))
    decided = {}
    for _ in range(24):
        row, key, true = decide_by_truth(page, frame)
        decided[row] = (key, true)
    assert figure(page, "decided") == "24"
    assert float(figure(page, "leave-one-out accuracy").rstrip("%")) > first
    row = shown_row(page)
    page.keyboard.press("d")
    next_row(page, row)
    page.keyboard.press("z")  # the row that was dropped is shown again
    page.wait_for_function("row => document.getElementById('row-title').textContent === `Row ${row}`", arg=row)
    page.keyboard.press("u")
    next_row(page, row)
    page.keyboard.press("n")
    page.keyboard.type("looks odd")
    page.keyboard.press("Escape")
    dropped = shown_row(page)
    page.keyboard.press("d")
    next_row(page, dropped)
    page.focus("#finish")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    with page.expect_download() as download:
        page.click("a[href='out/cleaned']")
    page.focus("dialog footer button")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Finished.")
    said = review.process.communicate(timeout=60)[0]
    assert review.process.returncode == 0, said
    assert digits.read_bytes() == before
    expected = frame.copy()
    for number, (key, true) in decided.items():
        if key != "k":
            expected.loc[number, "label"] = true
    expected = expected.drop(index=dropped).reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv(out), expected)
    assert Path(download.value.path()).read_bytes() == out.read_bytes()
    written = pd.read_csv(decisions).set_index("row")
    assert set(written.index) == {*decided, row, dropped}
    assert written.loc[dropped, "action"] == "drop"
    assert written.loc[dropped, "why"] == "looks odd"
    assert written.loc[row, "action"] == "unsure"
    assert (written["reviewer"] == "ann").all()


def test_a_phone(digits: Path, run: Any, opened: Opened):
    frame = pd.read_csv(digits)
    review = run(digits, "--truth", "true_label", "--ignore", "who")
    page = opened(review.url, width=390, scheme="dark", has_touch=True, is_mobile=True)
    for view in ("one", "grid", "map", "confusion", "one"):
        page.tap(f"[data-view={view}]")
        wait_for_view(page, view)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    small = page.eval_on_selector_all(
        "#actions button, #views button", "all => all.filter(one => one.getBoundingClientRect().height < 32).length"
    )
    assert small == 0  # large enough for a thumb
    row = shown_row(page)
    page.tap("[data-action=fix]")
    next_row(page, row)
    other = shown_row(page)
    page.tap("[data-action=label]")
    page.tap("#labels li >> nth=1")
    next_row(page, other)
    assert figure(page, "decided") == "2"
    page.tap("[data-action=undo]")
    page.wait_for_function("row => document.getElementById('row-title').textContent === `Row ${row}`", arg=other)
    assert figure(page, "decided") == "1"
    assert frame["label"][row] != -1


def test_two_tabs_and_two_people(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "who,true_label", "--reviewer", "ann")
    one, two = opened(review.url), opened(review.url)
    two.click("#reviewer")
    two.fill("dialog input", "bob")
    two.keyboard.press("Enter")
    row = shown_row(one)
    one.keyboard.press("f")
    next_row(one, row)
    two.wait_for_function("() => document.querySelector('.figure strong').textContent === '1'")  # without being touched
    two.select_option("#queue", "second")
    two.wait_for_function("row => document.getElementById('row-title')?.textContent === `Row ${row}`", arg=row)
    two.keyboard.press("k")
    one.wait_for_selector(".figure:has-text('conflict')")
    one.select_option("#queue", "conflicts")
    one.wait_for_function("row => document.getElementById('row-title')?.textContent === `Row ${row}`", arg=row)
    assert "Reviewers disagree; the last decision holds" in one.inner_text(".head")
    assert "kept by bob" in one.inner_text(".head .ruling")
    one.click("#finish")
    assert "ann and bob agree on 0 % of 1 row" in one.inner_text("dialog").replace("\xa0", " ")


def test_a_kill_loses_nothing_that_was_shown_as_decided(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "who,true_label")
    page = opened(review.url)
    for _ in range(5):
        row = shown_row(page)
        page.keyboard.press("f")
        next_row(page, row)
    accuracy, following = figure(page, "leave-one-out accuracy"), shown_row(page)
    review.stop(signal.SIGKILL)
    page.keyboard.press("f")
    page.wait_for_selector("#lost:not([hidden])")
    again = run(digits, "--ignore", "who,true_label")
    later = opened(again.url)
    assert figure(later, "decided") == "5"
    assert figure(later, "leave-one-out accuracy") == accuracy
    assert shown_row(later) == following
    page.close()


# --------------------------------------------------------------------------------------------------- grid, map, filters


def test_the_grid_decides_about_many_at_once(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "who,true_label")
    page = opened(review.url)
    page.keyboard.press("g")
    page.wait_for_selector(".tile")
    for key in ("Space", "ArrowRight", "Space", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    chosen = page.eval_on_selector_all(".tile.chosen", "all => all.map(one => Number(one.dataset.row))")
    places = page.eval_on_selector_all(".tile.chosen", "all => all.map(one => Number(one.dataset.place))")
    assert places == [0, 1, 3]
    page.keyboard.press("d")
    page.wait_for_function("() => document.querySelector('.figure small').textContent.includes('3 dropped')")
    left = page.eval_on_selector_all(".tile", "all => all.map(one => Number(one.dataset.row))")
    assert not set(chosen) & set(left)
    page.keyboard.press("z")
    page.wait_for_function("() => document.querySelector('.figure strong').textContent === '0'")
    page.click(".tile >> nth=0")
    page.click(".tile >> nth=4", modifiers=["Shift"])
    assert page.locator(".tile.chosen").count() == 5
    page.keyboard.press("Escape")
    assert page.locator(".tile.chosen").count() == 0
    page.keyboard.press("Enter")
    page.wait_for_selector(".card")


def test_the_map_has_a_lasso_and_confusions_open_their_suspects(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "true_label", "--owner", "who")
    page = opened(review.url)
    page.keyboard.press("m")
    page.wait_for_selector(".scatter canvas")
    assert page.eval_on_selector_all("#map select option", "all => all.map(one => one.value)") == [
        "suspect", "label", "value", "owner",
    ]  # fmt: skip
    for by in ("label", "value", "owner"):
        page.select_option("#map select", by)
    box = page.locator(".scatter").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(middle[0] - 250, middle[1] - 150)
    page.mouse.down()
    for x, y in ((250, -150), (250, 150), (-250, 150), (-250, -140)):
        page.mouse.move(middle[0] + x, middle[1] + y, steps=6)
    page.mouse.up()
    page.wait_for_selector(".tile")
    assert page.inner_text(".chips").startswith("selected on the map")
    inside = int(page.inner_text("#found").split()[0])
    assert 10 < inside < 500
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('.chips').textContent.includes('map')")
    page.select_option("#queue", "suspects")
    page.keyboard.press("c")
    cell = page.locator("button.cell").first
    count = cell.inner_text()
    cell.click()
    page.wait_for_selector(".card")
    page.wait_for_function("count => document.getElementById('found').textContent.startsWith(count)", arg=count)


def test_search_and_filters(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "true_label", "--owner", "who")
    page = opened(review.url)
    page.select_option("#queue", "all")
    page.wait_for_function("() => document.getElementById('found').textContent === '500 rows'")
    page.select_option("#given", "3")
    page.wait_for_function("() => document.getElementById('found').textContent !== '500 rows'")
    frame = pd.read_csv(digits)
    expected = int((frame["label"] == 3).sum())
    assert page.inner_text("#found") == f"{expected} rows"
    page.select_option("#owner", "ann")
    both = int(((frame["label"] == 3) & (frame["who"] == "ann")).sum())
    page.wait_for_function("n => document.getElementById('found').textContent === `${n} rows`", arg=both)
    page.click("text=Clear filters")
    page.wait_for_function("() => document.getElementById('found').textContent === '500 rows'")
    page.keyboard.press("/")
    page.keyboard.type("123")
    page.wait_for_function("() => document.getElementById('found').textContent === '1 row'")
    assert shown_row(page) == 123


# ------------------------------------------------------------------------------------------- hostile, accessible, large


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("hostile")
    labels = np.repeat([EVIL, "Klasse ü 日本", "=HYPERLINK(1)"], 40)
    frame = pd.DataFrame(rng.normal(size=(120, 3)) + 5 * np.repeat(np.eye(3), 40, axis=0), columns=[EVIL, "b", LONG])
    labels[[3, 50, 90]] = labels[[50, 90, 3]]
    frame["who"] = [f"{EVIL} {number % 3}" for number in range(120)]
    frame["words"] = [f"{EVIL} {LONG} {number}" for number in range(120)]
    frame["file"] = ["../secret.png", "/etc/passwd", "http://evil.example/x.png", "javascript:alert(1)"] * 30
    frame["label"] = labels
    (folder.parent / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    path = folder / "train.csv"
    frame.to_csv(path, index=False)
    return path


def test_hostile_cells_do_nothing(hostile: Path, run: Any, opened: Opened, tmp_path: Path):
    report = tmp_path / "page.html"
    review = run(
        hostile, "--owner", "who", "--text", "words", "--image", "file", "--trees", "0", "--report", str(report)
    )
    page = opened(review.url, width=1300)
    expected = [404] * 4  # no picture outside of the folder, none from elsewhere
    found = page.evaluate(
        "() => Promise.all([0, 1, 2, 3].map(row => fetch(`api/picture/${row}`).then(answer => answer.status)))"
    )
    assert found == expected
    row = shown_row(page)
    page.fill("#note", EVIL)
    page.keyboard.press("Escape")
    page.click("[data-action=label]")
    page.keyboard.type(f"{EVIL} new")
    page.keyboard.press("Enter")
    next_row(page, row)
    for view in ("grid", "map", "confusion", "one"):
        page.click(f"[data-view={view}]")
        wait_for_view(page, view)
    page.select_option("#queue", "decided")
    page.wait_for_selector(".ruling")
    page.click("#finish")
    page.wait_for_selector("dialog[open]")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main iframe, dialog script").count() == 0
    page.click("dialog footer button")
    page.wait_for_selector("text=Finished.")
    review.process.communicate(timeout=60)
    sent = opened(report.as_uri())
    assert sent.evaluate("window.hacked") is None
    assert sent.evaluate("document.documentElement.scrollWidth <= innerWidth")
    refused = [one for one in opened.complaints if "404" in one]
    assert refused  # the pictures that are not shown
    opened.complaints[:] = [one for one in opened.complaints if "404" not in one]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_everyone_can_use_it(digits: Path, run: Any, opened: Opened, scheme: str, width: int, tmp_path: Path):
    """Labels, roles, names, focus order and contrast, checked with axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    report = tmp_path / "page.html"
    review = run(digits, "--truth", "true_label", "--owner", "who", "--report", str(report), "--trees", "0")
    page = opened(review.url, width=width, scheme=scheme)
    row = shown_row(page)
    page.keyboard.press("f")
    next_row(page, row)
    page.evaluate("document.getElementById('said').classList.remove('shown')")

    def check(what: str) -> None:
        results = axe.run(page, options=AXE_RULES)
        assert results.violations_count == 0, f"{what}: {results.generate_report()}"

    for view in ("one", "grid", "map", "confusion"):
        page.click(f"[data-view={view}]")
        wait_for_view(page, view)
        page.wait_for_timeout(300)
        check(view)
    page.click("[data-view=one]")
    page.wait_for_selector(".card")
    for key, what in (("l", "labels"), ("?", "help")):
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        check(what)
        page.keyboard.press("Escape")
    page.click("#finish")
    check("finish")
    page.click("dialog footer button")
    page.wait_for_selector("text=Finished.")
    review.process.communicate(timeout=60)
    page = opened(report.as_uri(), width=width, scheme=scheme)
    check("before and after")


def test_a_hundred_thousand_rows(run: Any, opened: Opened, tmp_path: Path):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, 100_000)
    X = rng.normal(size=(100_000, 3)) + 6.0 * np.eye(4)[label][:, :3]
    given = np.where(rng.random(100_000) < 0.005, (label + 1) % 4, label)
    table = tmp_path / "large.csv"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=given).to_csv(table, index=False, float_format="%.4f")
    review = run(table, "--trees", "0", "-k", "5", "--share", "0.01")
    page = opened(review.url)
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())) if "api/decide" in answer.url else None)
    for _ in range(5):
        row = shown_row(page)
        page.keyboard.press("f")
        next_row(page, row)
    assert figure(page, "decided") == "5"
    assert max(sizes) < 100_000  # nothing that grows with the rows is sent
    page.keyboard.press("m")
    page.wait_for_selector(".scatter canvas")
