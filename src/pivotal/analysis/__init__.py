"""What values are good for: removing, selecting, finding and repairing labels, paying owners, dropping the useless.

    removal_curve      score of a model while points go, least or most valuable first
    selection_curve    score of a model while points come
    detection          how well low values find the wrong labels
    repair             score of a model while the least valuable points get other labels
    payouts            a budget shared among owners, to the cent
    owner_table        payouts by the sum of the points' values and by the owners' own, side by side
    redundancy         copies, points without value, points that no prediction needs

Each takes `Values` or an array with a number per training point.
"""

from pivotal.analysis._detection import Detection, Found, detection
from pivotal.analysis._payouts import owner_table, payouts
from pivotal.analysis._redundancy import Redundancy, redundancy
from pivotal.analysis._repair import Repair, repair
from pivotal.analysis.curves._removal_selection import removal_curve, selection_curve
from pivotal.analysis.curves.curve import Curve
from pivotal.core.lazy import submodules_of

__all__ = [
    "Curve",
    "Detection",
    "Found",
    "Redundancy",
    "Repair",
    "detection",
    "owner_table",
    "payouts",
    "redundancy",
    "removal_curve",
    "repair",
    "selection_curve",
]

__getattr__ = submodules_of(__name__)
