"""A campaign of random cases against the whole package, in child processes, for as long as you like.

    python tests/fuzz/run.py [--minutes 10] [--seed 0] [--only estimators,graphs] [--state FOLDER]
    python tests/fuzz/run.py --case estimators:12345

A case is a target and a number; the same case is the same input again. Targets:

    estimators   random data, options and graphs; invariants of what is fitted
    graphs       random edge weights and points in the functions of graphs, reduction and sampling
    files        damaged tables of every format
    models       forged model files
    signals      SIGINT, SIGTERM or SIGKILL to a running command; what is left of its outputs

Each target gets the same share of the time. Outcomes are appended to cases.jsonl in the state folder: a second call
with the same folder runs the failures again, since they may be fixed, and continues with the next numbers. --seed is
the first number. The table at the end is about all cases in the folder. The exit code is 1 if there are failures:
crashed, hung, opaque (an error in words of numpy or Python), wrong (an invariant does not hold), warned (a warning of
numpy).
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("fuzz", "io", "estimators", ".")]

from fuzz_driver import Worker  # noqa: E402
from fuzz_outcomes import FAILURES, OUTCOMES  # noqa: E402


def estimators(seed, folder):
    from fuzz_estimators import fuzz

    return fuzz(seed, folder)


def graphs(seed, folder):
    from fuzz_graphs import fuzz

    return fuzz(seed, folder)


def files(seed, folder):
    from fuzz_io import FORMATS, fuzz

    kinds = sorted(FORMATS)
    kind = kinds[seed % len(kinds)]
    outcome, text = fuzz(kind, "campaign", seed, folder)
    return outcome, f"{kind}: {text}"


def models(seed, folder):
    cache = TESTS / "estimators" / "__pycache__" / "checked"
    os.environ |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}  # before numba is loaded
    from fuzz_models import MODELS, fuzz

    kinds = sorted(MODELS)
    kind = kinds[seed % len(kinds)]
    outcome, text = fuzz(kind, "campaign", seed, folder)
    return outcome, f"{kind}: {text}"


def signals(seed, folder):
    from fuzz_signals import fuzz

    return fuzz(seed, folder)


TARGETS = {"estimators": (estimators, 60), "graphs": (graphs, 60), "files": (files, 60), "models": (models, 60),
           "signals": (signals, 240)}  # and the seconds after which a case counts as hung  # fmt: skip


class State:
    """Outcomes by case, in a file to which each is appended in one write."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.outcomes = folder / "cases.jsonl", {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            try:
                record = json.loads(line)
                self.outcomes[record["case"]] = record["outcome"]
            except ValueError:
                continue  # the last line of a campaign that was killed

    def add(self, case, outcome, text, seconds):
        self.outcomes[case] = outcome
        record = {"case": case, "outcome": outcome, "seconds": round(seconds, 2)}
        if outcome in FAILURES:
            record["text"] = text
        start = "" if not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n") else "\n"
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{start}{json.dumps(record)}\n".encode())

    def next(self, target, first):
        numbers = (int(case.split(":")[1]) for case in self.outcomes if case.startswith(f"{target}:"))
        return max((number + 1 for number in numbers if number >= first), default=first)

    def failed(self, targets):
        return [case for case, found in self.outcomes.items() if found in FAILURES and case.split(":")[0] in targets]


def table(outcomes):
    """Counts of outcomes by target."""
    counts = {}
    for case, outcome in outcomes.items():
        counts.setdefault(case.split(":")[0], Counter())[outcome] += 1
    rows = [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]
    lines = [f"{'target':12} {'cases':>8} " + " ".join(f"{name:>8}" for name in OUTCOMES)]
    for name, found in rows:
        lines.append(f"{name:12} {sum(found.values()):8} " + " ".join(f"{found[one]:8}" for one in OUTCOMES))
    return "\n".join(lines)


def campaign(workers, state, first, minutes):
    """Run the failures again, then new cases; the target that has had the least time is next."""
    end, spent = time.monotonic() + 60 * minutes, dict.fromkeys(workers, 0.0)
    again, numbers = state.failed(workers), {target: state.next(target, first) for target in workers}
    while time.monotonic() < end:
        if again:
            target, number = again.pop(0).split(":")
        else:
            target = min(spent, key=spent.get)
            number, numbers[target] = numbers[target], numbers[target] + 1
        began = time.monotonic()
        outcome, text = workers[target].outcome(int(number))
        seconds = time.monotonic() - began
        spent[target] += seconds
        state.add(f"{target}:{number}", outcome, text, seconds)
        if outcome in FAILURES:
            print(f"{target}:{number}: {outcome}: {text.strip()}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="first number of the cases")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(TARGETS), help="targets")
    parser.add_argument("--state", type=Path, default=Path("fuzz-state"), help="folder of the outcomes")
    parser.add_argument("--case", help="run one case, TARGET:NUMBER, and show all of it")
    options = parser.parse_args()
    if unknown := set(options.only) - set(TARGETS):
        parser.error(f"unknown targets: {', '.join(sorted(unknown))}; known are {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory(prefix="graphlowrank-fuzz-") as name:
        workers = {}
        for target, (fuzz, seconds) in TARGETS.items():
            folder = Path(name) / target
            folder.mkdir()
            workers[target] = Worker(fuzz, folder, seconds)
        try:
            if options.case:
                target, number = options.case.split(":")
                outcome, text = workers[target].outcome(int(number))
                print(f"{options.case}: {outcome}: {text}")
                return int(outcome in FAILURES)
            state = State(options.state)
            try:
                campaign({target: workers[target] for target in options.only}, state, options.seed, options.minutes)
            except KeyboardInterrupt:
                print("interrupted; the same command continues")
        finally:
            for worker in workers.values():
                worker.stop()
    print(table(state.outcomes))
    failed = state.failed(TARGETS)
    print(f"{len(failed)} failures, with their texts in {state.path}" if failed else "no failures")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
