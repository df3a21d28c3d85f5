"""Plant the faults of mutants.toml one at a time, and check that the tests catch them.

    python tests/run_mutants.py [--check] [--jobs N] [words of one fault]

A fault is planted in a copy of the packages, one copy for each of the N jobs. Exits with 1 if a fault survives, or if
it cannot be planted or its tests cannot be run (``ERROR``). ``--check`` only checks that every fault can be planted.
"""

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
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
    """Whether a test fails with the fault in place; `folder` holds a copy of the packages."""
    source, tests = source_of(mutant), tests_of(mutant)
    package = next(package for package in PACKAGES if source.is_relative_to(package))
    planted = folder / source.relative_to(package.parent)
    if "kernels" in planted.parts:
        forget_compiled(folder)  # numba does not notice that a function called by a cached one has changed
    planted.write_text(source.read_text().replace(mutant["old"], mutant["new"]))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-o", f"pythonpath={folder}"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    try:
        ended = subprocess.run(
            [*command, str(tests)], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
        )
    finally:
        shutil.copy(source, planted)
        if "kernels" in planted.parts:
            forget_compiled(folder)
    if ended.returncode not in (TESTS_PASSED, TESTS_FAILED):
        raise PlantError(f"pytest ended with {ended.returncode}: {ended.stdout[-500:]}{ended.stderr[-500:]}")
    return ended.returncode == TESTS_FAILED


def forget_compiled(folder):
    for path in folder.rglob("*.nb?"):
        path.unlink()


def copy_packages(folder):
    for package in PACKAGES:
        if package.is_dir():
            shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))


def check_plantable(mutant):
    try:
        source_of(mutant)
        tests_of(mutant)
    except PlantError as error:
        return f"ERROR ({error})"
    return "plantable"


def plant_all(mutants, jobs):
    """Yield each outcome in the order of the faults; a copy of the packages serves one fault at a time."""
    with tempfile.TemporaryDirectory() as root:
        copies = queue.SimpleQueue()
        for job in range(jobs):
            copy_packages(Path(root, str(job)))
            copies.put(Path(root, str(job)))

        def plant(mutant):
            folder = copies.get()
            try:
                return "caught" if caught(mutant, folder) else "SURVIVED"
            except PlantError as error:
                return f"ERROR ({error})"
            finally:
                copies.put(folder)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(plant, mutants)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    mutants = tomllib.loads((TESTS / "mutants.toml").read_text())["mutant"]
    chosen = [mutant for mutant in mutants if " ".join(given.words) in mutant["what"]]
    failures = 0 if chosen else 1
    outcomes = map(check_plantable, chosen) if given.check else plant_all(chosen, given.jobs)
    for mutant, outcome in zip(chosen, outcomes, strict=True):
        good = outcome in ("caught", "plantable")
        failures += not good
        if not (given.check and good):
            print(f"{outcome:9} {mutant['what']}", flush=True)
    print(f"{len(chosen) - failures if chosen else 0} of {len(chosen)} {'plantable' if given.check else 'caught'}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
