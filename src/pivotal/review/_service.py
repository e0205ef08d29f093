"""Where a review stands for the pages: being prepared, ready, failed, or finished."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from pivotal.review._export import Outputs
from pivotal.review._nearest_lists import ReportProgress
from pivotal.review._session import Session
from pivotal.review._views import Views

_GRACE: Final = 3.0  # seconds between a page that closes and the next one, as when it is reloaded
_LOST: Final = 900.0  # seconds without a sign of life after which a page is given up; hidden ones are slowed down


class ReviewService:
    """Prepares a session in a thread of its own, and knows which pages are open.

    Parameters
    ----------
    prepare : callable
        Makes the session and what can be written of it; is told how to say how far it is.
    reviewer : str
        Who decides, unless the page says otherwise.
    """

    def __init__(self, prepare: Callable[[ReportProgress], tuple[Session, Outputs]], reviewer: str) -> None:
        self.reviewer = reviewer
        self.session: Session | None = None
        self.views: Views | None = None
        self.outputs: Outputs | None = None
        self.failure: BaseException | None = None
        self.ready, self.finished = threading.Event(), threading.Event()
        self.asking_failed = ""
        self._stage, self._share = "Starting", 0.0
        self._prepare = prepare
        self._pages: dict[str, float] = {}
        self._closed_at: float | None = None

    def start(self) -> None:
        """Begin to prepare."""
        threading.Thread(target=self._work, name="pivotal-review-prepare", daemon=True).start()

    def _work(self) -> None:
        try:
            session, outputs = self._prepare(self._tell)
            self.session, self.outputs, self.views = session, outputs, Views(session)
        except BaseException as error:  # noqa: BLE001  # raised again where the user waits
            self.failure = error
            self.finished.set()
        finally:
            self.ready.set()

    def _tell(self, stage: str, share: float) -> None:
        self._stage, self._share = stage, share

    def ask_again(self) -> None:
        """Let all voters judge the table as it is now, in a thread of their own."""
        threading.Thread(target=self._ask, name="pivotal-review-ask", daemon=True).start()

    def _ask(self) -> None:
        assert self.session is not None
        self.asking_failed = ""
        try:
            self.session.ask_again()
        except Exception as error:  # noqa: BLE001  # the page says it; the review continues
            self.asking_failed = str(error)

    def progress(self) -> dict[str, Any]:
        """Return how far the preparation is."""
        failed = "" if self.failure is None else str(self.failure)
        return {"ready": self.views is not None, "stage": self._stage, "share": self._share, "failed": failed}

    def seen(self, page: str) -> None:
        """Note that a page is open."""
        self._pages[page] = time.monotonic()
        self._closed_at = None

    def left(self, page: str) -> None:
        """Note that a page was closed."""
        if self._pages.pop(page, None) is not None and not self._pages:
            self._closed_at = time.monotonic()

    def is_closed(self) -> bool:
        """Whether every page that was ever open is closed."""
        now = time.monotonic()
        if self._closed_at is not None:
            return now - self._closed_at > _GRACE
        return bool(self._pages) and all(now - at > _LOST for at in self._pages.values())
