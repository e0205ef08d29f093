"""What the tests of the review page share: a review in a process of its own, pages in a real Chromium, digits."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
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

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_chromium = [
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


# What a shell starts in the background ignores Ctrl-C, and so does all that this starts in turn.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pivotal.cli import main
sys.exit(main())
"""


class Running:
    """A review in a process of its own."""

    def __init__(self, table: Path, *options: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(pivotal.__file__).parents[1])}
        command = [sys.executable, "-c", START, "review", str(table), "--label", "label", "--no-open", "--quiet"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=environment)
        found = re.search(r"http\S+", self.process.stdout.readline())
        assert found is not None
        self.url = found.group(0)

    def stop(self, how: int = signal.SIGINT) -> str:
        if self.process.poll() is None:
            self.process.send_signal(how)
        said: str = self.process.communicate(timeout=300)[0]
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
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    with playwright.sync_playwright() as driver:
        # Containers often run tests as root, for whom Chromium's sandbox does not start. Two names lead here.
        names = ("evil.example", socket.gethostname())
        rules = ", ".join(f"MAP {name} 127.0.0.1" for name in names)
        switches = ["--no-sandbox", "--disable-gpu", f"--host-resolver-rules={rules}"]
        running = driver.chromium.launch(executable_path=CHROMIUM, args=switches)
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
        page.set_default_timeout(120_000)  # a busy machine takes its time; whoever waits for nothing waits no longer
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._note(request.url, url))
        page.goto(url)
        if url.startswith("http"):
            page.wait_for_selector("#strip:not([hidden])", timeout=400_000)
        return page

    def _note(self, address: str, url: str) -> None:
        if not address.startswith(url.rpartition("/")[0] if url.startswith("http") else ("file:", "data:")):
            self.complaints.append(address)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


LOST = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED", "ERR_CONTENT_LENGTH")
"""What Chromium says of a server that was stopped; a test lets it say each of them."""


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    pages = Opened(browser)
    yield pages
    pages.close()
    strange = [one for one in pages.complaints if not any(error in one for error in LOST)]
    assert not strange, strange


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
