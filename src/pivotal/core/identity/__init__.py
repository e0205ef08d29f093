"""Identity by content: two things have the same token if they compute the same, whatever they are called.

Functions and classes are distinguished by their code and by all that the code uses, objects by their class and state,
arrays by type, shape and bytes. What comes with an installed package counts by its name and the package's version.
Tokens hold no address, no line number and no order of a set, so that they are the same in every process.
"""

from __future__ import annotations

from pivotal.core.identity._origin import is_installed
from pivotal.core.identity._walk import token

__all__ = ["is_installed", "token"]
