"""The figures and tables of the paper's evaluation by number: which page has ours, and what we did otherwise."""

from __future__ import annotations

from typing import Final, NamedTuple


class PaperItem(NamedTuple):
    """A figure or table of the paper."""

    number: str
    shows: str
    experiment: str
    deviation: str
    verdict: str = ""


_CURVES: Final = "1800 training, 100 test and 100 fresh points; `inf`, `lava` and `beta-mc` are not OpenDataVal's"
_OWN_POINTS: Final = "points of our own: the paper's are not published"
_FASTER: Final = "compared with an engine that is faster than the paper's algorithm"
_NOT_NAMED: Final = "the text does not name the two data sets; all twelve are on the pages of Figures A3 to A5"
_NOT_OURS: Final = (
    "90 flipped labels instead of about 11 (our inference); `inf`, `lava` and `beta-mc` are not OpenDataVal's"
)

ITEMS: Final = (
    PaperItem("Figure 1 a–d", "values around two test points, noise, copies", "illustration", _OWN_POINTS),
    PaperItem("Table 1", "the data sets", "setup", "see the notes there", "six of twelve differ in rows or features"),
    PaperItem(
        "Figure 2 a", "time against the number of points", "scalability", "60 seconds a size instead of 10 hours"
    ),
    PaperItem("Figure 2 b, c", "Monte Carlo: deviation against samples", "monte-carlo", _FASTER),
    PaperItem(
        "Figure 3 a–f",
        "removal, selection and flipping on two data sets",
        "removal",
        _NOT_NAMED,
        "as Figures A3, A4 and A5",
    ),
    PaperItem("Figure A1 a", "bits of the weights", "bits", "compared with 12 bits; the paper does not say with what"),
    PaperItem("Figure A1 b", "number of neighbours", "k", "`sv` is omitted for its time"),
    PaperItem("Figure A2", "class imbalance", "imbalance", "`sv` is omitted for its time"),
    PaperItem("Figure A3", "point removal, twelve data sets", "removal", _CURVES),
    PaperItem("Figure A4", "data selection, twelve data sets", "selection", _CURVES),
    PaperItem("Figure A5", "label flipping, twelve data sets", "flip", _CURVES),
    PaperItem("Tables A1–A4", "detection: F1, recall, precision, AUC-ROC", "mislabel", _NOT_OURS),
)
"""In the paper's order; the appendix counts anew."""


def numbers_of(experiment: str) -> str:
    """Return the paper's numbers for what an experiment shows.

    Examples
    --------
    >>> numbers_of("removal")
    'Figure 3 a–f, Figure A3'
    """
    return ", ".join(item.number for item in ITEMS if item.experiment == experiment)
