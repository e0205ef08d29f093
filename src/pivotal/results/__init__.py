"""What a valuation returns.

values      `Values`: frozen; order, owners, save, load
per_query   the values of each query by itself, as a sparse table
explain     which points decide a prediction, in words
bounds      the parts of an error bound: proved, and allowed for rounding
owner_codes  names of owners to codes
storage     values as Parquet files, with their ids
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
