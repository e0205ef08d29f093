"""Random command lines over good, odd and broken tables: no traceback, no bug, no signal, old files as they were."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from effort import examples
from pivotal.cli import main

OLD = "an older file"
OUTPUTS = ("out.csv", "out.parquet", "out.json", "out.jsonl", "page.html", "fixed.csv", "kept.tsv")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tables, some of which are broken."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "key": [f"r{row}" for row in range(24)],
            "a": rng.normal(size=24),
            "b": rng.normal(size=24),
            "colour": np.array(["red", "blue"])[rng.integers(0, 2, 24)],
            "who": np.array(["ann", "bob", "eve"])[np.arange(24) % 3],
            "price": rng.normal(size=24),
            "y": np.array(["cat", "dog"])[rng.integers(0, 2, 24)],
        }
    )
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_parquet(folder / "good.parquet", index=False)
    frame.to_json(folder / "good.jsonl", orient="records", lines=True)
    frame.iloc[:8].to_csv(folder / "test.csv", index=False)
    frame.drop(columns=["a"]).to_csv(folder / "narrow.csv", index=False)
    frame.assign(y="owl").to_csv(folder / "strange.csv", index=False)
    frame.assign(a=1e308, b=-1e200).to_csv(folder / "huge.csv", index=False)
    frame.assign(a=np.nan).to_csv(folder / "gaps.csv", index=False)
    frame.assign(y=frame["y"].where(frame.index % 5 > 0)).to_csv(folder / "unlabelled.csv", index=False)
    frame.iloc[:1].to_csv(folder / "one.csv", index=False)
    frame.iloc[:0].to_csv(folder / "none.csv", index=False)
    frame.rename(columns={"a": "ä ünï\u202e", "b": "=b"}).to_csv(folder / "wörd.csv", index=False)
    frame.to_csv(folder / "latin.csv", index=False, encoding="utf-16")
    (folder / "empty.csv").touch()
    (folder / "nul.csv").write_bytes(b"a,b,y\n\x00,1,cat\n2,\x00\x00,dog\n")
    (folder / "ragged.csv").write_text("a,b,y\n1,2,cat\n3\n4,5,dog,6\n", encoding="utf-8")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 8)
    (folder / "broken.parquet").write_bytes((folder / "good.parquet").read_bytes()[:-40])
    (folder / "cut.csv.gz").write_bytes(gzip.compress((folder / "good.csv").read_bytes())[:-60])
    (folder / "deep.json").write_text("[" * 3000 + "]" * 3000, encoding="utf-8")
    (folder / "odd.json").write_text(json.dumps([{"a": 1, "y": {"z": 2}}, {"a": [1, 2], "y": None}]), encoding="utf-8")
    np.savez(folder / "good.npz", X=frame[["a", "b"]].to_numpy(), y=frame["y"].to_numpy().astype("U3"))
    np.save(folder / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    odd = {
        "a": pa.array(frame["a"]),
        "b": pa.array(frame["b"]).cast(pa.float32()),
        "y": pa.array([{"z": int(row % 2)} for row in range(24)]),
        "who": pa.array(range(24)).cast(pa.decimal128(19)),
        "key": pa.array([f"r{row}" for row in range(24)]),
        "colour": pa.array([[("k", row)] for row in range(24)], type=pa.map_(pa.string(), pa.int64())),
        "price": pa.array(range(24)).cast(pa.timestamp("us")),
    }
    pq.write_table(pa.table(odd), folder / "odd.parquet")
    (folder / "options.toml").write_text('label = "y"\nk = 3\n', encoding="utf-8")
    (folder / "wrong.toml").write_text('label = ["y"\n', encoding="utf-8")
    (folder / "loud.toml").write_text('label = "y"\nk = {a = 1}\n', encoding="utf-8")
    return folder


GOOD = "good.csv good.parquet good.jsonl"
BAD = (
    "narrow.csv strange.csv huge.csv gaps.csv unlabelled.csv one.csv none.csv wörd.csv latin.csv empty.csv nul.csv "
    "ragged.csv binary.csv broken.parquet cut.csv.gz deep.json odd.json good.npz pickled.npy odd.parquet no.csv *.tsv "
    ". - good.csv,test.csv /dev/null s3:// file:///no.csv"
)
ODD_NUMBERS = (
    "0 1 24 25 -1 -5 1e3 2.5 0.1 0.999 1.0 1e-300 1e17 1e308 1e999 nan inf -inf 99999999999999999999 1_000 0x10 five ٣ "
    "\u202e"
)
ODD_NAMES = "no A 'a,b' * pixel* ä , =b y,a ["
# What each option is usually given, and what it cannot take.
NUMBERS = {
    "-k": ("1 3 5", ""),
    "--bits": ("1 4 7", ""),
    "--tol": ("0 1e-9", ""),
    "--samples": ("2 10", ""),
    "--target-se": ("0.1 1", ""),
    "--max-time": ("0.01 1", ""),
    "--split": ("0.2 0.5", ""),
    "--seed": ("0 7", ""),
    "--jobs": ("1 2 -1", ""),
    "--max-rows": ("24 1000", ""),
    "--max-categories": ("1 2 50", ""),
}
COLUMNS = {
    "--id": ("key", "who y"),
    "--owner": ("who", "key y"),
    "--features": ("a,b a,colour", "y"),
    "--ignore": ("a price", ""),
    "--categorical": ("colour who", "a"),
    "--text": ("key", "a"),
    "--image": ("colour", "a"),
}
WORDS = {
    "--utility": ("hard plurality soft soft-k regression threshold(0.5) jia2019", "threshold(-1) threshold(nan) no"),
    "--semivalue": ("banzhaf banzhaf(0.2) shapley beta(4,1) loo", "banzhaf(7) beta(0,0) beta(1e9,1) no beta("),
    "--weights": ("uniform distance rbf rbf(0.5) linear", "rbf(0) rbf(nan) rbf(1e-300) linear(2) no"),
    "--metric": (
        "euclidean manhattan cosine",
        "minkowski mahalanobis seuclidean haversine hamming jaccard precomputed no",
    ),
    "--neighbors": ("auto brute kd_tree ball_tree", "no"),
    "--method": ("exact coalitions permutations bv bv-uw bv-mc sv sv-soft loo rand inf", "no"),
    "--params": ("C=0.1", "C=-1 C C=[1 =3 a=b,c=d C=nan"),
    "--max-memory": ("1MB 2GB", "0 -1 many 1e9 1TB nan"),
    "--missing": ("impute reject", "no"),
    "--scale": ("numbers all none", "no"),
    "--format": ("csv jsonl", "parquet json feather no"),
    "--encoding": ("utf-8 utf-8-sig", "latin-1 utf-16 nope idna rot13"),
    "--delimiter": (",", "; ab \x00 ' \" | é"),
    "--na": ("-,? red", "nan ,"),
    "--config": ("options.toml", "wrong.toml loud.toml no.toml good.csv ."),
    "--test": ("test.csv", "strange.csv narrow.csv none.csv odd.parquet no.csv"),
    "-o": ("out.csv out.parquet out.json out.jsonl -", "out.xls out.npz /dev/null . no/out.csv TABLE ö.csv page.html"),
}
OWN = {
    "value": {
        "--top": ("1 3 0", ""),
        "--bottom": ("2", ""),
        "--max-points": ("10", ""),
        "--report": ("page.html", "out.csv -"),
    },
    "clean": {
        "--trees": ("0 5", ""),
        "--odds": ("1 2 1e9", ""),
        "-n": ("0 3 24", ""),
        "--share": ("0.1 1", ""),
        "--top": ("1 0", ""),
        "--fix": ("fixed.csv -", "TABLE out.csv"),
        "--drop": ("kept.tsv", "TABLE -"),
    },
    "select": {
        "--warm-start": ("0 3", ""),
        "--method": ("exchange random value herding", "no exact"),
        "--size": ("10% 0.2 5", "0 1.5 -3 x% nan"),
        "--keep": ("0.5", "0 1"),
        "--quotas": ("data balanced", "no"),
        "--group": ("who", "no y"),
        "--report": ("page.html", "out.csv -"),
    },
    "remove": {"--share": ("0.1", "")},
    "pay": {"--budget": ("1 1000 1e17", ""), "--decimals": ("0 2 12", "")},
}
FLAGS = ["--quiet"] * 4 + ["--verbose", "--safe-csv"] * 2 + ["--no-such-option"]
SWITCHES = {
    "clean": ["--check", "--all"],
    "select": ["--by-class", "--no-estimate", "--no-estimate", "--for-test"],
    "pay": ["--non-negative"],
}


def given_to(option: str, usual: str, odd: str) -> st.SearchStrategy[list[str]]:
    """Draw an option with something that it is given, in one word or two."""
    wrong = f"{odd} {ODD_NUMBERS if option in NUMBERS or not odd else ODD_NAMES}"
    return mostly(usual, wrong).flatmap(lambda word: st.sampled_from([[option, word], [f"{option}={word}"]]))


def mostly(usual: str, odd: str) -> st.SearchStrategy[str]:
    """Draw a word that makes sense, or, once in eight times, one that may not."""
    good, bad = usual.split(), odd.split()
    return st.sampled_from(good * (-(-7 * len(bad) // len(good))) + bad)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Draw a command with options that are mostly its own and mostly make sense."""
    command = draw(st.sampled_from([*OWN, "value", "clean"]))
    words = [command, draw(mostly(GOOD, BAD))]
    if draw(st.sampled_from([True] * 19 + [False])):
        words += draw(given_to("--label", "y y y price", "a who no"))
    if command in ("select", "remove"):
        words += [*draw(given_to("-n", "5", "")), *draw(given_to("-o", *WORDS["-o"]))]
    if command == "pay":
        words += draw(given_to("--owner", *COLUMNS["--owner"]))
    known = {**NUMBERS, **COLUMNS, **WORDS, **OWN[command]}
    missing = {"clean": {*_OF_VALUATION, "--owner"}, "select": {"--owner"}, "remove": {"--owner"}}.get(command, set())
    known = {name: known[name] for name in known if name not in missing}
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.sampled_from([True] * 5 + [False])):
            option = draw(st.sampled_from(list(known)))
            words += draw(given_to(option, *known[option]))
        else:
            words.append(draw(st.sampled_from([*FLAGS, *SWITCHES.get(command, [])])))
    return [word.replace("TABLE", words[1]) for word in words]


