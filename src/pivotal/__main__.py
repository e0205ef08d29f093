"""`python -m pivotal` is the `pivotal` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command that the process was started with; Ctrl-C is heeded while it is still being imported."""
    try:
        from pivotal.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("pivotal: interrupted\n")
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
