"""Everything about the paper and other libraries.

paper         the paper's algorithms in exact integers
experiments   every figure and table of the paper as a command
datasets      data sets by name, made-up data, label noise and imbalance
bench         this library and others, timed and compared on one task
demo          real data, some labels flipped, a picture and a report
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
