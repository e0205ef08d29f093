"""How long a decision takes on the page of `pivotal review`, and how long the page takes to open.

    python benchmarks/review.py [--rows 100000] [--features 64] [--decisions 200] [--out docs/review.md]

Starts `pivotal review` in a process of its own on a random table with wrong labels, as a user would, and decides about
suspects in two ways: by keys in a real Chromium, from the key to the next row painted, and by requests without a
browser, from the request to the last byte of the answer. Then the digits of `pivotal demo`: from the command to the
first decision. Lines of the page that other calls wrote, for other numbers of rows, stay.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pivotal.research.bench.markdown import machine, record_table
from pivotal.research.bench.stopwatch import Stopwatch

KEYS = ("f", "k", "f", "d", "f", "u", "f", "k", "f", "z")
ACTIONS = {"f": "fix", "k": "keep", "d": "drop", "u": "unsure"}
QUEUE = {"query": {}, "offset": 0, "limit": 25, "reviewer": "ann", "queue": "suspects"}
# The time of a key, and the time when the row that follows has been painted.
WATCH = """
() => {
  window.taken = [];
  let pressed = 0;
  document.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const at = pressed;
    pressed = 0;
    if (at) requestAnimationFrame(() => setTimeout(() => window.taken.push(performance.now() - at)));
  }).observe(document.getElementById("one"), { childList: true });
}
"""


class Review:
    """`pivotal review` in a process of its own."""

    def __init__(self, table: Path, label: str, *options: str) -> None:
        self.watch = Stopwatch()
        command = [sys.executable, "-m", "pivotal", "review", str(table), "--label", label, "--no-open", "--quiet"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http\S+", self.process.stdout.readline())
        assert found is not None, "the review did not start"
        self.url = found.group(0)
        parts = urlsplit(self.url)
        self._origin, self._path = f"http://{parts.netloc}", parts.path
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=600)

    def ask(self, path: str, content: Any = None) -> Any:
        body = None if content is None else json.dumps(content)
        headers = {"Origin": self._origin, "Content-Type": "application/json"} if body else {}
        self._connection.request("POST" if body else "GET", self._path + path, body, headers)
        return json.loads(self._connection.getresponse().read())

    def wait(self) -> float:
        """Return the seconds from the command until the page has something to show."""
        while not self.ask("api/progress")["ready"]:
            time.sleep(0.1)
        return self.watch.seconds

    def gigabytes(self) -> float:
        """Return the most memory that the process ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 2**20  # type: ignore[union-attr]


@contextmanager
def reviewing(table: Path, label: str, *options: str) -> Iterator[Review]:
    running = Review(table, label, *options)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def make_table(path: Path, n_rows: int, n_features: int) -> None:
    """Write ten overlapping classes, with 5 % of the labels drawn anew."""
    rng = np.random.default_rng(0)
    centers = 0.5 * rng.normal(size=(10, n_features))
    true = rng.integers(0, 10, n_rows)
    given = np.where(rng.random(n_rows) < 0.05, rng.integers(0, 10, n_rows), true)
    columns = {f"f{j}": (centers[true, j] + rng.normal(size=n_rows)).astype(np.float32) for j in range(n_features)}
    pq.write_table(pa.table({**columns, "label": given}), path)


def decide_by_requests(review: Review, n: int) -> list[float]:
    """Milliseconds of n decisions without a browser."""
    row = review.ask("api/queue", {**QUEUE})["item"]["row"]
    taken = []
    for number in range(n):
        action = ACTIONS.get(KEYS[number % len(KEYS)], "fix")
        with Stopwatch() as watch:
            answer = review.ask("api/decide", {**QUEUE, "rows": [row], "action": action, "batch": f"r{number}"})
        taken.append(1e3 * watch.seconds)
        row = answer["item"]["row"]
    return taken


