"""Owners as players: the worth of a data provider that joins with all its points, or not at all.

    owner_lists     the nearest points of every owner, merged
    owner_game      what the kernels need: neighbours, utility of a coalition, its probability
    owner_balls     the same for games within a radius
    owner_engines   the sum over queries: exact, or sampled

The utility of a coalition of owners is that of all their points together. Of each owner only the k points nearest to a
query can ever vote, so a query is a game of at most k points per owner, however many there are. Where all within a
radius votes, it is a game of two numbers per owner: points in the ball, and right ones.
"""

from pivotal.engine.owners.owner_game import chance_table, make_owner_scratch

__all__ = ["chance_table", "make_owner_scratch"]
