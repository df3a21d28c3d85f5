"""Plant the faults of mutants.toml one at a time, and check that the tests catch them.

    python tests/run_mutants.py [--check] [words of one fault]

The fault is planted in a copy of the packages. Exits with 1 if a fault survives, or if it cannot be planted or its
tests cannot be run (``ERROR``). ``--check`` only checks that every fault can be planted.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGES = ROOT / "src" / "graphlowrank", ROOT / "benchmarks" / "graphlowrank_benchmarks"
TESTS_PASSED, TESTS_FAILED = 0, 1  # exit codes of pytest; others: interrupted, no tests, an error in collection


class PlantError(Exception):
    """The fault, or its tests, are not where mutants.toml expects them."""


def source_of(mutant):
    """File of the fault, relative to the folder of its package; `file` is relative to graphlowrank or to the root."""
    name = mutant["file"]
    path = ROOT / name if name.startswith("benchmarks/") else PACKAGES[0] / name
    if not path.is_file():
        raise PlantError(f"there is no {name}")
    count = path.read_text().count(mutant["old"])
    if count != 1:
        raise PlantError(f"its line is in {name} {count} times instead of once")
    return path


def tests_of(mutant):
    """Test module of that name, in any folder."""
    found = [path for path in TESTS.rglob(mutant["tests"]) if path.is_file()]
    if len(found) != 1:
        raise PlantError(f"{len(found)} test modules are called {mutant['tests']}")
    return found[0]


def caught(mutant, folder):
    """Whether a test fails with the fault in place."""
    source, tests = source_of(mutant), tests_of(mutant)
    for package in PACKAGES:
        if package.is_dir():
            shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    package = next(package for package in PACKAGES if source.is_relative_to(package))
    planted = folder / source.relative_to(package.parent)
    planted.write_text(source.read_text().replace(mutant["old"], mutant["new"]))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", f"pythonpath={folder}"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    ended = subprocess.run(
        [*command, str(tests)], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    if ended.returncode not in (TESTS_PASSED, TESTS_FAILED):
        raise PlantError(f"pytest ended with {ended.returncode}: {ended.stdout[-500:]}{ended.stderr[-500:]}")
    return ended.returncode == TESTS_FAILED


def outcome_of(mutant, *, check):
    try:
        if check:
            source_of(mutant)
            tests_of(mutant)
            return "plantable"
        with tempfile.TemporaryDirectory() as folder:
            return "caught" if caught(mutant, Path(folder)) else "SURVIVED"
    except PlantError as error:
        return f"ERROR ({error})"


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    wanted = " ".join(argument for argument in arguments if argument != "--check")
    mutants = tomllib.loads((TESTS / "mutants.toml").read_text())["mutant"]
    chosen = [mutant for mutant in mutants if wanted in mutant["what"]]
    failures = 0 if chosen else 1
    for mutant in chosen:
        outcome = outcome_of(mutant, check=check)
        good = outcome in ("caught", "plantable")
        failures += not good
        if not (check and good):
            print(f"{outcome:9} {mutant['what']}", flush=True)
    print(f"{len(chosen) - failures if chosen else 0} of {len(chosen)} {'plantable' if check else 'caught'}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
