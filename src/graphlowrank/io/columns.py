"""What each column of a text or .parquet file is read as, and why.

Columns of plain numbers are features. Every other column gets a role that is reported, or is refused with the options
that settle it; nothing is left out in silence.
"""

import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .._files import InvalidFileError, invalid_file
from .._typing import Array

MISSING = ("", "NA", "NaN", "nan")
MIN_COUNTED = 10  # rows: fewer may be consecutive numbers by chance
MIN_DIFFERENT = 100  # rows: fewer may be different whole numbers by chance
MAX_CLASSES = 200
N_JUDGED = 10_000  # cells that decide about the kind of a column of text
N_SHOWN = 4  # columns, or cells, in a message
_LABEL = re.compile(r"(true|ground)?[ _.-]?(target|labels?|class(es)?|y|species|category|cluster|diagnosis|truth)")
_INDEX = re.compile(r"(.*[ _.-])?ids?|index|idx|unnamed: \d.*|rows?([ _.-]?(ids?|names?|numbers?))?")
_CURRENCY = re.compile(r"^([+-]?)\s*[$€£¥₹]\s*|\s*[$€£¥₹]$")
_WITH_UNIT = re.compile(r"([A-Z]{3} )?[^\w.]*\d+\.\d+\s*(±\s*[\d.]+)?[^\d.]*")  # 14.2 mm, (14.2), USD 14.2, 14.2 ± 0.1
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,'’ \u00a0\u202f])\d{3}(\1\d{3})*(\.\d*)?")
# What each option does with a column, in the order in which messages offer them.
EFFECTS = {
    "numeric": "to use it as a feature ($, % and 1,000 are parsed)",
    "label": "to compare clusters with it",
    "index": "to use it as sample names",
    "ignore": "to leave it out",
}
Role = tuple[str, str, str]  # column; numeric, sample names, feature names, label or ignored; reason
Judgment = tuple[str, str, tuple[str, ...]]  # role; reason, or what is unclear; options that would settle it


@dataclass(frozen=True)
class Choice:
    """What was asked for: columns by name, or by number from 1 if the file has no header."""

    index: bool | None = None
    ignore: tuple[str, ...] = ()
    label: str | None = None
    numeric: tuple[str, ...] = ()
    transpose: bool = False  # columns are samples: none of them is a label or counts the rows


@dataclass(frozen=True)
class ColumnRoles:
    """Roles of all columns of a file: how many are numeric, and those of which there is more to report."""

    n_numeric: int
    reported: tuple[Role, ...] = ()

    def lines(self) -> list[str]:
        """Return the roles in words: one line if all columns are plain numbers, else one more for each reason."""
        groups: dict[str, dict[str, list[str]]] = {"numeric": {}}
        for column, role, reason in self.reported:
            groups.setdefault(role, {}).setdefault(reason, []).append(column)
        counts = {role: sum(map(len, found.values())) for role, found in groups.items()} | {"numeric": self.n_numeric}
        lines = [f"  {role}: {_listed(names)} ({why})" for role in groups for why, names in groups[role].items()]
        return ["columns: " + ", ".join(f"{count} {role}" for role, count in counts.items()), *lines]

    def as_dict(self) -> dict[str, object]:
        """Return JSON values."""
        reported = [dict(zip(("column", "role", "reason"), each, strict=True)) for each in self.reported]
        return {"numeric": self.n_numeric, "reported": reported}


class AmbiguousColumnsError(InvalidFileError):
    """Columns whose role cannot be decided; ``remedy`` offers the options of a command that settle it."""

    def __init__(self, cause: str, options: dict[str, list[str]]) -> None:
        super().__init__(f"{cause}; settle it by {' or '.join(options)}.")
        words = {name: " ".join(f"--{name} {shlex.quote(each)}" for each in found) for name, found in options.items()}
        words |= {"index": "--index"} if "index" in options else {}
        self.remedy = "give " + ", or ".join(f"{word} {EFFECTS[name]}" for name, word in words.items())


def _listed(found: Sequence[str]) -> str:
    more = len(found) - N_SHOWN
    return ", ".join(found[:N_SHOWN]) + (f" and {more} others" if more > 0 else "")


