"""Values to pyDVL and back: as plain arrays here, as its own result in an environment that has it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pivotal
from pivotal import Values
from pivotal.interop import from_pydvl, pydvl_arguments, to_pydvl

EXACT = Values(
    [0.25, -0.5, 0.75],
    n_queries=4,
    full_utility=0.9,
    empty_utility=0.1,
    error_bound=1e-9,
    ids=["b", "a", "c"],
    recall=0.5,
    settings={"method": "exact", "k": 3, "list": [1, 2]},
)
SAMPLED = Values(
    [0.1, 0.2, 0.3, -0.4],
    n_queries=9,
    standard_error=[0.01, 0.02, 0.0, 0.03],
    error_bound=None,
    settings={"method": "permutations"},
)


def python_with_pydvl() -> str:
    """Return the interpreter of an environment that has pyDVL, or skip."""
    if importlib.util.find_spec("pydvl") is not None:
        return sys.executable
    python = os.environ.get("PIVOTAL_PYDVL_PYTHON")
    if not python:
        pytest.skip("pyDVL is not installed here, and PIVOTAL_PYDVL_PYTHON names no Python that has it")
    return python


# What the guide tells users to run where pyDVL is: it needs nothing of this package.
THERE = """
import sys
import numpy as np
from pydvl.valuation.result import ValuationResult

def load(path):
    with np.load(path) as file:
        return ValuationResult(**{name: part if part.ndim else part.item() for name, part in file.items()})

def save(path, result):
    names = "values", "variances", "counts", "indices", "names"
    np.savez(path, algorithm=result.algorithm, status=result.status.value, pivotal=getattr(result, "pivotal", ""),
             **{name: getattr(result, name) for name in names})
"""


def there(code: str, folder: Path) -> None:
    done = subprocess.run([python_with_pydvl(), "-c", THERE + code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def equal(one: Values, other: Values) -> bool:
    """Whether two results are the same but for the last bits of standard errors, which pyDVL keeps as variances."""
    if one.standard_error is not None:
        np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=1e-14)
        other = Values(**{**{name: getattr(other, name) for name in vars(other)}, "standard_error": one.standard_error})
    return one.equals(other)


@pytest.mark.parametrize("values", [EXACT, SAMPLED], ids=["exact", "sampled"])
def test_values_come_back_whole(values: Values) -> None:
    assert equal(values, from_pydvl(pydvl_arguments(values)))
    backwards = {  # as a sorted result would have them
        name: part[::-1] if isinstance(part, np.ndarray) else part for name, part in pydvl_arguments(values).items()
    }
    assert equal(values, from_pydvl(backwards))


def test_changed_values_do_not_keep_the_certificate() -> None:
    arguments = pydvl_arguments(EXACT)
    arguments["values"] = 2 * arguments["values"]
    changed = from_pydvl(arguments, n_queries=4)
    assert changed.values.tolist() == [0.5, -1.0, 1.5]
    assert changed.error_bound is None
    assert changed.full_utility is None
    assert changed.ids.tolist() == ["b", "a", "c"]
    assert changed.settings == {"method": "exact", "package": "pydvl", "status": "converged"}


def test_a_result_that_is_not_ours() -> None:
    status = SimpleNamespace(value="pending")
    result: Any = SimpleNamespace(
        values=np.array([3.0, 1.0]),
        variances=np.array([8.0, 2.0]),
        counts=np.array([2, 0]),
        indices=np.array([7, 4]),
        names=np.array(["7", "4"]),
        algorithm="",
        status=status,
    )
    got = from_pydvl(result)
    assert got.values.tolist() == [1.0, 3.0]  # in order of index
    assert got.ids.tolist() == [4, 7]
    assert got.standard_error is not None
    np.testing.assert_allclose(got.standard_error, [np.sqrt(2.0), 2.0])
    assert got.settings == {"method": "pydvl", "package": "pydvl", "status": "pending"}
    result.variances[:] = 0.0
    assert from_pydvl(result).standard_error is None
    assert from_pydvl({"values": [1.0]}).ids.tolist() == [0]


def test_pydvl_reads_and_writes_them(tmp_path: Path) -> None:
    np.savez(tmp_path / "exact.npz", **pydvl_arguments(EXACT))
    np.savez(tmp_path / "sampled.npz", **pydvl_arguments(SAMPLED))
    there(
        """
