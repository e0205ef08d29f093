"""`errors.review(...)` in a real Jupyter kernel: a link, a page, and the decisions as a frame."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import pivotal
from review_pages import browser, in_chromium, next_row, opened, shown_row

jupyter_client = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
__all__ = ["browser", "opened"]  # fixtures
pytestmark = in_chromium

CELL = """
import json, sys
sys.path.insert(0, {source!r})
import numpy as np, pivotal
rng = np.random.default_rng(0)
y = np.repeat(["cat", "dog"], 60)
X = rng.normal(size=(120, 3)) + 5.0 * (y == "dog")[:, None]
y[[4, 80]] = "dog", "cat"
errors = pivotal.find_label_errors(X, y, n_trees=0, k=5)
decisions = errors.review(X, journal={journal!r}, reviewer="ann", open_page=False)
print("RESULT", json.dumps(decisions[["row", "action", "to", "why"]].fillna("").values.tolist()))
"""


def messages(client: Any, kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the next message of one of some kinds; fail on an error of the cell."""
    while True:
        message: dict[str, Any] = client.get_iopub_msg(timeout=120)
        if message["msg_type"] == "error":
            pytest.fail("\n".join(message["content"]["traceback"]))
        if message["msg_type"] in kinds:
            return message["content"]  # type: ignore[no-any-return]


def test_a_cell_ends_when_the_page_is_closed(opened: Any, tmp_path: Path):
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    try:
        source = str(Path(pivotal.__file__).parents[1])
        client.execute(CELL.format(source=source, journal=str(tmp_path / "j.db")))
        shown = messages(client, ("display_data",))["data"]["text/html"]
        assert "This cell ends when it is closed" in shown
        page = opened(re.search(r'href="([^"]+)"', shown).group(1))
        row = shown_row(page)
        page.fill("#note", "seen in a notebook")
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        next_row(page, row)
        page.wait_for_timeout(2500)  # the page says that it is there, every two seconds
        page.close(run_before_unload=True)
        text = ""
        while "RESULT" not in text:
            text = messages(client, ("stream",))["text"]
        (decision,) = json.loads(text.split("RESULT", 1)[1])
        assert decision == [row, "fix", "dog" if row == 80 else "cat", "seen in a notebook"]
        assert row in (4, 80)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
