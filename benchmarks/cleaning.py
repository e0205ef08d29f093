"""Which score finds wrong labels best? Candidates of this library beside cleanlab.

    python benchmarks/cleaning.py --data DIR [--out docs/cleaning.md] [--noise 0.05 0.1 0.2] [--seeds 10 11 12]

DIR holds one .npz per data set, with arrays X and y. Everybody gets the same rows, features and flipped labels.
Finished figures are kept in a JSON file beside the page, cell by cell, and not computed again: the run can be stopped
and resumed at any time. `--write-only` makes the page of what there is. Needs cleanlab: pip install 'pivotal[bench]'.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from cleanlab.data_valuation import data_shapley_knn
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from scipy.stats import rankdata
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import pivotal
from pivotal.analysis.label_errors import LabelErrors, find_label_errors
from pivotal.analysis.label_errors._leaves import ask_leaves
from pivotal.neighbors import BruteIndex
from pivotal.research.datasets import flip_labels

ROWS = 2000
WIDEST = 100  # features; more are reduced to principal components
COMPONENTS = 50
NOISE = (0.05, 0.1, 0.2)
SEEDS = (10, 11, 12)
K = (5, 10, 20, 50)
OURS, QUICK = "find_label_errors", "find_label_errors, n_trees=0"
HELPED = "find_label_errors, model=gradient boosting"
CHOSEN = "received and cast, k=20, and leaves"
RIVAL = "cleanlab, gradient boosting"


class Task:
    """Rows of a data set with some labels flipped, and what several candidates share."""

    def __init__(self, file: Path, noise: float, seed: int) -> None:
        with np.load(file, allow_pickle=False) as data:
            X, y = data["X"], data["y"]
        rows = np.random.default_rng(seed).permutation(len(y))[:ROWS]
        X = StandardScaler().fit_transform(X[rows].astype(np.float64))
        if X.shape[1] > WIDEST:
            X = PCA(COMPONENTS, random_state=0).fit_transform(X)
        self.X, self.n = np.ascontiguousarray(X), len(rows)
        self.codes = np.unique(y[rows], return_inverse=True)[1].astype(np.int32)
        self.y, self.wrong = flip_labels(self.codes, noise, random_state=seed)
        self.n_classes = int(self.codes.max()) + 1
        self._oof: dict[str, np.ndarray] = {}

    @cached_property
    def lists(self) -> np.ndarray:
        return BruteIndex(self.X).search_self(0, self.n, self.n - 1)[0]

    @cached_property
    def distances(self) -> np.ndarray:
        return BruteIndex(self.X).search_self(0, self.n, 200)[1]

    @cached_property
    def leaves(self) -> np.ndarray:
        """Votes of rows in the same leaf, received and cast."""
        return ask_leaves(self.X, self.y, self.n_classes, n_trees=100, seed=0, n_jobs=1, progress=False)

    @cached_property
    def forest(self) -> RandomForestClassifier:
        forest = RandomForestClassifier(100, min_samples_leaf=5, oob_score=True, random_state=0, n_jobs=1)
        return forest.fit(self.X, self.y)

    @cached_property
    def errors(self) -> LabelErrors:
        return find_label_errors(self.X, self.y, n_jobs=1)

    def oof(self, name: str) -> np.ndarray:
        """Out-of-fold probabilities, five folds."""
        if name not in self._oof:
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            model = MODELS[name]
            self._oof[name] = cross_val_predict(model, self.X, self.y, cv=folds, method="predict_proba")
        return self._oof[name]

    def of_own_label(self, votes: np.ndarray) -> np.ndarray:
        return votes[np.arange(self.n), self.y] / votes.sum(axis=1)

    def value(self, k: int, utility: str, semivalue: Any = "banzhaf") -> np.ndarray:
        found = pivotal.value_from_neighbors(
            self.lists, self.y, self.y, k=k, utility=utility, semivalue=semivalue, n_jobs=1
        )
        return found.values

    def votes(
        self, k: int, *, cast: bool, trust: np.ndarray | None = None, lists: np.ndarray | None = None
    ) -> np.ndarray:
        """Votes of the nearest, weighted with their chance to be among the k nearest of a random half."""
        reach = pivotal.Banzhaf().reach(k, 300)
        depth = min(int((reach > 1e-8).sum()), self.n - 1)
        weights = reach[:depth] / reach[:depth].sum()
        near = (self.lists if lists is None else lists)[:, :depth]
        trust = np.ones(self.n) if trust is None else trust
        votes = np.zeros(self.n * self.n_classes)
        asked = np.arange(self.n)[:, np.newaxis]
        np.add.at(votes, (asked * self.n_classes + self.y[near]).ravel(), (trust[near] * weights).ravel())
        if cast:
            said = near * self.n_classes + self.y[asked]
            np.add.at(votes, said.ravel(), (trust[asked] * weights).ravel())
        return votes.reshape(self.n, self.n_classes)


MODELS = {
    "kNN": KNeighborsClassifier(20),
    "logistic regression": LogisticRegression(max_iter=500),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0),
    "random forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1),
}


def cleanlab_scores(name: str) -> Callable[[Task], np.ndarray]:
    return lambda task: get_label_quality_scores(task.y, task.oof(name), method="self_confidence")


def cleanlab_mean(*names: str) -> Callable[[Task], np.ndarray]:
    return lambda task: get_label_quality_scores(task.y, np.mean([task.oof(name) for name in names], axis=0))


def value_of(k: int, utility: str, semivalue: Any = "banzhaf") -> Callable[[Task], np.ndarray]:
    return lambda task: task.value(k, utility, semivalue)


def nearest(k: int, *, cast: bool) -> Callable[[Task], np.ndarray]:
    return lambda task: task.of_own_label(task.votes(k, cast=cast))


def with_leaves(k: int) -> Callable[[Task], np.ndarray]:
    return lambda task: task.of_own_label(task.votes(k, cast=True) + task.leaves)


def with_boosting(task: Task) -> np.ndarray:
    """What `model=` does, with the probabilities that cleanlab has."""
    return task.of_own_label(task.votes(20, cast=True) + task.leaves + 2.0 * task.oof("gradient boosting"))


def z(scores: np.ndarray) -> np.ndarray:
    return (scores - scores.mean()) / scores.std()


def kernel_weighted(task: Task) -> np.ndarray:
    """Gaussian weights, as wide as the tenth neighbour is far."""
    width = task.distances[:, 9:10] + 1e-12
    weights = np.exp(-0.5 * (task.distances / width) ** 2)
    agree = task.y[task.lists[:, :200]] == task.y[:, np.newaxis]
    return (weights * agree).sum(axis=1) / weights.sum(axis=1)


def twice(task: Task) -> np.ndarray:
    """Rows that the first round doubts have less say in the second."""
    doubt = task.of_own_label(task.votes(20, cast=True))
    return task.of_own_label(task.votes(20, cast=True, trust=doubt))


def weighted_features(task: Task, *, leaves: bool) -> np.ndarray:
    """Nearest in features scaled by how much a forest uses them."""
    importance = task.forest.feature_importances_
    lists = BruteIndex(task.X * np.sqrt(importance / importance.mean())).search_self(0, task.n, 150)[0]
    votes = task.votes(20, cast=True, lists=lists)
    return task.of_own_label(votes + task.leaves if leaves else votes)


CANDIDATES: dict[str, Callable[[Task], np.ndarray]] = {
    **{f"cleanlab, {name}": cleanlab_scores(name) for name in MODELS},
    "cleanlab, mean of kNN, logistic regression, boosting": cleanlab_mean(*list(MODELS)[:3]),
    "cleanlab, mean of all four": cleanlab_mean(*MODELS),
    "cleanlab, data_shapley_knn": lambda task: data_shapley_knn(task.y, features=task.X, k=10),
    **{f"value, hard, k={k}": value_of(k, "hard") for k in (5, 20)},
    "value, plurality, k=5": value_of(5, "plurality"),
    **{f"value, soft, k={k}": value_of(k, "soft") for k in K},
    "value, soft-k, k=20": value_of(20, "soft-k"),
    **{f"value, soft, Banzhaf({p}), k=10": value_of(10, "soft", pivotal.Banzhaf(p)) for p in (0.2, 0.8)},
    "value, soft, Shapley, k=20": value_of(20, "soft", "shapley"),
    "value, soft, beta(4,1), k=20": value_of(20, "soft", "beta(4,1)"),
    **{f"own query, k={k}": nearest(k, cast=False) for k in K},
    "own query, Gaussian weights": kernel_weighted,
    "value and own query, z-scores, k=20": lambda task: z(task.value(20, "soft")) + z(nearest(20, cast=False)(task)),
    **{f"received and cast, k={k}": nearest(k, cast=True) for k in K},
    "received and cast, mean over k": lambda task: sum(nearest(k, cast=True)(task) for k in K),
    "received and cast, k=20, twice": twice,
    "received and cast, k=20, features weighted": lambda task: weighted_features(task, leaves=False),
    "leaves, received": lambda task: task.of_own_label(np.nan_to_num(task.forest.oob_decision_function_) + 1e-12),
    "leaves, received and cast": lambda task: task.of_own_label(task.leaves + 1e-12),
    **{f"received and cast, k={k}, and leaves": with_leaves(k) for k in K},
    "received and cast, k=20, features weighted, and leaves": lambda task: weighted_features(task, leaves=True),
    QUICK: lambda task: find_label_errors(task.X, task.y, n_trees=0, n_jobs=1).scores,
    OURS: lambda task: task.errors.scores,
    HELPED: with_boosting,
}

# Not only a ranking: who is named. cleanlab's ways to choose, and ours.
CHOICES: dict[str, Callable[[Task], np.ndarray]] = {
    OURS: lambda task: np.isin(np.arange(task.n), task.errors.suspects),
    **{
        f"cleanlab, {name}, {way}": lambda task, name=name, way=way: find_label_issues(
            task.y, task.oof(name), filter_by=way, n_jobs=1
        )
        for name in ("gradient boosting", "random forest")
        for way in ("prune_by_noise_rate", "both", "confident_learning", "low_normalized_margin")
    },
}


def measure(task: Task, done: dict[str, Any]) -> None:
    """Fill in what a cell lacks."""
    scores, choices = done.setdefault("scores", {}), done.setdefault("choices", {})
    for name, candidate in CANDIDATES.items():
        if name not in scores:
            start = time.perf_counter()
            suspicion = -candidate(task)
            seconds = time.perf_counter() - start
            ap = float(average_precision_score(task.wrong, suspicion))
            auc = float(roc_auc_score(task.wrong, suspicion))
            scores[name] = {"ap": round(ap, 5), "auc": round(auc, 5), "seconds": round(seconds, 3)}
    for name, choice in CHOICES.items():
        if name not in choices:
            named = choice(task)
            choices[name] = {"f1": round(float(f1_score(task.wrong, named)), 5), "named": int(named.sum())}
    done["rows"], done["features"], done["classes"] = task.n, task.X.shape[1], task.n_classes


def table(cells: dict[str, Any], noise: float, part: str, figure: str) -> tuple[list[str], dict[str, np.ndarray]]:
    """Data sets, and the mean over seeds of a figure on each of them, by candidate."""
    chosen = {key.split("|")[0]: [] for key in sorted(cells) if key.split("|")[1] == str(noise)}
    for key in sorted(cells):
        if key.split("|")[1] == str(noise):
            chosen[key.split("|")[0]].append(cells[key][part])
    names = list(CANDIDATES if part == "scores" else CHOICES)
    return list(chosen), {
        name: np.array([np.mean([run[name][figure] for run in runs]) for runs in chosen.values()]) for name in names
    }


def ranks(figures: dict[str, np.ndarray], names: list[str]) -> dict[str, float]:
    grid = np.array([rankdata(-column) for column in np.array([figures[name] for name in names]).T])
    return dict(zip(names, grid.mean(axis=0), strict=True))


def summary(cells: dict[str, Any], noises: list[float]) -> list[str]:
    """All candidates, best first by average precision, mean over data sets, at each noise."""
    means = {
        (noise, figure): {name: row.mean() for name, row in table(cells, noise, "scores", figure)[1].items()}
        for noise in noises
        for figure in ("ap", "auc")
    }
    names = [name for name in CANDIDATES if name not in (CHOSEN, "received and cast, k=20")]  # named by what calls them
    names.sort(key=lambda name: -float(np.mean([means[noise, "ap"][name] for noise in noises])))
    average_rank = ranks(table(cells, noises[0], "scores", "ap")[1], names)
    head = [f"AP, {noise:.0%}" for noise in noises] + [f"AUC, {noise:.0%}" for noise in noises]
    lines = [f"| score | {' | '.join(head)} | mean rank |", "|---" * (len(head) + 2) + "|"]
    for name in names:
        figures = [f"{means[noise, figure][name]:.3f}" for figure in ("ap", "auc") for noise in noises]
        shown = f"**{name}**" if name in (OURS, QUICK, HELPED) else name
        lines.append(f"| {shown} | {' | '.join(figures)} | {average_rank[name]:.1f} |")
    return lines


def per_set(cells: dict[str, Any], noise: float, names: dict[str, str], part: str, figure: str) -> list[str]:
    sets, figures = table(cells, noise, part, figure)
    lines = [f"| data set | {' | '.join(names.values())} |", "|---" * (len(names) + 1) + "|"]
    for column, data in enumerate(sets):
        row = [figures[name][column] for name in names]
        best = max(round(cell, 3) for cell in row)
        shown = [f"**{cell:.3f}**" if round(cell, 3) == best else f"{cell:.3f}" for cell in row]
        lines.append(f"| {data} | {' | '.join(shown)} |")
    lines.append(f"| mean | {' | '.join(f'{figures[name].mean():.3f}' for name in names)} |")
    return lines


def verdict(cells: dict[str, Any], noises: list[float], ours: str) -> list[str]:
    """Say against each of cleanlab's rankings where one of ours wins and loses."""
    rivals = [f"cleanlab, {model}" for model in MODELS] + ["cleanlab, mean of all four"]
    head = [f"{noise:.0%}: {word}" for noise in noises for word in ("ahead on", "behind on")]
    lines = [f"| against | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for name in rivals:
        row = []
        for noise in noises:
            sets, figures = table(cells, noise, "scores", "ap")
            lost = [data for data, a, b in zip(sets, figures[ours], figures[name], strict=True) if a < b]
            row += [f"{len(sets) - len(lost)} of {len(sets)}", ", ".join(lost) or "none"]
        lines.append(f"| {name} | {' | '.join(row)} |")
    return lines


def page(cells: dict[str, Any]) -> str:
    noises = sorted({float(key.split("|")[1]) for key in cells})
    seeds = sorted({int(key.split("|")[2]) for key in cells})
    shares = ", ".join(f"{noise:.0%}" for noise in noises)
    sizes = {key.split("|")[0]: cell for key, cell in sorted(cells.items())}
    shown = {
        OURS: "`find_label_errors`",
        QUICK: "the same, `n_trees=0`",
        HELPED: "the same, with boosting",
        RIVAL: "cleanlab, boosting",
        "cleanlab, random forest": "cleanlab, forest",
        "cleanlab, logistic regression": "cleanlab, logistic",
        "cleanlab, kNN": "cleanlab, kNN",
        "cleanlab, mean of all four": "cleanlab, mean of the four",
        "value, soft, k=5": "soft value, k=5",
        "value, hard, k=5": "hard value, k=5",
    }
    seconds = {
        name: np.median([cell["scores"][name]["seconds"] for cell in cells.values()])
        for name in (OURS, QUICK, *(f"cleanlab, {model}" for model in MODELS))
    }
    lines = [
        "# Finding label errors: what was measured",
        "",
        "Written by `python benchmarks/cleaning.py --data DIR --out docs/cleaning.md`. How to use what came of it is",
        "in [the guide](guide/cleaning.md).",
        "",
        f"{len(sizes)} data sets; of each, {ROWS:,} rows drawn at random (all if there are fewer), features "
        f"standardised, more than {WIDEST}",
        f"of them reduced to {COMPONENTS} principal components; {shares} of the labels flipped to another class at",
        f"random; the mean over {len(seeds)} draws of rows and flips (seeds {', '.join(map(str, seeds))}). All see",
        "the same rows, features and labels, and nobody a clean label.",
        "AP is average precision, AUC the area under the ROC curve, of ranking the rows by suspicion; chance has an AP",
        "of the share flipped. The defaults were chosen on other draws of the same data sets (seeds 0 and 1).",
        "",
        "cleanlab ranks by `get_label_quality_scores` with out-of-fold probabilities of five folds: 20 nearest",
        "neighbours, logistic regression, histogram gradient boosting (50 iterations of 8 leaves), random forest (100",
        "trees, leaves of 5 rows).",
        "",
        f"Machine: {os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}, "
        f"numpy {version('numpy')}, scikit-learn {version('scikit-learn')}, cleanlab {version('cleanlab')}.",
        "",
        "## All candidates",
        "",
        "Means over the data sets; rank by AP at the lowest noise, among these. *Value* is the value of a row to the",
        "predictions of all others. *Own query* is the share of its own label among its neighbours, each counted by",
        "its chance to be among the k nearest in a random half of the rows. *Received and cast* counts both: what the",
        "neighbours of a row say, and what the rows say whose neighbour it is. *Leaves* does the same with rows in one",
        "leaf of a random forest.",
        "",
        *summary(cells, noises),
        "",
        f"`find_label_errors` is *{CHOSEN}*; with `n_trees=0` it is *received and cast, k=20*.",
        "With `model=`, here cleanlab's gradient boosting, out-of-fold probabilities are a third voice.",
        "",
    ]
    for noise in noises:
        lines += [f"## Average precision by data set, {noise:.0%} flipped", ""]
        lines += [*per_set(cells, noise, shown, "scores", "ap"), ""]
    lines += ["## Where it wins and where it loses", ""]
    lines += ["By average precision. `find_label_errors` at its defaults:", "", *verdict(cells, noises, OURS), ""]
    lines += ["The same with boosting as a third voice:", "", *verdict(cells, noises, HELPED), ""]
    lines += ["## Who is named", ""]
    lines += [
        "F1 of the rows that are named: by `find_label_errors`, those with another label of at least twice the votes;",
        "by cleanlab's `find_label_issues`, its default (`prune_by_noise_rate`) and the best of its other ways here.",
        "",
    ]
    for noise in noises:
        figures = table(cells, noise, "choices", "f1")[1]
        others = [name for name in CHOICES if name != OURS]
        best = max(others, key=lambda name: float(figures[name].mean()))
        chosen = {
            OURS: "`find_label_errors`",
            f"{RIVAL}, prune_by_noise_rate": "cleanlab, boosting, default",
            "cleanlab, random forest, prune_by_noise_rate": "cleanlab, forest, default",
            best: best,
        }
        lines += [f"{noise:.0%} flipped:", "", *per_set(cells, noise, chosen, "choices", "f1"), ""]
    lines += ["## Time and sizes", ""]
    lines += [
        "Median seconds for the rows above, one thread, on a machine that had other work too:",
        ", ".join(f"{name} {value:.2f}" for name, value in seconds.items()) + ".",
        "",
        "| data set | rows | features | classes |",
        "|---|---|---|---|",
        *(f"| {name} | {c['rows']} | {c['features']} | {c['classes']} |" for name, c in sizes.items()),
    ]
    return "\n".join(lines) + "\n"


def keep(cells: dict[str, Any], file: Path) -> None:
    """Write the figures, a line per cell; whole or not at all."""
    lines = [f"{json.dumps(key)}: {json.dumps(cells[key], sort_keys=True)}" for key in sorted(cells)]
    fresh = file.with_suffix(".part")
    fresh.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    fresh.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz files")
    parser.add_argument("--out", type=Path, default=Path("docs/cleaning.md"), help="page to write; JSON beside it")
    parser.add_argument("--noise", type=float, nargs="+", default=NOISE)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--write-only", action="store_true", help="compute nothing, write the page of what there is")
    options = parser.parse_args()
    kept = options.out.with_suffix(".json")
    cells: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for noise in () if options.write_only else options.noise:
        for seed in options.seeds:
            for file in sorted(options.data.glob("*.npz")):
                cell = cells.get(f"{file.stem}|{noise}|{seed}", {})
                if CANDIDATES.keys() <= cell.get("scores", {}).keys() and CHOICES.keys() <= cell["choices"].keys():
                    continue
                start = time.perf_counter()
                measure(Task(file, noise, seed), cell)
                cells[f"{file.stem}|{noise}|{seed}"] = cell
                keep(cells, kept)
                print(f"{file.stem}, {noise:.0%}, seed {seed}: {time.perf_counter() - start:.1f} s", flush=True)
    options.out.write_text(page(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
