"""Parsing arguments: errors that are sentences, and options that come from a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn


class UsageError(Exception):
    """The arguments make no sense."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process, and never guesses what an abbreviation means."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Formatter, **settings})

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{'' if message.endswith('?') else ';'} see {self.prog} --help.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as usual, with the options of a `--config` file put before those of the command line."""
        words = list(args) if args is not None else None
        path = None if words is None else _config_path(self, words)
        if words is not None and path is not None:
            words = [*self._from_config(path), *words]
        if words is not None and self._subparsers is None:  # before argparse asks for what is missing
            self._refuse(self._unknown_options(words))
        found, unknown = super().parse_known_args(words, namespace)
        self._refuse(unknown)  # here, where the command is known, and not in the parser of all commands
        return found, unknown

    def _unknown_options(self, words: Sequence[str]) -> list[str]:
        """Return the long options that this command does not have."""
        ahead = words[: words.index("--")] if "--" in words else words
        options = [word.partition("=")[0] for word in ahead if word.startswith("--") and " " not in word]
        return [option for option in options if option not in self._option_string_actions]

    def _refuse(self, unknown: Sequence[str]) -> None:
        """Say which argument makes no sense, and what was probably meant."""
        if not unknown:
            return
        import difflib

        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is None:
            self.error(f"unexpected argument {unknown[0]!r}")
        close = difflib.get_close_matches(option, self._option_string_actions, n=1, cutoff=0.7)
        self.error(f"there is no option {option}" + (f", did you mean {close[0]}?" if close else ""))

    def _from_config(self, path: str) -> list[str]:
        """Turn a TOML file into arguments: later ones win, so those of the command line come after."""
        import difflib
        import tomllib

        try:
            with open(path, "rb") as file:  # noqa: PTH123  a path of the user's, and its message
                chosen = tomllib.load(file)
        except OSError as error:
            raise OSError(f"cannot read {path}: {error.strerror or error}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file ({error}); write lines such as k = 5.") from error
        known = {
            option.lstrip("-"): action
            for action in self._actions
            for option in action.option_strings
            if option.lstrip("-") not in ("h", "help", "config")
        }
        words = []
        for key, content in chosen.items():
            action = known.get(key) or known.get(key.replace("_", "-"))
            if action is None:
                close = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"see {self.prog} --help for the options."
                raise ValueError(f"{path} has the unknown key {key!r}; {hint}")
            words += _as_words(path, key, content, action)
        return words


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keep the lines of examples as they are, and options beside their help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def _config_path(parser: Parser, words: Sequence[str]) -> str | None:
    """Look for `--config FILE` among the arguments of a command that has it."""
    if "--config" not in parser._option_string_actions:
        return None
    path = None
    for position, word in enumerate(words):
        if word == "--":
            break
        if word == "--config" and position + 1 < len(words):
            path = words[position + 1]
        elif word.startswith("--config="):
            path = word.removeprefix("--config=")
    return path


def _as_words(path: str, key: str, content: Any, action: argparse.Action) -> list[str]:
    option = action.option_strings[-1]
    if action.nargs == 0:
        if not isinstance(content, bool):
            raise ValueError(f"{path}: {key} must be true or false; got {content!r}.")
        return [option] if content else []
    if isinstance(content, list) and all(isinstance(item, str | int | float) for item in content):
        import csv
        import io

        row = io.StringIO()
        csv.writer(row, lineterminator="").writerow(content)
        content = row.getvalue()
    if isinstance(content, bool) or not isinstance(content, str | int | float):
        raise ValueError(f"{path}: {key} must be text, a number or a list of them; got {content!r}.")
    # With a long option and "=", what begins with a dash is still a value.
    return [f"{option}={content}"] if option.startswith("--") else [option, str(content)]


def names(text: str) -> list[str]:
    """Cut a list of column names at its commas; a name with a comma in it stands in double quotes."""
    import csv

    found = next(csv.reader([text], skipinitialspace=True), [])
    cut = [name for name in found if name]
    if not cut:
        raise argparse.ArgumentTypeError("expected column names such as age,height; got none")
    return cut
