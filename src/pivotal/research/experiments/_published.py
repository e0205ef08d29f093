"""What the paper prints: its tables of mislabel detection as data, and how they may be read."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

CAVEATS: Final = (
    "The text predicts as many points as were flipped; precision, recall and F1 are then one number. In the printed "
    "tables they differ, in the proportions of a prediction of twice as many points. Both readings are given here.",
    "The printed table called AUC-ROC has about 0.06 for random values, where a ROC AUC has 0.5. It is not a ROC "
    "AUC; its order of methods can be compared, its numbers cannot.",
    "The printed means and deviations fit two runs with 11 flipped labels each (our inference): 0.03 in F1 is one "
    "label. Orders of methods are compared here, not digits.",
)
"""How the printed tables may be read."""

NO_FIGURES: Final = "The paper shows this as a figure without numbers; what it says in words is what can be compared."


def published(measure: str | None = None) -> pd.DataFrame:
    """Return the paper's tables of mislabel detection, a row per figure.

    Parameters
    ----------
    measure : {"f1", "recall", "precision", "roc_auc"}, optional
        Which table; all when None. What the paper calls AUC-ROC is no ROC AUC.

    Returns
    -------
    table : pandas.DataFrame
        measure, data, method, mean, deviation, and mark: "best", "second" or empty, as printed.

    Examples
    --------
    >>> published("f1").query("data == 'pol' and mark == 'best'")[["method", "mean", "deviation"]].to_dict("records")
    [{'method': 'sv-soft', 'mean': 0.42, 'deviation': 0.0}]
    """
    import pandas as pd

    with (files("pivotal.research.experiments") / "published.csv").open("r", encoding="utf-8") as file:
        table = pd.read_csv(file, keep_default_na=False)
    if measure is None:
        return table
    known = tuple(dict.fromkeys(table["measure"]))
    if measure not in known:
        raise ValueError(f"measure must be one of {', '.join(known)}; got {measure!r}.")
    return table[table["measure"] == measure].reset_index(drop=True)
