"""The server behind the page: JSON in, JSON out, and the page's own files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from pivotal.core.pictures import NotShown
from pivotal.report.encode import as_text
from pivotal.review._guard import Guard
from pivotal.review._queues import Query, as_rows
from pivotal.review._service import ReviewService
from pivotal.review._views import Views

if TYPE_CHECKING:
    from starlette.types import ASGIApp

Answer = Callable[[Views, dict[str, Any]], Any]

_SCRIPTS: Final = ("main", "dom", "server", "card", "grid", "chart", "dialogs", "filters", "keys", "strip")
_FILES: Final = {
    "review.css": ("pivotal.review", "text/css"),
    **{f"{name}.js": ("pivotal.review", "text/javascript") for name in _SCRIPTS},
    "icon.svg": ("pivotal.review", "image/svg+xml"),
    **{f"{name}.js": ("pivotal.report", "text/javascript") for name in ("shared", "echarts.min")},
}
_TYPES: Final = {"csv": "text/csv", "tsv": "text/tab-separated-values", "html": "text/html", "json": "application/json"}
_LONGEST_NOTE: Final = 10_000
_MOST: Final = 200  # rows of a page of a queue
_SIDE: Final = 512


def make_app(service: ReviewService, token: str, hosts: list[str]) -> ASGIApp:
    """Return the application; the token is the first part of every path, hosts are names and ports of the server."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    def json_of(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """Make an endpoint of a function of what there is to see and of what the page sent."""

        async def endpoint(request: Request) -> Response:
            views = service.views
            if views is None:
                return JSONResponse(service.progress(), 503)
            try:
                content = json.loads(await request.body()) if request.method == "POST" else dict(request.path_params)
                if not isinstance(content, dict):
                    raise ValueError("a request must be an object of JSON.")
                return JSONResponse(await run_in_threadpool(_locked, answer, views, content))
            except (ValueError, RecursionError) as error:
                return JSONResponse({"error": str(error)}, 400)
            except sqlite3.Error as error:  # a full disk, a journal that another process holds
                sentence = f"the journal could not be written ({error}); the decision was not taken."
                return JSONResponse({"error": sentence}, 507)

        return endpoint

    def about(views: Views, _: dict[str, Any]) -> Any:
        views.session.sync()
        cleaned = None if service.outputs is None else service.outputs.format
        return {**views.about(), "strip": views.strip(), "cleaned": cleaned}

    async def page(_: Request) -> Response:
        return Response(_asset("pivotal.review", "review.html"), media_type="text/html")

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            return Response("There is no such file.", 404)
        package, kind = _FILES[name]
        return Response(_asset(package, name), media_type=kind)

    async def progress(_: Request) -> Response:
        return JSONResponse({**service.progress(), "reviewer": service.reviewer})

    async def pulse(request: Request) -> Response:
        service.seen(request.query_params.get("page", "")[:64])
        if service.views is None:
            return JSONResponse(service.progress(), 503)
        session = service.views.session
        await run_in_threadpool(session.sync)
        state = {"version": session.mark, "finished": service.finished.is_set(), "asking": session.is_asking}
        return JSONResponse({**state, "failed": service.asking_failed})

    async def again(_: Request) -> Response:
        if service.session is None:
            return JSONResponse(service.progress(), 503)
        service.ask_again()
        return JSONResponse({})

    async def leave(request: Request) -> Response:
        service.left((await request.body()).decode("utf-8", "replace")[:64])
        return JSONResponse({})

    async def finish(_: Request) -> Response:
        service.finished.set()
        return JSONResponse({})

    async def picture(request: Request) -> Response:
        session = service.session
        images = None if session is None else session.subject.images
        row = request.path_params["row"]
        if session is None or images is None or not 0 <= row < len(session.subject):
            return Response("There is no picture.", 404)
        try:
            kind, content = await run_in_threadpool(images.encoded, row, _SIDE)
        except NotShown:
            return Response("There is no picture.", 404)
        return Response(content, media_type=f"image/{kind}")

    async def download(request: Request) -> Response:
        if service.outputs is None:
            return Response("Not ready yet.", 503)
        try:
            name, content = await run_in_threadpool(service.outputs.download, request.path_params["name"])
        except KeyError:
            return Response("There is no such file.", 404)
        except (ValueError, OSError) as error:
            return Response(str(error), 409)
        kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/assets/{name}", asset),
            Route("/api/progress", progress),
            Route("/api/pulse", pulse),
            Route("/api/leave", leave, methods=["POST"]),
            Route("/api/finish", finish, methods=["POST"]),
            Route("/api/again", again, methods=["POST"]),
            Route("/api/about", json_of(about)),
            Route("/api/strip", json_of(lambda views, _: views.strip())),
            Route("/api/item/{row:int}", json_of(lambda views, item: views.item(_row(views, item["row"])))),
            Route("/api/queue", json_of(_queue), methods=["POST"]),
            Route("/api/map", json_of(lambda views, asked: views.map(_query(views, asked))), methods=["POST"]),
            Route(
                "/api/confusion", json_of(lambda views, asked: views.confusion(_query(views, asked))), methods=["POST"]
            ),
            Route("/api/decide", json_of(_decide), methods=["POST"]),
            Route("/api/undo", json_of(_undo), methods=["POST"]),
            Route("/api/picture/{row:int}", picture),
            Route("/out/{name}", download),
        ]
    )
    return Guard(app, token, hosts)


def _locked(answer: Answer, views: Views, content: dict[str, Any]) -> Any:
    with views.session.lock:
        return answer(views, content)


def _queue(views: Views, content: dict[str, Any]) -> Any:
    views.session.sync()
    return _shown(views, content)


def _decide(views: Views, content: dict[str, Any]) -> Any:
    rows = as_rows(content.get("rows"), len(views.session.subject))
    if not rows:
        raise ValueError("a decision must be about at least one row; got none.")
    label = content.get("label")
    entries = views.session.decide(
        rows,
        _text(content, "action"),
        label=None if label is None else _text(content, "label"),
        reviewer=_text(content, "reviewer", 200),
        batch=_text(content, "batch", 200),
        note=_text(content, "note", _LONGEST_NOTE, needed=False),
        queue=_text(content, "queue", 100),
    )
    return {"written": len(entries), **_shown(views, content)}


def _undo(views: Views, content: dict[str, Any]) -> Any:
    undone = views.session.undo(reviewer=_text(content, "reviewer", 200), batch=_text(content, "batch", 200))
    return {**_shown(views, content), "undone": [entry.row for entry in undone]}


def _shown(views: Views, content: dict[str, Any]) -> dict[str, Any]:
    """Return the strip, a page of the queue, and all that is known of the row to look at."""
    query = _query(views, content)
    offset, limit = (_count(content.get(name, default)) for name, default in (("offset", 0), ("limit", 20)))
    page = views.queue(query, offset, min(limit, _MOST))
    wanted = content.get("open")
    if wanted is None and page["items"]:
        wanted = page["items"][0]["row"]
    item = None if wanted is None else views.item(_row(views, wanted))
    return {"strip": views.strip(), "queue": page, "item": item, "n_classes": len(views.session.classes)}


def _query(views: Views, content: dict[str, Any]) -> Query:
    return Query.of(content.get("query"), len(views.session.subject))


def _row(views: Views, content: Any) -> int:
    return as_rows([content], len(views.session.subject))[0]


def _count(content: Any) -> int:
    if isinstance(content, bool) or not isinstance(content, int) or content < 0:
        raise ValueError(f"offset and limit must be integers of at least 0; got {content!r}.")
    return content


def _text(content: dict[str, Any], name: str, max_length: int = 1000, *, needed: bool = True) -> str:
    text = content.get(name, None if needed else "")
    if not isinstance(text, str) or (needed and not text.strip()):
        raise ValueError(f"{name} must be a text that is not empty.")
    if len(text) > max_length:
        raise ValueError(f"{name} must have at most {max_length} characters; got {len(text)}.")
    return as_text(text)


def _asset(package: str, name: str) -> bytes:
    return (resources.files(package) / "assets" / name).read_bytes()
