"""The review in a real browser: the whole way by keyboard, on a phone, in two tabs, after a kill."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pivotal.research.demo import run_demo
from review_pages import (
    Opened,
    browser,
    decide_by_truth,
    digits,
    figure,
    in_chromium,
    next_row,
    opened,
    run,
    shown_row,
    wait_for_view,
)

__all__ = ["browser", "digits", "opened", "run"]  # fixtures
pytestmark = in_chromium

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
    said = review.process.communicate(timeout=300)[0]
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


def test_an_answer_that_is_cut_off_is_asked_for_again(digits: Path, run: Any, opened: Opened):
    """A server that is killed while it answers leaves half of an answer; the decision was taken, and is taken once."""
    review = run(digits, "--ignore", "who,true_label", "--trees", "0")
    page, cut = opened(review.url), []

    def cut_off(route: Any) -> None:
        answer = route.fetch()
        if cut:
            route.fulfill(response=answer)
        else:
            cut.append(answer.text())
            route.fulfill(status=200, content_type="application/json", body=cut[0][: len(cut[0]) // 2])

    page.route("**/api/decide", cut_off)
    row = shown_row(page)
    page.keyboard.press("f")
    next_row(page, row)
    assert len(cut) == 1
    assert figure(page, "decided") == "1"
    assert page.is_hidden("#lost")


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


def test_a_key_pressed_while_a_dialog_closes_is_for_the_page(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "true_label", "--trees", "0")
    page = opened(review.url)
    page.keyboard.press("l")
    page.wait_for_selector("dialog[open] input")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    # The focus is still in the field that was closed when a key comes soon enough.
    page.evaluate(
        "document.querySelector('dialog input').dispatchEvent(new KeyboardEvent('keydown', {key: '?', bubbles: true}))"
    )
    page.wait_for_selector("dialog[open] dl.keys")


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


def test_many_rows_by_keyboard_with_a_note(digits: Path, run: Any, opened: Opened, tmp_path: Path):
    decisions = tmp_path / "decisions.csv"
    review = run(digits, "--ignore", "who,true_label", "--trees", "0", "--decisions", str(decisions))
    page = opened(review.url)
    first = shown_row(page)
    page.keyboard.press("n")
    page.keyboard.type("not sure yet")
    page.keyboard.press("Escape")
    page.keyboard.press("j")  # a note is kept when one goes on without a decision
    next_row(page, first)
    page.wait_for_function("() => fetch('api/strip').then(answer => answer.json()).then(strip => strip.decided === 0)")
    page.keyboard.press("g")
    page.wait_for_selector(".tile")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".tile.chosen").count() == 3
    rows = page.eval_on_selector_all(".tile.chosen", "all => all.map(one => Number(one.dataset.row))")
    page.keyboard.press("n")
    page.keyboard.type("all three alike")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Note saved for 3 rows")
    page.keyboard.press("d")
    page.wait_for_function("() => document.querySelector('.figure strong').textContent === '3'")
    page.click("#finish")
    page.click("dialog footer button")
    page.wait_for_selector("text=Finished.")
    review.process.communicate(timeout=300)
    written = pd.read_csv(decisions)
    noted = written[written["action"] == "note"]
    assert sorted(noted["row"]) == sorted([first, *rows])
    assert noted.set_index("row").loc[first, "why"] in ("not sure yet", "all three alike")
    frame = written[written["action"] != "note"]
    assert sorted(frame["row"]) == sorted(rows)
    assert (frame["action"] == "drop").all()
    noted = dict(zip(frame["row"], frame["why"], strict=True))
    assert all(noted[row] == "all three alike" for row in rows)


def test_all_voters_are_asked_again(digits: Path, run: Any, opened: Opened):
    review = run(digits, "--ignore", "who,true_label", "--trees", "10")
    page = opened(review.url)
    assert page.is_hidden("#again")
    row = shown_row(page)
    page.keyboard.press("f")
    next_row(page, row)
    page.wait_for_selector("#again:not([hidden])")
    page.keyboard.press("r")
    page.wait_for_selector("text=The voters have been fitted again")
    assert page.is_hidden("#again")
    assert figure(page, "decided") == "1"


def test_findings_of_a_check_up_are_queues(digits: Path, run: Any, opened: Opened, tmp_path: Path):
    frame = pd.read_csv(digits)
    frame.loc[7, [name for name in frame.columns if name.startswith("pixel")]] = frame.iloc[8, :64].to_numpy()
    frame.loc[7, "label"], frame.loc[8, "label"] = 1, 2
    table = tmp_path / "copies.csv"
    frame.to_csv(table, index=False)
    page = opened(run(table, "--ignore", "who,true_label", "--trees", "0").url)
    page.select_option("#queue", "check-conflicts")
    page.wait_for_selector(".reason")
    assert {shown_row(page)} < {7, 8}
    assert "Duplicates with different labels. Together with" in page.inner_text(".head")
    assert "have different labels" in page.inner_text("#sentence")
    page.keyboard.press("d")
    page.wait_for_function("() => document.getElementById('found').textContent === '1 row'")


def test_the_demo_ends_with_a_review_of_its_own_result(run: Any, opened: Opened, tmp_path: Path):
    said: list[str] = []
    run_demo(tmp_path / "demo", echo=said.append)
    command = next(line for line in "\n".join(said).splitlines() if line.strip().startswith("pivotal review"))
    table, *options = shlex.split(command)[2:]
    page = opened(run(Path(table), *options).url)
    assert figure(page, "planted errors caught") == "0 / 90"
    row = shown_row(page)
    page.keyboard.press("f")
    next_row(page, row)
    assert figure(page, "planted errors caught") == "1 / 90"
