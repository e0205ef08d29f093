"""Numbers and pictures of the README, and numbers that the guide quotes, are those that the benchmarks kept."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not (DOCS / "peers.json").is_file():
    pytest.skip("the documentation is not here", allow_module_level=True)
pytest.importorskip("matplotlib", reason="pictures need matplotlib")


def kept(name: str):
    return json.loads((DOCS / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pictures():
    """The script that draws them, which imports its neighbour."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module("pictures")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def texts(name: str) -> set[str]:
    """What a picture says."""
    return set(re.findall(r">([^<>]+)</text>", (DOCS / "images" / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("look", ["", "-dark"])
def test_bars_have_the_numbers_that_were_measured(pictures, look):
    precision = pictures.precision_bars(kept("cleaning.json"))
    assert {*precision, *(f"{number:.3f}" for number in precision.values())} <= texts(f"precision{look}.svg")
    rows = kept("peers.json")["rows"]
    seconds, megabytes = (pictures.library_bars(rows, column) for column in ("seconds", "megabytes"))
    assert {*seconds, *megabytes} <= texts(f"libraries{look}.svg")
    assert f"{seconds['pivotal']:.2g} s" in texts(f"libraries{look}.svg")
    assert f"{max(megabytes.values()):.0f} MB" in texts(f"libraries{look}.svg")


def test_badges_are_what_the_package_says_of_itself(pictures):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, facts in pictures.badges(project).items():
        assert (DOCS / "images" / f"badge-{name}.svg").read_text(encoding="utf-8") == pictures.badge(*facts)


def test_the_readme_quotes_what_was_measured(pictures):
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    precision = pictures.precision_bars(kept("cleaning.json"))
    ours = precision.pop("pivotal find_label_errors")
    assert f"| **{ours:.3f}** | {max(precision.values()):.3f}, the best of ten rankings" in text
    assert f"pivotal {ours:.3f}, cleanlab {min(precision.values()):.3f} to {max(precision.values()):.3f}" in text
    seconds = pictures.library_bars(kept("peers.json")["rows"], "seconds")
    for name, end in (
        ("pivotal", " s, exact"),
        ("pyDVL, two processes", " s on two processes"),
        ("shapiq", " s, exact"),
    ):
        assert f"{seconds[name]:.2g}{end}" in text
    million = kept("growth.json")["large"]
    assert f"50 000 queries take {million['seconds']:.0f} s and {million['megabytes']:.0f} MB" in text
    parts = (part["found"] for part in kept("benchmarks.json").values())
    ratios = {row["task"]: row["ratio"] for part in parts if isinstance(part, list) for row in part}
    assert f"| {ratios['Banzhaf, n = 100 000, d = 32, 1000 queries, k = 5']:.2f} | scikit-learn's brute-force" in text
    sorting = "Shapley, hard label, n = 30 000, d = 32, 200 queries, k = 5"
    single, double = (ratios[f"{sorting}, {kind}"] for kind in ("float32", "float64"))
    assert f"| {single:.2f} (float64: {double:.2f}) | computing the distances and sorting them" in text
    both = "Shapley, soft label over k, points by each other, N = 20 000, d = 32, k = 10, float32"
    for metric, other in (
        ("euclidean", "cleanlab's approximation, called again, Euclidean, its best"),
        ("cosine", "the same"),
    ):
        clock, processor = (ratios[f"{both}, {metric}, {by}"] for by in ("by the clock", "in processor time"))
        assert f"| {clock:.2f} (processor time: {processor:.2f}) | {other} |" in text


def gains(table: str) -> dict[str, str]:
    """What each way to select gains over random rows, as docs/selection.md has it under a heading."""
    page = (DOCS / "selection.md").read_text(encoding="utf-8")
    rows = page.split(f"### {table}\n", 1)[1].split("\n##", 1)[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([+-][\d.]+) ", rows, flags=re.MULTILINE))


def test_what_a_ranking_is_not_good_for_is_quoted_as_measured():
    clean = gains("Clean labels")
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"with clean labels, {abs(float(clean['value'])):.1f} points of accuracy worse" in text
    assert f"and is {float(clean['exchange']):.1f} points better" in text
    assert float(clean["value"]) < 0 < float(clean["exchange"])


def test_limits_quote_the_experiment_on_fresh_points():
    pd = pytest.importorskip("pandas")
    from pivotal.research.experiments._claims import interval
    from pivotal.research.experiments._curves import height_tables

    fresh = height_tables(pd.read_csv(DOCS / "reproduction" / "selection.csv.gz"), "sample", "fresh")
    lost = {name: interval(100 * (fresh["rand"] - fresh[name])) for name in ("bv-uw", "sv-soft")}
    text = " ".join((DOCS / "limits.md").read_text(encoding="utf-8").split())
    banzhaf, shapley = (f"{found.mean:.1f} ± {found.half:.1f}" for found in lost.values())
    assert f"by {banzhaf} points of accuracy for Banzhaf values and {shapley} for soft-label Shapley values" in text


def test_the_table_of_purposes_quotes_what_was_measured():
    page = (DOCS / "purposes.md").read_text(encoding="utf-8")
    rows = {row[0].strip(): [cell.strip(" *") for cell in row[1:]] for row in re.findall(
        r"^\| ((?:hard|soft|plurality), [^|]+)\|([^|]+)\|([^|]+)\|([^|]+)\|$", page, flags=re.MULTILINE
    )}  # fmt: skip
    text = (DOCS / "guide" / "games.md").read_text(encoding="utf-8")
    labels, removal, selection = rows["hard, banzhaf, k = 5, uniform"]
    soft, kept = rows["soft, banzhaf, k = 5, distance"][0], rows["soft, loo, k = 1, distance"][2]
    assert f"soft, Banzhaf, k = 5, distance: {soft} | {labels} | 0.024 |" in text
    assert f"| the default | +{removal} | 0.003 |" in text
    assert float(removal) == max(float(row[1]) for row in rows.values())
    assert f"k = 1, distance: +{kept} | {selection} | 0.017 |" in text
    assert float(kept) == max(float(row[2]) for row in rows.values())
    assert f"wrong labels with {rows['hard, banzhaf, k = 20, uniform'][0]}." in text
    assert "0.024 (wrong labels), 0.003 (removal), 0.017 (selection)" in page


def test_the_guide_quotes_what_samples_cost():
    rows = {row["votes"]: row for row in kept("sampling.json")["queries"]}
    samples = {votes: 1000 * row["exact"] / row["coalitions"] for votes, row in rows.items()}
    plain, weighted = (f"{samples[votes]:.0f}" for votes in ("unweighted", "votes of 7 bits"))
    text = " ".join((DOCS / "guide" / "sampling.md").read_text(encoding="utf-8").split())
    assert f"cost as much as {plain} random coalitions per query, with weights {weighted} ([measured]" in text


def test_the_guide_quotes_what_standard_errors_cost():
    page = (DOCS / "certainty.md").read_text(encoding="utf-8")
    extra = [float(share) for share in re.findall(r"\| ([+-][\d.]+) % \|$", page, flags=re.MULTILINE)]
    text = " ".join((DOCS / "guide" / "results.md").read_text(encoding="utf-8").split())
    assert f"[at most {max(extra):.0f} % of extra time]" in text


def test_the_guide_quotes_how_fast_the_review_page_is():
    tables = kept("review.json")["tables"]
    next_row = tables["100000 64 "]["keys"]["p95"]
    minutes = tables["1000000 64 "]["opened"] / 60
    text = " ".join((DOCS / "guide" / "review.md").read_text(encoding="utf-8").split())
    assert f"[within {next_row:.0f} ms](../review.md) of 95 decisions in 100" in text
    assert f"[open in {['no', 'one', 'two', 'three', 'four', 'five'][round(minutes)]} minutes]" in text


def test_the_guide_quotes_selections_as_measured():
    page = (DOCS / "selection.md").read_text(encoding="utf-8")
    text = " ".join((DOCS / "guide" / "selection.md").read_text(encoding="utf-8").split())
    means = re.findall(
        r"^\| \*\*mean, sets won\*\* \| (\S+), (\d+ of \d+) \| [^|]+ \| (\S+), (\d+ of \d+)", page, flags=re.MULTILINE
    )
    assert len(means) == 2
    for clean, won, noisy, also in means:
        for gain, ahead in ((clean, won), (noisy, also)):
            assert re.search(rf"\| {re.escape(f'{float(gain):+.1f}')} ± [\d.]+ points, ahead on {ahead}", text), gain
    clean, noisy = gains("Clean labels"), gains("10% wrong labels")
    for method, name in (
        ("exchange", "`pivotal.select`"),
        ("shapley", "top of Shapley values"),
        ("value", "top of soft Banzhaf values"),
    ):
        assert f"| {name} | {float(clean[method]):+.1f} | {float(noisy[method]):+.1f} |" in text
    for method, name in (("herding", "plain herding"), ("nash", "NASH as published")):
        assert f"| {name} | {float(clean[method]):+.1f} | |" in text
    small, large = kept("selection-scale.json")["times"]
    assert f"takes {small['seconds']:.0f} seconds and {small['peak_gb']:.1f} GB" in text
    assert f"of a million, {large['seconds'] / 60:.0f} minutes and {large['peak_gb']:.1f} GB" in text


def test_the_guide_quotes_what_stopping_leaves():
    page = (DOCS / "stopping.md").read_text(encoding="utf-8")
    caught = dict(re.findall(r"^\| (\w+) \| \d+ \([^)]*\) \| (\d+)%", page, flags=re.MULTILINE))
    shares = {name: int(share) for name, share in caught.items()}
    assert shares.pop("creditcard") == 25
    assert len(shares) == 12
    assert sum(share > 80 for share in shares.values()) == 9
    text = " ".join((DOCS / "guide" / "review.md").read_text(encoding="utf-8").split())
    assert "a quarter of the wrong labels was caught by then, on twelve other sets" in text
    assert f"{min(shares.values())} to {max(shares.values())} %, on nine of these over 80 %" in text