exact, sampled = load("exact.npz"), load("sampled.npz")
assert exact.algorithm == "exact" and exact.status.value == "converged", exact
assert exact.names.tolist() == ["b", "a", "c"] and exact.counts.tolist() == [4, 4, 4], exact
np.testing.assert_allclose(sampled.stderr, [0.01, 0.02, 0.0, 0.03])
exact.sort(reverse=True, inplace=True)
assert exact.values.tolist() == [0.75, 0.25, -0.5], exact
save("exact-back.npz", exact)
save("sampled-back.npz", sampled)
save("sum.npz", exact + exact)
exact.scale(2.0)
save("scaled.npz", exact)
save("random.npz", ValuationResult.from_random(5, seed=0))
        """,
        tmp_path,
    )
    for name, values in (("exact", EXACT), ("sampled", SAMPLED)):
        with np.load(tmp_path / f"{name}-back.npz") as file:
            assert equal(values, from_pydvl(file))
    with np.load(tmp_path / "sum.npz") as file:
        np.testing.assert_allclose(from_pydvl(file).values, EXACT.values)
        assert file["counts"].tolist() == [8, 8, 8]
    with np.load(tmp_path / "scaled.npz") as file:
        scaled = from_pydvl(file)
        np.testing.assert_allclose(scaled.values, 2 * EXACT.values)
        assert scaled.error_bound is None
    with np.load(tmp_path / "random.npz") as file:
        drawn = from_pydvl(file)
        assert (len(drawn), drawn.ids.tolist()) == (5, [0, 1, 2, 3, 4])
        assert drawn.settings["method"] == "random"


@pytest.mark.filterwarnings("default")  # pyDVL warns of what it imports
def test_where_both_are_installed_no_file_is_needed() -> None:
    if importlib.util.find_spec("pydvl") is None:
        with pytest.raises(ImportError, match="to_pydvl needs pyDVL; install it with: pip install pydvl"):
            to_pydvl(EXACT)
        return
    for values in (EXACT, SAMPLED):
        result = to_pydvl(values)
        np.testing.assert_array_equal(result.values, values.values)
        assert equal(values, from_pydvl(result.sort(reverse=True)))


def test_pydvls_own_shapley_values_come_over(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    there(
        """
from pydvl.valuation import KNNShapleyValuation
from pydvl.valuation.dataset import Dataset
from sklearn.neighbors import KNeighborsClassifier

with np.load("data.npz") as file:
    X, y = file["X"], file["y"]
valuation = KNNShapleyValuation(KNeighborsClassifier(3), Dataset(X[20:], y[20:]), progress=False)
result = valuation.fit(Dataset(X[:20], y[:20])).result
save("theirs.npz", result)
        """,
        tmp_path,
    )
    with np.load(tmp_path / "theirs.npz") as file:
        theirs = from_pydvl(file, n_queries=10)
    ours = pivotal.value(X[:20], y[:20], X[20:], y[20:], k=3, utility="pydvl", semivalue="shapley")
    np.testing.assert_allclose(theirs.values, ours.values, atol=1e-12)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        ([1.0], TypeError, "result must be a ValuationResult of pyDVL, or a mapping with its values; got list"),
        ({"value": [1.0]}, ValueError, r"a result of pyDVL must have values; got \['value'\]"),
        ({"values": [[1.0]]}, ValueError, r"must be one number per point; got shape \(1, 1\)"),
        ({"values": [1.0], "counts": [1, 2]}, ValueError, r"counts .* one entry per value, shape \(1,\); got \(2,\)"),
        ({"values": [np.nan]}, ValueError, "values must be finite; got nan"),
        ({"values": []}, ValueError, "at least one"),
    ],
    ids=str,
)
def test_results_that_are_none_are_refused(result: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_pydvl(result)


def test_what_pydvl_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match=r"made of pivotal\.Values; got list"):
        pydvl_arguments([1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a name of its own for every point; got ids that repeat"):
        pydvl_arguments(Values([1.0, 2.0], n_queries=1, ids=["a", "a"]))
    mixed = Values([1.0, 2.0], n_queries=1, ids=np.array([1, "a"], dtype=object))
    assert pydvl_arguments(mixed)["data_names"].tolist() == ["1", "a"]
