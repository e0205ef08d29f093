"""What a user may import, and how quickly."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pivotal

NAMES = {
    "BestOf", "DCG", "Hit", "Mixture", "NDCG", "Precision", "Recall", "ReciprocalRank", "retrieval", "value_retrieval",
    "Banzhaf", "BetaShapley", "BitsDiagnostic", "Convention", "Game", "Hard", "KNNValuation", "LabelErrors",
    "LeaveOneOut", "Linear", "Measure", "Method", "NeighborIndex", "Plurality", "RBF", "Regression", "Semivalue",
    "Shapley", "Soft", "Sweep", "Threshold", "Values", "Verification", "__version__", "analysis",
    "baselines", "bits_diagnostic", "conventions", "datasets", "embed", "find_label_errors", "interop",
    "methods", "neighbors", "paper", "plots", "report", "sweep", "value",
    "value_by_retraining", "value_from_neighbors", "verify", "write_report", "Coalitions", "EditableKNNValuation",
    "Exact", "Metric", "Permutations", "QueryWeights", "config_context", "get_config", "method", "set_config",
    "clean", "read_table", "CheckUp", "check", "Selection", "remove_harmful", "select",
}  # fmt: skip


HOME = Path(pivotal.__file__).parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def test_the_public_names_are_these() -> None:
    assert set(pivotal.__all__) == NAMES
    assert set(dir(pivotal)) == NAMES
    for name in NAMES:
        assert getattr(pivotal, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pivotal.nonsense  # noqa: B018


def test_public_modules_inside_a_room_can_be_imported_by_their_short_name() -> None:
    # One process, in which the package is fresh for each of them.
    code = """
import importlib, sys
for name in ("datasets", "paper", "plots", "retrieval"):
    for loaded in [one for one in sys.modules if one.split(".")[0] == "pivotal"]:
        del sys.modules[loaded]
    short = importlib.import_module(f"pivotal.{name}")
    import pivotal
    assert short is getattr(pivotal, name) is sys.modules[short.__name__], short
    assert short.__name__ != f"pivotal.{name}" and short.__spec__.name == short.__name__
    assert importlib.reload(short) is short
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_is_lazy() -> None:
    heavy = {"numpy", "numba", "sklearn", "pandas", "scipy", "matplotlib"}
    assert not heavy & loaded_by("import pivotal")
    assert not {"numba", "matplotlib"} & loaded_by("import pivotal; pivotal.Banzhaf; pivotal.Hard; pivotal.Values")


def test_no_public_name_is_hidden_by_a_module() -> None:
    # Importing a submodule sets an attribute of the package: it must not be one that means something else.
    modules = {file.stem for file in HOME.glob("*.py")} | {folder.name for folder in HOME.iterdir() if folder.is_dir()}
    public = {name for name in NAMES if inspect.ismodule(getattr(pivotal, name))}
    assert modules & NAMES <= public
    assert all(getattr(pivotal, name).__name__ == f"pivotal.{name}" for name in modules & NAMES)


def test_every_name_in_the_guide_is_there_after_import_pivotal() -> None:
    root = Path(__file__).parent.parent
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    word = re.compile(r"(?<![\w./@\"'-])pivotal(?:\.[A-Za-z]\w*)+(?![\w/])")
    for file in HOME.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if word.search(re.sub(r"^ *from pivotal\S* import .*", "", source, flags=re.MULTILINE)):
            inside = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
            texts += [ast.get_docstring(node) or "" for node in inside]
    named = {name for text in texts for name in word.findall(text)}
    named = {name for name in named if not name.endswith((".py", ".md", ".toml", ".html", ".sqlite"))}
    assert {"pivotal.neighbors.FaissIVF", "pivotal.baselines.lava.lava", "pivotal.plots.plot_values"} <= named
    # Each in a package that is fresh but for what the others loaded, in an order that helps none of them.
    code = f"""
import functools, sys
import pivotal
for name in sorted({sorted(named)!r}, key=lambda name: (-name.count("."), name)):
    for loaded in [one for one in sys.modules if one.startswith("pivotal.")]:
        vars(pivotal).pop(loaded.split(".")[1], None)
    functools.reduce(getattr, name.split(".")[1:], pivotal)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_valuation_loads_nothing_that_is_not_used() -> None:
    loaded = loaded_by("import pivotal; pivotal.value([[0.0], [1.0]], [0, 1], [[0.2]], [0], k=1)")
    kernels = {name.rpartition(".")[2] for name in loaded if name.startswith("pivotal.kernels.")}
    assert "hard" in kernels
    assert not {"weighted", "moments", "plurality", "averages"} & kernels
    assert not {"sklearn", "scipy.stats", "matplotlib"} & loaded
    assert not {"tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"} & loaded


def test_help_of_value_is_complete_by_itself():
    parameters, text = inspect.signature(pivotal.value).parameters, inspect.getdoc(pivotal.value)
    assert len(parameters) <= 20
    section = text.split("Parameters\n----------\n")[1].split("Returns\n-------\n")[0]
    described = [name for line in section.splitlines() if re.match(r"\w[\w, ]* : ", line) for name in _names_in(line)]
    assert described == list(parameters)
    assert not re.search(r"[Aa]s in `", section), "it says what each is, and does not send the reader elsewhere"
    for choice in ("hard", "plurality", "soft", "soft-k", "regression", "threshold(0.5)", "banzhaf", "shapley", "loo",
                   "beta(4,1)", "uniform", "distance", "rbf", "linear", "auto", "brute", "balanced", "exact",
                   "coalitions", "permutations"):  # fmt: skip
        assert f'``"{choice}"``' in section, choice


def _names_in(line):
    return [name.strip() for name in line.split(" : ")[0].split(",")]
