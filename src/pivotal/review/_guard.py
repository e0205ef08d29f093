"""Who may ask, and what a page may do: the checks that every request passes before anything else sees it.

The page is for one person on this machine. Other sites open in the same browser can send requests to it (and, by
rebinding a name of theirs to 127.0.0.1, read the answers), and so can other users of the machine. Hence a secret in the
address, the check of the names that the browser says it talks to and comes from, and a policy that lets the page load
nothing from elsewhere and run nothing that is not one of its own files.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_LARGEST: Final = 2**21  # bytes of a request: more than a hundred thousand row numbers


class Guard:
    """Lets requests through that come from the page itself, and nothing else.

    The token is the first part of every path, and the application sees paths without it; hosts are names and ports that
    this server goes by, such as 127.0.0.1:8000.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self._app, self._token = app, token
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            status, sentence = refusal
            start = {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]}
            await _with_headers(send)(start)
            await send({"type": "http.response.body", "body": sentence.encode()})
            return
        rest = scope["path"].removeprefix(f"/{self._token}")
        await self._app({**scope, "path": rest, "raw_path": rest.encode()}, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a request is turned down, as a status and a sentence; None if it is not."""
        headers: dict[str, list[str]] = {}
        for name, content in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(content.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This server does not go by that name."
        token = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        # In constant time: how long a refusal takes tells nothing about the token.
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return 404, "There is nothing here. Use the whole address that pivotal review printed."
        origins, sites = headers.get("origin", []), set(headers.get("sec-fetch-site", []))
        is_foreign = origins != [f"http://{hosts[0]}"]
        if scope["method"] in ("GET", "HEAD"):
            allowed = {"same-origin", "none"}
        elif scope["method"] == "POST":
            allowed = {"same-origin"}
            if is_foreign:
                return 403, "Only the page itself may ask for this."
            length = headers.get("content-length", [""])[0]
            if not (length.isdigit() and int(length) <= _LARGEST):
                return 413, "A request must say its size, and be smaller."
        else:
            return 405, "Only GET and POST are answered."
        if not sites <= allowed or (origins and is_foreign):
            return 403, "Only the page itself may ask for this."
        return None


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", []) if pair[0].lower() != b"cache-control"]
            message = {**message, "headers": [*kept, *_HEADERS]}
        await send(message)

    return sent
