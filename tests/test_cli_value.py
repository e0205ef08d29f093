"""`pivotal value`: from a table on disk to values on disk, and the same numbers as from Python."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import pivotal
from pivotal.cli import main
from pivotal.cli.value_command import _HINT
from pivotal.results.values import Values


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    X = rng.normal(size=(30, 2)) + 3 * y[:, np.newaxis]
    return pd.DataFrame(
        {"key": [f"r{i}" for i in range(30)], "a": X[:, 0], "b": X[:, 1], "species": np.array(["cat", "dog"])[y]}
    )


@pytest.fixture
def table(tmp_path, frame):
    path = tmp_path / "train.csv"
    frame.to_csv(path, index=False)
    return str(path)


@pytest.fixture
def held_out(tmp_path, frame):
    path = tmp_path / "test.csv"
    frame.iloc[::3].assign(a=lambda rows: rows["a"] + 0.1).to_csv(path, index=False)
    return str(path)


def scaled(frame, other=None):
    scaler = StandardScaler().fit(frame[["a", "b"]].to_numpy())
    return scaler.transform((frame if other is None else other)[["a", "b"]].to_numpy())


def test_values_equal_those_of_the_library(tmp_path, frame, table, held_out, capsys):
    out = tmp_path / "values.parquet"
    assert (
        main(["value", table, "--test", held_out, "--label", "species", "--id", "key", "-k", "3", "-o", str(out)]) == 0
    )
    queries = pd.read_csv(held_out)
    expected = pivotal.value(
        scaled(frame), frame["species"], scaled(frame, queries), queries["species"], k=3, ids=frame["key"].to_numpy()
    )
    assert np.array_equal(Values.load(out).values, expected.values)
    assert Values.load(out).ids.tolist() == frame["key"].tolist()
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"{table}: 30 rows; 10 test rows in {held_out}",
        "  key      name      names the rows",
        "  a        number    standardised",
        "  b        number    standardised",
        "  species  label     predicted, 2 classes",
        _HINT,
    ]
    assert captured.out.startswith("30 rows valued by 10 test rows (")
    assert captured.out.endswith(f"Written: {out}\n")


def test_rows_value_each_other_without_test_rows(tmp_path, frame, table):
    out = tmp_path / "values.csv"
    options = ["--semivalue", "shapley", "--utility", "soft", "--features", "a,b"]
    assert main(["value", table, "--label", "species", "-o", str(out), "--quiet", *options]) == 0
    expected = pivotal.value(scaled(frame), frame["species"], k=5, semivalue="shapley", utility="soft").to_frame(0.9)
    exact = {"value": float, "query_standard_error": float}
    written = pd.read_csv(out, converters=exact)  # Python's own reading: to the last digit
    assert list(written.columns) == ["id", "value", "rank", "error_bound", "query_standard_error"]
    assert written["value"].tolist() == expected["value"].tolist()
    assert written["rank"].tolist() == expected["rank"].tolist()
    assert written["query_standard_error"].tolist() == expected["query_standard_error"].tolist()


def test_every_option_of_value_arrives(tmp_path, frame, table):
    out = tmp_path / "values.parquet"
    options = ["--weights", "distance", "--bits", "4", "--metric", "manhattan", "--neighbors", "brute", "--tol", "1e-9"]
    assert (
        main(["value", table, "--label", "species", "-o", str(out), "--max-memory", "1MB", "--jobs", "1", *options])
        == 0
    )
    values = Values.load(out)
    expected = pivotal.value(
        scaled(frame), frame["species"], weights="distance", bits=4, metric="manhattan", neighbors="brute", tol=1e-9
    )
    assert np.array_equal(values.values, expected.values)
    assert values.settings["weights"] == expected.settings["weights"]
    assert (values.settings["bits"], values.settings["metric"], values.settings["tol"]) == (4, "manhattan", 1e-9)


def test_a_share_of_the_rows_is_held_out(tmp_path, table, capsys):
    first, second, other = (tmp_path / f"{name}.csv" for name in ("first", "second", "other"))
    for out, seed in ((first, 0), (second, 0), (other, 1)):
        assert main(["value", table, "--split", "0.2", "--label", "species", "--seed", str(seed), "-o", str(out)]) == 0
    assert "30 rows, 6 of them held out at random" in capsys.readouterr().err
    ids = pd.read_csv(first)["id"]
    assert len(ids) == 24
    assert ids.is_monotonic_increasing
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != other.read_bytes()


def test_data_on_stdout_and_words_on_stderr(table, capsys):
    assert main(["value", table, "--label", "species", "-o", "-", "--format", "jsonl", "--top", "1"]) == 0
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert len(rows) == 30
    assert set(rows[0]) == {"id", "value", "rank", "error_bound", "query_standard_error"}
    assert "valued by each other" in captured.err
    assert "Most valuable" in captured.err


def test_quiet_says_nothing(table, tmp_path, capsys):
    assert main(["value", table, "--label", "species", "-o", str(tmp_path / "v.csv"), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_quiet_shows_what_was_asked_for(table, capsys):
    assert main(["value", table, "--label", "species", "--quiet", "--bottom", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[0] == "Least valuable"
    assert lines[1].split() == ["id", "value", "rank", "label", "text"]
    assert [line.split()[2] for line in lines[2:]] == ["30", "29"]


def test_without_an_output_both_ends_are_shown(table, capsys):
    assert main(["value", table, "--label", "species", "--verbose"]) == 0
    captured = capsys.readouterr()
    ranks = [
        line.split()[2]
        for line in captured.out.splitlines()
        if line.strip()[:1].isdigit() and not re.search("valued|beyond doubt", line)
    ]
    assert ranks == ["1", "2", "3", "4", "5", "30", "29", "28", "27", "26"]
    assert "valued in" in captured.err
    assert re.search(r"harms? beyond doubt .* the sign cannot be told from 30 rows", captured.out)


def test_numbers_can_be_predicted(tmp_path, frame, capsys):
    frame.assign(price=frame["a"] * 2 + 0.5).to_csv(tmp_path / "t.csv", index=False)
    path, out = str(tmp_path / "t.csv"), tmp_path / "v.csv"
    assert main(["value", path, "--label", "price", "--utility", "regression", "--ignore", "a", "-o", str(out)]) == 0
    assert len(pd.read_csv(out)) == 30
    assert "price    label     predicted, a number" in capsys.readouterr().err


def test_arrays_need_no_label(tmp_path, frame):
    np.savez(tmp_path / "t.npz", X=frame[["a", "b"]].to_numpy(), y=frame["species"].to_numpy(dtype=str))
    out = tmp_path / "v.parquet"
    assert main(["value", str(tmp_path / "t.npz"), "-o", str(out), "--quiet"]) == 0
    assert np.allclose(Values.load(out).values, pivotal.value(scaled(frame), frame["species"]).values, atol=1e-15)


def test_many_columns_are_summed_up(tmp_path, capsys):
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(rng.normal(size=(12, 40)), columns=[f"pixel{i}" for i in range(40)]).assign(y=[0, 1] * 6)
    wide.to_csv(tmp_path / "t.csv", index=False)
    assert main(["value", str(tmp_path / "t.csv"), "--label", "y", "-o", str(tmp_path / "v.csv")]) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [
        "  pixel0 ... pixel39 (40)  number    standardised",
        "  y                        label     predicted, 2 classes",
        _HINT,
    ]


def test_a_method_by_name(tmp_path, table, held_out):
    out = tmp_path / "v.csv"
    arguments = [
        "value",
        table,
        "--test",
        held_out,
        "--label",
        "species",
        "--method",
        "rand",
        "--quiet",
        "-o",
        str(out),
    ]
    assert main([*arguments, "--seed", "3"]) == 0
    first = out.read_bytes()
    assert main([*arguments, "--seed", "3"]) == 0
    assert out.read_bytes() == first
    assert main([*arguments, "--seed", "4"]) == 0
    assert out.read_bytes() != first


def test_what_is_given_stands(tmp_path, frame, table):
    out = tmp_path / "values.parquet"
    arguments = ["value", table, "--label", "species", "--method", "bv", "-o", str(out), "--quiet"]
    data = (scaled(frame), frame["species"])
    assert main([*arguments, "--weights", "uniform"]) == 0
    assert np.array_equal(Values.load(out).values, pivotal.value(*data).values)
    assert main(arguments) == 0
    assert np.array_equal(Values.load(out).values, pivotal.value(*data, weights="distance").values)
    config = tmp_path / "pivotal.toml"
    config.write_text('weights = "uniform"\n')
    assert main([*arguments, "--config", str(config)]) == 0
    assert Values.load(out).settings["weights"] == "uniform"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--method", "sv", "--semivalue", "banzhaf"], "method='weighted-knn-shapley' stands for semivalue='shapley'"),
        (["--method", "sv-soft", "--utility", "hard"], "method='knn-shapley' stands for utility='soft-k'"),
        (["--method", "bv-uw", "--weights", "distance"], "method='knn-banzhaf' stands for weights='uniform'"),
        (["--method", "rand", "-k", "5"], "method='random' does not accept k"),
    ],
)
def test_contradictions_are_errors(given, message, table, capsys):
    assert main(["value", table, "--label", "species", *given]) == 2
    assert message in capsys.readouterr().err


def test_options_of_a_method(tmp_path, table, held_out):
    arguments = ["value", table, "--test", held_out, "--label", "species", "--method", "inf", "--quiet"]
    outs = {}
    for C in ("0.01", "100"):
        outs[C] = tmp_path / f"{C}.csv"
        assert main([*arguments, "--params", f"C={C}", "-o", str(outs[C])]) == 0
    assert outs["0.01"].read_bytes() != outs["100"].read_bytes()


def test_samples_come_with_standard_errors(tmp_path, table):
    out = tmp_path / "v.csv"
    arguments = ["value", table, "--label", "species", "--method", "coalitions", "--samples", "200", "-o", str(out)]
    assert main([*arguments, "--quiet"]) == 0
    assert "standard_error" in pd.read_csv(out).columns


def test_a_pipe_of_csv(frame):
    command = [sys.executable, "-m", "pivotal", "value", "-", "--label", "species", "-o", "-", "--quiet"]
    done = subprocess.run(
        command, input=frame.to_csv(index=False), capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 31


def test_a_report(tmp_path, table, held_out, capsys):
    page = tmp_path / "report.html"
    assert main(["value", table, "--test", held_out, "--label", "species", "--id", "key", "--report", str(page)]) == 0
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert capsys.readouterr().out.endswith(f"Written: {page}\n")


CONFIG = """
label = "species"
k = 3
features = ["a", "b"]
quiet = true
max_rows = 100
scale = "none"
"""


def test_options_from_a_file(tmp_path, frame, table, capsys):
    (tmp_path / "c.toml").write_text(CONFIG, encoding="utf-8")
    out = tmp_path / "v.parquet"
    assert main(["value", table, "--config", str(tmp_path / "c.toml"), "-o", str(out)]) == 0
    expected = pivotal.value(frame[["a", "b"]].to_numpy(), frame["species"], k=3)
    assert np.array_equal(Values.load(out).values, expected.values)
    assert capsys.readouterr() == ("", "")
    assert main(["value", f"--config={tmp_path / 'c.toml'}", table, "-k", "4", "-o", str(out)]) == 0
    assert Values.load(out).settings["k"] == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("semivalu = 'loo'", r"has the unknown key 'semivalu'; did you mean 'semivalue'\?"),
        ("zzz = 1", r"has the unknown key 'zzz'; see pivotal value --help for the options\."),
        ("config = 'other.toml'", r"has the unknown key 'config'"),
        ("k = 'many'", r"argument -k/--k: invalid int value: 'many'; see pivotal value --help\."),
        ("k = true", r"k must be text, a number or a list of them; got True"),
        ("quiet = 1", r"quiet must be true or false; got 1"),
        ("[value]\nk = 3", r"has the unknown key 'value'"),
        ("k = ", r"is not a TOML file"),
        ("missing = 'maybe'", r"argument --missing: invalid choice: 'maybe'"),
    ],
)
def test_what_is_wrong_with_a_file_of_options(tmp_path, table, capsys, content, message):
    (tmp_path / "c.toml").write_text(content, encoding="utf-8")
    assert main(["value", table, "--label", "species", "--config", str(tmp_path / "c.toml")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pivotal: ")
    assert captured.err.count("\n") == 1
    import re

    assert re.search(message, captured.err)


def test_a_file_of_options_that_is_not_there(tmp_path, table, capsys):
    assert main(["value", table, "--label", "species", "--config", str(tmp_path / "no.toml")]) == 2
    assert capsys.readouterr().err == f"pivotal: cannot read {tmp_path / 'no.toml'}: No such file or directory.\n"


def test_unknown_labels_of_test_rows_are_said(tmp_path, frame, table, capsys):
    strange = frame.iloc[::3].copy()
    strange.loc[strange.index[:2], "species"] = ["owl", "yak"]
    strange.to_csv(tmp_path / "strange.csv", index=False)
    assert main(["value", table, "--test", str(tmp_path / "strange.csv"), "--label", "species", "--id", "key"]) == 0
    assert "2 of 10 test rows have a label that no training row has ('owl', 'yak'); no row" in capsys.readouterr().err
    frame.iloc[::3].to_csv(tmp_path / "known.csv", index=False)
    assert main(["value", table, "--test", str(tmp_path / "known.csv"), "--label", "species", "--id", "key"]) == 0
    assert "no training row has" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "hinted"),
    [([], True), (["--utility", "hard"], False), (["--semivalue", "shapley"], False), (["--method", "bv-uw"], False)],
)
def test_the_default_game_is_not_sold_as_one_that_finds_wrong_labels(table, capsys, options, hinted):
    assert main(["value", table, "--label", "species", "--id", "key", *options]) == 0
    assert ("to find wrong labels, use pivotal clean, or --utility soft." in capsys.readouterr().err) == hinted
    assert main(["value", table, "--label", "species", "--id", "key", *options, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_standard_output_by_its_names(table):
    """One of them is a pipe that is open already, as a shell passes it: `-o >(sort)`."""
    code = (
        "import sys; from pivotal.cli import main; "
        "sys.exit(max(main([*sys.argv[1:], '-o', name]) for name in ('-', '/dev/stdout', '/dev/fd/3')))"
    )
    command = f'{sys.executable} -c "{code}" value {table} --label species --id key --quiet 3>&1 | cat'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 93
    assert lines[:31] == lines[31:62] == lines[62:]


def test_a_page_of_the_command_line_names_its_options(tmp_path, table):
    page = tmp_path / "page.html"
    arguments = ["value", table, "--label", "species", "--id", "key", "--quiet", "--report", str(page)]
    assert main([*arguments, "--max-points", "20"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "name test rows with --test, or hold some out with --split." in text
    assert "-o writes every row, and --max-points shows more." in text
    for python in ("X_test", "max_points=", "to_frame()", "pass "):
        assert python not in text[text.index('id="data"') :]


@pytest.mark.faults
def test_a_report_that_fails_does_not_speak_for_other_files(tmp_path, table):
    """The values had been written when the disk was full."""
    out, page = tmp_path / "values.csv", tmp_path / "page.html"
    out.write_text("old", encoding="utf-8")
    page.write_text("old", encoding="utf-8")
    command = [sys.executable, "-m", "pivotal", "value", table, "--label", "species", "--id", "key", "--quiet"]
    done = subprocess.run(
        [*command, "-o", str(out), "--report", str(page)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536)),
    )
    assert done.returncode == 2
    assert done.stderr == f"pivotal: cannot write {page}: File too large; the file was left as it was.\n"
    assert page.read_text(encoding="utf-8") == "old"
    assert out.read_text(encoding="utf-8") != "old"
