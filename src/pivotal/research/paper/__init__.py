"""The paper's algorithms as printed, corrected where the print is wrong, in exact arithmetic.

G. Zhang, L. Oettershagen, L. Wang, A. Gionis: "Efficient Banzhaf-Based Data Valuation for k-Nearest Neighbors
Classification". These functions are for reading, checking and small n: Python integers and fractions, a page each. The
rest of the library computes the same numbers by other formulas, in floating point, for millions of points.

All take signed integer votes, nearest first, and k, and return one `fractions.Fraction` per player. Names such as
`dp:standard` in comments are the labels of equations, lemmas and examples in the paper's LaTeX source.

    bf       brute_force            O(2^n n)       the definition
    bv       standard_dp            O(W n^4)       `standard`
    bv-fast  fast_dp                O(W k n^2)     `fast`
    bv-uw    unweighted_dp          O(n k^2)       `unweighted`, votes -1, 0, +1
    sv       shapley_dp             O(W k n^2)     `shapley`, after Wang, Mittal & Jia (2024)
    sv-uw    shapley_unweighted_dp  O(k^2 n^2)     the same, votes -1, 0, +1

`naive_sampling` is the straightforward Monte Carlo estimate that the paper's samplers are measured against.
"""

from __future__ import annotations

from pivotal.research.paper._paper_game import Algorithm
from pivotal.research.paper.fast import fast_dp
from pivotal.research.paper.multiclass import one_vs_one
from pivotal.research.paper.naive import naive_sampling
from pivotal.research.paper.paper_enumeration import brute_force
from pivotal.research.paper.shapley import shapley_dp, shapley_unweighted_dp
from pivotal.research.paper.standard import standard_dp
from pivotal.research.paper.unweighted import unweighted_dp

ALGORITHMS: dict[str, Algorithm] = {
    "bf": brute_force,
    "bv": standard_dp,
    "bv-fast": fast_dp,
    "bv-uw": unweighted_dp,
    "sv": shapley_dp,
    "sv-uw": shapley_unweighted_dp,
}
"""The algorithms under the abbreviations of the paper's experiments."""

__all__ = [
    "ALGORITHMS",
    "brute_force",
    "fast_dp",
    "naive_sampling",
    "one_vs_one",
    "shapley_dp",
    "shapley_unweighted_dp",
    "standard_dp",
    "unweighted_dp",
]
