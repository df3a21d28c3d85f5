"""The process of one cell: ``python -m graphlowrank.bench.worker REQUEST`` prints one line of JSON.

Nothing heavy is imported before the system asks for it, so that each pays for its own imports and no others.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from . import JOBS
from .jobs import PREPARE, Job, Options
from .record import Record


def answer(asked: Mapping[str, Any], jobs: Mapping[str, Job] = JOBS) -> dict[str, Any]:
    """Run the cell that was asked for; return its record, or why there is none."""
    job, folder, options = jobs[asked["job"]], Path(asked["folder"]), Options(**asked["options"])
    record = Record()
    try:
        if asked["system"] == PREPARE:
            job.prepare(folder, options, record)
        else:
            job.run(asked["system"], folder, options, record)
    except ImportError as error:
        traceback.print_exc()
        return {"failed": f"needs {error.name or error}", "missing": True}
    except FileNotFoundError as error:  # a data set
        return {"failed": str(error), "missing": True}
    except Exception as error:  # whatever it is, it belongs in the table
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"}
    record.note_peak()
    return record.as_dict()


def main() -> None:
    """Answer the request of the command line."""
    warnings.simplefilter("ignore")  # whether a system converged is in the table where it is known
    with redirect_stdout(sys.stderr):  # some libraries print
        found = answer(json.loads(sys.argv[1]))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
