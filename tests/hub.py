"""A hub of data sets on this machine, which answers as Hugging Face's does: enough of it to load a data set by name."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["serve_hub"]

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextlib.contextmanager
def serve_hub(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the data sets in a folder, each as `owner/name`; yield the address, and what is asked for as it comes."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer()

        def _answer(self) -> None:
            path = unquote(urlsplit(self.path).path).strip("/")
            asked.append(f"{self.command} {path}")
            parts = path.split("/")
            if parts[:2] == ["api", "datasets"]:
                self._about("/".join(parts[2:4]), parts[4:])
            elif parts[0] == "datasets" and parts[3:4] == ["resolve"]:
                self._file(folder / parts[1] / parts[2], "/".join(parts[5:]))
            else:
                self._send(404, b"{}")

        def _about(self, name: str, rest: list[str]) -> None:
            home = folder / name
            if not home.is_dir():
                self._send(404, b'{"error": "Repository not found"}', **{"X-Error-Code": "RepoNotFound"})
                return
            files = sorted(file for file in home.rglob("*") if file.is_file())
            if rest[:1] == ["tree"]:
                under = home / "/".join(rest[2:])
                whole = "recursive=true" in self.path.lower()
                listed = sorted((under.rglob if whole else under.glob)("*")) if under.is_dir() else []
                found: object = [self._entry(one, home) for one in listed]
                if not found:
                    self._send(404, b'{"error": "Entry not found"}', **{"X-Error-Code": "EntryNotFound"})
                    return
            elif rest[:1] == ["paths-info"]:
                found = [self._entry(file, home) for file in files]
            else:
                names = [{"rfilename": file.relative_to(home).as_posix()} for file in files]
                found = {"id": name, "sha": COMMIT, "private": False, "tags": [], "downloads": 0, "siblings": names}
            self._send(200, json.dumps(found).encode())

        @staticmethod
        def _entry(file: Path, home: Path) -> dict[str, object]:
            path = file.relative_to(home).as_posix()
            if file.is_dir():
                return {"type": "directory", "oid": COMMIT, "size": 0, "path": path}
            mark = hashlib.sha1(file.read_bytes()).hexdigest()  # names a version, keeps no secret
            return {"type": "file", "oid": mark, "size": file.stat().st_size, "path": path}

        def _file(self, home: Path, name: str) -> None:
            file = home / name
            if not file.is_file():
                self._send(404, b"", **{"X-Error-Code": "EntryNotFound" if home.is_dir() else "RepoNotFound"})
                return
            content = file.read_bytes()
            mark = hashlib.sha1(content).hexdigest()
            self._send(200, content, **{"ETag": f'"{mark}"', "X-Repo-Commit": COMMIT})

        def _send(self, code: int, content: bytes, **headers: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
