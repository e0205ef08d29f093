"""Other ways to value training points, one file each: any model by retraining, enumeration, and heuristics.

Each is a function of (X_train, y_train, X_test, y_test) with keywords of its own and returns `Values`;
`pivotal.methods` gives them names. Each is imported when it is first used, so that no method pays for the libraries of
another.
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
