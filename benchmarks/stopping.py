"""Whether the review page is right about the wrong labels that are left, and when to stop.

    python benchmarks/stopping.py [--data-home FOLDER] [--rows 3000] [--seeds 3] [--out docs/stopping.md]
    python benchmarks/stopping.py --fit [--data-home FOLDER] [--rows 1500]

Flips labels of real data sets, reviews them as a person would who is always right, worst suspect first, and compares
what the page says on the way with what is known: how often the interval holds the number of wrong labels left among the
suspects, how far its middle is off, and how many of the wrong labels are caught when the page suggests to stop. In the
end some random rows are looked at, and the number of wrong labels left in the whole table is compared too. Data sets
that the prior of the estimate was fitted to stand apart from the others. With `--fit` it prints that prior: how the
chance to be wrong follows the score, in reviews of the former.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from pivotal.analysis.label_errors import find_label_errors, find_with_voters
from pivotal.research.bench.markdown import machine, table
from pivotal.research.datasets import flip_labels, load
from pivotal.review._estimate import log_odds, logistic_fit
from pivotal.review._queues import Query
from pivotal.review._session import Session
from pivotal.review._subject import Subject, fingerprint_of_arrays
from pivotal.review._views import Views

LOOKED_AT = ("digits", "phoneme", "cpu", "mnist", "breast_cancer")
NOT_LOOKED_AT = ("wind", "pol", "2dplanes", "fraud", "vehicle", "cifar10", "creditcard", "apsfail")
VARIANTS = {"fraud": "10k", "vehicle": "1860", "cifar10": "resnet56", "apsfail": "pca12"}
SHARES = (0.02, 0.1)
STEPS = (0, 5, 20, 50, 100, 200)
N_RANDOM = 60


def decide(session: Session, rows: list[int], true: Any, queue: str) -> None:
    """Decide as one who knows the labels."""
    given = session.classes.given
    for row in rows:
        name = session.classes.names[given[row]]
        right = str(true[row])
        action = "keep" if name == right else "label"
        session.decide(
            [row], action, label=None if action == "keep" else right, reviewer="oracle", batch=f"{queue} {row}",
            note="", queue=queue,
        )  # fmt: skip


def review(X: Any, given: Any, true: Any, folder: Path) -> list[dict[str, Any]]:
    """Review one table; return what was said and what is true, at some steps and where it was suggested to stop."""
    found = find_with_voters(X, given)
    session = Session(Subject("t", X, *found, fingerprint_of_arrays(X, given)), folder / "journal.db")
    views, wrong = Views(session), np.asarray(given) != np.asarray(true)
    lines: list[dict[str, Any]] = []
    n_decided, stopped = 0, False
    while True:
        strip = views.strip()
        left = session.scores.suspect & ~session.decided
        line = {
            "decided": n_decided,
            "suspects": int(left.sum()),
            "true": int((left & wrong).sum()),
            "caught": float((wrong & session.decided).sum() / wrong.sum()),
            **{name: strip["left"][name] for name in ("count", "low", "high")},
        }
        if n_decided in STEPS and line["suspects"]:
            lines.append({"at": str(n_decided), **line})
        if strip["stop"] and not stopped:
            stopped = True
            lines.append({"at": "stop", **line})
        total, rows = session.select(Query(), 1)
        if not total or (stopped and n_decided >= max(STEPS)):
            break
        decide(session, [int(rows[0])], true, "suspects")
        n_decided += 1
    rows = session.select(Query(kind="random"))[1][:N_RANDOM].tolist()
    decide(session, rows, true, "random")
    end = views.strip()["left"]
    missed = int((wrong & ~session.decided).sum())
    lines.append({"at": "end", "decided": n_decided, "true": missed, **{n: end[n] for n in ("count", "low", "high")}})
    session.close()
    return lines


def study(names: tuple[str, ...], data_home: str | None, n_rows: int, n_seeds: int) -> list[dict[str, Any]]:
    lines = []
    for name in names:
        try:
            data = load(name, variant=VARIANTS.get(name), data_home=data_home)
        except (OSError, ValueError, ImportError) as error:
            print(f"{name} is omitted: {error}", flush=True)
            continue
        for share in SHARES:
            for seed in range(n_seeds):
                part = data.sample(n_rows, random_state=seed)
                X = StandardScaler().fit_transform(part.X.astype(np.float64))
                given, _ = flip_labels(part.y, share, random_state=seed)
                with tempfile.TemporaryDirectory() as folder:
                    told = review(X, given, part.y, Path(folder))
                lines += [{"data": name, "share": share, "seed": seed, **line} for line in told]
        print(name, "done", flush=True)
    return lines


def fit(data_home: str | None, n_rows: int) -> None:
    """Print the mean and the covariance, over reviews, of a logistic regression of being wrong on the log odds."""
    found = []
    for name in LOOKED_AT:
        data = load(name, variant=VARIANTS.get(name), data_home=data_home)
        for seed, share in enumerate((0.01, 0.02, 0.05, 0.1, 0.2)):
            part = data.sample(n_rows, random_state=seed)
            given, wrong = flip_labels(part.y, share, random_state=seed)
            errors = find_label_errors(StandardScaler().fit_transform(part.X.astype(np.float64)), given)
            scores, said = errors.scores[errors.suspects], wrong[errors.suspects]
            # A weak prior of its own, as reviews in which all suspects are wrong tell no slope.
            found.append(
                logistic_fit(log_odds(scores), said.astype(float), np.array([0.0, 2.0]), np.diag([9.0, 9.0]))[0]
            )
            print(name, share, len(said), said.mean().round(2), found[-1].round(2), flush=True)
    print("mean", np.mean(found, axis=0).round(2).tolist(), "covariance", np.cov(np.transpose(found)).round(2).tolist())


def estimates(frame: pd.DataFrame) -> str:
    lines = []
    for at in [*map(str, STEPS), "stop", "end"]:
        part = frame[frame["at"] == at]
        if part.empty:
            continue
        off = (part["count"] - part["true"]).abs().median()
        naive = "–" if at == "end" else f"{(part['suspects'] - part['true']).abs().median():.3g}"
        low, high = part["high"].apply(np.ceil) < part["true"], part["low"].apply(np.floor) > part["true"]
        words = {"stop": "where it says stop", "end": f"whole table, {N_RANDOM} random rows seen"}
        shares = [f"{which.mean():.0%}" for which in (~low & ~high, low, high)]
        where = words.get(at, f"after {at} decisions")
        lines.append([where, len(part), f"{part['true'].median():.3g}", f"{off:.3g}", naive, *shares])
    head = ["", "reviews", "wrong among the suspects left", "estimate off by, median"]
    head += ["if all suspects were taken for wrong", "interval holds it", "too low", "too high"]
    return table(head, lines)


def stops(frame: pd.DataFrame) -> str:
    part = frame[frame["at"] == "stop"]
    lines = [
        [
            name,
            f"{one['decided'].median():.0f} ({one['decided'].min()} to {one['decided'].max()})",
            f"{one['caught'].median():.0%} ({one['caught'].min():.0%} to {one['caught'].max():.0%})",
            f"{one['true'].median():.0f}",
        ]
        for name, one in part.groupby("data", sort=False)
    ]
    head = ["data", "decisions until stop", "wrong labels caught by then", "wrong among suspects left"]
    return table(head, lines)


def page_of(parts: dict[str, pd.DataFrame], command: str) -> str:
    lines = [
        "# Wrong labels left, and when to stop",
        "",
        "Written by `"
        + command
        + "`. Labels of real tables were flipped at random, "
        + " and ".join(f"{share:.0%}" for share in SHARES)
        + " of them, and reviewed on the session behind the review page by one who is always right, the worst suspect",
        "first. The page gives an interval of 95 % for the wrong labels among the suspects that are left. It holds the",
        "true number (rounded outwards, as the page shows it) in this share of the reviews; *too low* is the share in",
        "which there were more than it said.",
        "",
        "The prior was fitted to reviews of the second group alone. That the interval is drawn over all regressions",
        "that the decisions allow, instead of from a slope at the best of them, was decided after the first group had",
        "been seen: before the first decision it held the number in 88 % of its reviews then.",
    ]
    titles = {"not": "Data sets that had no part in the prior", "looked": "Data sets that the prior was fitted to"}
    for name, frame in parts.items():
        if not frame.empty:
            lines += ["", f"## {titles[name]}", "", ", ".join(frame["data"].unique()) + ".", "", estimates(frame)]
            lines += ["", stops(frame)]
    return "\n".join([*lines, "", f"Machine: {machine('pivotal')}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("looked", "not"))
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.fit:
        fit(options.data_home, options.rows)
        return
    parts = {}
    for name, sets in (("not", NOT_LOOKED_AT), ("looked", LOOKED_AT)):
        chosen = options.only in (None, name)
        lines = study(sets, options.data_home, options.rows, options.seeds) if chosen else []
        parts[name] = pd.DataFrame(lines)
    command = f"python benchmarks/stopping.py --rows {options.rows} --seeds {options.seeds}"
    page = page_of(parts, command)
    print(page)
    if options.out is not None:
        options.out.write_text(page, encoding="utf-8")
        figures = {name: frame.to_dict("records") for name, frame in parts.items()}
        options.out.with_suffix(".json").write_text(json.dumps(figures) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
