"""What is known of each data set: where it is, what shape it has, what its labels mean, and what a file omits.

Shapes and notes of the files were measured on the files themselves. Row counts at OpenML are given where the file of
all rows confirms them; elsewhere only features and classes are known, and checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_BELOW_MEAN: Final = "1 = target below its mean (class P at OpenML), 0 = otherwise"


@dataclass(frozen=True)
class Variant:
    """One form in which a data set comes.

    Parameters
    ----------
    name : str
        What the user calls it; "full" is the one that OpenML has.
    file : str
        Its file name in a folder, without `.npz`.
    features, classes : int
        What it must have.
    rows : int, optional
        How many rows it must have; None where any number may be right.
    kind : {"full", "subset", "derived"}
        All original rows and columns, some original rows, or columns computed from the original ones.
    note : str
        What is different from the original, in words.
    image : tuple of int, optional
        Shape of a row as an image: (height, width), or (channels, height, width) in that order of the columns.
    """

    name: str
    file: str
    features: int
    classes: int
    rows: int | None = None
    kind: str = "full"
    note: str = ""
    image: tuple[int, ...] | None = None


@dataclass(frozen=True)
class DatasetEntry:
    """One data set of the paper.

    Parameters
    ----------
    name : str
    openml : int
        OpenML's data id.
    openml_name : str
        OpenML's name, under which it has versions.
    labels : str
        What the labels mean.
    in_paper : tuple of int
        Rows, features and classes in the paper's table.
    variants : tuple of Variant
        Preferred first: the first whose file is in the folder is loaded.
    below_mean : bool, default=False
        Whether a target of real numbers becomes a label by `target < mean`.
    """

    name: str
    openml: int
    openml_name: str
    labels: str
    in_paper: tuple[int, int, int]
    variants: tuple[Variant, ...]
    below_mean: bool = False


def _full(name: str, features: int, classes: int, rows: int | None = None, **about: object) -> Variant:
    return Variant("full", name, features, classes, rows, **about)  # type: ignore[arg-type]


PAPER: Final = {
    entry.name: entry
    for entry in (
        DatasetEntry(
            "phoneme",
            1489,
            "phoneme",
            "0 and 1 = OpenML's classes 1 and 2",
            (5404, 5, 2),
            (_full("phoneme", 5, 2, 5404, note="features standardised by OpenML"),),
        ),
        DatasetEntry("wind", 847, "wind", _BELOW_MEAN, (6574, 14, 2), (_full("wind", 14, 2, 6574),), below_mean=True),
        DatasetEntry("cpu", 761, "cpu_act", _BELOW_MEAN, (8192, 21, 2), (_full("cpu", 21, 2, 8192),), below_mean=True),
        DatasetEntry(
            "vehicle",
            357,
            "vehicle_sensIT",
            "0 and 1 = classes -1 and 1 of the source",
            (10_000, 100, 2),
            (
                _full("vehicle", 100, 2),
                Variant(
                    "1860",
                    "vehicle_1860",
                    100,
                    2,
                    1860,
                    "subset",
                    "1860 original recordings of 23 sensors, one sensor after the other, standardised per sensor; "
                    "perhaps not the very labels of OpenML 357",
                ),
            ),
        ),
        DatasetEntry("pol", 722, "pol", _BELOW_MEAN, (15_000, 48, 2), (_full("pol", 48, 2, 15_000),), below_mean=True),
        DatasetEntry(
            "fraud",
            42397,
            "CreditCardFraudDetection",
            "1 = fraud, 0 = normal",
            (28_000, 30, 2),
            (
                _full("fraud", 30, 2),
                Variant(
                    "10k",
                    "fraud_10k",
                    30,
                    2,
                    10_000,
                    "subset",
                    "all 492 frauds and 9508 of 284 315 normal rows, so frauds are 5 % instead of 0.17 %",
                ),
            ),
        ),
        DatasetEntry(
            "2dplanes",
            727,
            "2dplanes",
            _BELOW_MEAN,
            (40_768, 10, 2),
            (_full("2dplanes", 10, 2, 40_768, note="synthetic by design; two_d_planes(n) makes more of it"),),
            below_mean=True,
        ),
        DatasetEntry(
            "apsfail",
            41138,
            "APSFailure",
            "1 = failure of the air pressure system (pos), 0 = another failure (neg)",
            (60_000, 170, 2),
            (
                _full("apsfail", 170, 2),
                Variant(
                    "pca12",
                    "apsfail_test_pca12",
                    12,
                    2,
                    16_000,
                    "derived",
                    "12 principal components of the official test set's 16 000 rows, not the 170 columns",
                ),
            ),
        ),
        DatasetEntry(
            "cifar10",
            40927,
            "CIFAR_10",
            "0..9 = airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck",
            (60_000, 3072, 10),
            (
                # First, because the paper too feeds images to a ResNet, and distances between pixels mean little:
                # 5-NN is right for 91 % of the features against 26 % of the pixels.
                Variant(
                    "resnet56",
                    "cifar10_test_resnet56",
                    64,
                    10,
                    10_000,
                    "derived",
                    "64 features per test image by a ResNet-56 trained on the training images; rows as in 10k",
                ),
                _full("cifar10", 3072, 10, 60_000, image=(3, 32, 32)),
                Variant(
                    "10k",
                    "cifar10_10k",
                    3072,
                    10,
                    10_000,
                    "subset",
                    "the pixels of the 10 000 official test images",
                    (3, 32, 32),
                ),
            ),
        ),
        DatasetEntry(
            "mnist",
            554,
            "mnist_784",
            "0..9 = the digit",
            (70_000, 784, 10),
            (_full("mnist", 784, 10, 70_000, note="60 000 training rows, then 10 000 test rows", image=(28, 28)),),
        ),
        DatasetEntry(
            "creditcard",
            42477,
            "default-of-credit-card-clients",
            "1 = default next month, 0 = none",
            (284_807, 23, 2),
            (
                _full(
                    "creditcard",
                    23,
                    2,
                    30_000,
                    note="the paper's table says 284 807 rows, which is the count of the fraud data",
                ),
            ),
        ),
        DatasetEntry(
            "click",
            1218,
            "Click_prediction_small",
            "1 = the advertisement was clicked, 0 = it was not",
            (1_000_000, 11, 2),
            (
                _full("click", 11, 2),
                # Before the balanced one: it keeps the classes as the source has them, and more rows.
                Variant(
                    "40k",
                    "click_40k",
                    11,
                    2,
                    39_948,
                    "subset",
                    "the 39 948-row version of OpenML; ids are numbers here, rounded above 2^24",
                ),
                Variant(
                    "balanced_10k",
                    "click_balanced_10k",
                    11,
                    2,
                    10_000,
                    "subset",
                    "5000 rows of each class, as earlier papers used it; ids are numbers here, rounded above 2^24",
                ),
            ),
        ),
    )
}
"""The twelve data sets of the paper, in the order of its table."""

BUNDLED: Final = {
    variant.name: variant
    for variant in (
        Variant("iris", "", 4, 3, 150),
        Variant("wine", "", 13, 3, 178),
        Variant("breast_cancer", "", 30, 2, 569),
        Variant("digits", "", 64, 10, 1797, image=(8, 8), note="pixels 0..16"),
    )
}
"""Data sets that come with scikit-learn: small, and always there."""
