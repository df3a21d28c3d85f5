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
MAX_CLASSES = 200
N_JUDGED = 10_000  # cells that decide about the kind of a column of text
N_SHOWN = 4  # columns, or cells, in a message
_LABEL = re.compile(r"(true|ground)?[ _.-]?(target|labels?|class(es)?|y|species|category|cluster|diagnosis|truth)")
_INDEX = re.compile(r"(.*[ _.-])?ids?|index|idx|unnamed: \d.*|rows?([ _.-]?(ids?|names?|numbers?))?")
_CURRENCY = re.compile(r"^([+-]?)\s*[$€£¥₹]\s*|\s*[$€£¥₹]$")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,'’ \u00a0\u202f])\d{3}(\1\d{3})*(\.\d*)?")
Role = tuple[str, str, str]  # column; numeric, sample names, feature names, label or ignored; reason
Judgment = tuple[str, str, tuple[str, ...]]  # role; reason, or what is unclear; options that would settle it
# What each option does with a column, in the order in which messages offer them.
EFFECTS = {
    "numeric": "to use it as a feature ($, % and 1,000 are parsed)",
    "label": "to compare clusters with it",
    "index": "to use it as sample names",
    "ignore": "to leave it out",
}


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
        groups: dict[tuple[str, str], list[str]] = {}
        for column, *role_and_reason in self.reported:
            groups.setdefault(tuple(role_and_reason), []).append(column)  # type: ignore[arg-type]
        counts = Counter(role for _, role, _ in self.reported) | Counter(numeric=self.n_numeric)
        total = ", ".join(f"{counts[role]} {role}" for role in dict.fromkeys(["numeric", *counts]))
        return [
            f"columns: {total}",
            *(f"  {role}: {_listed(found)} ({why})" for (role, why), found in groups.items()),
        ]

    def as_dict(self) -> dict[str, object]:
        """Return JSON values."""
        reported = [dict(zip(("column", "role", "reason"), each, strict=True)) for each in self.reported]
        return {"numeric": self.n_numeric, "reported": reported}


class AmbiguousColumnsError(InvalidFileError):
    """Columns whose role cannot be decided; ``remedy`` offers the options of a command that settle it."""

    def __init__(self, cause: str, options: dict[str, list[str]]) -> None:
        super().__init__(f"{cause} Settle it by the option {', '.join(options)}.")
        words = {name: " ".join(f"--{name} {shlex.quote(each)}" for each in found) for name, found in options.items()}
        words |= {"index": "--index"} if "index" in options else {}
        self.cause = cause
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

    def add(self, cell: str, place: str) -> None:
        """Count a cell of text."""
        is_marked, is_comma = parse_number(cell) is not None, has_decimal_comma(cell)
        self.counts["marked" if is_marked else "decimal comma" if is_comma else "text"] += 1
        if len(self.examples) < N_SHOWN:
            self.examples.append(f"{cell if len(cell) <= 40 else cell[:40] + '...'!r} ({place})")

    @classmethod
    def of(cls, cells: Iterable[str]) -> "Texts":
        """Count the cells of text in a column."""
        found = cls()
        for row, cell in enumerate(cells, start=1):
            if is_text(cell):
                found.add(cell, f"row {row}")
        return found

    def judged(self, n_rows: int, *, parsed: bool) -> Judgment:
        """Judge a column that has these cells where numbers are expected."""
        total, shown = self.counts.total(), ", ".join(self.examples)
        if self.counts["marked"] == total and not parsed:
            what = (
                f"numbers with currency or percent signs or separators, {shown}" if total else "numbers stored as text"
            )
            return "numeric", what, ("numeric", "index", "ignore")
        if self.counts["decimal comma"] and not self.counts["text"]:
            return "numeric", f"decimal commas, {shown}, which are to be written as points", ("index", "ignore")
        if 2 * total < n_rows or parsed:
            cells = "1 cell that is no number" if total == 1 else f"{total} cells that are no numbers"
            return "numeric", f"{cells}, {shown}, to be corrected or emptied", ("index", "ignore")
        return "numeric", f"text where numbers are expected, {shown}", ("label", "index", "ignore")


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
        return str(number + 1) if self.names is None else self.names[number]

    def shown(self, number: int) -> str:
        """Name of a column in messages."""
        return f"column {number + 1}" + ("" if self.names is None else f" ({self.names[number][:40]!r})")

    def looks_like(self, number: int, pattern: re.Pattern[str]) -> bool:
        """Whether the name of a column is one of those that ``pattern`` knows."""
        return self.names is not None and pattern.fullmatch(self.names[number].strip().lower()) is not None


def plan_columns(
    names: Sequence[str] | None, n_columns: int, texts: Collection[int], choice: Choice, path: Path, *,
    index: int | None = None, index_reason: str | None = None,
) -> Plan:  # fmt: skip
    """Decide how to read columns, of which ``texts`` are known to hold text.

    ``index`` is the column that the format takes for sample names, for ``index_reason`` or if its cells look like it.
    """
    labels = () if choice.label is None else (choice.label,)
    ignored, numeric, labeled = (
        frozenset(number for name in given for number in _find(name, names, n_columns, path))
        for given in (choice.ignore, choice.numeric, labels)
    )
    if len(labeled) > 1 or (labeled and choice.transpose):
        why = "columns are samples" if choice.transpose else f"{len(labeled)} columns have this name"
        raise invalid_file(path, f"has no label {choice.label!r}: {why}.")
    asked = [*ignored, *numeric, *labeled, *([index] if choice.index else [])]
    if len(asked) > len(set(asked)):
        raise invalid_file(path, "has a column that was asked for in two roles; choose one of them.")
    index = None if index in asked and not choice.index else index
    plan = Plan(
        None if names is None else tuple(names), n_columns, choice, index, index_reason, next(iter(labeled), None),
        ignored, numeric,
    )  # fmt: skip
    taken = {*asked, *([index] if index_reason else [])}
    like = [number for number in texts if plan.looks_like(number, _LABEL) and number not in taken]
    if len(like) != 1 or labeled or choice.transpose:
        return plan
    return replace(plan, label=like[0], index=None if plan.index == like[0] else plan.index)


