"""What a user may import, and how quickly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pivotal

NAMES = {
    "Banzhaf", "BetaShapley", "BitsDiagnostic", "Convention", "Game", "Hard", "KNNValuation", "LabelErrors",
    "LeaveOneOut", "Linear", "Measure", "Method", "NeighborIndex", "Plurality", "RBF", "Regression", "Semivalue",
    "Shapley", "Soft", "Sweep", "Threshold", "Values", "Verification", "__version__", "applications",
    "bits_diagnostic", "conventions", "datasets", "find_label_errors", "interop", "methods", "paper", "scaleout",
    "sweep", "value", "value_by_retraining", "value_from_neighbors", "value_owners", "value_owners_from_neighbors",
    "verify", "write_report",
}  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert set(pivotal.__all__) == NAMES
    assert set(dir(pivotal)) == NAMES
    for name in NAMES:
        assert getattr(pivotal, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pivotal.nonsense  # noqa: B018


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
    home = Path(pivotal.__file__).parent
    modules = {file.stem for file in home.glob("*.py")} | {folder.name for folder in home.iterdir() if folder.is_dir()}
    assert modules & NAMES == {"applications", "datasets", "interop", "paper", "scaleout"}


def test_no_kernel_compiles_that_is_not_used() -> None:
    code = (
        "import pivotal; pivotal.value([[0.0], [1.0]], [0, 1], [[0.2]], [0], k=1); "
        "unused = {'weighted', 'moments', 'plurality', 'averages'}; "
        "assert not unused & {name.rsplit('.')[-1] for name in sys.modules if name.startswith('pivotal.kernels.')}"
    )
    assert "pivotal.kernels.hard" in loaded_by(code)
