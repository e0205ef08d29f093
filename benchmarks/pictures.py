"""The pictures of the README and the site, each for light and for dark pages.

    python benchmarks/pictures.py [--docs docs] [--report]

Reads cleaning.json and peers.json, which other benchmarks measured, and writes images/precision.svg and
images/libraries.svg; badges from pyproject.toml; and images/explanation.png, which the guide shows. With --report it
also computes a report and takes a picture of its top; this needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cleaning_page import OURS, SINGLE, means
from matplotlib import rc_context
from matplotlib.figure import Figure

NAMES = {
    OURS: "pivotal find_label_errors",
    "cleanlab, mean of the four, margin": "cleanlab, mean of four models",
    "cleanlab, kNN, margin": "cleanlab, nearest neighbours",
    "cleanlab, logistic, margin": "cleanlab, logistic regression",
    "cleanlab, forest, margin": "cleanlab, random forest",
    "cleanlab, fourth, margin": "cleanlab, gradient boosting",
}


@dataclass(frozen=True)
class Look:
    """Colours of a page."""

    ending: str
    ink: str
    ours: str
    others: str


LOOKS = (Look("", "#1f2937", "#0072b2", "#9ca3af"), Look("-dark", "#e5e7eb", "#56b4e9", "#6b7280"))


def precision_bars(cells):
    """Mean average precision by method: ours, and each of cleanlab's models by the better of its two scores."""
    found = {OURS: float(means(cells, OURS).mean())}
    for model in (*SINGLE, "mean of the four"):
        both = {way: float(means(cells, f"cleanlab, {model}{way}").mean()) for way in ("", ", margin")}
        found[f"cleanlab, {model}, margin"] = max(both.values())
    return {NAMES[name]: number for name, number in sorted(found.items(), key=lambda one: one[1])}


def library_bars(rows, column):
    """Seconds or megabytes of nearest-neighbour Shapley values by library, where they were measured."""
    known = {row["name"]: row for row in rows if row["status"] == "ran" and row[column] is not None}
    games = (
        {known["pivotal-shapley"]["game"], known["pivotal-shapley-alone"]["game"]}
        if column == "megabytes"
        else {known["pivotal-shapley"]["game"]}
    )
    kept = [row for row in known.values() if row["game"] in games]
    return {label(row, many=len(games) > 1): row[column] for row in sorted(kept, key=lambda row: -row[column])}


def label(row, *, many):
    parallel = ", two processes" if "one process per processor" in row["method"] else ""
    task = f", {row['n_train'] // 1000}k × {row['n_queries'] if row['n_queries'] < 1000 else '20k'}" if many else ""
    return f"{row['package']}{parallel}{task}"


