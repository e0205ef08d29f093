"""`python -m pivotal` is the `pivotal` command."""

from __future__ import annotations

import sys

from pivotal.cli import main

if __name__ == "__main__":
    sys.exit(main())
