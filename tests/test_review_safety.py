"""The review page in a real browser under hostile cells and hostile sites, and for everyone who uses it."""

from __future__ import annotations

import functools
import http.server
import socket
import struct
import threading
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from review_pages import (
    AXE_RULES,
    EVIL,
    LONG,
    LOST,
    Opened,
    browser,
    digits,
    in_chromium,
    next_row,
    opened,
    run,
    shown_row,
    wait_for_view,
)

__all__ = ["browser", "digits", "opened", "run"]  # fixtures
pytestmark = in_chromium


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
    review.process.communicate(timeout=300)
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
    page.select_option("#queue", "decided")
    page.wait_for_selector(".ruling")
    for name in ("estimated", "stop", "lost"):  # what is only said now and then
        page.evaluate("id => { document.getElementById(id).hidden = false; }", name)
        page.evaluate("id => { document.getElementById(id).textContent ||= 'A sentence.'; }", name)
    check("all that can be said")
    for key, what in (("l", "labels"), ("?", "help")):
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        check(what)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="hidden")  # a key pressed before that belongs to the dialog
    page.click("#finish")
    check("finish")
    page.click("dialog footer button")
    page.wait_for_selector("text=Finished.")
    review.process.communicate(timeout=300)
    page = opened(report.as_uri(), width=width, scheme=scheme)
    check("before and after")


ATTACK = """<!doctype html><title>another site</title><script>
const tried = {};
async function attempt(name, ask) {
  try { tried[name] = await ask(); } catch (error) { tried[name] = "refused"; }
}
async function attack(url, row) {
  const sent = { query: {}, rows: [row], action: "drop", reviewer: "eve", batch: "evil", queue: "suspects" };
  const body = JSON.stringify(sent);
  const text = (answer) => answer.text();
  const json = { "content-type": "application/json" };
  await attempt("read", () => fetch(url + "api/about").then(text));
  await attempt("read without CORS", () => fetch(url + "api/about", { mode: "no-cors" }).then(text));
  await attempt("decide", () => fetch(url + "api/decide", { method: "POST", mode: "no-cors", body }).then(text));
  await attempt("decide as JSON", () => fetch(url + "api/decide", { method: "POST", body, headers: json }).then(text));
  await attempt("beacon", () => { navigator.sendBeacon(url + "api/decide", body); return ""; });
  await attempt("picture", () => new Promise((done) => {
    const image = new Image();
    image.onload = () => done("shown");
    image.onerror = () => done("");
    image.src = url + "api/picture/0";
  }));
  await attempt("frame", () => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.onload = () => {
      try { done(frame.contentDocument ? frame.contentDocument.body.innerText : ""); } catch { done(""); }
    };
    frame.src = url;
    document.body.append(frame);
  }));
  return tried;
}
</script><body></body>"""


def test_other_sites_read_nothing_and_decide_nothing(
    digits: Path, run: Any, browser: Any, opened: Opened, tmp_path: Path
):
    """Even one that knows the secret address: another server on this machine, and a file."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(ATTACK)
    decisions = tmp_path / "decisions.csv"
    review = run(digits, "--ignore", "who,true_label", "--trees", "0", "--decisions", str(decisions))
    page = opened(review.url)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        here = f"http://localhost:{site.server_address[1]}/index.html"
        for address in (here, (folder / "index.html").as_uri()):
            context = browser.new_context()
            stranger = context.new_page()
            stranger.goto(address)
            tried = stranger.evaluate("([url, row]) => attack(url, row)", [review.url, shown_row(page)])
            assert set(tried.values()) <= {"", "refused"}, (address, tried)
            context.close()
        site.shutdown()
    assert "eve" not in page.evaluate("() => fetch('out/decisions').then(answer => answer.text())")
    assert page.evaluate("() => fetch('api/strip').then(answer => answer.json())")["decided"] == 0


def test_a_name_that_is_bound_to_this_machine_is_refused(digits: Path, run: Any, browser: Any):
    """DNS rebinding: a page of evil.example whose name leads to 127.0.0.1 would be of one origin with itself."""
    review = run(digits, "--ignore", "who,true_label", "--trees", "0")
    parts = urlsplit(review.url)
    page = browser.new_page()
    answer = page.goto(f"http://evil.example:{parts.port}{parts.path}")
    assert answer.status == 421
    assert "does not go by that name" in page.inner_text("body")
    page.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Dying(http.server.BaseHTTPRequestHandler):
    """Answers as a server does that is killed: before, within and after the head of an answer."""

    protocol_version = "HTTP/1.1"
    heads: ClassVar[dict[str, bytes]] = {
        "/": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
        "/unanswered": b"",
        "/reset": b"",
        "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf",
    }

    def do_GET(self) -> None:
        self.wfile.write(self.heads.get(self.path, self.heads["/"]))
        self.wfile.flush()
        if self.path == "/reset":  # closed with a request unread, as the kernel does for a process that was killed
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_what_a_browser_says_of_a_killed_server(browser: Any):
    """The complaints that tests of kills overlook are those, and no others, that this browser has of a lost server."""
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Dying) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        said.clear()  # it has no icon
        ask = "path => fetch(path).then(answer => answer.text()).catch(error => String(error))"
        for path in ("/unanswered", "/reset", "/cut", "/chunks"):
            page.evaluate(ask, path)
        server.shutdown()
    page.evaluate(ask, "/refused")
    page.wait_for_timeout(300)
    page.close()
    found = {error for error in LOST if any(error in text for text in said)}
    assert found == set(LOST), said
    assert all(any(error in text for error in LOST) for text in said), said
