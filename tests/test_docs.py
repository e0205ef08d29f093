"""What running the examples cannot show: links, names, options and paths in the docs are real."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

import pivotal
from pivotal.cli import build_parser
from test_architecture import ALLOWED, ROOMS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts)])
GUIDE = [page for page in PAGES if page.relative_to(ROOT).as_posix().startswith("docs/guide")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    return FENCE.sub("", read(page))


def fences(page: Path, *languages: str) -> list[str]:
    return [code for language, code in FENCE.findall(read(page)) if language in languages]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    plain = (re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def commands(page: Path) -> list[list[str]]:
    """Return the shell commands of a page, in fences and in tables, cut into words."""
    lines = [line for code in fences(page, "sh") for line in code.splitlines()]
    lines += re.findall(r"`([^`\n]*(?:\.venv/bin/|pivotal (?:demo|--)|pip install)[^`\n]*)`", prose(page))
    parts = [part for line in lines for part in re.split(r"\s*&&\s*", line) if part.strip()]
    return [shlex.split(part, comments=True) for part in parts]


def test_there_are_pages() -> None:
    names = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/index.md", "docs/guide.md", "docs/theory.md"} <= names


@every_page
def test_internal_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = unquote(link).partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file(), f"{link} leads to no file"
        assert target.is_relative_to(ROOT), f"{link} leads out of the project"
        if target.suffix in (".svg", ".png"):
            assert anchor in ("", "only-light", "only-dark"), f"{link}: a picture is for light or for dark pages"
            continue
        assert not anchor or anchor in anchors(target), f"{link} leads to no heading"


@every_page
def test_no_page_names_a_place_on_somebodys_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users|mnt|opt)/|[A-Z]:\\|localhost", read(page))


@every_page
def test_python_examples_run(page: Path) -> None:
    # With prompts they are doctests, which pytest collects; without, they must at least run.
    for code in fences(page, "python"):
        if ">>>" not in code:
            exec(compile(code, page.name, "exec"), {})


def test_examples_in_pages_are_collected() -> None:
    options = PROJECT["tool"]["pytest"]["ini_options"]
    assert "--doctest-glob=*.md" in shlex.split(options["addopts"])
    assert {"docs", "README.md"} <= set(options["testpaths"])


def test_every_public_name_is_in_the_guide() -> None:
    text = "\n".join(read(page) for page in GUIDE)
    missing = [name for name in pivotal.__all__ if not re.search(rf"pivotal\.{re.escape(name)}\b", text)]
    assert not missing


def test_every_convention_is_in_the_guide() -> None:
    table = read(ROOT / "docs/guide/games.md")
    assert [name for name in pivotal.conventions if f"| `{name}` |" not in table] == []


def test_every_page_of_the_guide_is_listed() -> None:
    overview = ROOT / "docs/index.md"
    linked = {(overview.parent / link).resolve() for link in LINK.findall(prose(overview))}
    assert {page for page in GUIDE if page.parent.name == "guide"} <= linked


def test_the_rooms_are_listed_in_their_order() -> None:
    section = read(ROOT / "docs/architecture.md").split("## The rooms")[1].split("\n### ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [room for room in ALLOWED if room in ROOMS]


def test_every_kernel_is_listed() -> None:
    section = read(ROOT / "docs/architecture.md").split("### Kernels")[1].split("\n### ")[0]
    names = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)))
    home = Path(pivotal.__file__).parent / "kernels"
    assert set(names) == {file.stem for file in home.glob("*.py")} - {"__init__"}


@every_page
def test_commands_exist(page: Path) -> None:
    for words in commands(page):
        if words and Path(words[0]).name == "pivotal" and "--version" not in words and "--help" not in words:
            options = build_parser().parse_args(words[1:])  # an unknown option is an error
            assert options.run is not None


@every_page
def test_commands_name_real_files_extras_and_markers(page: Path) -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    markers = {marker.split(":")[0] for marker in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    for words in commands(page):
        for word, following in zip(words, [*words[1:], ""], strict=True):
            named = re.search(r"\[([\w,]+)\]$", word)
            if named and "install" in words:
                assert set(named[1].split(",")) <= set(extras), word
            if word == "-m" and following not in ("venv", "pip", "pytest", "ruff", "mypy", "coverage", "pivotal"):
                assert set(following.split(" or ")) <= markers, following
            if re.match(r"(tests|docs|benchmarks|src)/", word) and "--out" not in words[: words.index(word)]:
                assert (ROOT / word).exists(), word


@pytest.mark.parametrize(
    "page", ["docs/theory.md", "docs/theory-retrieval.md", "docs/architecture.md", "docs/paper.md"]
)
def test_files_and_functions_that_pages_for_developers_name_exist(page: str) -> None:
    files = [*Path(pivotal.__file__).parent.glob("**/*.py"), *ROOT.glob("tests/*.py")]
    sources = {file: file.read_text(encoding="utf-8") for file in files}
    text = prose(ROOT / page)
    for name in set(re.findall(r"`([\w./]+\.py)[`:]", text)) - {"cli/NAME_command.py"}:
        assert any(file.as_posix().endswith(f"/{name}") for file in sources), f"{name} is no file"
    for module, function in set(re.findall(r"`(\w+)\.(\w+)`", text)):
        homes = [file for file in sources if file.stem == module and file.parent.name == "kernels"]
        assert function == "py" or all(f"def {function}(" in sources[file] for file in homes), (
            f"{module} has no {function}"
        )
        assert homes or module[:1] != "_", f"{module} is no file of the kernels"


def test_every_extra_is_on_the_page_about_installing() -> None:
    page = read(ROOT / "docs/installation.md")
    assert [extra for extra in PROJECT["project"]["optional-dependencies"] if f"`{extra}`" not in page] == []


def test_the_test_command_stands_where_it_is_looked_for() -> None:
    # Continuous integration runs the line between the fence that follows the marker.
    found = re.search(r"<!-- test command -->\n```sh\n([^\n]+)\n```\n", read(ROOT / "README.md"))
    assert found is not None
    assert shlex.split(found[1])[:3] == ["python3", "-m", "venv"]
    assert found[1].endswith("-m pytest -n auto")


def test_what_the_test_command_leaves_out_is_run_by_continuous_integration() -> None:
    options = shlex.split(PROJECT["tool"]["pytest"]["ini_options"]["addopts"])
    left_out = options[options.index("-m") + 1]
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert [f"not ({chosen})" for chosen in re.findall(r'-m "([^"]+)"', script)] == [left_out]
    assert "--hypothesis-profile=ci" in script


def test_the_benchmark_table_has_its_place() -> None:
    assert re.search(
        r"<!-- benchmark table -->\n.+\n<!-- end of benchmark table -->", read(ROOT / "README.md"), re.DOTALL
    )
