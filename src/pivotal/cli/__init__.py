"""The `pivotal` command: parse, call, write.

Each command is one module with two functions: `describe` adds its options, `run` does the work. Heavy imports happen
inside the latter, so that `pivotal --help` answers at once.
"""

from __future__ import annotations

from pivotal.cli._app import build_parser, main

__all__ = ["build_parser", "main"]
