"""Machine code on disk: never that of other sources, whoever wrote it, and not needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core import config, types

import pivotal
from pivotal.kernels import _code_cache
from pivotal.kernels._compile import kernel

CALLEE = """
from pivotal.kernels._compile import kernel

@kernel
def factor(x):
    return 2 * x
"""
CALLER = """
from pivotal.kernels._compile import kernel
from pivotal.kernels.callee import factor

@kernel
def call(x):
    return factor(x) + 1
"""
ASK = """
from pivotal.kernels.caller import call
print(call(20.0), sum(call.stats.cache_hits.values()) if hasattr(call, "stats") else "plain")
"""


class House:
    """A package with the real ways to compile and two kernels of its own, one of which calls the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernels = folder / "house" / "pivotal" / "kernels"
        self.kernels.mkdir(parents=True)
        (self.kernels.parent / "__init__.py").touch()
        real = Path(pivotal.__file__).parent / "kernels"
        for name in ("_code_cache.py", "_compile.py"):
            shutil.copy(real / name, self.kernels)
        core = self.kernels.parent / "core"
        core.mkdir()
        (core / "__init__.py").touch()
        shutil.copy(real.parent / "core" / "notices.py", core)
        (self.kernels / "__init__.py").touch()
        (self.kernels / "callee.py").write_text(CALLEE, encoding="utf-8")
        (self.kernels / "caller.py").write_text(CALLER, encoding="utf-8")
        (folder / "file").touch()
        self.path = folder / "house"

    def start(self, code: str = ASK, **env: str) -> subprocess.Popen[str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "COV", "XDG"))}
        home = {"HOME": str(self.folder / "home"), "PYTHONPATH": str(self.path)}
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**plain, **home, **env},
        )

    def ask(self, code: str = ASK, **env: str) -> tuple[str, str]:
        """Return what a process prints and what it complains about."""
        return finish([self.start(code, **env)])[0]

    def kept(self) -> list[Path]:
        """Return the files with machine code, wherever they are."""
        return sorted(self.folder.rglob("*.nbc"))


