"""Plant the faults of mutants.toml one at a time and see whether the tests catch them.

    python tests/run_mutants.py [words of one fault]

Works on a copy of the package; exits with 1 if a fault survives or can no longer be planted.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = [TESTS.parent / "src" / "graphlowrank", TESTS.parent / "benchmarks" / "graphlowrank_benchmarks"]


def caught(mutant, folder):
    """Whether a test fails with the fault in place."""
    for source in SOURCES:
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / mutant.get("package", "graphlowrank") / mutant["file"]
    text = path.read_text()
    if text.count(mutant["old"]) != 1:
        raise SystemExit(f"cannot plant {mutant['what']!r}: its line is not in {mutant['file']} exactly once")
    path.write_text(text.replace(mutant["old"], mutant["new"]))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(TESTS / mutant["tests"])]
    command += ["-o", f"pythonpath={folder}"]  # before the path of pyproject.toml
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(command, env=environment, capture_output=True, check=False, cwd=TESTS.parent).returncode == 1


def main():
    wanted = " ".join(sys.argv[1:])
    survivors = []
    for mutant in tomllib.loads((TESTS / "mutants.toml").read_text())["mutant"]:
        if wanted not in mutant["what"]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = caught(mutant, Path(folder))
        print(f"{'caught  ' if found else 'SURVIVED'}  {mutant['what']}", flush=True)
        survivors += [] if found else [mutant["what"]]
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
