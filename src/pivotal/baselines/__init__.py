"""Other ways to value training points, one file each: any model by retraining, enumeration, and heuristics.

Each is a function of (X_train, y_train, X_test, y_test) with keywords of its own and returns `Values`;
`pivotal.methods` gives them names. Nothing is imported here, so that no method pays for the libraries of another.
"""
