"""A store of objects on this machine that speaks as S3 does, for tests that want the real thing."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

BUCKET = "pivotal-tests"
KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_MAX_ATTEMPTS": "1",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


class Store:
    """The server: takes every request, but for uploads while it refuses them.

    One request at a time, as a real store orders what is written to one name: moto closes an object that is replaced
    while another thread still reads it, and answers with an error of its own.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app
        self._turn = threading.Lock()
        self.url = ""
        self.refuses = False

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self.refuses and environ["REQUEST_METHOD"] in ("PUT", "POST"):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("400 Bad Request", [("Content-Type", "application/xml"), ("Connection", "close")])
            return [b"<?xml version='1.0'?><Error><Code>InvalidRequest</Code><Message>no more room</Message></Error>"]
        with self._turn:
            return list(self._app(environ, start_response))

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Take no uploads for a while."""
        self.refuses = True
        try:
            yield
        finally:
            self.refuses = False


@contextlib.contextmanager
def running() -> Iterator[Store]:
    """Run a store with one empty bucket."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    store = Store(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, store, threaded=True)
    store.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
