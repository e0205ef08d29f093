"""The only numba in the house: arrays in, arrays out.

    draws        chances of drawing without replacement; sums that keep their digits
    hard         hard votes, one vote each          closed forms, one pass from the farthest point to the nearest
    plurality    the plurality vote, one vote each
    averages     soft label and regression, one vote each
    weighted     hard votes with integer votes      forward and backward tables for one p
    moments      soft label and regression with integer votes
    ledger       the sum over queries
    search       nearest neighbours
    order        sorting them

Kernels never validate, never raise, never draw randomness and allocate nothing per query: scratch memory comes from
the caller. They are serial and release the GIL; the caller runs one per thread on its own slice of the queries.
"""