def _find(wanted: str, names: Sequence[str] | None, n_columns: int, path: Path) -> list[int]:
    known = [str(number + 1) for number in range(n_columns)] if names is None else [name.strip() for name in names]
    if found := [number for number, name in enumerate(known) if name == wanted.strip()]:
        return found
    which = f"has no header, and columns 1 to {n_columns}" if names is None else f"has the columns {_listed(known)}"
    raise invalid_file(path, f"{which}; there is no {wanted!r}.")


# --- after reading ---


def decide_roles(
    plan: Plan, path: Path, n_rows: int, *, strings: Mapping[int, Sequence[str]], strays: Mapping[int, Texts],
    values: Array | None = None,
) -> ColumnRoles:  # fmt: skip
    """Return the role of every column, or raise :class:`AmbiguousColumnsError`.

    ``strings`` are the cells of ``plan.strings``, ``strays`` the cells of text among the features, and ``values``
    (n_rows, n_features) their numbers.
    """
    judged = {number: found.judged(n_rows, parsed=number in plan.numeric) for number, found in strays.items()}
    for number, cells in strings.items():
        judged[number] = _judge_label(plan, cells) if number == plan.label else _judge_names(plan, number, cells)
    if values is not None and not plan.choice.transpose:
        judged = _suspects(plan, values) | judged
    for role, numbers in (("ignored", plan.ignored), ("numeric", plan.numeric)):
        judged |= {number: (role, "as asked for", ()) for number in numbers if number not in strays}
    problems = {number: (what, options) for number, (_, what, options) in sorted(judged.items()) if options}
    if problems:
        raise _ambiguous(plan, problems, path)
    known = {number: name.strip() for number, name in enumerate(plan.names or ()) if name.strip()}
    roles = [
        (known.get(number, f"column {number + 1}"), role, what) for number, (role, what, _) in sorted(judged.items())
    ]
    return ColumnRoles(len(plan.features), tuple(roles))


def _ambiguous(plan: Plan, problems: dict[int, tuple[str, tuple[str, ...]]], path: Path) -> AmbiguousColumnsError:
    shown = [f"{plan.shown(number)} has {what}" for number, (what, _) in problems.items()]
    more = f"; so have {len(shown) - N_SHOWN} others" if len(shown) > N_SHOWN else ""
    columns = {
        name: [plan.name(number) for number, (_, options) in problems.items()
               if name in options and (name != "index" or (number == 0 and plan.choice.index is None))]
        for name in EFFECTS
    }  # fmt: skip
    if len(columns["label"]) > 1 or plan.choice.label is not None or plan.choice.transpose:
        columns["label"] = []
    cause = invalid_file(path, f"cannot be read as it is: {'; '.join(shown[:N_SHOWN])}{more}.")
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
    if plan.index_reason is not None:
        return role, f"{plan.index_reason}{note}", ()
    first = cells[:N_JUDGED]
    found, has_name = Texts.of(first), plan.looks_like(number, _INDEX)
    n_texts = found.counts["text"]
    n_numbers = sum(map(is_number, first)) + found.counts.total() - n_texts
    if n_numbers >= n_texts and not has_name:
        return found.judged(len(first), parsed=False)
    if 2 * n_different <= len(cells) and not has_name:
        what = f"only {n_different} different texts in {len(cells)} rows, {found.examples[0]}"
        return role, what, ("label", "index", "ignore")
    return role, f"text{note}", ()


def _suspects(plan: Plan, values: Array) -> dict[int, Judgment]:
    """Judge numeric columns that may be no measurements: refused if the name says so, too, else only reported."""
    n_rows, found = len(values), dict[int, Judgment]()
    counted = set(np.flatnonzero(values[1] - values[0] == 1).tolist()) if n_rows >= MIN_COUNTED else set()
    are_coordinates = {"x", "y"} <= {name.strip().lower() for name in plan.names or ()}
    for place, number in enumerate(plan.features):
        is_index, is_label = (plan.looks_like(number, pattern) for pattern in (_INDEX, _LABEL))
        if is_index or (is_label and not (are_coordinates and plan.name(number).strip() in "yY")):
            column = values[:, place][~np.isnan(values[:, place])]
            n_different = len(np.unique(column)) if np.all(column == np.floor(column)) else 0
            what = f"the name of {'an index' if is_index else 'a label'}"
            if is_index and n_different == n_rows > 1:
                found[number] = "numeric", f"{what} and whole numbers, all different", ("numeric", "index", "ignore")
            elif is_label and _are_classes(n_different, n_rows):
                found[number] = "numeric", f"{what} and {n_different} different whole numbers", tuple(EFFECTS)
            else:
                found[number] = "numeric", f"although it has {what}", ()
        elif place in counted and np.all(np.diff(values[:, place]) == 1):
            found[number] = "numeric", "counts the rows; is it a measurement?", ()
    return found


def _are_classes(n_different: int, n_rows: int) -> bool:
    return 1 < n_different <= max(2, min(n_rows // 3, MAX_CLASSES))