def decide_by_keys(browser: Any, review: Review, n: int) -> tuple[list[float], float]:
    """Milliseconds of n decisions by keys on the page, and seconds until the page showed its first row."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    with Stopwatch() as watch:
        page.goto(review.url)
        page.wait_for_selector(".card", timeout=600_000)
    shown = watch.seconds
    page.evaluate(WATCH)
    for number in range(n):
        page.keyboard.press(KEYS[number % len(KEYS)])
        page.wait_for_function("n => window.taken.length > n", arg=number)
    taken: list[float] = page.evaluate("window.taken")
    page.close()
    return taken, shown


def summary(taken: list[float]) -> dict[str, float]:
    return {
        "decisions": len(taken),
        "median": float(np.median(taken)),
        "p95": float(np.quantile(taken, 0.95)),
        "most": float(np.max(taken)),
    }


def measure(n_rows: int, n_features: int, n: int, how: tuple[str, ...], browser: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "train.parquet"
        make_table(table, n_rows, n_features)
        with reviewing(table, "label", *how) as review:
            opened = review.wait()
            about = review.ask("api/about")
            requests = decide_by_requests(review, n)
            keys, shown = decide_by_keys(browser, review, n)
            return {
                "rows": n_rows,
                "features": n_features,
                "how": " ".join(how),
                "opened": opened,
                "page": shown,
                "suspects": about["strip"]["suspects"],
                "estimated": about["estimated"],
                "requests": summary(requests),
                "keys": summary(keys),
                "gigabytes": review.gigabytes(),
                "load": os.getloadavg()[0],
            }


def measure_demo(browser: Any) -> dict[str, float]:
    """Seconds from the command to the first row and to the first decision, on the digits of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pivotal", "demo", "--out", folder, "--quiet"], check=True)
        with reviewing(Path(folder) / "train.csv", "label", "--truth", "true_label") as review:
            page = browser.new_page()
            page.goto(review.url)
            page.wait_for_selector(".card", timeout=600_000)
            shown = review.watch.seconds
            title = page.inner_text("#row-title")
            page.keyboard.press("f")
            page.wait_for_function("t => document.getElementById('row-title').textContent !== t", arg=title)
            decided = review.watch.seconds
            page.close()
            keys, _ = decide_by_keys(browser, review, 60)
    return {"shown": shown, "decided": decided, **summary(keys)}


def page_of(results: dict[str, Any]) -> str:
    lines = [
        "# How fast the review page is",
        "",
        "Written by `python benchmarks/review.py`. A table of random numbers in ten overlapping classes, 5 % of the",
        "labels drawn anew; `pivotal review` in a process of its own. Decisions are fix, keep, drop, unsure and undo",
        "in turn, about the worst suspect. *By key*: in Chromium, from the key until the next row is painted. *By",
        "request*: without a browser, from the request until the answer is there. Both hold the write to the journal,",
        "which waits for the disk, the new values of all rows that the decision touches, and the queue in its new",
        "order. The load is the number of processes that wanted a core while this was measured, on a machine that has",
        f"{os.cpu_count()} of them: alone it is 1 or 2.",
        "",
        record_table(
            {
                "rows": "{rows:,}",
                "features": "{features}",
                "options": "{options}",
                "opens after": "{opened:.0f} s",
                "suspects": "{suspects:,}",
                "by key: median, p95, most": "{keys[median]:.0f}, **{keys[p95]:.0f}**, {keys[most]:.0f} ms",
                "by request: median, p95, most": (
                    "{requests[median]:.0f}, **{requests[p95]:.0f}**, {requests[most]:.0f} ms"
                ),
                "memory": "{gigabytes:.1f} GB",
                "load of the machine": "{load}",
            },
            [
                {
                    **row,
                    "options": row["how"] and f"`{row['how']}`",
                    "load": "not noted" if row["load"] is None else round(row["load"]),
                }
                for row in results["tables"].values()
            ],
        ),
    ]
    for row in results["tables"].values():
        if row.get("estimated"):
            lines += ["", f"With {row['rows']:,} rows the page says: *{row['estimated']}*"]
    demo = results.get("demo")
    if demo:
        lines += [
            "",
            f"On the digits of `pivotal demo` (1 797 rows of 64 pixels, all voters) the first row is shown "
            f"{demo['shown']:.1f} s after the command in a browser that is open, and the first decision is taken "
            f"{demo['decided'] - demo['shown']:.2f} s later by a key. A decision takes {demo['median']:.0f} ms in the "
            f"median and {demo['p95']:.0f} ms at the 95th percentile.",
        ]
    lines += ["", "Commands:", "", *[f"    {row['command']}" for row in results["tables"].values()], ""]
    lines += [f"Machine: {machine('pivotal')}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--decisions", type=int, default=200)
    parser.add_argument("--options", default="", help="options of pivotal review, such as '--trees 0'")
    parser.add_argument("--no-demo", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    how = tuple(options.options.split())
    with chromium() as browser:
        row = measure(options.rows, options.features, options.decisions, how, browser)
        print(row, flush=True)
        demo = None if options.no_demo else measure_demo(browser)
        print(demo, flush=True)
    size = f"--rows {options.rows} --features {options.features} --decisions {options.decisions}"
    asked = f"--options='{options.options}'" if how else ""
    row["command"] = f"python benchmarks/review.py {size} {asked}".strip()
    if options.out is None:
        return
    figures = options.out.with_suffix(".json")
    results = json.loads(figures.read_text()) if figures.exists() else {"tables": {}}
    results["tables"][f"{options.rows} {options.features} {options.options}"] = row
    if demo is not None:
        results["demo"] = demo
    options.out.write_text(page_of(results), encoding="utf-8")
    figures.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
