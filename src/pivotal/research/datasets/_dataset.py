"""A data set: features, labels, where they came from and what they are not; and its split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pivotal.core.frozen import freeze_arrays
from pivotal.core.random import as_generator
from pivotal.core.types import AnyArray
from pivotal.core.validation import check_count, check_share


class Split(NamedTuple):
    """Training part and test part, in the order in which `pivotal.value` takes them."""

    X_train: AnyArray
    y_train: npt.NDArray[np.int64]
    X_test: AnyArray
    y_test: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and labels, with their provenance. The arrays are read-only.

    Parameters
    ----------
    X : float array of shape (n, n_features)
        Features as in the source, not scaled; a memory map where the data is on disk.
    y : int64 array of shape (n,)
        Classes 0, 1, ...
    name : str
        Name in the registry, or of the function that made it.
    source : str
        File, OpenML id or recipe.
    note : str, default=""
        What is not as in the original: a subset, derived features, imputed entries. Empty if nothing.
    variant : str, default="full"
        Which form of the data this is.
    labels : str, default=""
        What the classes mean.
    feature_names : tuple of str, optional
        Names of the columns where the source has them.
    image : tuple of int, optional
        Shape of a row as an image: (height, width), or (channels, height, width).
    """

    X: AnyArray
    y: npt.NDArray[np.int64]
    name: str
    source: str
    note: str = ""
    variant: str = "full"
    labels: str = ""
    feature_names: tuple[str, ...] | None = None
    image: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        about = f", {self.note}" if self.note else ""
        return (
            f"Dataset({self.name}: {len(self)} rows, {self.n_features} features, {self.n_classes} classes; "
            f"{self.source}{about})"
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes that occur."""
        return len(np.unique(self.y))

    @property
    def images(self) -> AnyArray | None:
        """The rows as images, shape (n, height, width) or (n, height, width, channels); None if they are not images."""
        if self.image is None:
            return None
        images = self.X.reshape(len(self), *self.image)
        return images if images.ndim == 3 else np.moveaxis(images, 1, -1)

    def split(
        self, test_share: float = 0.05, *, standardize: bool = True, random_state: int | np.random.Generator | None = 0
    ) -> Split:
        """Hold some rows out at random, each class in proportion, and scale by the training part.

        Parameters
        ----------
        test_share : float, default=0.05
            Share of the rows to hold out; the paper's 5 % by default.
        standardize : bool, default=True
            Subtract the mean of the training part and divide by its standard deviation, column by column.
        random_state : int, numpy.random.Generator or None, default=0
            What the draw depends on.

        Returns
        -------
        split : Split
            A tuple (X_train, y_train, X_test, y_test): `pivotal.value(*dataset.split())` works.

        Examples
        --------
        >>> from pivotal.research.datasets import load
        >>> X_train, y_train, X_test, y_test = load("iris").split(0.2)
        >>> X_train.shape, X_test.shape
        ((120, 4), (30, 4))
        >>> bool(abs(X_train.mean(axis=0)).max() < 1e-12)
        True
        """
        from sklearn.preprocessing import StandardScaler

        test_share = check_share(test_share, "test_share")
        n_test = round(test_share * len(self))
        if not 1 <= n_test < len(self):
            raise ValueError(
                f"test_share must leave at least one row on either side; got test_share={test_share} of "
                f"{len(self)} rows."
            )
        test = self._draw(n_test, random_state)
        train = np.setdiff1d(np.arange(len(self)), test)
        X_train, X_test = self.X[train], self.X[test]
        if standardize:
            scaler = StandardScaler().fit(X_train)
            X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        return Split(X_train, self.y[train], X_test, self.y[test])

    def sample(self, n: int, *, random_state: int | np.random.Generator | None = 0) -> Self:
        """Return n random rows, each class in proportion, in their old order; all of them if there are no more.

        Examples
        --------
        >>> from pivotal.research.datasets import load
        >>> load("digits").sample(100).note
        'pixels 0..16; 100 of 1797 rows, drawn at random'
        """
        n = check_count(n, "n")
        if n >= len(self):
            return self
        rows = self._draw(n, random_state)
        drawn = f"{n} of {len(self)} rows, drawn at random"
        return replace(self, X=self.X[rows], y=self.y[rows], note=f"{self.note}; {drawn}" if self.note else drawn)

    def _draw(self, n: int, random_state: Any) -> npt.NDArray[np.intp]:
        """Return n row indices in ascending order, each class in proportion where it has enough rows."""
        from sklearn.model_selection import train_test_split

        rows = np.arange(len(self))
        counts = np.unique(self.y, return_counts=True)[1]
        enough = counts.min() >= 2 and len(counts) <= n <= len(rows) - len(counts)
        seed = int(as_generator(random_state).integers(2**32))
        drawn = train_test_split(rows, test_size=n, stratify=self.y if enough else None, random_state=seed)[1]
        return np.sort(drawn)
