"""Retraining as a long job: parallel, remembered, interrupted, stopped in time; and every input that is wrong."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from pivotal.baselines.retraining import value_by_retraining
from pivotal.results.values import Values

RNG = np.random.default_rng(0)
Y, Y_TEST = np.arange(6) % 2, np.arange(12) % 2
X, X_TEST = RNG.normal(size=(6, 2)) + Y[:, np.newaxis], RNG.normal(size=(12, 2)) + Y_TEST[:, np.newaxis]


class NearestMean(ClassifierMixin, BaseEstimator):
    """A classifier of a few lines that can be told to count, to sleep through data, or to fail."""

    fits = 0
    interrupt_at = -1

    def __init__(self, fails_below: int = 0, scores_nan_below: int = 0) -> None:
        self.fails_below, self.scores_nan_below = fails_below, scores_nan_below

    def fit(self, X: Any, y: Any) -> NearestMean:
        NearestMean.fits += 1
        if NearestMean.fits == NearestMean.interrupt_at:
            raise KeyboardInterrupt
        if len(y) < self.fails_below:
            raise RuntimeError("too few for me.")
        self.n_ = len(y)
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[((X[:, np.newaxis] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        return np.nan if self.n_ < self.scores_nan_below else float(np.mean(self.predict(X) == y))


def run(model: Any = None, data: Any = (X, Y, X_TEST, Y_TEST), **options: Any) -> Values:
    options = {"n_samples": 6, "random_state": 0, "n_jobs": 1, **options}
    return value_by_retraining(NearestMean() if model is None else model, *data, **options)


def count_fits(**options: Any) -> tuple[Values, int]:
    before = NearestMean.fits
    values = run(**options)
    return values, NearestMean.fits - before


# In parallel


@pytest.mark.parametrize("sampler", ["permutations", "coalitions", "msr"])
def test_threads_change_nothing(sampler: str) -> None:
    options: dict[str, Any] = {"sampler": sampler, "n_samples": 70, "target_se": 0.05}
    one = run(**options)
    with joblib.parallel_config(backend="threading"):
        two = run(**options, n_jobs=2)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        three = run(**options, n_jobs=None)
    assert one.equals(two)
    assert one.equals(three)


def test_processes_change_nothing() -> None:
    assert run(GaussianNB()).equals(run(GaussianNB(), n_jobs=2))
    assert run(GaussianNB(), sampler="exact", n_samples=None).equals(
        run(GaussianNB(), sampler="exact", n_samples=None, n_jobs=2)
    )


def test_seeds() -> None:
    assert run().equals(run())
    assert run().values.tolist() != run(random_state=1).values.tolist()
    by_generator = [run(random_state=np.random.default_rng(3)).values.tolist() for _ in range(2)]
    assert by_generator[0] == by_generator[1]
    assert run(random_state=None, sampler="coalitions", semivalue="loo").settings["random_state"] is None


# Remembered


def test_a_file_remembers_what_coalitions_earned(tmp_path: Path) -> None:
    file = tmp_path / "utilities.sqlite"
    fresh, all_fits = count_fits(n_samples=12)
    _, first = count_fits(n_samples=6, cache=file)
    more, rest = count_fits(n_samples=12, cache=str(file))
    again, none = count_fits(n_samples=12, cache=file)
    assert more.equals(fresh)
    assert again.equals(fresh)
    assert first > 1
    assert first + rest == all_fits + 1  # the utility of the full training set is found out each time
    assert none == 1
    _, truncated = count_fits(n_samples=12, cache=file, truncation=0.3)
    assert truncated == 1


def test_remembering_does_not_undo_a_truncation(tmp_path: Path) -> None:
    file = tmp_path / "utilities.sqlite"
    run(cache=file)
    assert run(cache=file, truncation=0.5).equals(run(cache=False, truncation=0.5))


def test_one_file_serves_many_games(tmp_path: Path) -> None:
    file = tmp_path / "utilities.sqlite"
    run(cache=file)
    others: list[dict[str, Any]] = [
        {"data": (X, 1 - Y, X_TEST, Y_TEST)},
        {"data": (X, Y, X_TEST[::-1], Y_TEST)},
        {"scoring": "accuracy"},
        {"model": NearestMean(fails_below=1)},
        {"empty": 0.0},
    ]
    for other in others:
        remembered, fits = count_fits(cache=file, **other)
        assert fits > 1
        assert remembered.equals(run(**other))


def test_a_file_is_good_for_another_process(tmp_path: Path) -> None:
    file = tmp_path / "utilities.sqlite"
    program = (
        "from sklearn.naive_bayes import GaussianNB\n"
        "from pivotal.baselines.retraining import value_by_retraining\n"
        "X, y = [[0.0], [1.0], [2.0], [3.0]], ['a', 'a', 'b', 'b']\n"
        f"value_by_retraining(GaussianNB(), X, y, X, y, n_samples=2, random_state=0, n_jobs=1, cache={str(file)!r})"
    )
    known = []
    for run_it in (lambda: exec(program, {}), lambda: subprocess.run([sys.executable, "-c", program], check=True)):
        run_it()
        file_ = sqlite3.connect(file)
        known.append(file_.execute("SELECT count(*), count(DISTINCT game) FROM utilities").fetchone())
        file_.close()
    assert known[0] == known[1]
    assert known[0][1] == 1


def test_interrupting_keeps_finished_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "utilities.sqlite"
    fresh, all_fits = count_fits(n_samples=20, sampler="msr", semivalue="banzhaf")
    monkeypatch.setattr(NearestMean, "interrupt_at", NearestMean.fits + all_fits // 2)
    with pytest.raises(KeyboardInterrupt):
        run(n_samples=20, sampler="msr", semivalue="banzhaf", cache=file)
    resumed, rest = count_fits(n_samples=20, sampler="msr", semivalue="banzhaf", cache=file)
    finished = all_fits // 2 - 2  # without the one that was interrupted and the one on all points
    assert rest == all_fits - finished
    assert resumed.equals(fresh)


def test_files_that_are_no_cache(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look at" * 50)
    with pytest.raises(ValueError, match=r"cache must be a file that value_by_retraining made, .*notes\.txt"):
        run(cache=tmp_path / "notes.txt")
    with pytest.raises(OSError, match="cache must be a file that can be written"):
        run(cache=tmp_path / "nowhere" / "utilities.sqlite")
    with pytest.raises(TypeError, match=r"cache must be True, False or the path of a file; got 3\."):
        run(cache=3)
    lock = threading.Lock()
    with pytest.raises(ValueError, match=r"needs a model and a scoring that are known by their content, but .*lock"):
        run(scoring=lambda model, X, y: model.score(X, y) if lock else 0, cache=tmp_path / "utilities.sqlite")


def damaged(path: Path, *statements: str) -> Path:
    """Return a file of SQLite that someone else made."""
    with closing(sqlite3.connect(path)) as file, file:
        for statement in statements:
            file.execute(statement)
    return path


@pytest.mark.parametrize("columns", ["(a)", "(game, coalition)", "(game TEXT, coalition BLOB, utilities REAL)"])
def test_tables_of_others_are_refused(tmp_path: Path, columns: str) -> None:
    file = damaged(tmp_path / "other.sqlite", f"CREATE TABLE utilities {columns}")
    with pytest.raises(ValueError, match=r"cache must be a file that value_by_retraining made, .*other\.sqlite"):
        run(cache=file)


@pytest.mark.parametrize("junk", ["'text'", "NULL", "9e999", "x'00ff'"])
def test_junk_in_a_file_is_computed_anew(tmp_path: Path, junk: str) -> None:
    file = tmp_path / "utilities.sqlite"
    expected = run(cache=file)
    damaged(file, f"UPDATE utilities SET utility = {junk}")
    assert run(cache=file).equals(expected)


def test_no_connection_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Watched(sqlite3.Connection):
        open = 0

        def __init__(self, *how: Any, **more: Any) -> None:
            super().__init__(*how, **more)
            Watched.open += 1

        def close(self) -> None:
            super().close()
            Watched.open -= 1

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *how, **more: connect(*how, factory=Watched, **more))
    notes = tmp_path / "notes.txt"
    notes.write_text("not a database, but long enough to look at" * 50)
    nothing = tmp_path / "empty.sqlite"
    nothing.touch()
    nothing.chmod(0o400)
    for path in (notes, tmp_path, tmp_path / "nowhere" / "utilities.sqlite"):
        with pytest.raises((ValueError, OSError), match="cache must be a file"):
            run(cache=path)
        assert Watched.open == 0
    run(cache=tmp_path / "good.sqlite")
    assert Watched.open == 0


MODEL = """
import sys
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from pivotal import value_by_retraining
from scoring import score

