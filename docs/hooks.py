"""Pages of the site that are made from elsewhere: the reference, the command line's help, the changelog."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

import pivotal

ROOT = Path(__file__).parents[1]
COPIES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}

# Page, title, what it says first, rooms whose public names it has, and modules it lists in full.
REFERENCE = [
    ("valuation", "Valuation", "What each training point is worth.", ("valuation", "results"), ()),
    ("mathematics", "Utilities, semivalues, weights", "What is computed.", ("core",), ()),
    ("neighbors", "Neighbour search", "Where neighbours come from.", ("neighbors",), ("pivotal.neighbors",)),
    ("analysis", "Analysis", "What values are good for.", ("analysis", "review"), ("pivotal.analysis",)),
    ("retrieval", "Retrieval", "What documents are worth to a retriever.", (), ("pivotal.analysis.retrieval",)),
    ("embed", "Text and images", "Raw text and images to vectors.", ("embed", "tables"), ("pivotal.embed",)),
    ("report", "Report and plots", "Results to look at.", ("report",), ("pivotal.report", "pivotal.report.plots")),
    ("baselines", "Baselines", "What values are compared with.", ("baselines",), ()),
    ("interop", "Other packages", "Results and models of other packages.", ("interop",), ("pivotal.interop",)),
    (
        "research",
        "Data sets and the paper",
        "Data sets by name, and the paper's algorithms in exact integers.",
        ("research",),
        ("pivotal.research.datasets", "pivotal.research.paper"),
    ),
]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in the folder."""
    made = {page: (ROOT / source).read_text(encoding="utf-8") for page, source in COPIES.items()}
    made |= reference() | {"reference/command-line.md": command_line()}
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to files outside the folder at the pages made from them."""
    up = "../" * page.file.src_uri.count("/")
    for made, source in COPIES.items():
        markdown = markdown.replace(f"]({up}../{source})", f"]({up}{made})")
    markdown = markdown.replace(f"]({up}../README.md)", f"]({up}index.md)")
    if page.file.src_uri in COPIES:  # written for a reader of the folder above
        markdown = markdown.replace("](docs/", "](")
        for made, source in COPIES.items():
            markdown = markdown.replace(f"]({source})", f"]({made})")
        markdown = markdown.replace("[changelog.d](changelog.d/README.md)", "`changelog.d/`")  # not a page
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Link public names, wherever text and docstrings name them as code, to the reference."""
    # What is a link already, a heading or a block of code stays as it is.
    parts = re.split(r"(<(a|autoref|pre|h[1-6])\b.*?</\2>)", html, flags=re.DOTALL)
    parts[::3] = [_NAMED.sub(_link, part) for part in parts[::3]]
    del parts[2::3]  # names of tags
    return re.sub(r"<td\b.*?</td>", _breakable, "".join(parts), flags=re.DOTALL)


def _breakable(cell: re.Match[str]) -> str:
    """Let long code in a table break where a reader would break it."""
    return re.sub(r"(?<=<code>)[^<]{16,}(?=</code>)", lambda code: re.sub(r"([.(=_,/])", r"\1<wbr>", code[0]), cell[0])


_NAMED = re.compile(r"<code>(pivotal\.\w+)(?:\([^<]*\))?</code>")


def _link(found: re.Match[str]) -> str:
    name = found[1].removeprefix("pivotal.")
    known = name in pivotal._MODULE_OF and name != "__version__"
    return f'<autoref identifier="{found[1]}">{found[0]}</autoref>' if known else found[0]


def reference() -> dict[str, str]:
    """Return the pages of the reference: every public name is on one of them."""
    home = {name: module.split(".")[0] for name, module in pivotal._MODULE_OF.items()}
    left = set(home) - {"__version__"}
    pages = {}
    for page, title, intro, rooms, modules in REFERENCE:
        names = [f"pivotal.{name}" for name in sorted(left, key=_functions_first) if home[name] in rooms]
        left -= {name.removeprefix("pivotal.") for name in names}
        for module in modules:
            own = importlib.import_module(module)
            public = getattr(own, "__all__", [name for name in vars(own) if name.startswith("plot_")])
            names += [f"{module}.{name}" for name in public if f"pivotal.{name}" not in names]
        entries = "\n\n".join(f"::: {name}" for name in names)
        pages[f"reference/{page}.md"] = f"# {title}\n\n{intro}\n\n{entries}\n"
    if left:
        raise ValueError(f"every public name must be on a page of the reference; {sorted(left)} are on none.")
    return pages


# Looked for most.
_FIRST = ("value", "Values", "find_label_errors", "LabelErrors", "select", "check", "embed", "write_report")


def _functions_first(name: str) -> tuple[int, bool, str]:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST), name[0].isupper(), name


def command_line() -> str:
    """Return the help of every command."""
    os.environ["COLUMNS"] = "100"
    app = importlib.import_module("pivotal.cli._app")
    parser = app.build_parser()
    commands = next(action for action in parser._actions if action.choices and "value" in action.choices)
    parts = ["# Command line", "", "What `pivotal COMMAND --help` prints.", "", "```text", parser.format_help(), "```"]
    for name in app._COMMANDS:
        parts += ["", f"## pivotal {name}", "", "```text", commands.choices[name].format_help(), "```"]
    return "\n".join(parts) + "\n"


def _constant(name: griffe.ExprName) -> griffe.ExprName | str:
    """Return a number or text for the constant that holds it: a reader cannot look DEFAULT_TOL up."""
    module, _, constant = name.canonical_path.rpartition(".")
    known = module.startswith("pivotal.") and constant.isupper()
    value = getattr(importlib.import_module(module), constant, None) if known else None
    return repr(value) if isinstance(value, int | float | str) else name


class OwnDefaults(griffe.Extension):
    """Give each parameter its own default; the parser gives all that are described together that of the first."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Amend the docstrings of a package that is loaded."""
        self._amend(pkg)

    def _amend(self, found: griffe.Object) -> None:
        for member in found.members.values():
            if member.is_alias:
                continue
            self._amend(member)
            for parameter in member.parameters if member.is_function else ():
                # default(5) is 5 that a fitted model or a method may replace.
                if str(parameter.default).startswith("default("):
                    parameter.default = parameter.default.arguments[0]
                if isinstance(parameter.default, griffe.ExprName):
                    parameter.default = _constant(parameter.default)
            # A data class has no constructor yet, and its docstring is parsed when it has one.
            if member.docstring and (member.is_function or "__init__" in member.members):
                for section in member.docstring.parsed:
                    if section.kind is griffe.DocstringSectionKind.parameters:
                        for parameter in section.value:
                            if parameter.name in member.parameters:
                                parameter.value = member.parameters[parameter.name].default
