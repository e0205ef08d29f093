"""One HTML file out of the template, the styles, the scripts and the data."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib import resources
from string import Template
from typing import Any, Final

from pivotal.report.encode import as_json

_SCRIPTS: Final = ("shared.js", "base.js", "charts.js", "certainty.js", "tables.js", "points.js")


def assemble(title: str, payload: dict[str, Any]) -> str:
    """Return the page as one string; the title is for the window, the page itself takes everything from the payload."""
    library = _read("echarts.min.js")
    scripts = "\n".join(_read(name) for name in _SCRIPTS).replace("\nexport ", "\n")  # one script, and no modules
    own = f'(() => {{\n"use strict";\n{scripts}\n}})();\n'
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
