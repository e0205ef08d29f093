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

from pivotal.applications._curve import Curve
from pivotal.applications._curves import removal_curve, selection_curve
from pivotal.applications._detection import Detection, Found, detection
from pivotal.applications._owners import owner_table
from pivotal.applications._payouts import payouts
from pivotal.applications._redundancy import Redundancy, redundancy
from pivotal.applications._repair import Repair, repair

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
