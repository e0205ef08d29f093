"""Small tasks for the applications, and what they should come to, voted on from scratch."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

__all__ = ["accuracy", "blobs", "tasks"]


def near(X, members, query, k):
    """The k nearest members and their distances; equal distances by index."""
    members = np.sort(np.asarray(members, dtype=int))
    distances = np.sqrt(((X[members] - query) ** 2).sum(axis=1))
    order = np.argsort(distances, kind="stable")[:k]
    return members[order], distances[order]


def predict(X, y, members, query, k, weights):
    """What scikit-learn would predict, with ties in distance by index; y are integers from 0."""
    chosen, distances = near(X, members, query, k)
    if weights == "distance":
        loud = 1.0 / distances if distances.all() else (distances == 0.0).astype(float)
    else:
        loud = np.ones(len(chosen))
    votes = np.zeros(y.max() + 1)
    for index, weight in zip(chosen, loud, strict=True):
        votes[y[index]] += weight
    return int(votes.argmax())


def accuracy(X, y, members, queries, targets, k, weights="uniform"):
    if len(members) == 0:
        return 0.0
    hits = [predict(X, y, members, query, k, weights) == t for query, t in zip(queries, targets, strict=True)]
    return sum(hits) / len(hits)


@st.composite
def tasks(draw):
    """Points on a small grid, where distances tie and rows repeat."""
    n, m = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    cells = st.tuples(st.integers(-2, 2), st.integers(0, 1))
    X = np.array(draw(st.lists(cells, min_size=n, max_size=n)), dtype=float)
    queries = np.array(draw(st.lists(cells, min_size=m, max_size=m)), dtype=float)
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    targets = np.array(draw(st.lists(st.integers(0, 2), min_size=m, max_size=m)))
    scores = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    return X, y, queries, targets, scores, draw(st.integers(1, n + 3)), draw(st.sampled_from(["uniform", "distance"]))


def blobs(n, m, n_classes=3, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X, queries = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    y, targets = (
        np.clip(np.floor(1.5 + Z[:, 0] + 0.3 * rng.normal(size=len(Z))), 0, 2).astype(int) for Z in (X, queries)
    )
    return X, y % n_classes, queries, targets % n_classes