class Constant(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self
    def predict(self, X):
        return np.where(X[:, 0] > {threshold}, 1, 0)

rng = np.random.default_rng(0)
X, y = rng.normal(size=(5, 1)), np.arange(5) % 2
for cache in (sys.argv[1], False):
    values = value_by_retraining(Constant(), X, y, X, y, scoring=score, n_samples=4, random_state=0, n_jobs=1,
                                 cache=cache)
    print(repr(float(values.full_utility)), values.values.tolist())
"""
LAUNCHER = """
import os, runpy, subprocess, sys
import sklearn.base
from pivotal import value_by_retraining
for line in sys.stdin:
    sys.argv = line.rstrip("\\n").split("\\t")
    if not hasattr(os, "fork"):
        subprocess.run([sys.executable, "-B", *sys.argv], check=True)
    elif os.fork():
        os.wait()
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
"""
SCORE = "def score(model, X, y): return float((model.predict(X) == y).mean()) * len(model.classes_) * {factor}"


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Runs the script that it is told, with its arguments, in a process of its own that has the libraries loaded."""
    command = [sys.executable, "-B", "-c", LAUNCHER]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def test_an_edited_model_or_scorer_is_never_served_from_the_file(
    tmp_path: Path, launcher: subprocess.Popen[str]
) -> None:
    file = str(tmp_path / "utilities.sqlite")
    asked, told = launcher.stdin, launcher.stdout
    assert asked is not None
    assert told is not None

    def execute(threshold: float, factor: float) -> list[str]:
        (tmp_path / "model.py").write_text(MODEL.format(threshold=threshold))
        (tmp_path / "scoring.py").write_text(SCORE.format(factor=factor))
        print(tmp_path / "model.py", file, sep="\t", file=asked, flush=True)
        kept, fresh = (told.readline() for _ in range(2))
        assert kept
        return [kept, fresh]

    games = set()
    for threshold, factor in [(0.0, 1.0), (-0.5, 1.0), (0.0, 3.0)]:
        kept, fresh = execute(threshold, factor)
        assert kept == fresh
        with closing(sqlite3.connect(file)) as made:
            games.add(made.execute("SELECT count(DISTINCT game) FROM utilities").fetchone()[0])
    execute(0.0, 1.0)
    with closing(sqlite3.connect(file)) as made:
        assert made.execute("SELECT count(DISTINCT game) FROM utilities").fetchone()[0] == 3
    assert games == {1, 2, 3}


def test_lambdas_and_closures_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "utilities.sqlite"

    def scaled(factor: float) -> Any:
        return lambda model, X, y: model.score(X, y) * factor

    for factor in (1.0, 2.0):
        _, fits = count_fits(cache=file, scoring=scaled(factor))
        again, none = count_fits(cache=file, scoring=scaled(factor))
        assert (fits > 1, none) == (True, 1)
        assert again.equals(run(scoring=scaled(factor)))


# Stopped


def test_stops_at_the_standard_error_asked_for() -> None:
    loose = run(n_samples=None, target_se=0.05)
    assert loose.standard_error is not None
    assert loose.standard_error.max() <= 0.05
    tight = run(n_samples=None, target_se=0.005)
    assert 32 <= loose.settings["n_samples"] < tight.settings["n_samples"]
    assert run(n_samples=40, target_se=1e-9).settings["n_samples"] == 40


def test_stops_in_time() -> None:
    values = run(n_samples=None, max_time=0.05, sampler="msr", semivalue="banzhaf")
    assert values.settings["n_samples"] >= 4
    assert values.standard_error is not None
    assert run(n_samples=None, max_time=1e-9).settings["n_samples"] == 2
    assert run(n_samples=3, max_time=1e9).settings["n_samples"] == 3


def test_samples_by_default() -> None:
    assert run(n_samples=None).settings["n_samples"] == 100
    assert run(n_samples=None, sampler="msr").settings["n_samples"] == 2000


def test_progress_counts_samples(capsys: pytest.CaptureFixture[str]) -> None:
    run(progress=True)
    assert "6/6" in capsys.readouterr().err
    run(sampler="exact", n_samples=None, progress=True)
    assert "64/64" in capsys.readouterr().err
    run()
    assert capsys.readouterr().err == ""


# Coalitions from which a model cannot learn


def test_failures_say_on_how_many_points() -> None:
    with pytest.raises(ValueError, match=r"on one of [23] of the 6 points it raised RuntimeError: too few for me\. "):
        run(NearestMean(fails_below=4), n_samples=20)
    with pytest.raises(ValueError, match="on one of 6 of the 6 points it raised RuntimeError"):
        run(NearestMean(fails_below=7))
    with pytest.raises(
        ValueError, match=r"score of every coalition must be finite; one of [23] of the 6 points scored"
    ):
        run(NearestMean(scores_nan_below=4), n_samples=20)


@pytest.mark.parametrize("model", [NearestMean(fails_below=4), NearestMean(scores_nan_below=4)])
def test_failures_may_earn_what_nobody_earns(model: NearestMean) -> None:
    values = run(model, sampler="exact", n_samples=None, on_failure="empty", empty=0.25)
    assert values.empty_utility == 0.25
    assert values.values.sum() == pytest.approx(values.full_utility - 0.25)


def test_real_models_that_need_more_points() -> None:
    with pytest.raises(ValueError, match=r"one of 2 of the 6 points it raised ValueError: The number of samples must"):
        run(LinearDiscriminantAnalysis(), sampler="exact", n_samples=None)
    assert run(LinearDiscriminantAnalysis(), sampler="exact", n_samples=None, on_failure="empty").n_queries == 12


def test_features_that_are_not_numbers_are_the_models_affair() -> None:
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="of 6 of the 6 points it raised ValueError: Input X contains NaN"):
        run(GaussianNB(), data=(broken, Y, X_TEST, Y_TEST))


