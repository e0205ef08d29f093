"""Names for the arrays that travel between the rooms, with the shapes they have there.

A block holds `n_queries` queries and, for each, its `depth` nearest training points in order of distance.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""Values, chances, distances."""

IndexArray: TypeAlias = npt.NDArray[np.int64]
"""Training indices, shape (n_queries, depth), nearest first."""

CodeArray: TypeAlias = npt.NDArray[np.int32]
"""Class codes 0..n_classes-1 or integer votes, shape (n_queries, depth)."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""Which of several are meant."""

AnyArray: TypeAlias = npt.NDArray[Any]
"""Whatever a user brought, once it is an array."""