# --- cells ---


def is_number(cell: str) -> bool:
    """Whether a cell is a plain decimal number; Python would also accept 1_000 and digits of any script."""
    if "_" in cell or not cell.isascii():
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor missing."""
    return not is_number(cell) and cell.strip() not in MISSING


def has_decimal_comma(cell: str) -> bool:
    """Whether a cell is a number with a comma as its decimal point."""
    return re.fullmatch(r"\s*[+-]?\d+,\d+\s*", cell) is not None


def parse_number(cell: str) -> float | None:
    """Return a number written with a currency sign, a percent sign or thousands separators; NaN if it is missing."""
    text, divisor = cell.strip(), 1
    if text in MISSING:
        return math.nan
    if text.endswith("%"):
        text, divisor = text[:-1].rstrip(), 100
    text = _CURRENCY.sub(r"\1", text, count=1)
    if found := _THOUSANDS.fullmatch(text):
        text = text.replace(found[1], "")
    return float(text) / divisor if is_number(text) else None


@dataclass
class Texts:
    """Cells of a column that are no plain numbers: how many of each kind, and the first few of them."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, cells: Iterable[str], kind: str = "") -> "Texts":
        """Count the cells of text in a column; ``kind`` is what messages add to their rows."""
        found = cls()
        for row, cell in enumerate(cells, start=1):
            if is_text(cell):
                found.add(cell, f"row {row}{kind}")
        return found

    def add(self, cell: str, place: str) -> None:
        """Count a cell of text."""
        is_marked, is_comma = parse_number(cell) is not None, has_decimal_comma(cell)
        self.counts["marked" if is_marked else "comma" if is_comma else "text"] += 1
        if len(self.examples) < N_SHOWN:
            self.examples.append(f"{cell if len(cell) <= 40 else cell[:40] + '...'!r} ({place})")

    def judged(self, n_rows: int, *, parsed: bool = False) -> Judgment:
        """Judge a column that has these cells where numbers are expected."""
        total, options = self.counts.total(), ("index", "ignore")
        if self.counts["marked"] == total and not parsed:
            what = "numbers with currency or percent signs or separators" if total else "numbers stored as text"
            options = ("numeric", *options)  # type: ignore[assignment]
        elif self.counts["comma"] and not self.counts["text"]:
            what = "decimal commas, which are to be written as points"
        elif 2 * total < n_rows or parsed:
            what = f"{total} {'cell' if total == 1 else 'cells'} to be corrected or emptied, not a number"
        else:
            what, options = "text where numbers are expected", ("label", *options)  # type: ignore[assignment]
        return "numeric", ", ".join([what, *self.examples]), options


# --- before reading ---


@dataclass(frozen=True)
class Plan:
    """How to read the columns of a file, by number from 0."""

    names: tuple[str, ...] | None
    n_columns: int
    choice: Choice
    index: int | None  # holds sample names, or may hold them
    index_reason: str | None  # None if the cells have to decide
    label: int | None
    ignored: frozenset[int]
    numeric: frozenset[int]  # features for certain, whatever they look like

    @property
    def strings(self) -> list[int]:
        """Columns of which the cells are kept as strings."""
        return sorted(number for number in (self.index, self.label) if number is not None)

    @property
    def features(self) -> list[int]:
        """Columns of numbers."""
        others = self.ignored.union(self.strings)
        return [number for number in range(self.n_columns) if number not in others]

    def name(self, number: int) -> str:
        """Name of a column, as options take it: its number from 1 if the file has no header."""
        return str(number + 1) if self.names is None else self.names[number].strip()

    def looks_like(self, number: int, pattern: re.Pattern[str]) -> bool:
        """Whether the name of a column is one of those that ``pattern`` knows."""
        return self.names is not None and pattern.fullmatch(self.name(number).lower()) is not None


