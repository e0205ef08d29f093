"""Data flows one way: a file imports only from files above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pivotal

ORDER = [
    "_types",
    "_version",
    "_whole",
    "_validation",
    "_random",
    "_threads",
    "_labels",
    "_indicators",
    "_query_weights",
    "kernels",
    "neighbors",
    "weights",
    "semivalues",
    "quadrature",
    "games",
    "_conventions",
    "_arrow",
    "_frozen",
    "per_query",
    "explain",
    "results",
    "solvers",
    "tally",
    "lists",
    "engine",
    "radius",
    "multilabel",
    "spread",
    "sampling",
    "editing",
    "estimator",
    "scaleout",
    "verification",
    "baselines",
    "_methods",
    "_dispatch",
    "valuation",
    "owners",
    "paper",
    "datasets",
    "applications",
    "cleaning",
    "interop",
    "plots",
    "sweeps",
    "experiments",
    "report",
    "tables",
    "demo",
    "bench",
    "cli",
    "__main__",
]
HOME = Path(pivotal.__file__).parent


def imported_by(file: Path) -> set[str]:
    """Full names of all that a file imports, inside functions too."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def rooms_imported_by(file: Path) -> set[str]:
    return {name.split(".")[1] for name in imported_by(file) if name.startswith("pivotal.")} & set(ORDER)


def room_of(file: Path) -> str:
    return file.relative_to(HOME).parts[0].removesuffix(".py")


def test_every_file_has_its_place() -> None:
    files = {room_of(file) for file in HOME.rglob("*.py")} - {"__init__"}
    assert files == set(ORDER)


def test_a_file_imports_only_from_files_above_it() -> None:
    for file in HOME.rglob("*.py"):
        room = room_of(file)
        if room == "__init__":
            continue
        below = {other for other in rooms_imported_by(file) if ORDER.index(other) > ORDER.index(room)}
        assert not below, f"{file.relative_to(HOME)} imports from below: {sorted(below)}"


def test_numba_lives_in_the_kernels() -> None:
    for file in HOME.rglob("*.py"):
        if room_of(file) != "kernels":
            assert not any(name.split(".")[0] == "numba" for name in imported_by(file)), file


def test_the_paper_stands_alone() -> None:
    for file in (HOME / "paper").glob("*.py"):
        assert rooms_imported_by(file) <= {"paper"}, file
