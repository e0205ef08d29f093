"""Data sets by name, made-up data, and the harm that experiments do to labels.

load("phoneme")             the paper's twelve by name, and scikit-learn's own: from a folder, or from OpenML
describe()                  all of them in a table, with what is a subset and what is derived
synthetic(n)                as many points as you like, in chunks, into a file if need be
illustration()              the two-dimensional set behind the paper's first figure
two_d_planes(n)             more rows of the 2dplanes data
flip_labels, imbalance      label noise and class imbalance
"""

from __future__ import annotations

from pivotal.research.datasets._corruption import flip_labels, imbalance
from pivotal.research.datasets._dataset import Dataset, Split
from pivotal.research.datasets._illustration_data import Illustration, illustration
from pivotal.research.datasets._load import describe, load, names
from pivotal.research.datasets._synthetic import synthetic, two_d_planes

__all__ = [
    "Dataset",
    "Illustration",
    "Split",
    "describe",
    "flip_labels",
    "illustration",
    "imbalance",
    "load",
    "names",
    "synthetic",
    "two_d_planes",
]