_OF_VALUATION = {*WORDS, *NUMBERS} - {"-k", "--seed", "--jobs", "--max-rows", "--max-categories", "-o", "--na"}


def run_here(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said on stderr."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    pipe = io.TextIOWrapper(io.BytesIO(b"a,y\n1,cat\n2,dog\n3,cat\n"))
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "stdin", pipe)
        return main(words), err.getvalue()


def check(words: list[str], code: int, err: str, folder: Path) -> None:
    """Hold what is promised of every command line."""
    assert code in ({0, 1, 2} if "--check" in words else {0, 2}), (words, code, err)
    if "--verbose" not in words:
        assert "Traceback" not in err, (words, err)
    assert "Warning" not in err, (words, err)
    if code == 2:
        last = err.splitlines()[-1]
        assert last.startswith("pivotal: "), (words, err)
        assert len(last) > len("pivotal: ."), words
    changed = {name for name in OUTPUTS if (folder / name).read_bytes() != OLD.encode()}
    named = {name for word in words if (name := word.rpartition("=")[2]) in OUTPUTS}
    assert changed <= (named if code < 2 or len(named) > 1 else set()), (words, err, changed)
    left = {entry.name for entry in folder.iterdir()}
    assert not {name for name in left if name.endswith(".tmp")}, words


