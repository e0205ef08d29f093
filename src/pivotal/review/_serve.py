"""Starting the server, saying where it is, and waiting until the review is over."""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import threading
import time
import webbrowser
from typing import Any, Final, Self

from pivotal.core.extras import needed
from pivotal.review._server import make_app
from pivotal.review._service import ReviewService

LOCAL: Final = "127.0.0.1"
_LOOPBACK: Final = {LOCAL, "localhost", "::1"}
_ANY: Final = {"0.0.0.0", "::"}  # named to be recognised


def need_server() -> None:
    """Raise unless what serves the page is installed."""
    with needed("reviewing needs Starlette with uvicorn", "review"):
        import starlette
        import uvicorn
    del starlette, uvicorn


class Server:
    """A server in a thread of its own, for as long as the context lasts.

    Parameters
    ----------
    service : ReviewService
    host : str, default="127.0.0.1"
        Address to listen at; only this machine can reach the default.
    port : int, default=0
        0 takes one that is free.

    Attributes
    ----------
    url : str
        Address of the page, with its secret.
    """

    def __init__(self, service: ReviewService, host: str = LOCAL, port: int = 0) -> None:
        need_server()
        import uvicorn

        self._service = service
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.is_public = host not in _LOOPBACK
        token = secrets.token_urlsafe(32)  # 256 bits
        shown = _own_name() if host in _ANY else host
        self.url = f"http://{_in_url(shown)}:{self.port}/{token}/"
        app: Any = make_app(service, token, [f"{_in_url(name)}:{self.port}" for name in _names(host)])
        self._server = uvicorn.Server(
            uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", ws="none", server_header=False,
                           timeout_graceful_shutdown=2)
        )  # fmt: skip
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="pivotal-review", daemon=True
        )

    def __enter__(self) -> Self:
        self._service.start()
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10.0)
        self._socket.close()
        if self._service.session is not None:
            self._service.session.close()

    def open(self) -> bool:
        """Open the page in the user's browser; return whether there is one."""
        try:
            return webbrowser.open(self.url)
        except webbrowser.Error:
            return False

    def wait(self, *, until_closed: bool) -> None:
        """Wait until the review is finished or, if that is wanted, every page is closed; raise if preparing failed."""
        while not self._service.finished.wait(0.2):
            if until_closed and self._service.is_closed():
                break
            if not self._thread.is_alive():
                raise RuntimeError(
                    "the server stopped by itself; start the review again, decisions are in the journal."
                )
        if self._service.failure is not None:
            raise self._service.failure
        time.sleep(0.3)  # the page that finished hears of it


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its full name: asyncio sends small answers at once only where the protocol is said, and 40 ms later otherwise.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise OSError(f"port {port} is taken; choose another, or 0 to get one that is free.") from error
        raise OSError(f"cannot listen at {host}, port {port}: {error.strerror or error}.") from error
    return listening


def _names(host: str) -> set[str]:
    """Return the names that browsers may reach the server by."""
    if host in _LOOPBACK:
        return {LOCAL, "localhost"} if host != "::1" else {"::1", "localhost"}
    if host not in _ANY:
        return {host}
    found = {LOCAL, "localhost", socket.gethostname(), socket.getfqdn(), _own_name()}
    with contextlib.suppress(OSError):
        found |= {str(address[4][0]) for address in socket.getaddrinfo(socket.gethostname(), None)}
    return found


def _own_name() -> str:
    """Return the address by which other machines reach this one, as far as that can be told without asking any."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of documentation; nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
