"""Utility of a coalition of training points: the definition itself, small enough to enumerate.

A game is an immutable object that answers two kinds of question about one query. `utility` is the definition, in exact
fractions, for any one coalition. The other methods give the engine, for a block of queries in float64, what it needs
besides the values: the utility of the full and of the empty set, how far the utility can move, and whether only the
nearest k members of a coalition count.

Libraries that value nearest-neighbour data differ in how they break ties, what a third class does and what the empty
coalition. These choices are options of the game, so that `repr` shows them.
"""

from pivotal.core.games._averaging import Regression, Soft, Threshold
from pivotal.core.games._conventions import Convention, conventions
from pivotal.core.games._mixture import Mixture
from pivotal.core.games._names import as_game
from pivotal.core.games._ranking_metrics import (
    DCG,
    NDCG,
    BestOf,
    Hit,
    Precision,
    Recall,
    ReciprocalRank,
    RetrievalGame,
    as_retrieval_game,
)
from pivotal.core.games._voting_games import Hard, Plurality
from pivotal.core.games.definition import Game, check_classes

__all__ = [
    "DCG",
    "NDCG",
    "BestOf",
    "Convention",
    "Game",
    "Hard",
    "Hit",
    "Mixture",
    "Plurality",
    "Precision",
    "Recall",
    "ReciprocalRank",
    "Regression",
    "RetrievalGame",
    "Soft",
    "Threshold",
    "as_game",
    "as_retrieval_game",
    "check_classes",
    "conventions",
]
