"""Takes the pictures of the review page that the guide shows, on the digits of `pivotal demo`, in a real Chromium.

    python docs/review_pictures.py [FOLDER]

Decides by the true labels, as a careful person would; writes review-*.png to docs/images, or to FOLDER.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

WIDE = {"width": 1280, "height": 830}


def row_of(page: Any) -> int:
    """Return the row that is shown."""
    return int(page.inner_text("#row-title").removeprefix("Row "))


def decide(page: Any, frame: pd.DataFrame) -> None:
    """Decide by the true label, with keys alone."""
    row = row_of(page)
    true, given = str(frame["true_label"][row]), str(frame["label"][row])
    if true == given:
        page.keyboard.press("k")
    elif page.inner_text(".verdict .side:nth-child(3) .tag") == true:
        page.keyboard.press("f")
    else:
        page.keyboard.press("l")
        page.keyboard.type(true)
        page.keyboard.press("Enter")
    page.wait_for_function("row => document.getElementById('row-title')?.textContent !== `Row ${row}`", arg=row)


def take(page: Any, path: Path) -> None:
    """Write a picture in 256 colours, without the message of the last decision."""
    page.evaluate("document.getElementById('said')?.classList.remove('shown')")
    page.wait_for_timeout(800)
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def take_all(browser: Any, url: str, frame: pd.DataFrame, folder: Path) -> None:
    """Take all pictures and finish the review."""
    page = browser.new_page(viewport=WIDE)
    page.goto(url)
    page.wait_for_selector(".card", timeout=120_000)
    for _ in range(24):
        decide(page, frame)
    take(page, folder / "review-queue.png")
    page.keyboard.press("g")
    page.wait_for_selector(".tile")
    for key in ("Space", "Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    take(page, folder / "review-grid.png")
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    page.wait_for_selector(".scatter canvas")
    page.select_option("#map select", "label")
    take(page, folder / "review-map.png")
    phone = browser.new_context(
        viewport={"width": 400, "height": 830}, color_scheme="dark", is_mobile=True, has_touch=True
    ).new_page()
    phone.goto(url)
    phone.wait_for_selector(".card")
    take(phone, folder / "review-phone.png")
    phone.close()
    page.click("[data-view=one]")
    page.wait_for_selector(".card")
    while page.locator(".card").count():
        decide(page, frame)
        page.wait_for_timeout(20)
    page.click("#finish")
    page.click("dialog footer button")
    page.wait_for_selector("text=Finished.")


def main() -> None:
    """Start a review of the demo and take the pictures."""
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        subprocess.run([sys.executable, "-m", "pivotal", "demo", "--out", home, "--quiet"], check=True)
        table, after = Path(home) / "train.csv", Path(home) / "after.html"
        command = [sys.executable, "-m", "pivotal", "review", str(table), "--label", "label", "--truth", "true_label"]
        options = ["--reviewer", "ann", "--report", str(after), "--no-open", "--quiet"]
        review = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            assert review.stdout is not None
            found = re.search(r"http\S+", review.stdout.readline())
            assert found is not None, "the review did not start"
            take_all(browser, found.group(0), pd.read_csv(table), folder)
            review.wait(60)
            page = browser.new_page(viewport={"width": 900, "height": 980})
            page.goto(after.as_uri())
            take(page, folder / "review-after.png")
        finally:
            review.kill()
            browser.close()


if __name__ == "__main__":
    main()
