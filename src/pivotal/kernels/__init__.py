"""The only numba in the house: arrays in, arrays out.

    draws            chances of drawing without replacement; sums that keep their digits
    hard             hard votes, unweighted        closed forms, one pass from the farthest point to the nearest
    hard_small       the same, coalitions smaller than k
    two_classes      the same, two classes
    many_classes     the same, many classes, a span of ranks at a time
    plurality        the plurality vote, unweighted, a span of ranks at a time
    plurality_small  its coalitions of fewer than k
    averages         soft label and regression, unweighted
    threshold        points within a radius, unweighted
    weighted         hard votes with integer votes    forward and backward tables for one p
    moments          soft label and regression with integer votes
    owner_branching  owners as players                branching over who is in
    ranking_values   ranking metrics                  suffix sums over the relevant documents
    accumulate       the sum over queries
    measure          exact distances
    search           nearest neighbours
    order            sorting them
    products         scores of all points: products of queries with them, as the words that are sorted
    radix            sorting all points by scores, and measuring them where it matters
    ordered_values   scores, order and values of one query after the other; for each kind of game:
                     ordered_averages, ordered_hard, ordered_plurality
    join_curves      points that join one after the other
    exchange         a coalition that points enter and leave, and exchanges that raise its utility
    herding          points whose mean follows that of the data
    leaf_lists       points that share leaves of a forest
    touched_lists    points that come, go and change their label
    sampling_draws   random numbers, coalitions and orders
    sampling_sums    samples of games that know a coalition by two sums
    sampling_votes   samples of votes of many classes
    owner_sampling   samples of coalitions and orders of owners

Kernels never validate, never raise and allocate nothing per query: scratch memory comes from the caller, and so do the
streams from which the samplers draw, the only randomness there is. They are serial and release the GIL; the caller runs
one per thread on its own slice of the queries.
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
