"""The score of a model while its training set shrinks, grows or is relabelled.

curve                `Curve`
removal_selection    `removal_curve`, `selection_curve`
curve_models         the model whose score is followed: nearest neighbours, or any other, refitted at each step
nearest_curves       nearest neighbours: one sorted list per test point serves every step
scoring              scores that are sums over test points, and all others
"""
