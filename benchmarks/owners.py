"""Owners as players: what a query costs, exact and sampled. Run: python benchmarks/owners.py

Points are normal in 8 dimensions, in two classes; owners have equal shares, or each a region of their own. Times are
those of the processor, in one thread, with the search for neighbours; sampled values have 1000 samples per query.
"""

from __future__ import annotations

import numpy as np

import pivotal
from pivotal.research.bench.stopwatch import Stopwatch

CASES = [
    # points, owners, k, regions, semivalue, method, queries
    (10_000, 10, 5, False, "shapley", "exact", 200),
    (10_000, 20, 5, False, "shapley", "exact", 200),
    (10_000, 20, 5, True, "shapley", "exact", 200),
    (10_000, 20, 50, False, "shapley", "exact", 4),
    (10_000, 40, 5, False, "banzhaf", "exact", 50),
    (10_000, 1000, 1, False, "shapley", "exact", 200),
    (10_000, 1000, 5, False, "banzhaf", "coalitions", 200),
    (10_000, 1000, 5, False, "shapley", "coalitions", 200),
    (10_000, 1000, 5, False, "shapley", "permutations", 200),
]


def make(n: int, n_queries: int, n_owners: int, *, regions: bool) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((n, 8)), rng.standard_normal((n_queries, 8))
    labels = [(part[:, 0] + 0.5 * rng.standard_normal(len(part)) > 0).astype(int) for part in (X, queries)]
    by_place = np.argsort(np.argsort(X[:, 1])) * n_owners // n
    owners = by_place if regions else rng.permutation(n) % n_owners
    return (X, labels[0], queries, labels[1]), owners


def main() -> None:
    warm, names = make(100, 5, 4, regions=False)
    for method in ("exact", "coalitions", "permutations"):
        pivotal.value(*warm, groups=names, method=method, n_jobs=1)
    print("points owners k regions semivalue method ms/query largest_se error_bound")
    for n, n_owners, k, regions, semivalue, method, n_queries in CASES:
        data, owners = make(n, n_queries, n_owners, regions=regions)
        drawn = pivotal.method(method, random_state=0)
        with Stopwatch() as watch:
            values = pivotal.value(*data, k=k, semivalue=semivalue, groups=owners, method=drawn, n_jobs=1)
        spent = watch.processor_seconds / n_queries * 1e3
        error = "-" if values.standard_error is None else f"{values.standard_error.max():.1e}"
        print(n, n_owners, k, regions, semivalue, method, f"{spent:.2f}", error, f"{values.error_bound:.1e}")


if __name__ == "__main__":
    main()
