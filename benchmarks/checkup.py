"""What a check-up finds of planted faults, and how long it takes, beside cleanlab's Datalab.

    python benchmarks/checkup.py [--rows 5000] [--large 100000] [--features 32] [--dimensions 2 5 20 100]

Rows of ten classes are drawn, and faults are planted of which it is known where they are. Both get the same features
and labels; Datalab also gets out-of-fold probabilities of ten nearest neighbours, without which it does not look for
groups. Both are timed in this process, probabilities apart. Finished figures are kept in a JSON file beside the page,
and not computed again; `--write-only` makes the page of what there is. Needs cleanlab: pip install 'pivotal[bench]'.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pivotal
from pivotal.research.bench.markdown import machine, table
from pivotal.research.bench.stopwatch import Stopwatch

CLASSES = 10
SHARED = {  # our names and Datalab's
    "label_errors": "label",
    "near_duplicates": "near_duplicate",
    "outliers": "outlier",
    "class_imbalance": "class_imbalance",
    "order": "non_iid",
    "weak_groups": "underperforming_group",
}
SAID = {
    "label_errors": "wrong labels (5 %)",
    "duplicates": "exact duplicates",
    "near_duplicates": "near duplicates (0.001 of a standard deviation away)",
    "conflicts": "contradicting copies",
    "leakage": "training rows in the test set",
    "outliers": "outliers (ten standard deviations away)",
    "class_imbalance": "rows of a rare class",
    "weak_groups": "rows of a region with random labels",
    "order": "order by drift (whole table)",
}


class Planted(NamedTuple):
    """A table with faults."""

    X: np.ndarray
    y: np.ndarray
    test: np.ndarray
    rows: dict[str, np.ndarray]


def plant(n: int, d: int, seed: int) -> Planted:
    """Draw rows of ten classes, and plant faults that do not overlap."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((CLASSES, d)) * 1.2
    y = rng.integers(0, CLASSES - 1, n)
    free = rng.permutation(n).tolist()

    def some(count: int) -> np.ndarray:
        taken, free[:] = free[:count], free[count:]
        return np.array(taken)

    m = max(20, n // 200)
    rows = {"class_imbalance": some(max(5, n // 500))}
    y[rows["class_imbalance"]] = CLASSES - 1
    X = rng.standard_normal((n, d)) + centres[y]
    rows["weak_groups"] = some(max(60, n // 50))
    X[rows["weak_groups"]] = rng.standard_normal((len(rows["weak_groups"]), d)) + 2.5 * rng.standard_normal(d)
    y[rows["weak_groups"]] = rng.integers(0, CLASSES - 1, len(rows["weak_groups"]))
    rows["label_errors"] = some(n // 20)
    y[rows["label_errors"]] = (y[rows["label_errors"]] + rng.integers(1, CLASSES - 1, n // 20)) % (CLASSES - 1)
    rows["outliers"] = some(m)
    X[rows["outliers"]] += 10.0 * rng.choice([-1.0, 1.0], (m, d)) / np.sqrt(d) * np.sqrt(d / 2)
    for name, shift in (("duplicates", 0.0), ("near_duplicates", 1e-3)):
        first, second = some(m), some(m)
        X[second] = X[first] + shift * rng.standard_normal((m, d))
        y[second] = y[first]
        rows[name] = np.concatenate([first, second])
    first, second = some(m), some(m)
    X[second], y[second] = X[first], (y[first] + 1) % (CLASSES - 1)
    rows["conflicts"] = np.concatenate([first, second])
    rows["leakage"] = some(m)
    test = np.concatenate(
        [rng.standard_normal((n // 20, d)) + centres[rng.integers(0, 9, n // 20)], X[rows["leakage"]]]
    )
    return Planted(X, y, test, rows)


def with_drift(planted: Planted) -> np.ndarray:
    """The same rows, which move slowly while the table goes on."""
    return planted.X + np.linspace(0.0, 1.0, len(planted.X))[:, np.newaxis]


def probabilities(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Out-of-fold probabilities of ten nearest neighbours."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(cross_val_predict(KNeighborsClassifier(10), X, y, cv=5, method="predict_proba", n_jobs=2))


def ours(planted: Planted, X: np.ndarray | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rows found, by name, and seconds: by the clock, and of processors."""
    with Stopwatch() as watch:
        found = pivotal.check(planted.X if X is None else X, planted.y, planted.test)
    named = {name: finding.rows for name, finding in found.items()}
    named["ranked"] = np.argsort(found["label_errors"].scores, kind="stable")
    named["order"] = np.arange(len(planted.y)) if found["order"].present else np.empty(0, np.int64)
    return named, np.array([watch.seconds, watch.processor_seconds])


def datalab(planted: Planted, X: np.ndarray | None = None, *, groups: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rows found, by our names, and seconds (as above) without those for probabilities."""
    from cleanlab import Datalab

    X = planted.X if X is None else X
    chances = probabilities(X, planted.y) if groups else None
    with Stopwatch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lab = Datalab({"y": planted.y.tolist()}, label_name="y", verbosity=0)
        lab.find_issues(features=X, pred_probs=chances)
    seconds = np.array([watch.seconds, watch.processor_seconds])
    issues = lab.get_issues()
    named = {}
    for name, theirs in SHARED.items():
        column = f"is_{theirs}_issue"
        named[name] = np.flatnonzero(issues[column]) if column in issues else np.empty(0, np.int64)
    named["order"] = np.arange(len(X)) if len(named["order"]) else named["order"]  # it marks one row for the table
    return named, seconds


def score(found: np.ndarray, planted: np.ndarray) -> dict[str, float]:
    """Recall, and precision where anything was found."""
    hit = len(np.intersect1d(found, planted))
    return {"recall": hit / len(planted), "precision": hit / len(found) if len(found) else float("nan")}


def compare(n: int, d: int, seed: int) -> dict[str, Any]:
    """What both find of every fault."""
    planted = plant(n, d, seed)
    truth = {**planted.rows, "order": np.arange(n)}
    results: dict[str, Any] = {}
    for name, run in (("pivotal", ours), ("Datalab", lambda p, X=None: datalab(p, X, groups=X is None))):
        found, _ = run(planted)
        found["order"] = run(planted, with_drift(planted))[0]["order"]
        copies = np.concatenate([truth["duplicates"], truth["conflicts"]])
        truth_of = dict(truth)
        if name == "Datalab":  # it does not tell equal rows from near ones: either is right
            found["duplicates"] = np.intersect1d(found["near_duplicates"], copies)
            found["near_duplicates"] = np.setdiff1d(found["near_duplicates"], copies)
        truth_of["duplicates"] = copies
        if name == "pivotal":
            ranked = found["ranked"]
        else:
            size = len(found["label_errors"])
            results["as many"] = {"rows": size, **score(ranked[:size], truth["label_errors"])}
        results[name] = {fault: score(found[fault], truth_of[fault]) if fault in found else None for fault in SAID}
    return results


def timed(n: int, d: int, seed: int, kept: dict[str, Any], save: Any) -> None:
    """Seconds of both, on the same rows."""
    planted = plant(n, d, seed)
    times = kept.setdefault("seconds", {})
    key = f"{n} rows, {d} features"
    if key in times:
        return
    ours(plant(500, d, seed))  # kernels are compiled once
    # Ours before and after theirs, so that a machine busy with other work is so for both.
    mine = [ours(planted)[1]]
    theirs = datalab(planted, groups=False)[1]
    mine.append(ours(planted)[1])
    times[key] = {"pivotal": np.min(mine, axis=0).tolist(), "Datalab": theirs.tolist()}
    save()


def page(kept: dict[str, Any]) -> str:
    """Return the page."""
    lines = [
        "# A check-up beside Datalab: what was measured",
        "",
        "Written by `python benchmarks/checkup.py --out docs/checkup.md`. How to use it is in",
        "[the guide](guide/check-up.md).",
        "",
        "Ten classes of rows are drawn, and faults are planted of which it is known where they are. Both libraries get",
        "the same features and labels and their default settings; Datalab also gets out-of-fold probabilities of ten",
        "nearest neighbours, without which it does not look for groups. Recall is the share of the planted rows that",
        "are found, precision the share of what is found that was planted; a dash says that there is no such check.",
        "Copies with other labels are copies too, and wrong labels stand beside rows whose labels are random, so",
        "precision of wrong labels is not 1 for anyone. In two dimensions the ten classes overlap, rows are close to",
        "others by chance, and the region with random labels lies among other rows, of which the nearest predict few",
        "labels right. There Datalab names more labels than pivotal does; each table is followed by what pivotal",
        "would find if it named as many. Datalab has one check for equal and near rows: what it finds among the",
        "planted equal rows is counted under exact duplicates, so its precision there is 1 by construction. Rules and",
        "thresholds were settled on other draws than these.",
        "",
        f"Machine: {machine('numpy', 'scikit-learn', 'cleanlab')}.",
    ]
    for size, results in kept.get("found", {}).items():
        columns = [(what, who) for what in ("recall", "precision") for who in ("pivotal", "Datalab")]
        rows = [
            [f"{said} (`{fault}`)", *(_cell(results[who][fault], what) for what, who in columns)]
            for fault, said in SAID.items()
        ]
        head = ["planted", *(f"{what}, {who}" for what, who in columns)]
        many = results["as many"]
        lines += [
            "",
            f"## What is found: {size}",
            "",
            table(head, rows),
            "",
            f"Of the {many['rows']} labels that pivotal finds most suspicious, as many as Datalab names, are planted:",
            f"recall {many['recall']:.2f}, precision {many['precision']:.2f}.",
        ]
    if kept.get("seconds"):
        lines += [
            "",
            "## Time",
            "",
            "Seconds by the clock, and of processors, which other work on the machine changes less; the faster of two",
            "runs of pivotal, before and after that of Datalab, in one process. Datalab without the time for",
            "probabilities, and so without groups. The machine did other work.",
            "",
        ]
        rows = []
        for size, seconds in kept["seconds"].items():
            cells = [size]
            for mine, theirs in zip(seconds["pivotal"], seconds["Datalab"], strict=True):
                cells += [f"{mine:.1f}", f"{theirs:.1f}", f"{theirs / mine:.1f}"]
            rows.append(cells)
        head = ["pivotal", "Datalab", "ratio", "pivotal, processors", "Datalab, processors", "ratio"]
        lines.append(table(["table", *head], rows))
    return "\n".join(lines) + "\n"


def _cell(scores: dict[str, float] | None, what: str) -> str:
    return "–" if scores is None or scores[what] is None or scores[what] != scores[what] else f"{scores[what]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--dimensions", type=int, nargs="*", default=[2, 5, 20, 100])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("docs/checkup.md"))
    parser.add_argument("--write-only", action="store_true")
    options = parser.parse_args()
    file = options.out.with_suffix(".json")
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def save() -> None:
        file.write_text(json.dumps(kept, indent=1) + "\n")
        options.out.write_text(page(kept))

    if not options.write_only:
        for d in options.dimensions:
            key = f"{options.rows} rows, {d} features"
            if key not in kept.setdefault("found", {}):
                kept["found"][key] = compare(options.rows, d, options.seed)
                save()
        if options.large:
            timed(options.large, options.features, options.seed, kept, save)
    save()
    print(page(kept))


if __name__ == "__main__":
    main()
