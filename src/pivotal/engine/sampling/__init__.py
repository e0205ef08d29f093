"""Monte Carlo estimates of the values, with standard errors.

    laws      what is drawn, for each semivalue
    drawing   what a sample is worth, for each game
    sampled   the sum over queries: the sampling counterpart of `pivotal.engine.exact`

Two ways to sample, after section 4 of the paper. A *coalition* has each point as a member with probability p; it shows
the marginal contribution of every point at once. A *permutation* lets the points join one after the other, and each
contributes what it adds to those before it.

Samples are drawn from the ranks of a query's list, which `tol` cuts as it does for exact values. A semivalue is a
measure over p that does not know n, so the estimates are unbiased for the game of the listed points alone, and that
game is no farther from the game of all points than the error bound says. Nothing is lost beyond the k-th member of a
coalition: all contributions there are exactly 0.
"""

from pivotal.engine.sampling.sampled import SamplingEngine

__all__ = ["SamplingEngine"]
