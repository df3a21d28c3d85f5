"""Write the tables of benchmarks/results/*.json into benchmarks/RESULTS.md, below its marker line.

python benchmarks/report.py
"""

from pathlib import Path

from graphlowrank_benchmarks.jobs import JOBS
from graphlowrank_benchmarks.machine import machine_line
from graphlowrank_benchmarks.store import read_job
from graphlowrank_benchmarks.tables import Table

HERE = Path(__file__).parent
MARK = "<!-- tables below are written by benchmarks/report.py -->"


def section(document):
    """Command, machine and tables of one job."""
    tables = [Table(t["title"], tuple(t["columns"]), t["rows"], t["notes"]).markdown() for t in document["tables"]]
    head = [f"## {document['job']}", f"`{document['command']}`", machine_line(document["machine"])]
    return "\n\n".join([*head, *tables])


def main():
    page = HERE / "RESULTS.md"
    preface = page.read_text(encoding="utf-8").partition(MARK)[0]
    paths = [HERE / "results" / f"{name}.json" for name in JOBS]
    sections = [section(read_job(path)[0]) for path in paths if path.exists()]
    page.write_text("\n\n".join([preface + MARK, *sections]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
