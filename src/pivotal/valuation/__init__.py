"""The public face: checks what comes in, connects the modules and returns `Values`.

value            `value`: features and labels in, values out
from_neighbors   `value_from_neighbors`: lists of neighbours in, values out
group_valuation  groups of points as players, for both
estimator        `KNNValuation`: training points fitted once, queries counted batch by batch
editable         `EditableKNNValuation`: training points that change after they were valued
point_valuation  what these share: fitted points, an index, an engine
batch            one batch of queries on its way into the sums
sweep            many settings from one search
retrieval        rankings and relevance to values of documents
dask             the same calls on Dask
dispatch         methods that are functions, of `pivotal.baselines`
fitted_models    what a fitted nearest-neighbour model of scikit-learn brings
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