def plan_columns(
    names: Sequence[str] | None, n_columns: int, texts: Collection[int], choice: Choice, path: Path, *,
    index: int | None = None, index_reason: str | None = None,
) -> Plan:  # fmt: skip
    """Decide how to read columns, of which ``texts`` are known to hold text.

    ``index`` is the column that holds sample names for ``index_reason``, or may hold them if that is None.
    """
    known = tuple(names) if names is not None else None
    plan = Plan(known, n_columns, choice, index, index_reason, None, frozenset(), frozenset())
    ignored, numeric, labels = (
        frozenset(number for name in given for number in _find(name, plan, path))
        for given in (choice.ignore, choice.numeric, [] if choice.label is None else [choice.label])
    )
    if len(labels) > 1 or (labels and choice.transpose):
        why = "columns are samples" if choice.transpose else f"{len(labels)} columns have this name"
        raise invalid_file(path, f"has no label {choice.label!r}: {why}.")
    asked = [*ignored, *numeric, *labels, *([index] if choice.index else [])]
    if len(asked) > len(set(asked)):
        raise invalid_file(path, "has a column that was asked for in two roles; choose one of them.")
    if not labels and not choice.transpose:  # a single column of text that is named so
        taken = {*asked, *([index] if index_reason else [])}
        like = [number for number in texts if plan.looks_like(number, _LABEL) and number not in taken]
        labels = frozenset(like if len(like) == 1 else ())
    index = None if index in {*ignored, *numeric, *labels} else index
    return replace(plan, index=index, label=next(iter(labels), None), ignored=ignored, numeric=numeric)


def _find(wanted: str, plan: Plan, path: Path) -> list[int]:
    known = [plan.name(number) for number in range(plan.n_columns)]
    if found := [number for number, name in enumerate(known) if name == wanted.strip()]:
        return found
    header = "no header, and " if plan.names is None else ""
    raise invalid_file(path, f"has {header}the columns {_listed(known)}; there is no {wanted!r}.")


# --- after reading ---


def decide_roles(
    plan: Plan, path: Path, n_rows: int, *, strings: Mapping[int, Sequence[str]], strays: Mapping[int, Texts],
    values: Array | None = None, notes: Mapping[int, str] | None = None,
) -> ColumnRoles:  # fmt: skip
    """Return the role of every column, or raise :class:`AmbiguousColumnsError`.

    ``strings`` are the cells of ``plan.strings``, ``strays`` the cells of text among the features, ``values`` (n_rows,
    n_features) their numbers, and ``notes`` what is to be reported about how these were read.
    """
    judged: dict[int, Judgment] = {number: ("numeric", note, ()) for number, note in (notes or {}).items()}
    judged |= {} if values is None or plan.choice.transpose else _suspects(plan, values)
    judged |= dict.fromkeys(plan.numeric, ("numeric", "as asked for", ()))
    judged |= dict.fromkeys(plan.ignored, ("ignored", "as asked for", ()))
    judged |= {number: found.judged(n_rows, parsed=number in plan.numeric) for number, found in strays.items()}
    for number, cells in strings.items():
        judged[number] = _judge_label(plan, cells) if number == plan.label else _judge_names(plan, number, cells)
    if any(options for _, _, options in judged.values()):
        raise _ambiguous(plan, {number: judged[number] for number in sorted(judged) if judged[number][2]}, path)
    names = {number: plan.name(number) if plan.names else "" for number in sorted(judged)}
    roles = [(name or f"column {number + 1}", *judged[number][:2]) for number, name in names.items()]
    return ColumnRoles(len(plan.features), tuple(roles))


def _ambiguous(plan: Plan, problems: dict[int, Judgment], path: Path) -> AmbiguousColumnsError:
    names = {number: f" ({plan.name(number)[:40]!r})" if plan.names else "" for number in problems}
    shown = [f"column {number + 1}{names[number]} has {what}" for number, (_, what, _) in problems.items()]
    more = [f"so have {len(shown) - N_SHOWN} others"] if len(shown) > N_SHOWN else []
    cause = invalid_file(path, f"cannot be read as it is: {'; '.join(shown[:N_SHOWN] + more)}")
    columns = {
        name: [plan.name(number) for number, (_, _, options) in problems.items() if name in options] for name in EFFECTS
    }
    if 0 not in problems or "index" not in problems[0][2] or plan.choice.index is not None:
        del columns["index"]  # which is always the first column
    if len(columns["label"]) > 1 or plan.choice.label is not None or plan.choice.transpose:
        del columns["label"]
    return AmbiguousColumnsError(str(cause), {name: found[:N_SHOWN] for name, found in columns.items() if found})


