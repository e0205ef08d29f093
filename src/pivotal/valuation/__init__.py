"""The public face: checks what comes in, connects the rooms and returns `Values`.

value           `value`, `value_from_neighbors`
estimator       `KNNValuation`: training points fitted once, queries counted batch by batch
editable        training points that change after they were valued
owners          owners as players
sweep           many settings from one search
retrieval       rankings and relevance to values of documents
dask            the same calls on Dask
methods         every way to value by name; `dispatch` goes from the name to what runs
fitted_models   what a fitted nearest-neighbour model of scikit-learn brings
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
