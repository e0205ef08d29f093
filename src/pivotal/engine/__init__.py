"""Queries in, sums out.

build           picks the engine of a game and a method
exact           adds up the queries in threads, and adds up the error bound
whole_orders    games that need whole orders: scores, order and values in one go
radius          games played by all points within a radius
multilabel      many labels per point: mean over labels, same neighbours
sampling        Monte Carlo, with standard errors
owners          owners as players
editing         points added, removed and relabelled: only the queries that reach them are valued again
running_sums    the one accumulator, and what all exact engines share; `point_sums` has the values of points
totals          what every engine sums besides values: utilities, truncation, weights of queries
truncation      how long lists of neighbours must be, and what cutting the rest costs
solver          what solvers are: queries with their neighbours in, values of the neighbours out
solvers         where a game meets a semivalue: picks the kernel, holds its tables, hands out scratch memory
ranking         closed forms of the retrieval games
joblib_backend  blocks of queries on the workers of a joblib backend: processes, Dask, Ray
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