# What is wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, r"n_samples must be an integer of at least 2, .*; got 0\."),
        ({"n_samples": 1}, "n_samples must be an integer of at least 2"),
        ({"n_samples": 2.0}, "n_samples must be an integer of at least 2"),
        ({"n_samples": True}, "n_samples must be an integer of at least 2"),
        ({"target_se": 0.0}, "target_se must be a finite number above 0; got 0.0"),
        ({"target_se": np.nan}, "target_se must be a finite number above 0; got nan"),
        ({"max_time": -1}, "max_time must be a finite number above 0; got -1"),
        ({"max_time": np.inf}, "max_time must be a finite number above 0; got inf"),
        ({"truncation": 1.0}, "truncation must be a share of the gain, at least 0 and below 1; got 1.0"),
        ({"truncation": "a lot"}, "truncation must be a share of the gain"),
        ({"truncation": 0.1, "sampler": "msr"}, "truncation needs sampler=\"permutations\"; got sampler='msr'"),
        ({"sampler": "gibbs"}, r"sampler must be one of permutations, coalitions, msr or exact; got 'gibbs'\."),
        ({"sampler": "exact"}, 'sampler="exact" draws no samples; omit n_samples'),
        ({"sampler": "msr", "n_samples": 2}, "in two coalitions and out of two; after 2 samples point"),
        ({"semivalue": "median"}, "semivalue must be one of"),
        ({"scoring": "beauty"}, "scoring must name a scorer of scikit-learn; got 'beauty'"),
        ({"on_failure": "cry"}, 'on_failure must be "raise" or "empty"; got \'cry\''),
        ({"empty": np.inf}, "empty must be a finite number, or None for the utility of a guess; got inf"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"random_state": -1}, "random_state must be an integer of at least 0"),
        ({"random_state": "today"}, "random_state must be an integer of at least 0"),
        ({"ids": [1, 2]}, "ids must have one entry per training point"),
        ({"data": (None, Y, X_TEST, Y_TEST)}, "retraining needs X_train, y_train, X_test and y_test; got None"),
        ({"data": (X, Y, None, None)}, "Hold out a part as the test set"),
        ({"data": (X[:, 0], Y, X_TEST, Y_TEST)}, r"X_train must be a table .*; got shape \(6,\). Use X_train.reshape"),
        ({"data": (X[:0], Y[:0], X_TEST, Y_TEST)}, "y_train must hold at least one label"),
        ({"data": (X, Y, X_TEST[:0], Y_TEST)}, r"X_test must be a table with a row per point; got shape \(0, 2\)"),
        ({"data": (X, Y[:5], X_TEST, Y_TEST)}, "X_train and y_train must have the same length"),
        ({"data": (X, Y, X_TEST, Y_TEST[:5])}, "X_test and y_test must have the same length"),
        ({"data": (X, Y, X_TEST[:, :1], Y_TEST)}, "X_test must have as many columns as X_train"),
        ({"data": (X, Y, X_TEST, Y_TEST.astype(str))}, "y_train and y_test must hold labels of one type"),
        ({"data": (X, [*Y[:5], None], X_TEST, Y_TEST)}, "y_train must have a label for every point"),
        ({"data": (X, [0, 1, 0, 1, 0, "a"], X_TEST, Y_TEST)}, "labels must be of one type for a .* got int and str"),
        ({"data": (X, Y + 0.5, X_TEST, Y_TEST)}, "fractions such as 0.5"),
        ({"model": LinearRegression(), "data": (X, [*Y[:5], np.inf], X_TEST, Y_TEST)}, "y_train must be finite"),
    ],
)
def test_wrong_values_say_what_is_right(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": KMeans(2)}, "estimator must be a classifier or a regressor"),
        ({"model": "tree"}, "estimator must be a scikit-learn estimator; got 'tree'"),
        ({"model": GaussianNB}, "estimator must be a scikit-learn estimator"),
        ({"scoring": 3}, "scoring must be a name, a callable"),
        ({"semivalue": 3}, "semivalue must be a Semivalue or a string"),
    ],
)
def test_wrong_types_say_what_is_right(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        run(**options)


def test_too_many_points_to_enumerate() -> None:
    many = (np.repeat(X, 3, axis=0), np.tile(Y, 3), X_TEST, Y_TEST)
    with pytest.raises(ValueError, match=r'sampler="exact" fits a model for every coalition of at most 16 .* got 18'):
        run(data=many, sampler="exact", n_samples=None)


def test_scorers_that_cannot_score_a_guess_need_empty() -> None:
    def by_mean(model: Any, *_: Any) -> float:
        return float(model.means_[0, 0])

    def nothing(*_: Any) -> float:
        return np.nan

    with pytest.raises(ValueError, match=r"scoring a guess raised AttributeError: .* Pass the utility"):
        run(scoring=by_mean)
    with pytest.raises(ValueError, match="must have a finite utility; a guess scored nan"):
        run(scoring=nothing)
