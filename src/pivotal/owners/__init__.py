"""Owners as players: what a data provider is worth who joins with all their points, or not at all.

    owners    names of owners to codes
    lists     the nearest points of every owner, merged
    game      what the kernels need: who is near, what a coalition earns, how likely it is
    balls     the same where everyone within a radius votes
    engines   the sum over queries: exact, or sampled
    value     `value_owners`, `value_owners_from_neighbors`

A coalition of owners earns what all their points earn together. Of each owner only the k points nearest to a query can
ever vote, so a query is a game of at most k points per owner, however many there are. Where everyone within a radius
votes, it is a game of two numbers per owner: points in the ball, and right ones.
"""

from pivotal.owners._value import value_owners, value_owners_from_neighbors

__all__ = ["value_owners", "value_owners_from_neighbors"]
