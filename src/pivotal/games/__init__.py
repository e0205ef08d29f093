"""What a coalition of training points earns: the definition itself, small enough to enumerate.

A game is an immutable object that answers two kinds of question about one query. `earns` is the definition, in exact
fractions, for any one coalition. The other methods give the engine, for a block of queries in float64, what it needs
besides the values: the utility of everybody and of nobody, how far the utility can move, and whether only the nearest k
members of a coalition count.

Peers who value nearest-neighbour data differ in how they break ties, what a third class does and what the empty
coalition earns. These choices are options of the game, so that `repr` shows them.
"""

from pivotal.games._averages import Regression, Soft, Threshold
from pivotal.games._game import Game
from pivotal.games._names import as_game
from pivotal.games._votes import Hard, Plurality

__all__ = ["Game", "Hard", "Plurality", "Regression", "Soft", "Threshold", "as_game"]
