"""What is known of each data set: where it is, what shape it has, what its labels mean, and what a file omits.

Shapes and notes of the files were measured on the files themselves. Row counts at OpenML are given where the file of
all rows confirms them; elsewhere only features and classes are known, and checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_BELOW_MEAN: Final = "1 = target below its mean (class P at OpenML), 0 = otherwise"
_AIR_PRESSURE: Final = "1 = failure of the air pressure system (pos), 0 = another failure (neg)"
_ANIMALS_AND_VEHICLES: Final = "0..9 = airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck"


@dataclass(frozen=True)
class Variant:
    """One form in which a data set comes."""

    name: str  # what the user calls it; "full" is the one that OpenML has
    file: str  # its file name in a folder, without `.npz`
    features: int
    classes: int
    rows: int | None = None  # None where any number may be right
    kind: str = (
        "full"  # all original rows and columns, or "subset": some rows, or "derived": columns computed from them
    )
    note: str = ""  # what is different from the original, in words
    image: tuple[int, ...] | None = None  # (height, width), or (channels, height, width) in that order of the columns


@dataclass(frozen=True)
class DatasetEntry:
    """One data set of the paper."""

    name: str
    openml: int  # OpenML's data id
    openml_name: str  # under which it has versions
    in_paper: tuple[int, int, int]  # rows, features and classes in the paper's table
    labels: str  # what they mean

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Preferred first: the first whose file is in the folder is loaded."""
        return _VARIANTS[self.name]

    @property
    def below_mean(self) -> bool:
        """Whether a target of real numbers becomes a label by `target < mean`."""
        return self.labels == _BELOW_MEAN


_ENTRIES: Final = (
    DatasetEntry("phoneme", 1489, "phoneme", (5404, 5, 2), "0 and 1 = OpenML's classes 1 and 2"),
    DatasetEntry("wind", 847, "wind", (6574, 14, 2), _BELOW_MEAN),
    DatasetEntry("cpu", 761, "cpu_act", (8192, 21, 2), _BELOW_MEAN),
    DatasetEntry("vehicle", 357, "vehicle_sensIT", (10_000, 100, 2), "0 and 1 = classes -1 and 1 of the source"),
    DatasetEntry("pol", 722, "pol", (15_000, 48, 2), _BELOW_MEAN),
    DatasetEntry("fraud", 42397, "CreditCardFraudDetection", (28_000, 30, 2), "1 = fraud, 0 = normal"),
    DatasetEntry("2dplanes", 727, "2dplanes", (40_768, 10, 2), _BELOW_MEAN),
    DatasetEntry("apsfail", 41138, "APSFailure", (60_000, 170, 2), _AIR_PRESSURE),
    DatasetEntry("cifar10", 40927, "CIFAR_10", (60_000, 3072, 10), _ANIMALS_AND_VEHICLES),
    DatasetEntry("mnist", 554, "mnist_784", (70_000, 784, 10), "0..9 = the digit"),
    DatasetEntry(
        "creditcard", 42477, "default-of-credit-card-clients", (284_807, 23, 2), "1 = default next month, 0 = none"
    ),
    DatasetEntry(
        "click", 1218, "Click_prediction_small", (1_000_000, 11, 2), "1 = the advertisement was clicked, 0 = it was not"
    ),
)

PAPER: Final = {entry.name: entry for entry in _ENTRIES}
"""The twelve data sets of the paper, in the order of its table."""

_VARIANTS: Final = {
    "phoneme": (Variant("full", "phoneme", 5, 2, 5404, note="features standardised by OpenML"),),
    "wind": (Variant("full", "wind", 14, 2, 6574),),
    "cpu": (Variant("full", "cpu", 21, 2, 8192),),
    "vehicle": (
        Variant("full", "vehicle", 100, 2),
        Variant("1860", "vehicle_1860", 100, 2, 1860, "subset",
                "1860 original recordings of 23 sensors, one sensor after the other, standardised per sensor; "
                "perhaps not the very labels of OpenML 357"),
    ),
    "pol": (Variant("full", "pol", 48, 2, 15_000),),
    "fraud": (
        Variant("full", "fraud", 30, 2),
        Variant("10k", "fraud_10k", 30, 2, 10_000, "subset",
                "all 492 frauds and 9508 of 284 315 normal rows, so frauds are 5 % instead of 0.17 %"),
    ),
    "2dplanes": (
        Variant("full", "2dplanes", 10, 2, 40_768, note="synthetic by design; two_d_planes(n) makes more of it"),
    ),
    "apsfail": (
        Variant("full", "apsfail", 170, 2),
        Variant("pca12", "apsfail_test_pca12", 12, 2, 16_000, "derived",
                "12 principal components of the official test set's 16 000 rows, not the 170 columns"),
    ),
    "cifar10": (
        # First, because the paper too feeds images to a ResNet, and distances between pixels mean little:
        # 5-NN is right for 91 % of the features against 26 % of the pixels.
        Variant("resnet56", "cifar10_test_resnet56", 64, 10, 10_000, "derived",
                "64 features per test image by a ResNet-56 trained on the training images; rows as in 10k"),
        Variant("full", "cifar10", 3072, 10, 60_000, image=(3, 32, 32)),
        Variant("10k", "cifar10_10k", 3072, 10, 10_000, "subset", "the pixels of the 10 000 official test images",
                (3, 32, 32)),
    ),
    "mnist": (
        Variant("full", "mnist", 784, 10, 70_000, note="60 000 training rows, then 10 000 test rows", image=(28, 28)),
    ),
    "creditcard": (
        Variant("full", "creditcard", 23, 2, 30_000,
                note="the paper's table says 284 807 rows, which is the count of the fraud data"),
    ),
    "click": (
        Variant("full", "click", 11, 2),
        # Before the balanced one: it keeps the classes as the source has them, and more rows.
        Variant("40k", "click_40k", 11, 2, 39_948, "subset",
                "the 39 948-row version of OpenML; ids are numbers here, rounded above 2^24"),
        Variant("balanced_10k", "click_balanced_10k", 11, 2, 10_000, "subset",
                "5000 rows of each class, as earlier papers used it; ids are numbers here, rounded above 2^24"),
    ),
}  # fmt: skip

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