def draw(panels, look, title):
    """Draw panels of horizontal bars with their numbers; ours in colour."""
    bars = max(len(numbers) for _, numbers, _ in panels)
    figure = Figure(figsize=(4.6 * len(panels) + 1.2, 0.34 * bars + 1.0), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (heading, numbers, unit) in zip(axes, panels, strict=True):
        ax.patch.set_alpha(0.0)
        colors = [look.ours if name.startswith("pivotal") else look.others for name in numbers]
        ax.barh(list(numbers), list(numbers.values()), color=colors)
        if unit:
            ax.set_xscale("log")
        else:
            ax.set_xlim(0.0, 1.0)
        for place, number in enumerate(numbers.values()):
            text = f"{number:.3f}" if not unit else f"{number:.2g}{unit}" if number < 100 else f"{number:.0f}{unit}"
            ax.annotate(text, (number, place), xytext=(4, 0), textcoords="offset points", va="center", color=look.ink)
        ax.set_title(heading, loc="left", color=look.ink, fontsize="medium")
        ax.tick_params(colors=look.ink, labelbottom=False, length=0, which="both")
        ax.spines[:].set_visible(False)
        if unit:
            low, high = ax.get_xlim()
            ax.set_xlim(low / 1.5, high * 4)
    figure.suptitle(title, x=0.01, ha="left", color=look.ink)
    return figure


def badges(project):
    """Short facts about the package, as its pyproject.toml has them."""
    versions = [text.split(" :: ")[-1] for text in project["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    status = next(text for text in project["classifiers"] if text.startswith("Development Status"))
    return {
        "python": ("python", " | ".join(versions)),
        "licence": ("licence", project["license"]),
        "types": ("types", "mypy --strict"),
        "status": ("status", status.split(" - ")[-1].lower()),
    }


def badge(name, fact):
    """A badge as other projects have them, without asking a server for it."""
    left, right = (round(6.6 * len(text) + 12) for text in (name, fact))
    words = (
        f'<text x="{x:g}" y="14" textLength="{6.6 * len(text):.0f}" lengthAdjust="spacingAndGlyphs">{text}</text>'
        for x, text in ((left / 2, name), (left + right / 2, fact))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f"<title>{name}: {fact}</title>"
        f'<rect width="{left}" height="20" rx="3" fill="#4b5563"/><rect x="{left}" width="{right}" height="20" rx="3" '
        f'fill="#0072b2"/><rect x="{left - 3}" width="6" height="20" fill="#0072b2"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{''.join(words)}</g></svg>\n"
    )


def write(figure, file):
    # Letters as text: a test reads the numbers, and the page's own font is used.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "pivotal", "font.family": "sans-serif"}):
        figure.savefig(file, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--report", action="store_true", help="also take pictures of a report")
    options = parser.parse_args()
    folder = options.docs
    cells = json.loads((folder / "cleaning.json").read_text(encoding="utf-8"))
    peers = json.loads((folder / "peers.json").read_text(encoding="utf-8"))
    precision = precision_bars(cells)
    sizes = "{n:,} points × {queries}".format(**peers["settings"])
    speed = [
        (f"seconds, {sizes}, warm; log scale", library_bars(peers["rows"], "seconds"), " s"),
        ("peak memory, points × test points; log scale", library_bars(peers["rows"], "megabytes"), " MB"),
    ]
    for look in LOOKS:
        n_sets = len({key.split("|")[0] for key in cells})
        panel = [(f"mean over {n_sets} data sets with flipped labels", precision, "")]
        write(
            draw(panel, look, "Average precision of finding wrong labels"),
            folder / f"images/precision{look.ending}.svg",
        )
        write(
            draw(speed, look, "Nearest-neighbour Shapley values (cleanlab's are approximate, all others exact)"),
            folder / f"images/libraries{look.ending}.svg",
        )
    project = tomllib.loads((folder.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for file, facts in badges(project).items():
        (folder / f"images/badge-{file}.svg").write_text(badge(*facts), encoding="utf-8")
    draw_explanation(folder / "images/explanation.png")
    if options.report:
        take_report(folder / "images")
    print(json.dumps({"precision": precision, "seconds": speed[0][1], "megabytes": speed[1][1]}, indent=1))


def draw_explanation(file):
    """Draw what docs/guide/explain.md computes."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import scale

    import pivotal

    X, y = load_wine(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
    values = pivotal.value(X_train, y_train, X_test, y_test, k=5, method=pivotal.Exact(per_query=True))
    figure = Figure(figsize=(7.0, 3.4), layout="constrained")
    values.explain(18).plot(figure.subplots())
    figure.savefig(file, metadata={"Software": None})


def take_report(images):
    """Take pictures of the top of a report on digits with flipped labels."""
    from playwright.sync_api import sync_playwright
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    import pivotal
    from pivotal.research.datasets import flip_labels

    digits = load_digits()
    order = np.arange(len(digits.target))
    train, test = train_test_split(order, random_state=0, stratify=digits.target)
    noisy, _ = flip_labels(digits.target[train], 0.05, random_state=0)
    task = (digits.data[train], noisy, digits.data[test], digits.target[test])
    values = pivotal.value(*task, k=5, semivalue="shapley", utility="soft")
    names = dict(zip(("X", "y", "X_test", "y_test"), task, strict=True))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        page = Path(folder) / "report.html"
        values.report(page, title="Handwritten digits, 5 % of the labels flipped", images=digits.images[train], **names)
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            sheet = browser.new_page(viewport={"width": 1080, "height": 900}, color_scheme=scheme)
            sheet.goto(page.as_uri())
            sheet.wait_for_timeout(1500)
            sheet.screenshot(path=str(images / name))
        browser.close()


if __name__ == "__main__":
    main()
