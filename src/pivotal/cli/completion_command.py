"""`pivotal completion`: scripts that let a shell complete commands and options."""

from __future__ import annotations

import argparse
from typing import Final

from pivotal.cli._parser import Parser
from pivotal.core.extras import needed

_EXAMPLES: Final = """\
examples:
  pivotal completion bash > ~/.local/share/bash-completion/completions/pivotal
  pivotal completion zsh > ~/.zfunc/_pivotal
  pivotal completion fish > ~/.config/fish/completions/pivotal.fish
"""


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = "Print a script that completes commands, options and file names. Put it where the shell looks."
    parser.epilog = _EXAMPLES
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    with needed("completion needs shtab", "cli"):
        import shtab
    from pivotal.cli._app import build_parser

    print(shtab.complete(build_parser(), shell=options.shell))
