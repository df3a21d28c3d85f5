"""The fresh process of one cell: ``python -m graphlowrank_benchmarks.worker CONTENT`` prints its outcome as JSON.

Nothing heavy is imported before a system needs it, so that each pays for its own imports only.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout

from .runner import measure


def main() -> None:
    """Measure the cell given on the command line."""
    with redirect_stdout(sys.stderr):  # some libraries print
        outcome = measure(json.loads(sys.argv[1]))
    sys.stdout.write(json.dumps(outcome.as_dict()) + "\n")


if __name__ == "__main__":
    main()
