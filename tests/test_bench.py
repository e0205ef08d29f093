"""The bench: who runs, who is omitted and why, and whether a wrong peer is found out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from types import MappingProxyType

import numpy as np
import pytest

from pivotal.cli import main
from pivotal.research.bench import (
    Contender,
    bench_report,
    measurement,
    memory,
    run_bench,
    subprocess_runner,
    suite,
    write_json,
)
from pivotal.research.bench.contender import SOFT, SOFT_ALONE
from pivotal.research.bench.measurement import Limits
from pivotal.research.bench.ours import OURS
from pivotal.research.bench.peers import PEERS
from pivotal.research.bench.stopwatch import Stopwatch, fastest, timed
from pivotal.research.bench.task import Task, make_task
from pivotal.valuation.value import value

SIZES = {"n": 60, "queries": 4, "dim": 3, "rounds": 1}


class Honest(Contender):
    """A peer of the tests: the recursion of Jia et al. in plain Python."""

    name, package, module, game, method = "honest", "numpy", "numpy", SOFT, "loops"
    scale = 1.0

    def run(self, X, y, X_test, y_test, k):
        values = np.zeros(len(y))
        for query, label in zip(X_test, y_test, strict=True):
            order = np.argsort(((X - query) ** 2).sum(axis=1), kind="stable")
            match = (y[order] == label).astype(float)
            worth = np.zeros(len(y))
            worth[-1] = match[-1] * min(k, len(y)) / (k * len(y))
            for i in range(len(y) - 2, -1, -1):
                worth[i] = worth[i + 1] + (match[i] - match[i + 1]) / max(k, i + 1)
            values[order] += worth
        return self.scale * values / len(y_test)


class SlightlyOff(Honest):
    name, scale = "slightly-off", 1.0 + 1e-6


class OneTooMany(Honest):
    name = "one-too-many"

    def run(self, *arguments):
        return np.append(super().run(*arguments), 0.0)


class NotFinite(Honest):
    name = "not-finite"

    def run(self, *arguments):
        return np.full_like(super().run(*arguments), np.nan)


class Rough(Honest):
    name, exact, note = "rough", False, "guesses"

    def run(self, *arguments):
        values = np.array(super().run(*arguments))
        values[::2] = 0.0
        return values


class Broken(Honest):
    name = "broken"

    def run(self, *arguments):
        raise ZeroDivisionError("cannot go on")


class Absent(Honest):
    name, module, install = "absent", "no_such_package.inside", "build it yourself"


class Hungry(Honest):
    name = "hungry"

    def bytes_needed(self, n_train, n_queries):
        return 1e18


class Slow(Honest):
    name, trial = "slow", (20, 2)

    def run(self, X, *arguments):
        time.sleep(0.01 * len(X))  # far more than a busy machine adds
        return super().run(X, *arguments)


def rows_of(*peers, **options):
    done = run_bench(**{**SIZES, **options}, peers=peers)
    return {row.name: row for row in done.rows}


@pytest.fixture
def known(monkeypatch):
    """Only peers of the tests, so that it does not matter who is installed."""
    peers = MappingProxyType({peer.name: peer for peer in (Honest(), SlightlyOff(), Absent())})
    monkeypatch.setattr(suite, "PEERS", peers)
    return peers


def test_a_peer_that_plays_the_same_game_agrees():
    row = rows_of(Honest())["honest"]
    assert row.status == "ran"
    assert row.agreement.agrees is True
    assert row.agreement.largest_difference < 1e-12
    assert row.agreement.correlation == pytest.approx(1.0)
    assert set(row.times_slower) == {"pivotal-shapley", "pivotal-banzhaf"}


@pytest.mark.parametrize("peer", [SlightlyOff(), OneTooMany(), NotFinite()])
def test_a_wrong_peer_is_found_out(peer):
    done = run_bench(**SIZES, peers=[Honest(), peer])
    assert [row.name for row in done.rows if row.agreement and row.agreement.agrees is False] == [peer.name]


def test_the_size_of_the_difference_is_told():
    agreement = rows_of(SlightlyOff())["slightly-off"].agreement
    assert agreement.agrees is False
    assert agreement.largest_difference == pytest.approx(1e-6, rel=1e-3)


def test_an_approximation_is_compared_by_correlation():
    agreement = rows_of(Rough())["rough"].agreement
    assert agreement.agrees is None
    assert 0.1 < agreement.correlation < 0.99


def test_no_correlation_with_a_constant():
    agreement = suite.compare(np.zeros(5), np.arange(5.0), Rough())
    assert (agreement.correlation, agreement.largest_difference) == (None, 1.0)


def test_a_peer_that_fails_is_told_not_raised():
    row = rows_of(Broken())["broken"]
    assert (row.status, row.reason) == ("failed", "ZeroDivisionError: cannot go on")
    assert (row.seconds, row.agreement, row.times_slower) == (None, None, {})


def test_a_missing_peer_is_listed_with_how_to_get_it():
    row = rows_of(Absent())["absent"]
    assert (row.status, row.reason) == ("missing", "not installed; build it yourself")


def test_a_peer_that_needs_too_much_memory_is_left_out():
    if memory.available_bytes() is None:
        pytest.fail("this system does not tell its free memory; psutil should")
    row = rows_of(Hungry())["hungry"]
    assert row.status == "skipped"
    assert re.fullmatch(r"needs about 931322574\.6 GB of memory, and [\d.]+ GB are free", row.reason)


def test_a_peer_that_would_take_too_long_is_left_out():
    row = rows_of(Slow(), n=3000, limit=0.5)["slow"]
    assert row.status == "skipped"
    assert re.fullmatch(r"would take about \S+ s, more than the limit of 0\.5 s", row.reason)


def test_ours_are_the_games_of_those_who_ran():
    class Alone(Honest):
        name, game, alone = "alone", SOFT_ALONE, True

        def run(self, X, y, X_test, y_test, k):
            assert X_test is None
            assert y_test is None
            return value(X, y, k=k, utility="jia2019", semivalue="shapley").values

    rows = rows_of(Alone())
    assert rows["alone"].agreement.agrees is True
    assert set(rows["alone"].times_slower) == {"pivotal-shapley-alone", "pivotal-banzhaf-alone"}
    assert set(rows_of(Absent())) == {"pivotal-shapley", "pivotal-banzhaf", "absent"}


@pytest.mark.parametrize("contender", OURS, ids=lambda contender: contender.name)
def test_our_own_contenders_run(contender):
    task = make_task(40, 3, 3, k=3)
    outcome = measurement.measure(contender, task.alone(40) if contender.alone else task, Limits(1))
    assert (outcome.status, outcome.reason) == ("ran", "")
    assert outcome.values.shape == (40,)
    assert outcome.version


@pytest.mark.parametrize("name", PEERS)
def test_peers_that_are_missing_say_what_to_install(name):
    if PEERS[name].available():
        pytest.skip(f"{name} is installed")
    row = rows_of(name, n=40)[name]
    assert (row.status, row.reason) == ("missing", PEERS[name].missing())
    assert "pip install" in row.reason


@pytest.mark.parametrize("name", PEERS)
def test_peers_that_are_installed_agree(name):
    if not PEERS[name].available():
        pytest.skip(f"{name} is not installed")
    row = rows_of(name, n=40)[name]
    assert (row.status, row.reason) == ("ran", "")
    assert row.agreement.agrees is not False
    assert row.agreement.correlation > 0.2


def test_a_process_of_its_own_gives_the_same_values_and_watches_memory():
    task = make_task(300, 20, 4, k=3)
    here = measurement.measure(OURS[0], task, Limits(1))
    there = subprocess_runner.measure_in_subprocess(OURS[0], task, Limits(1, memory=True))
    assert (there.status, there.reason, there.version) == ("ran", "", here.version)
    np.testing.assert_array_equal(there.values, here.values)
    assert 0 <= there.megabytes < 500
    assert here.megabytes is None


@pytest.mark.cluster
@pytest.mark.usefixtures("known")
def test_memory_of_everybody():
    assert run_bench(**SIZES, peers=["absent"], memory=True).rows[0].megabytes is not None


def test_a_process_that_dies_is_told():
    outcome = subprocess_runner.measure_in_subprocess(
        Honest(), make_task(9, 2, 2, k=1), Limits(1)
    )  # which it does not know
    assert outcome.status == "failed"
    assert outcome.reason == "its process ended without an answer: KeyError: 'honest'"


def test_a_process_that_does_not_end_is_stopped(monkeypatch):
    def wait(*_arguments, timeout, **_options):
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(subprocess, "run", wait)
    outcome = subprocess_runner.measure_in_subprocess(OURS[0], make_task(9, 2, 2, k=1), Limits(1, 10.0))
    assert (outcome.status, outcome.reason) == ("skipped", "stopped after 140 s")


def test_another_python_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot run \S+nowhere: No such file or directory; give the path of"):
        run_bench(**SIZES, peers=["cleanlab"], pythons={"cleanlab": str(tmp_path / "nowhere")})


def test_a_python_for_a_package_is_for_all_its_peers(monkeypatch):
    asked = []

    def note(contender, _task, _limits, python):
        asked.append((contender.name, python))
        return measurement.Outcome("missing", "elsewhere")

    monkeypatch.setattr(suite, "measure_in_subprocess", note)
    run_bench(**SIZES, peers=["pydvl", "pydvl-parallel"], pythons={"pydvl": "that"})
    assert asked == [("pydvl", "that"), ("pydvl-parallel", "that")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, r"n must be an integer of at least 1; got n=0\."),
        ({"queries": -1}, r"queries must be an integer of at least 1; got queries=-1\."),
        ({"k": 60}, r"k must be less than n: peers are wrong or refuse beyond; got k=60, n=60\."),
        ({"limit": 0.0}, r"limit must be more than 0 seconds; got limit=0\.0\."),
        ({"peers": ["nobody"]}, r"peers must be some of pydvl, .*; got 'nobody'\."),
        (
            {"peers": ["shapiq"], "pythons": {"pydvl": "x"}},
            r"python must be given for one of shapiq; got 'pydvl'\.",
        ),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        run_bench(**{**SIZES, **options})


def test_a_task_survives_the_disk(tmp_path):
    for task in (make_task(9, 4, 2, k=3), make_task(9, 4, 2, k=3).alone(7)):
        task.save(tmp_path / "task.npz")
        again = Task.load(tmp_path / "task.npz")
        assert (again.n_train, again.n_queries, again.k) == (task.n_train, task.n_queries, 3)
        np.testing.assert_array_equal(again.X, task.X)
        np.testing.assert_array_equal(again.y, task.y)
        assert (again.X_test is None) == (task.X_test is None)


def test_shapiq_without_its_explainers_says_so(monkeypatch):
    def find(name):
        return None if name == "shapiq.explainer.nn" else object()

    monkeypatch.setattr("importlib.util.find_spec", find)
    assert re.match(r"shapiq \S* ?on Python \d.\d+ has no nearest-neighbour explainers; pip", PEERS["shapiq"].missing())


def test_dattri_without_torch_says_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else object())
    assert PEERS["dattri"].missing() == "dattri is there but torch is not; pip install torch"


def test_the_command_writes_json_and_prints_a_table(known, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    out = tmp_path / "bench.json"
    assert main(["bench", "--quick", "--n", "80", "--queries", "3", "--dim", "4", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert "agree to" in captured.out
    assert "DISAGREE" in captured.out
    assert "absent: not installed; build it yourself" in captured.out
    assert captured.out.endswith(f"Written: {out}\n")
    assert captured.err.splitlines()[0] == f"numpy: loops, {SOFT}"
    assert [file.name for file in tmp_path.iterdir()] == ["bench.json"]

    written = json.loads(out.read_text(encoding="utf-8"))
    assert set(written) == {"format", "settings", "machine", "rows"}
    assert written["settings"] == {
        "n": 80,
        "queries": 3,
        "dim": 4,
        "k": 5,
        "seed": 0,
        "limit": 120.0,
        "rounds": 1,
    }
    rows = {row["name"]: row for row in written["rows"]}
    assert set(rows) == {"pivotal-shapley", "pivotal-banzhaf", *known}
    for row in rows.values():
        assert set(row) == set(suite.Row.__dataclass_fields__)
        assert row["status"] in {"ran", "missing"}
        assert (row["seconds"] is None) == (row["status"] == "missing")
    assert rows["pivotal-shapley"]["ours"]
    assert rows["honest"]["agreement"]["agrees"] is True
    assert rows["slightly-off"]["agreement"]["agrees"] is False
    assert rows["honest"]["times_slower"]["pivotal-shapley"] > 0


@pytest.mark.cluster
def test_the_command_runs_by_itself(tmp_path):
    command = [sys.executable, "-m", "pivotal", "bench", "--quick", "--n", "50", "--queries", "2", "--memory"]
    done = subprocess.run(
        [*command, "--peers", "shapiq", "--out", str(tmp_path / "b.json")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Written: " in done.stdout
    ours = [row for row in json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["rows"] if row["ours"]]
    assert [row["status"] for row in ours] == ["ran", "ran"]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "nobody"], r"pivotal: peers must be some of honest, slightly-off, absent; got 'nobody'\."),
        (
            ["--python", "pydvl"],
            r"pivotal: argument --python: expected PEER=PATH; got 'pydvl'; see pivotal bench --h.*",
        ),
        (["--k", "0"], r"pivotal: k must be an integer of at least 1; got k=0\."),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--quick", *arguments]) == 2
    assert re.fullmatch(message + "\n", capsys.readouterr().err)
    assert not any(tmp_path.iterdir())


@pytest.fixture
def never(monkeypatch):
    def run(*_arguments, **_options):
        raise AssertionError("nothing must be timed")

    monkeypatch.setattr("pivotal.research.bench.run_bench", run)


@pytest.mark.usefixtures("never")
def test_a_target_that_cannot_be_written_is_told_before_anything_runs(tmp_path, monkeypatch, capsys):
    for out, message in (
        (tmp_path, r"it is a directory; give a file name such as bench\.json\."),
        (tmp_path / "no" / "b.json", r"the directory .*no does not exist; create it first\."),
    ):
        assert main(["bench", "--out", str(out)]) == 2
        assert re.search(rf"pivotal: cannot write .*: {message}\n", capsys.readouterr().err)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["bench", "--out", str(tmp_path / "b.json")]) == 2
    assert re.search(r"the directory .* is read-only; choose another\.\n", capsys.readouterr().err)


@pytest.mark.usefixtures("known")
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    out = tmp_path / "bench.json"
    out.write_text("old", encoding="utf-8")

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match=r"cannot write .*: No space left on device; the file was left as it was\."):
        write_json(run_bench(**SIZES, peers=["honest"]), out)
    assert out.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["bench.json"]


@pytest.mark.usefixtures("never")
def test_without_rich_the_command_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.chdir(tmp_path)
    assert main(["bench"]) == 2
    expected = "pivotal: bench needs rich for its table; install it with: pip install 'pivotal[bench]'\n"
    assert capsys.readouterr().err == expected
    with pytest.raises(ImportError, match=r"bench needs rich for its table; install it with"):
        bench_report.check_rich()


def test_memory_where_the_system_does_not_say(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert (memory.resident_bytes(), memory.peak_bytes(), memory.available_bytes()) == (None, None, None)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from pivotal.cli import main; main(['bench', '--help']);"
        "assert not {'numpy', 'pandas', 'sklearn', 'rich', 'pivotal.research.bench'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


def test_another_python_needs_nothing_but_numpy():
    """The peers' side must come up where this library's own requirements are missing."""
    code = (
        "import sys, pivotal.research.bench.subprocess_runner;"
        "assert not {'pandas', 'sklearn', 'scipy', 'rich', 'pivotal.valuation.value'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


def test_the_fastest_round_counts_and_jobs_take_turns(monkeypatch):
    now, calls = [0.0, 0.0], []
    monkeypatch.setattr(Stopwatch, "_now", staticmethod(lambda: tuple(now)))

    def job(name, seconds):
        def run():
            calls.append(name)
            taken = next(seconds)
            now[0] += taken
            now[1] += 2 * taken

        return run

    jobs = job("a", iter([1.0, 9.0, 4.0, 8.0])), job("b", iter([9.0, 3.0, 7.0, 2.0]))
    assert fastest(*jobs, rounds=3) == [4.0, 2.0]  # the first turn, which compiles, does not count
    assert calls == ["a", "b"] * 4
    assert fastest(job("c", iter([5.0])), rounds=1, warm_up=False, processor=True) == [10.0]


def test_a_stopwatch_stops():
    with Stopwatch() as watch:
        before = watch.seconds
        answer, seconds = timed(lambda: sum(range(10_000)))
    after = watch.seconds
    assert answer == sum(range(10_000))
    assert 0.0 <= before <= seconds + before <= after == watch.seconds
    assert watch.processor_seconds == watch.processor_seconds >= 0.0
