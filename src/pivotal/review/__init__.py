"""The page on which a person decides about suspects.

    table, or label errors ──► _start ──► _service ──► _server ──► assets     the page, in a browser
                                             │            └── _guard          who may ask
                                             ▼
                      _session ◄── _journal ◄── decisions                     SQLite; appended, never changed
                       │  │  └── _record                                      what holds, who disagrees
                       │  └── _nearest_lists, _live, _scores                  neighbours, values, scores: exact at once
                       ▼
                      _queues, _views, _estimate                              what the page is told
                      _export, _compare, _apply                               cleaned table, decisions, before and after

Python decides what is told; the scripts in `assets` show it. All that comes from the user's data reaches the page as
JSON and is shown as text, never as markup. `docs/guide/review.md` is the guide.
"""

from pivotal.review._apply import apply_decisions
from pivotal.review._serve import Server, need_server
from pivotal.review._service import ReviewService
from pivotal.review._start import TableReview, review, user_name

__all__ = ["ReviewService", "Server", "TableReview", "apply_decisions", "need_server", "review", "user_name"]
