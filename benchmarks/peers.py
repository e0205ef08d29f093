"""The library beside its peers, with the peers that need an environment of their own.

    python benchmarks/peers.py [--out docs/peers.md] [--environment DIR] [--python pydvl=PATH ...]

Does what `pivotal bench --memory` does and writes a page. pyDVL needs NumPy below 2: unless its Python is named, a
virtual environment is made for it in DIR and used again the next time. Times and memory come from separate runs.
"""

from __future__ import annotations

import argparse
import subprocess
import venv
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from pivotal.research.bench import Report, Row, run_bench, write_json
from pivotal.research.bench.bench_report import print_table
from pivotal.research.bench.markdown import record_table, table

RATIOS = (  # peer, row of ours, of what, in words
    ("pydvl", "pivotal-shapley", "times_slower", "pyDVL's Shapley values over the same by `value`, time"),
    ("pydvl", "pivotal-banzhaf", "times_slower", "pyDVL's Shapley values over our Banzhaf values, time"),
    ("cleanlab", "pivotal-banzhaf-alone", "times_slower", "cleanlab's scores over our Banzhaf values, time"),
    ("cleanlab", "pivotal-banzhaf-alone", "times_larger", "cleanlab's scores over our Banzhaf values, memory"),
    ("cleanlab", "pivotal-shapley-alone", "times_slower", "cleanlab's scores over our Shapley values, time"),
    ("cleanlab", "pivotal-shapley-alone", "times_larger", "cleanlab's scores over our Shapley values, memory"),
)
HOMES = {
    "cleanlab": "the extra `bench`",
    "shapiq": "the extra `bench`, from Python 3.12 on: releases for 3.11 have no nearest-neighbour explainers",
    "dattri": "beside pivotal, with torch: `pip install dattri torch`",
    "pyDVL 0.10": "an environment of its own, as it needs NumPy below 2",
    "OpenDataVal 1.3": "an environment of its own, with `transformers<4.38`: it pins NumPy and pandas below 2",
}


def environment_with(package: str, home: Path) -> str:
    """The Python of an environment with the package, made if need be."""
    root = home / package.lower()
    python = next((path for path in (root / "bin/python", root / "Scripts/python.exe") if path.exists()), None)
    if python is None:
        venv.create(root, with_pip=True)
        python = root / ("bin/python" if (root / "bin").exists() else "Scripts/python.exe")
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    return str(python)


def merge(timed: Report, weighed: Report) -> Report:
    """Times of one report, memory of the other."""
    other = {row.name: row for row in weighed.rows}
    rows = [
        replace(row, megabytes=other[row.name].megabytes, times_larger=other[row.name].times_larger)
        if row.name in other
        else row
        for row in timed.rows
    ]
    return replace(timed, rows=rows)


def verdict(row: Row) -> str:
    if row.status != "ran":
        return row.reason
    if row.ours:
        return "exact"
    if row.agreement is None:
        return ""
    if row.agreement.agrees is None:
        return f"approximate: correlation {row.agreement.correlation:.3f} with the exact values"
    if row.agreement.agrees:
        return f"agree to {row.agreement.largest_difference:.0e}"
    return f"**disagree** by {row.agreement.largest_difference}"


def figure(number: float | None, digits: str = ".3g") -> str:
    return "" if number is None else format(number, digits)


def ratio(report: Report, peer: str, ours: str, what: str) -> str:
    row = next((row for row in report.rows if row.name == peer), None)
    return figure(None if row is None else getattr(row, what).get(ours))


