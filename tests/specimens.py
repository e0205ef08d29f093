"""Small results for tests of what is done with results."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pivotal.results.per_query import PerQuery
from pivotal.results.values import Values

SETTINGS = {"k": 5, "utility": "hard", "semivalue": "banzhaf", "tol": 1e-16, "panels": [1, 2], "game": {"tie": "lose"}}
NOT_A_GAME: dict[str, Any] = {
    "full_utility": None,
    "empty_utility": None,
    "error_bound": None,
    "settings": {"method": "lava"},
}


def make(values: Any = (0.25, -0.5, 0.75), **changes: Any) -> Values:
    """Values of three points in a game, or others with some fields changed."""
    defaults = {"n_queries": 4, "full_utility": 0.9, "empty_utility": 0.1, "settings": SETTINGS}
    return Values(values, **(defaults | changes))


def per_query(n_train: int) -> PerQuery:
    """Values of one query, 1 for the first of some training points and 0 for the others."""
    matrix = sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, n_train))
    labels = np.zeros(n_train, np.int32)
    return PerQuery(matrix, np.ones(1, np.int32), labels, np.zeros(1, np.int32), ("cat", "dog"), k=1)
