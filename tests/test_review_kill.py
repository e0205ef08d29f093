"""A review that is killed at any moment, between requests and within them, and started again."""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

from review_pages import Running, digits

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
__all__ = ["digits"]  # a fixture
pytestmark = pytest.mark.faults
QUEUE = {"query": {}, "offset": 0, "limit": 5, "reviewer": "ann", "queue": "suspects"}


class Asking:
    """Sends requests as the page does, over one connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._path, self._origin = parts.path, f"http://{parts.netloc}"
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=30)

    def __call__(self, path: str, content: Any = None) -> Any:
        body = None if content is None else json.dumps(content)
        headers = {} if body is None else {"Origin": self._origin, "Content-Type": "application/json"}
        self._connection.request("GET" if body is None else "POST", self._path + path, body, headers)
        return json.loads(self._connection.getresponse().read())

    def close(self) -> None:
        self._connection.close()

    def wait(self) -> None:
        while not self("api/progress")["ready"]:
            time.sleep(0.05)


def test_what_was_answered_is_there_after_every_kill(digits: Path, tmp_path: Path):
    """Killed repeatedly in the middle of decisions; the table is never written, and undo reaches back over all."""
    table = digits.read_bytes()
    frame = pd.read_csv(digits)
    options = ("--journal", str(tmp_path / "j.db"), "--ignore", "who,true_label", "--trees", "0", "-k", "5")
    n_answered = 0
    for delay in (0.0, 0.013, 0.04, 0.09):
        review = Running(digits, *options)
        ask = Asking(review.url)
        ask.wait()
        known = ask("api/about")["strip"]["decided"]
        assert n_answered <= known <= n_answered + 1  # all that was answered, and at most the one that was under way
        n_answered = known
        killer = threading.Timer(0.05 + delay, review.process.send_signal, [signal.SIGKILL])
        killer.start()
        try:
            for row in range(n_answered, 400):
                sent = {**QUEUE, "rows": [row], "action": "drop" if row % 3 == 0 else "keep", "batch": f"b{row}"}
                assert ask("api/decide", sent)["written"] == 1
                n_answered += 1
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass
        finally:
            killer.cancel()
            ask.close()
            review.stop(signal.SIGKILL)
    assert n_answered > 4  # kills came between decisions, not before all of them
    decisions = tmp_path / "decisions.csv"
    review = Running(digits, *options, "--decisions", str(decisions), "-o", str(tmp_path / "cleaned.csv"))
    ask = Asking(review.url)
    ask.wait()
    n_decided = ask("api/about")["strip"]["decided"]
    ask("api/undo", {**QUEUE, "batch": "u"})
    ask("api/finish", {})
    ask.close()
    review.process.communicate(timeout=300)
    written = pd.read_csv(decisions)
    assert written["row"].tolist() == list(range(n_decided - 1))
    dropped = [row for row in range(n_decided - 1) if row % 3 == 0]
    expected = frame.drop(index=dropped).reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "cleaned.csv"), expected)
    assert digits.read_bytes() == table
