"""One HTML file out of the template, the styles, the scripts and the data."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import secrets
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final

from pivotal.report._encode import as_json

__all__ = ["assemble", "check_target", "save"]

_SCRIPTS: Final = ("base.js", "charts.js", "tables.js", "points.js")


def assemble(title: str, payload: dict[str, Any]) -> str:
    """Return the page as one string.

    Parameters
    ----------
    title : str
        For the window; the page itself takes everything from the payload.
    payload : dict
        What the scripts draw, as JSON.
    """
    library = _read("echarts.min.js")
    own = "(() => {\n" + "\n".join(_read(name) for name in _SCRIPTS) + "\n})();\n"
    return Template(_read("template.html")).substitute(
        title=html.escape(title),
        policy=_policy(library, own),
        style=_read("style.css"),
        library=library,
        script=own,
        data=as_json(payload),
    )


def _read(name: str) -> str:
    return (resources.files("pivotal.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return the content security policy: nothing from elsewhere, and only these scripts run."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}"


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the file to write, after making sure that it can be one; before any work is done."""
    target = Path(path).resolve()  # through a link, so that the link survives
    if target.is_dir():
        raise IsADirectoryError(f"cannot write to {path}: it is a directory; give a file name such as report.html.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the directory {target.parent} does not exist; create it first.")
    return target


def save(page: str, target: Path) -> None:
    """Write a page, whole or not at all: under a temporary name, renamed once it is complete."""
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"cannot write {target}: {reason}; nothing was changed on disk.") from error
    finally:
        temporary.unlink(missing_ok=True)
