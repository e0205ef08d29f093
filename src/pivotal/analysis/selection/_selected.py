"""The result: which rows are selected, what was optimised, and what to expect of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from pivotal.analysis._ranked_inputs import check_estimator
from pivotal.analysis.selection._expectation import DEFAULT_MODEL, Estimation, Expectation
from pivotal.analysis.selection._wishes import as_number
from pivotal.core.frozen import freeze, freeze_arrays, same, thaw
from pivotal.core.providers import provided
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_count
from pivotal.results.storage import decode_ids, encode_ids, numbers_of, read_table, reported_as_damage, write_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CONTENT: Final = "selection"
_SHARES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Rows that were selected. Made by `pivotal.select`; all arrays are read-only.

    Parameters
    ----------
    indices : int64 array of shape (n_selected,)
        Positions of the selected rows, ascending.
    ids : array of shape (n_selected,)
        Their names.
    n_rows : int
        Rows there were to choose from.
    method : str
        Name of the method.
    facts : mapping
        What the method says of its work; for ``"exchange"``, the utility and the discrepancy at the start and in the
        end, how many exchanges there were, and whether it was interrupted.
    settings : mapping
        What was asked for.
    estimates : tuple of Expectation
        What has been estimated so far.
    """

    indices: IndexArray
    ids: AnyArray
    n_rows: int
    method: str
    facts: Mapping[str, Any]
    settings: Mapping[str, Any]
    estimates: tuple[Expectation, ...] = ()
    estimation: Estimation | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name in ("facts", "settings"):
            object.__setattr__(self, name, freeze(getattr(self, name), name))

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which rows are selected; shape (n_rows,)."""
        mask = np.zeros(self.n_rows, np.bool_)
        mask[self.indices] = True
        return mask

    @property
    def share(self) -> float:
        """Share of the rows that are selected."""
        return len(self.indices) / self.n_rows

    @property
    def expected(self) -> Expectation:
        """What to expect of this selection: accuracy on rows that took no part, beside random ones and everything.

        Estimated when it is first asked for, by 5-fold cross-validation with 5 nearest neighbours; see `expect`.
        """
        usual = [found for found in self.estimates if found.model == DEFAULT_MODEL and found.size == len(self)]
        return usual[0] if usual else self.expect()

    def expect(self, model: Any = None, *, n_folds: int = 5, n_draws: int = 5) -> Expectation:
        """Estimate the accuracy that a model will have on other rows, by cross-validation.

        The rows of each fold are omitted, as large a share is selected from the others, and the model is fitted to it.
        The same is done with random selections of that size and with everything. Of more than 20 000 rows one part is
        omitted, not each in turn.

        Parameters
        ----------
        model : classifier, optional
            A scikit-learn classifier; 5 nearest neighbours by default.
        n_folds, n_draws : int, default=5
            Number of folds, and of random selections.
        """
        found = self._how(model, n_folds, n_draws).of_sizes([len(self.indices)])[0]
        object.__setattr__(self, "estimates", (*self.estimates, found))
        return found

    def curve(
        self, sizes: Sequence[Any] | None = None, *, model: Any = None, n_folds: int = 5, n_draws: int = 5
    ) -> pd.DataFrame:
        """Estimate the accuracy of selections of several sizes.

        Parameters
        ----------
        sizes : sequence, optional
            Numbers of rows, or shares; 1, 2, 5, 10, 20 and 50 % by default.
        model, n_folds, n_draws
            As in `expect`.

        Returns
        -------
        frame : pandas DataFrame
            A line per size, with the fields of `Expectation` and share.
        """
        how = self._how(model, n_folds, n_draws)
        wished = _SHARES if sizes is None else sizes
        minimum = 2 * self._source.data.n_classes if sizes is None else 1
        counts = sorted({max(as_number(size, self.n_rows), min(minimum, self.n_rows)) for size in wished})
        found = pd.DataFrame([asdict(expected) for expected in how.of_sizes(counts)])
        found.insert(1, "share", found["size"] / self.n_rows)
        return found

    def plot(self, curve: pd.DataFrame | None = None, ax: Axes | None = None) -> Axes:
        """Draw expected accuracies over sizes: selections, random ones, and everything.

        Parameters
        ----------
        curve : DataFrame, optional
            As `curve` makes it; estimated when None.
        ax : matplotlib Axes, optional
            Where to draw; a new figure when None.
        """
        drawn: Axes = provided("plots").plot_selection(self.curve() if curve is None else curve, ax, size=len(self))
        return drawn

    def to_frame(self) -> pd.DataFrame:
        """One line per selected row: its position and its name."""
        return pd.DataFrame({"row": self.indices, "id": self.ids})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the selection, what is known of it and what was estimated to one Parquet file, whole or not at all.

        The data is not in it: a selection that is read from a file makes no further estimates.
        """
        column, tag = encode_ids(self.ids)
        about = {
            "content": _CONTENT,
            "n_rows": self.n_rows,
            "method": self.method,
            "ids": tag,
            "facts": thaw(self.facts),
            "settings": thaw(self.settings),
            "estimates": [asdict(expected) for expected in self.estimates],
        }
        write_table(path, {"row": pa.array(self.indices), "id": column}, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Selection:
        """Read a file written by `save`. Everything in it is checked."""
        table, about = read_table(path)
        if about.get("content") != _CONTENT:
            raise ValueError(f"{path} holds no selection; give a file written by Selection.save.")
        with reported_as_damage(path):
            rows = numbers_of(table["row"], pa.int64(), "row").astype(np.int64)
            n_rows = check_count(about["n_rows"], "n_rows")
            if len(rows) == 0 or rows[0] < 0 or rows[-1] >= n_rows or (np.diff(rows) <= 0).any():
                raise ValueError(f"rows must ascend within the {n_rows} there are")
            return cls(
                rows,
                decode_ids(table["id"], about["ids"]),
                n_rows,
                str(about["method"]),
                about["facts"],
                about["settings"],
                tuple(Expectation(**found) for found in about["estimates"]),
            )

    @property
    def _source(self) -> Estimation:
        if self.estimation is None:
            raise ValueError(
                "this selection was read from a file, without the data, and cannot be estimated further; call "
                "pivotal.select again with the same settings."
            )
        return self.estimation

    def _how(self, model: Any, n_folds: int, n_draws: int) -> Estimation:
        if model is not None:
            check_estimator(model, "predict", "a scikit-learn classifier, with fit and predict")
        tags = model.__sklearn_tags__() if model is not None and hasattr(model, "__sklearn_tags__") else None
        if tags is not None and tags.estimator_type == "regressor":
            raise TypeError(
                f"model must be a classifier, as rows have classes; got {type(model).__name__}, which predicts numbers."
            )
        return replace(
            self._source,
            model=model,
            n_folds=check_count(n_folds, "n_folds", minimum=2),
            n_draws=check_count(n_draws, "n_draws"),
        )

    def __len__(self) -> int:
        return len(self.indices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        names = [field.name for field in fields(self) if field.name != "estimation"]
        return all(same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return Selection, tuple((state | {"facts": thaw(self.facts), "settings": thaw(self.settings)}).values())

    def __repr__(self) -> str:
        said = f", {self.estimates[0]}" if self.estimates else ""
        stopped = ", interrupted" if self.facts.get("interrupted") else ""
        return f"Selection({len(self)} of {self.n_rows} rows by {self.method}{stopped}{said})"
