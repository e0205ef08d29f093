"""Groups of rows that a nearest-neighbour model predicts badly: classes, owners, clusters."""

from __future__ import annotations

import math
import warnings
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.analysis._evidence import rejected
from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.analysis.checkup._nearest_rows import vote
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray

_SMALLEST: Final = 10  # rows of a group
_LEVEL: Final = 0.01  # of all tests together
_MOST_CLUSTERS: Final = 50
_ROWS_OF_CLUSTER: Final = 40
_FITTED: Final = 20_000  # rows that clusters are learned from


def how_good(near: CodeArray, y: AnyArray, n_classes: int) -> FloatArray:
    """Return how well each row is predicted by its nearest: 1 or 0 for classes, a part of 1 for numbers (0 classes)."""
    if n_classes:
        right: FloatArray = (vote(near, y, n_classes) == y).astype(np.float64)
        return right
    usual = float(np.mean(np.abs(y - np.median(y)))) or 1.0  # what the best constant is off by
    error: FloatArray = np.abs(y[near].mean(axis=1) - y)
    return np.maximum(0.0, 1.0 - error / usual)


def find_clusters(X: Any, seed: int) -> IndexArray | None:
    """Return the cluster of each row, by k-means; None where there are too few rows for two."""
    from sklearn.cluster import MiniBatchKMeans

    n_rows = X.shape[0]
    n_clusters = min(_MOST_CLUSTERS, n_rows // _ROWS_OF_CLUSTER)
    if n_clusters < 2:
        return None
    rows = np.random.default_rng(seed).permutation(n_rows)[:_FITTED]
    means = MiniBatchKMeans(n_clusters, random_state=seed, n_init=1, batch_size=4096)
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters are no mistake here.
        warnings.filterwarnings("ignore", module="sklearn")
        means.fit(X[np.sort(rows)])
    found: IndexArray = means.predict(X).astype(np.int64)
    return found


def find_weak_groups(
    good: FloatArray, groups: dict[str, AnyArray], ids: AnyArray, threshold: float, *, regression: bool
) -> Finding:
    """Find groups that are predicted worse than a part of what is usual, beyond chance.

    Each group is compared with all other rows by a one-sided test of means, at 1 % for all groups together (Holm).
    There are several ways to group the rows, by name: class, owner, cluster.
    """
    usual = float(good.mean())
    parts = [_of_one_kind(kind, members, good, usual) for kind, members in groups.items()]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    scores = np.ones(len(good))
    worst = np.full(len(good), "", dtype=object)
    if len(table):
        table["weak"] = rejected(table["p_value"].to_numpy(), _LEVEL, "holm") & (table["ratio"] < threshold).to_numpy()
        table = table.sort_values(["weak", "ratio"], ascending=[False, True], kind="stable", ignore_index=True)
        for row in table[table["weak"]].to_dict("records"):
            ratio = float(row["ratio"])
            lower = np.asarray(groups[str(row["kind"])] == row["group"]) & (ratio < scores)
            scores[lower], worst[lower] = ratio, f"{row['kind']} {row['group']}"
    what = "accuracy" if not regression else "share of the usual error that is avoided"
    weak = table[table["weak"]] if len(table) else table
    sentence = f"No group is predicted much worse than all ({what} {usual:.3f} by the nearest rows)."
    if len(weak):
        first = weak.iloc[0]
        sentence = (
            f"{count_of(len(weak), 'group')} of {len(table)} {'is' if len(weak) == 1 else 'are'} predicted badly; the "
            f"worst is {first['kind']} {first['group']} with {what} {first['good']:.3f} on "
            f"{count_of(int(first['rows']), 'row')}, against {usual:.3f} on all."
        )
    return found_below("weak_groups", scores, threshold, ids, sentence, details={"group": worst}, table=table)


def _of_one_kind(kind: str, members: AnyArray, good: FloatArray, usual: float) -> pd.DataFrame:
    """Return one line per group that is large enough: how well it is predicted, and the chance of so little."""
    frame = pd.DataFrame({"group": members, "good": good}).groupby("group", sort=False)["good"]
    counts, means, variances = frame.size(), frame.mean(), frame.var(ddof=0)
    kept = (counts >= _SMALLEST) & (counts < len(good))
    n, mean, variance = (part[kept].to_numpy(dtype=np.float64) for part in (counts, means, variances))
    rest = len(good) - n
    mean_of_rest = (usual * len(good) - mean * n) / rest
    square = float(np.mean(good**2))
    variance_of_rest = np.maximum(0.0, (square * len(good) - (variance + mean**2) * n) / rest - mean_of_rest**2)
    # Groups without a single success, or failure, are not surer than others of their size.
    pooled = float(np.var(good))
    error = np.sqrt(np.maximum(variance, pooled) / n + variance_of_rest / rest)
    z = np.divide(mean - mean_of_rest, error, out=np.zeros(len(n)), where=error > 0.0)
    return pd.DataFrame(
        {
            "kind": kind,
            "group": counts.index[kept],
            "rows": n.astype(np.int64),
            "good": mean,
            "ratio": mean / usual if usual else np.ones(len(n)),
            "p_value": [NormalDist().cdf(one) if math.isfinite(one) else 1.0 for one in z.tolist()],
        }
    )
