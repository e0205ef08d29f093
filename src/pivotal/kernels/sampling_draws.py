"""Random numbers for the samplers: a stream for every query and batch, and all that is drawn from it.

A stream is four 32-bit words, advanced by Blackman and Vigna's xoshiro128++ and started from a hash of the seed, the
number of the query and the number of the batch. What is drawn therefore depends neither on threads nor on blocks. The
words live in 64-bit integers, where sums and shifts of 32-bit numbers cannot overflow, so that compiled and plain
Python draw the same.
"""

from __future__ import annotations

import math

from pivotal.core.types import IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.sample_arrays import Law

_WORD = 0xFFFFFFFF
_STEADY = 700.0  # exp of more than this is out of range


@kernel
def scramble(word: int) -> int:
    """Return a 32-bit word in which every bit of `word` has changed every bit by chance: Appleby's murmur3 finish."""
    word ^= word >> 16
    word = (word * 0x85EBCA6B) & _WORD
    word ^= word >> 13
    word = (word * 0xC2B2AE35) & _WORD
    return word ^ (word >> 16)


@kernel
def start_stream(seed: IndexArray, query: int, game: int, batch: int, stream: IndexArray) -> None:
    """Fill `stream` with the start of one stream.

    Parameters
    ----------
    seed : int64 array of shape (4,)
        32-bit words.
    query, game, batch : int
        Counted from 0: the query, which of its games is played, and the batch of samples.
    stream : int64 array of shape (4,)
        Output, overwritten.
    """
    for j in range(4):
        word = int(seed[j]) ^ j
        word = scramble(((word ^ (query & _WORD)) + 0x9E3779B9) & _WORD)
        word = scramble(((word ^ (query >> 32)) + 0x3C6EF372) & _WORD)
        word = scramble(((word ^ game) + 0xDAA66D2B) & _WORD)
        stream[j] = scramble(((word ^ batch) + 0x78DDE6E4) & _WORD)
    stream[0] |= 1  # all zeros would stay so
    for _ in range(8):
        next_word(stream)


@kernel
def next_word(stream: IndexArray) -> int:
    """Draw 32 bits."""
    # Plain integers: NumPy's own would warn of overflow where compilation is switched off.
    a, b, c, d = int(stream[0]), int(stream[1]), int(stream[2]), int(stream[3])
    turned = (a + d) & _WORD
    drawn = (((turned << 7) | (turned >> 25)) + a) & _WORD
    shifted = (b << 9) & _WORD
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    stream[0], stream[1], stream[2], stream[3] = a, b, c, ((d << 11) | (d >> 21)) & _WORD
    return drawn


@kernel
def uniform(stream: IndexArray) -> float:
    """Draw a multiple of 2^-53 in [0, 1)."""
    high = next_word(stream) >> 5
    return (high * 67108864.0 + (next_word(stream) >> 6)) / 9007199254740992.0


@kernel
def log_uniform(stream: IndexArray) -> float:
    """Draw the logarithm of a number in (0, 1]."""
    return math.log(1.0 - uniform(stream))


@kernel
def log_gamma_variate(shape: float, stream: IndexArray) -> float:
    """Draw the logarithm of a gamma variate by Marsaglia and Tsang's rejection; shapes near 0 stay in range."""
    boost = 0.0
    if shape < 1.0:
        boost = log_uniform(stream) / shape
        shape += 1.0
    size = shape - 1.0 / 3.0
    width = 1.0 / math.sqrt(9.0 * size)
    while True:
        normal = math.sqrt(-2.0 * log_uniform(stream)) * math.cos(2.0 * math.pi * uniform(stream))
        root = 1.0 + width * normal
        if root > 0.0:
            cube = root * root * root
            if log_uniform(stream) < 0.5 * normal * normal + size * (1.0 - cube + 3.0 * math.log(root)):
                return math.log(size * cube) + boost


@kernel
def log_absence(law: Law, stream: IndexArray) -> float:
    """Draw p from the measure of a semivalue; return log(1 - p), which keeps its digits when p is near 0 or 1."""
    n_nodes = law.nodes.shape[0]
    if n_nodes > 0:
        node, drawn = 0, uniform(stream) if n_nodes > 1 else 0.0
        while node < n_nodes - 1 and drawn >= law.shares[node]:
            node += 1
        return float(law.nodes[node])
    if law.alpha == 1.0 and law.beta == 1.0:
        return log_uniform(stream)
    log_odds = log_gamma_variate(law.beta, stream) - log_gamma_variate(law.alpha, stream)
    return -log_odds if log_odds > _STEADY else -math.log1p(math.exp(log_odds))


@kernel
def draw_members(n: int, max_members: int, law: Law, members: IndexArray, stream: IndexArray) -> int:
    """Draw p and let each of n ranks join with probability p; return how many of the nearest members were found.

    The gaps between members are geometric, so the cost is one draw per member, whatever n is.

    Parameters
    ----------
    n, max_members : int
        Ranks, and members to look for.
    law : Law
        Where p is drawn from.
    members : int64 array of shape (>= most,)
        Output: ranks, counted from 0, nearest first.
    stream : int64 array of shape (4,)
        Advanced.
    """
    absence = log_absence(law, stream)
    if absence == 0.0:
        return 0
    rank, found = -1, 0
    while found < max_members:
        gap = log_uniform(stream) / absence
        if gap >= n - 1 - rank:
            break
        rank += 1 + int(gap)
        members[found] = rank
        found += 1
    return found


@kernel
def shuffle(order: IndexArray, n: int, stream: IndexArray) -> None:
    """Put the first n entries into random order, whatever order they are in: Fisher and Yates."""
    for i in range(n - 1, 0, -1):
        j = int(uniform(stream) * (i + 1))
        order[i], order[j] = order[j], order[i]
