"""The review in a real browser by mouse alone, by touch alone, and from another machine."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd

from pivotal.cli import main
from review_pages import Opened, browser, digits, figure, in_chromium, next_row, opened, run, shown_row, wait_for_view

__all__ = ["browser", "digits", "opened", "run"]  # fixtures
pytestmark = in_chromium
OPTIONS = ("--ignore", "who,true_label", "--trees", "0")


def wait_for_row(page: Any, row: int) -> None:
    page.wait_for_function("row => document.getElementById('row-title')?.textContent === `Row ${row}`", arg=row)


def found(page: Any) -> int:
    return int(re.sub(r"\D", "", page.inner_text("#found")))


def test_rows_are_passed_over_and_come_back_without_keys(digits: Path, run: Any, opened: Opened):
    page = opened(run(digits, *OPTIONS).url, width=390, has_touch=True, is_mobile=True)
    first = shown_row(page)
    assert page.is_disabled("[data-keep=previous]")
    page.tap("[data-keep=next]")
    next_row(page, first)
    second = shown_row(page)
    page.tap("[data-keep=previous]")
    wait_for_row(page, first)
    assert figure(page, "decided") == "0"
    neighbour = int(page.inner_text(".near .id >> nth=0"))
    page.tap(".near .line >> nth=0")
    wait_for_row(page, neighbour)
    page.tap("[data-keep=back]")
    wait_for_row(page, first)
    page.tap("[data-keep=next]")
    wait_for_row(page, second)


def test_the_button_that_was_pressed_keeps_the_focus(digits: Path, run: Any, opened: Opened):
    page = opened(run(digits, *OPTIONS).url)
    for _ in range(2):
        row = shown_row(page)
        page.focus("[data-keep=next]")
        page.keyboard.press("Enter")
        next_row(page, row)
        assert page.evaluate("document.activeElement.dataset.keep") == "next"
    assert figure(page, "decided") == "0"  # Enter pressed the button, and fixed nothing


def test_many_at_once_by_touch(digits: Path, run: Any, opened: Opened, tmp_path: Path):
    decisions = tmp_path / "decisions.csv"
    review = run(digits, *OPTIONS, "--decisions", str(decisions))
    page = opened(review.url, width=390, scheme="dark", has_touch=True, is_mobile=True)
    page.tap("[data-view=grid]")
    wait_for_view(page, "grid")
    total = found(page)
    rows = page.eval_on_selector_all(".tile", "all => all.map(one => Number(one.dataset.row))")
    assert len(rows) == total
    page.tap(".tile >> nth=1")
    page.tap("[data-keep=open]")
    wait_for_row(page, rows[1])
    page.tap("[data-view=grid]")
    wait_for_view(page, "grid")
    page.tap("[data-keep=all]")
    assert page.locator(".tile.chosen").count() == total
    assert page.locator("[data-keep=open]").count() == 0
    page.tap(".tile >> nth=0")  # all but one
    page.tap("[data-keep=note]")
    page.fill("dialog textarea", "not these")
    page.tap("dialog footer button")
    page.wait_for_selector(f"text=Note saved for {total - 1} rows")
    page.tap("[data-action=drop]")
    page.wait_for_function("n => document.querySelector('.figure strong').textContent === String(n)", arg=total - 1)
    assert found(page) < total
    page.tap("#finish")
    page.tap("dialog footer button")
    page.wait_for_selector("text=Finished.")
    review.process.communicate(timeout=300)
    written = pd.read_csv(decisions)
    dropped = written[written["action"] == "drop"]
    assert sorted(dropped["row"]) == sorted(rows[1:])
    assert (dropped["why"] == "not these").all()


def test_the_map_and_the_confusions_follow_the_filters(digits: Path, run: Any, opened: Opened):
    frame = pd.read_csv(digits)
    page = opened(run(digits, "--ignore", "true_label", "--owner", "who", "--trees", "0").url)
    page.click("[data-view=map]")
    page.wait_for_selector(".scatter canvas")
    assert "match the filters" not in page.inner_text("#map")
    page.select_option("#map select", "label")
    page.select_option("#given", "3")
    page.wait_for_selector(f"#map >> text={int((frame['label'] == 3).sum())} of them match the filters")
    assert page.input_value("#map select") == "label"  # colours stay what they were
    page.mouse.move(*middle(page, ".scatter"))
    page.mouse.wheel(0, -400)
    page.click("text=Lasso")
    page.click("[data-view=confusion]")
    page.wait_for_selector("button.cell")
    assert page.eval_on_selector_all(".confusions th[scope=row]", "all => all.map(one => one.textContent)") == ["3"]
    page.select_option("#given", "")
    page.wait_for_function("() => document.querySelectorAll('.confusions th[scope=row]').length > 3")
    page.select_option("#owner", "ann")
    page.wait_for_function(
        "() => parseInt(document.querySelector('#confusion .note').textContent) ==="
        " parseInt(document.getElementById('found').textContent)"
    )


def middle(page: Any, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_others_who_are_let_in_can_decide(digits: Path, run: Any, opened: Opened):
    """At an address that is none of this machine's own, browsers give pages less: no randomUUID, for one."""
    review = run(digits, *OPTIONS, "--host", "0.0.0.0")
    parts = urlsplit(review.url)
    page = opened(f"http://{socket.gethostname()}:{parts.port}{parts.path}")
    if socket.gethostname() != "localhost":
        assert not page.evaluate("isSecureContext")
    row = shown_row(page)
    page.keyboard.press("f")
    next_row(page, row)
    page.keyboard.press("z")
    wait_for_row(page, row)
    page.keyboard.press("m")
    page.wait_for_selector(".scatter canvas")
    page.click("#finish")
    with page.expect_download():
        page.click("a[href='out/cleaned']")
    ignored = [one for one in opened.complaints if "Cross-Origin-Opener-Policy" in one]  # it is for encrypted pages
    assert len(opened.complaints) == len(ignored), opened.complaints
    opened.complaints.clear()


def test_letting_others_in_says_what_it_means(digits: Path, monkeypatch: Any, tmp_path: Path, capsys: Any):
    monkeypatch.setattr("pivotal.review.Server.wait", lambda *_, **__: None)
    command = ["review", str(digits), "--label", "label", *OPTIONS, "--no-open", "--journal", str(tmp_path / "j.db")]
    for host, public in (("127.0.0.1", False), ("0.0.0.0", True)):
        assert main([*command, "--host", host]) == 0
        said = capsys.readouterr()
        for sentence in ("every machine that reaches this one can open the page", "The connection is not encrypted"):
            assert (sentence in said.out + said.err) is public