def page(report: Report, weighed: Report) -> str:
    s, machine = report.settings, report.machine
    lines = [
        "# Beside other libraries",
        "",
        *(
            f"![Seconds and peak memory of nearest-neighbour Shapley values by library](images/libraries{look})"
            for look in (".svg#only-light", "-dark.svg#only-dark")
        ),
        "",
        "Written by `python benchmarks/peers.py --out docs/peers.md`. The same points for all, in one run; the",
        f"fastest of {s['rounds']} counts (a run of more than 60 s is not repeated), without imports and compilation.",
        "Memory is what a process of its own holds at its peak above what it held before, data included in the latter.",
        "",
        f"n = {s['n']:,} training points, {s['queries']:,} queries, d = {s['dim']}, k = {s['k']}. Machine: "
        f"{machine['cores']} cores, {machine['processor']}; Python {machine['python']}, NumPy {machine['numpy']}, "
        f"numba {version('numba')}.",
        "",
    ]
    ratios = []
    for peer, ours, what, words in RATIOS:
        cells = [ratio(timed, peer, ours, what) for timed in (report, weighed)]
        if what == "times_larger":
            cells[0] = ""  # memory is only looked at in a fresh process
        ratios.append([words, *cells])
    lines += [
        table(["ratio", "warm: called again", "cold: once, in a fresh process"], ratios),
        "",
        "Methods that allocate gigabytes are much slower on the first call (page faults). Most calls are made once, so",
        "both are shown: cold, in a fresh process, and warm. Points are given as float64, distances are Euclidean for",
        "all; cleanlab itself would choose the cosine. Other kinds, metrics and k: [how fast](benchmarks.md).",
        "",
        record_table(
            {
                "who": "{row.package} {row.version} `{row.method}`",
                "computes": "{row.game}",
                "n": "{row.n_train:,}",
                "queries": "{row.n_queries:,}",
                "seconds": "{seconds}",
                "MB": "{megabytes}",
                "values": "{verdict}",
            },
            [
                {
                    "row": row,
                    "seconds": figure(row.seconds),
                    "megabytes": figure(row.megabytes, ",.0f"),
                    "verdict": verdict(row),
                }
                for row in report.rows
            ],
        ),
        "",
        "pyDVL, OpenDataVal, dattri and shapiq's `KNNExplainer` play one game, the Shapley value of the share of right",
        "votes among k (the convention `jia2019`), and must agree with `pivotal.value` up to their arithmetic: 1e-9 of",
        "the largest value in double precision, 0.1 % in single precision, which swaps neighbours that are almost",
        "equally far. Shapley values need the order of all points for every query; Banzhaf values need the first few",
        "dozen neighbours, which is why they cost a search and little else. No other library here computes them.",
        "",
        "cleanlab values points by each other. It gives the neighbour of rank r the difference of its match and that",
        "of rank k, over k, and nothing to any other: an approximation of Shapley values, so what is shown is its",
        "correlation with the exact ones. Those need the order of all points for each of them and take their time;",
        "exact Banzhaf values, another measure for the same use, do not.",
        "",
        "## Doing it again",
        "",
        "```",
        'pip install "pivotal[bench]"',
        "pivotal bench                                      # the libraries that are installed",
        "pivotal bench --python pydvl=/path/to/bin/python   # and one that lives elsewhere",
        "```",
        "",
        table(["library", "where it can live"], HOMES.items()),
        "",
        "An environment of its own needs Python 3.11 or newer and the library, not pivotal. One that would take",
        "longer than `--limit` seconds, going by a small run, is omitted and the table says so. Each is one class in",
        "`pivotal/research/bench/peers.py`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown page to write; the figures go beside it as two JSON files")
    parser.add_argument("--environment", type=Path, default=Path(".peers"), metavar="DIR", help="for pyDVL's Python")
    parser.add_argument("--python", action="append", default=[], metavar="PEER=PATH", help="as in pivotal bench")
    parser.add_argument("--n", type=int, default=30_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    pythons = dict(entry.split("=", 1) for entry in options.python)
    if "pydvl" not in pythons:
        pythons["pydvl"] = environment_with("pyDVL", options.environment)
    sizes = (options.n, options.queries, options.dim, options.k)
    given = {"pythons": pythons, "limit": options.limit, "echo": print}
    report = run_bench(*sizes, rounds=options.rounds, **given)
    weighed = [row.name for row in report.rows if row.name in ("pydvl", "cleanlab") and row.status == "ran"]
    given["pythons"] = {name: path for name, path in pythons.items() if name in weighed}
    fresh = run_bench(*sizes, peers=weighed, memory=True, **given)
    report = merge(report, fresh)
    print_table(report)
    if options.out:
        options.out.write_text(page(report, fresh), encoding="utf-8")
        write_json(report, options.out.with_suffix(".json"))
        write_json(fresh, options.out.with_name(f"{options.out.stem}-fresh.json"))


if __name__ == "__main__":
    main()