@pytest.fixture
def folder(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the tables, and the place where the commands run."""
    here = tmp_path / "here"
    shutil.copytree(tables, here)
    monkeypatch.chdir(here)
    monkeypatch.delenv("PIVOTAL_DEBUG", raising=False)
    return here


def lay_out(folder: Path) -> dict[Path, bytes]:
    """Put older files where outputs go; return what the tables hold."""
    for name in OUTPUTS:
        (folder / name).write_text(OLD, encoding="utf-8")
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name not in OUTPUTS}


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(words=command_lines())
def test_any_command_line_ends_in_order(folder: Path, words: list[str]) -> None:
    before = lay_out(folder)
    code, err = run_here(words)
    check(words, code, err, folder)
    assert all(path.read_bytes() == content for path, content in before.items() if path.name != "ö.csv"), words


@pytest.mark.faults
@pytest.mark.parametrize(
    "line",
    [
        "value cut.csv.gz --label y -o out.csv --report page.html",
        "clean odd.parquet --label y --check --quiet --fix fixed.csv",
        "pay good.csv --label y --owner who --budget 1e308 --decimals 2 --quiet -o out.json",
        "select binary.csv --label y -n 99999999999999999999 -o out.parquet",
        "clean deep.json --label y --check --quiet",
        "value good.csv --label y --id key --seed 99999999999999999999 -o out.csv",
    ],
)
def test_processes_end_in_order(folder: Path, line: str) -> None:
    """What only a process of its own can show: signals, and what is said while the interpreter shuts down."""
    before = lay_out(folder)
    done = subprocess.run(
        [sys.executable, "-m", "pivotal", *line.split()],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, ""), (line, done.stderr)
    check(line.split(), done.returncode, done.stderr, folder)
    assert all(path.read_bytes() == content for path, content in before.items())
    assert all((folder / name).read_text(encoding="utf-8") == OLD for name in OUTPUTS)
