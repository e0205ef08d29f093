"""The only numba in the house: arrays in, arrays out.

    draws            chances of drawing without replacement; sums that keep their digits
    hard             hard votes, one vote each        closed forms, one pass from the farthest point to the nearest
    plurality        the plurality vote, one vote each
    averages         soft label and regression, one vote each
    threshold        everyone within a radius, one vote each
    weighted         hard votes with integer votes    forward and backward tables for one p
    moments          soft label and regression with integer votes
    owners           owners as players                branching over who is in
    ledger           the sum over queries
    search           nearest neighbours
    order            sorting them
    curves           points that join one after the other
    editing          points that come, go and change their label
    sampling_draws   random numbers, coalitions and orders
    sampling_sums    samples of games that know a coalition by two sums
    sampling_votes   samples of votes of many classes
    owners_sampling  samples of coalitions and orders of owners

Kernels never validate, never raise and allocate nothing per query: scratch memory comes from the caller, and so do the
streams from which the samplers draw, the only randomness there is. They are serial and release the GIL; the caller runs
one per thread on its own slice of the queries.
"""