def _judge_label(plan: Plan, cells: Sequence[str]) -> Judgment:
    n_classes = len({cell.strip() for cell in cells} - set(MISSING))
    if plan.choice.label is None and not _are_classes(n_classes, len(cells)):
        return "label", f"the name of a label and {n_classes} different texts", ("label", "index", "ignore")
    return "label", f"{n_classes} different values, not a feature", ()


def _judge_names(plan: Plan, number: int, cells: Sequence[str]) -> Judgment:
    """Sample names are texts that are mostly different."""
    role = "feature names" if plan.choice.transpose else "sample names"
    n_different = len(set(cells))
    note = f", {len(cells) - n_different} of them repeated" if n_different < len(cells) else ""
    if plan.index_reason is not None or plan.looks_like(number, _INDEX):
        return role, f"{plan.index_reason or 'text'}{note}", ()
    found = Texts.of(first := cells[:N_JUDGED])
    n_numbers = sum(map(is_number, first)) + found.counts["marked"] + found.counts["comma"]
    if n_numbers >= found.counts["text"]:
        return found.judged(len(first))
    if 2 * sum(_WITH_UNIT.fullmatch(cell.strip()) is not None for cell in first) > len(first):
        return role, ", ".join(["decimal numbers with units or signs", *found.examples]), ("index", "ignore")
    if 2 * n_different <= len(cells):
        what = f"only {n_different} different texts in {len(cells)} rows, {found.examples[0]}"
        return role, what, ("label", "index", "ignore")
    return role, f"text{note}", ()


def _suspects(plan: Plan, values: Array) -> dict[int, Judgment]:
    """Judge numeric columns that may be no measurements: refused if the name says so, too, else only reported."""
    n_rows, found = len(values), dict[int, Judgment]()
    numbering = _numbering(values)
    are_coordinates = {"x", "y"} <= {name.strip().lower() for name in plan.names or ()}
    for place, number in enumerate(plan.features):
        is_index, is_label = (plan.looks_like(number, pattern) for pattern in (_INDEX, _LABEL))
        if is_index or (is_label and not (are_coordinates and plan.name(number) in "yY")):
            column = values[:, place][~np.isnan(values[:, place])]
            n_different = len(np.unique(column)) if np.all(column == np.floor(column)) else 0
            what = f"the name of {'an index' if is_index else 'a label'}"
            if is_index and n_different == n_rows > 1:
                found[number] = "numeric", f"{what} and whole numbers, all different", ("numeric", "index", "ignore")
            elif is_label and _are_classes(n_different, n_rows):
                found[number] = "numeric", f"{what} and {n_different} different whole numbers", tuple(EFFECTS)
            else:
                found[number] = "numeric", f"although it has {what}", ()
        elif place in numbering:
            found[number] = "numeric", f"{numbering[place]}; is it a measurement?", ()
    return found


def _numbering(values: Array) -> dict[int, str]:
    """Return the columns, less than half of them, that may number the rows: whole numbers that are all different."""
    n_rows, found = len(values), {}
    first = np.sort(values[:MIN_DIFFERENT], axis=0)  # which rules out most columns
    for place in np.flatnonzero(_are_different(first)).tolist() if n_rows >= MIN_COUNTED else []:
        column = np.sort(values[:, place])
        consecutive = column[-1] - column[0] == n_rows - 1
        if _are_different(column) and (consecutive or n_rows >= MIN_DIFFERENT):
            counts = consecutive and np.array_equal(column, values[:, place])
            found[place] = "counts the rows" if counts else "whole numbers, all different"
    return found if 2 * len(found) < values.shape[1] else {}


def _are_different(ordered: Array) -> Array:
    """Whether the numbers of each column, which are in order, are whole and all different."""
    return np.all(ordered == np.floor(ordered), axis=0) & np.all(ordered[1:] > ordered[:-1], axis=0)


def _are_classes(n_different: int, n_rows: int) -> bool:
    return 1 < n_different <= max(2, min(n_rows // 3, MAX_CLASSES))
