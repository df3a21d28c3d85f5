"""Runs many damaged inputs in a process of its own, so that a crash or an endless loop is seen and counted."""

import argparse
import multiprocessing
import tempfile
import time
from collections import Counter
from pathlib import Path

OUTCOMES = ("read", "refused", "killed", "crashed", "hung", "wrong")
MEMORY = 8 * 2**30


def work(connection, outcome_of, folder):
    """Answer jobs (kind, seed, number) until None comes."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        job = connection.recv()
        if job is None:
            return
        connection.send(outcome_of(*job, folder))


class Worker:
    """A process that is started again when it dies."""

    def __init__(self, outcome_of, folder):
        self.outcome_of, self.folder = outcome_of, folder
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, self.outcome_of, self.folder), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self):
        self.process.kill()
        self.process.join()
        self.connection.close()

    def outcome(self, job, seconds):
        self.connection.send(job)
        try:
            if self.connection.poll(seconds):
                return self.connection.recv()
            found = "hung", f"more than {seconds} s"
        except (EOFError, ConnectionError):
            self.process.join()
            found = "crashed", f"exit code {self.process.exitcode}"
        self.stop()
        self.start()
        return found


def report(counts):
    width = max(map(len, counts))
    print(f"{'kind':{width}} inputs " + " ".join(f"{name:>8}" for name in OUTCOMES))
    total = sum(counts.values(), Counter())
    for kind, found in [*counts.items(), ("all", total)]:
        print(f"{kind:{width}} {sum(found.values()):6} " + " ".join(f"{found[name]:8}" for name in OUTCOMES))
    return total


def campaign(description, kinds, outcome_of):
    """Run what the command line asks for, print a table, and return the exit code.

    ``outcome_of(kind, seed, number, folder)`` returns one of OUTCOMES and a text; it must be a function of a module.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(kinds))
    parser.add_argument("--only", type=int)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    numbers = range(-(-options.count // len(options.kinds))) if options.only is None else [options.only]
    start = time.time()
    counts = {kind: Counter() for kind in options.kinds}
    with tempfile.TemporaryDirectory() as name:
        worker = Worker(outcome_of, Path(name))
        for kind in options.kinds:
            for number in numbers:
                found, text = worker.outcome((kind, options.seed, number), options.seconds)
                counts[kind][found] += 1
                if found not in {"read", "refused", "killed"} or options.only is not None:
                    print(f"{kind} {number}: {found}: {text}", flush=True)
        worker.connection.send(None)
        worker.process.join()
    total = report(counts)
    print(f"{time.time() - start:.0f} s")
    return int(total["crashed"] + total["hung"] + total["wrong"] > 0)
