"""The result of a sweep: a table of values, and how much they differ from setting to setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.providers import provided
from pivotal.results.values import Values
from pivotal.valuation.sweep._sweep_settings import NAMED, Setting, identity_of, meaning_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Values of the same training points under many settings.

    Parameters
    ----------
    results : mapping of Setting to Values
        The values of each setting, in the order of the sweep.
    labels : mapping, optional
        What the settings call a choice, by the name of the setting and the content of the object that was chosen.

    Examples
    --------
    >>> import pivotal
    >>> swept = pivotal.sweep([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=[1, 2])
    >>> swept.table["hard", "banzhaf", "uniform", 0]
    k      1      2
    id
    0   0.25  0.125
    1   0.25  0.125
    2   0.50 -0.125
    >>> swept.values(k=1).order()
    array([2, 0, 1])
    """

    results: Mapping[Setting, Values]
    labels: Mapping[tuple[str, str | None], str] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """One row per training point, one column per setting; columns are labelled utility, semivalue, ..., k."""
        columns = pd.MultiIndex.from_tuples(list(self.results), names=Setting._fields)
        ids = next(iter(self.results.values())).ids
        values = np.stack([result.values for result in self.results.values()], axis=1)
        return pd.DataFrame(values, index=pd.Index(ids, name="id"), columns=columns)

    def where(self, **settings: Any) -> Sweep:
        """Return the part of the sweep that has these settings.

        Parameters
        ----------
        **settings
            Some of utility, semivalue, weights, bits and k, as they were given to `pivotal.sweep`.
        """
        wanted = {name: self._label_of(name, choice) for name, choice in settings.items()}
        found = {
            setting: result
            for setting, result in self.results.items()
            if all(getattr(setting, name) == label for name, label in wanted.items())
        }
        if not found:
            asked = ", ".join(f"{name}={label!r}" for name, label in wanted.items())
            raise ValueError(f"the sweep must contain what is asked for; it has no {asked}. {self._describe_axes()}")
        return Sweep(found, self.labels)

    def _label_of(self, name: str, choice: Any) -> Any:
        """Return how the table labels a choice, which may be a label itself, or an object."""
        if name in Setting._fields and any(choice == getattr(setting, name) for setting in self.results):
            return choice
        meant = meaning_of(name, choice)
        return self.labels.get((name, identity_of(meant)), str(meant) if name in NAMED else meant)

    def values(self, **settings: Any) -> Values:
        """Return the values of one setting: what `pivotal.value` gives for it.

        Parameters
        ----------
        **settings
            As in `where`; what does not vary need not be said.
        """
        part = self.where(**settings)
        if len(part) > 1:
            raise ValueError(
                f"values are those of one setting; got {len(part)} that fit. Also say {' and '.join(part._varied())}."
            )
        return next(iter(part.results.values()))

    def rank_correlation(self, along: str | None = "k", method: str = "spearman") -> pd.DataFrame:
        """Return how alike the rankings of any two settings are: 1 is the same order, 0 is none in common.

        Parameters
        ----------
        along : str or None, default="k"
            The setting that varies; others must not, see `where`. None compares all columns of the table.
        method : {"spearman", "kendall"}, default="spearman"
            The rank correlation; not a number where all values are the same.
        """
        if method not in ("spearman", "kendall"):
            raise ValueError(f"method must be 'spearman' or 'kendall'; got {method!r}.")
        table = self.table
        if along is not None:
            others = [name for name in self._varied() if name != self._check_name(along)]
            if others:
                raise ValueError(
                    f"a correlation along {along} needs everything else fixed; got several of "
                    f"{' and of '.join(others)}. Choose with where(), or pass along=None for all."
                )
            table.columns = table.columns.get_level_values(along)
        return table.corr(method=method)  # type: ignore[arg-type]  # checked above

    def steps(self, along: str = "k", share: float = 0.05) -> pd.DataFrame:
        """Return what changes from one setting to the next.

        Parameters
        ----------
        along : str, default="k"
            The setting that varies; every combination of the others makes rows of its own.
        share : float, default=0.05
            How many of the least valuable points to compare, as share of all.

        Returns
        -------
        pandas DataFrame
            A row for each pair of neighbours, in the order of the sweep: the other settings, `from`, `to`, the
            Spearman rank correlation, and `overlap`, the share of the least valuable points that stay the same.
        """
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie above 0 and be at most 1; got {share!r}.")
        names = [name for name in Setting._fields if name != self._check_name(along)]
        groups: dict[tuple[Any, ...], list[Setting]] = {}
        for setting in self.results:
            groups.setdefault(setting.without(along), []).append(setting)
        rows = []
        for others, members in groups.items():
            for one, other in pairwise(members):
                first, second = self.results[one], self.results[other]
                rows.append(
                    {
                        **dict(zip(names, others, strict=True)),
                        "from": getattr(one, along),
                        "to": getattr(other, along),
                        "spearman": spearman(first.values, second.values),
                        "overlap": bottom_overlap(first, second, share),
                    }
                )
        return pd.DataFrame(rows, columns=[*names, "from", "to", "spearman", "overlap"])

    def stability(self, along: str = "k", share: float = 0.05) -> pd.DataFrame:
        """Return how stable the ranking is from one setting to the next, on average and at worst.

        Parameters
        ----------
        along, share
            As in `steps`.

        Returns
        -------
        pandas DataFrame
            A row for each combination of the other settings: means of the Spearman rank correlation and of the
            overlap of the least valuable points over neighbouring settings, and the smallest of each.
        """
        steps = self.steps(along, share)
        if steps.empty:
            raise ValueError(f"stability needs at least two settings along {along}; got one. Sweep over several.")
        others = [name for name in Setting._fields if name != along]
        return steps.groupby(others, sort=False).agg(
            spearman=("spearman", "mean"),
            smallest_spearman=("spearman", "min"),
            overlap=("overlap", "mean"),
            smallest_overlap=("overlap", "min"),
        )

    def plot(self, along: str = "k", ax: Axes | None = None, *, share: float = 0.05) -> Axes:
        """Draw how stable the ranking is from one setting to the next; needs matplotlib.

        Parameters
        ----------
        along, share
            As in `steps`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure when None, to be had as `ax.figure`.
        """
        drawn: Axes = provided("plots").plot_steps(self.steps(along, share), ax, along=along)
        return drawn

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        n_train = len(next(iter(self.results.values())))
        return f"Sweep(n_train={n_train}, settings={len(self)}: {self._describe_axes()})"

    def _choices(self) -> dict[str, list[Any]]:
        return {name: list(dict.fromkeys(getattr(s, name) for s in self.results)) for name in Setting._fields}

    def _varied(self) -> list[str]:
        return [name for name, choices in self._choices().items() if len(choices) > 1]

    def _describe_axes(self) -> str:
        return "; ".join(f"{name} {', '.join(map(str, choices))}" for name, choices in self._choices().items())

    def _check_name(self, name: str) -> str:
        if name not in Setting._fields:
            raise ValueError(f"along must be one of {', '.join(Setting._fields)}; got {name!r}.")
        return name


def spearman(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the rank correlation of two columns; not a number where one of them is all the same."""
    return float(pd.DataFrame({"one": one, "other": other}).corr(method="spearman").to_numpy()[0, 1])


def bottom_overlap(one: Values, other: Values, share: float) -> float:
    """Return the share of the least valuable points of one that are among those of the other."""
    count = max(1, round(share * len(one)))
    return float(np.isin(one.order()[-count:], other.order()[-count:]).mean())
