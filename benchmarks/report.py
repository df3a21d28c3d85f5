"""Put the tables of benchmarks/results/*.json into benchmarks/RESULTS.md, below the line that says so.

python benchmarks/report.py
"""

import json
from pathlib import Path

from graphlowrank.bench import JOBS
from graphlowrank.bench.machine import machine_line
from graphlowrank.bench.tables import Table

HERE = Path(__file__).parent
MARK = "<!-- tables below are written by benchmarks/report.py -->"


def section(document):
    """Machine, command and tables of one job."""
    tables = [Table(t["title"], tuple(t["columns"]), t["rows"], t["notes"]).markdown() for t in document["tables"]]
    head = [f"## {document['job']}", f"`{document['command']}`", machine_line(document["machine"])]
    return "\n\n".join([*head, *tables])


def main():
    page = HERE / "RESULTS.md"
    preface = page.read_text(encoding="utf-8").partition(MARK)[0]
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (HERE / "results").glob("*.json")}
    sections = [section(found[name]) for name in JOBS if name in found]
    page.write_text("\n\n".join([preface + MARK, *sections]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