def finish(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[str, str]]:
    said = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        said.append((out.strip(), err.strip()))
    return said


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_an_edit_in_a_file_is_seen_by_its_callers_in_others(house: House) -> None:
    assert house.ask() == ("41.0 0", "")
    assert {file.parents[2].name for file in house.kept()} == {"__pycache__"}
    # A folder that comes first and cannot be written to is no hindrance.
    assert house.ask(NUMBA_CACHE_DIR=str(house.folder / "file")) == ("41.0 1", "")
    file = house.kernels / "callee.py"
    before = file.stat()
    file.write_text(CALLEE.replace("2 * x", "3 * x"), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for compiled in (house.kernels / "__pycache__").glob("callee.*.pyc"):
        compiled.unlink()  # Python itself goes by time and size
    assert house.ask() == ("61.0 0", "")


def test_without_a_folder_that_can_be_written_to_kernels_work_and_it_is_said_once(house: House) -> None:
    # Not even those who may write anywhere can: a file stands where each folder should be.
    (house.kernels / "__pycache__").touch()
    file = house.folder / "file"
    closed = {"HOME": str(file), "NUMBA_CACHE_DIR": str(file / "cache")}
    assert house.ask(**closed) == ("41.0 0", "")  # warnings are errors, and kernels work all the same
    out, err = house.ask("import warnings; warnings.simplefilter('always')\n" + ASK, **closed)
    assert out == "41.0 0"
    assert err.count("cannot keep its compiled kernels") == 1
    assert str(file / "cache") in err
    assert house.kept() == []


@pytest.mark.faults
def test_processes_that_compile_at_the_same_time_take_their_own(house: House) -> None:
    answers = {"20": "41", "20.0": "41.0", "20j": "(1+40j)"}
    said = finish([house.start(ASK.replace("20.0", argument)) for argument in 2 * list(answers)])
    assert [out.split()[0] for out, _ in said] == 2 * list(answers.values())
    asked = ", ".join(f"call({argument})" for argument in answers)
    assert house.ask(ASK.replace("call(20.0)", asked)) == (f"{' '.join(answers.values())} 3", "")
    assert list(house.folder.rglob("*.tmp")) == []


def test_a_zipped_package_keeps_its_code_with_the_user(house: House) -> None:
    house.path = Path(shutil.make_archive(str(house.folder / "zipped"), "zip", house.path))
    assert house.ask() == ("41.0 0", "")
    assert house.kept()
    assert all((house.folder / "home") in file.parents for file in house.kept())


def test_compilation_switched_off_keeps_nothing(house: House) -> None:
    assert house.ask(NUMBA_DISABLE_JIT="1") == ("41.0 plain", "")
    assert house.kept() == []


def test_code_of_files_edited_since_they_were_loaded_is_not_kept(house: House) -> None:
    edit = "from pathlib import Path\nimport pivotal.kernels.callee as c\nPath(c.__file__).write_text('#')\n"
    assert house.ask("import pivotal.kernels.caller\n" + edit + ASK) == ("41.0 0", "")
    assert house.kept() == []


def test_other_options_and_processors_have_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _code_cache.fingerprint()
    monkeypatch.setattr(_code_cache.config, "BOUNDSCHECK", 1)
    assert _code_cache.fingerprint() != before
    monkeypatch.undo()
    assert _code_cache.fingerprint() == before
    monkeypatch.setattr(_code_cache.numba, "__version__", "0.0")
    assert _code_cache.fingerprint() != before
    names = {
        _code_cache.KernelCache(House.kept)._file(
            signature, SimpleNamespace(magic_tuple=lambda cpu=cpu: ("linux", cpu, ""))
        )
        for signature in ("(int64,)", "(float64,)")
        for cpu in ("znver3", "generic")
    }
    assert len(names) == 4


def test_without_a_home_no_folder_is_made_where_the_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    found = _code_cache.folders.__wrapped__()
    assert found
    assert all(folder.is_absolute() for folder in found)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(_code_cache, "folders", lambda: (tmp_path / "0" / ("a" * 32),))
    return _code_cache._Disk()


@pytest.mark.parametrize("damage", [lambda c: c[:0], lambda c: c[:20], lambda c: c[:-1], lambda c: c[:-1] + b"?"])
def test_damaged_files_are_not_read(disk: Any, damage: Callable[[bytes], bytes]) -> None:
    disk.write("code", b"some")
    assert disk.read("code") == b"some"
    (file,) = (path / "code" for path in _code_cache.folders())
    file.write_bytes(damage(file.read_bytes()))
    assert disk.read("code") is None
    disk.write("code", b"more")
    assert disk.read("code") == b"more"


def test_folders_of_other_sources_do_not_pile_up(tmp_path: Path) -> None:
    names = [f"{number:032x}" for number in range(12)]
    for age, name in enumerate(names):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.nbc").touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    (tmp_path / "notes").mkdir()
    mine = tmp_path / names[11]
    _code_cache.prune(mine)
    assert {path.name for path in tmp_path.iterdir()} == {*names[:5], names[11], "notes"}


def test_a_folder_in_use_counts_as_new(disk: Any) -> None:
    disk.write("code", b"some")
    (folder,) = _code_cache.folders()
    os.utime(folder, (1e9, 1e9))
    assert disk.read("nothing") is None
    assert folder.stat().st_mtime == 1e9
    assert disk.read("code") == b"some"
    assert folder.stat().st_mtime > 1e9


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="compilation is switched off")
def test_a_constant_is_compiled_as_any_integer_is() -> None:
    @kernel
    def add(x: int, y: int) -> int:
        return x + y

    code: Any = add
    for constant in (0, 1):  # what a kernel does that calls this one with constants
        code.get_call_template((types.literal(constant), types.int64), {})
    assert len(code.overloads) == 1
    type(code).get_call_template(code, (types.literal(0), types.int64), {})
    assert len(code.overloads) == 2  # as numba would have it
    assert add(3, 4) == 7
