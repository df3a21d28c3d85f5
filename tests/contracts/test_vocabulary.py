"""The words of the field: terms that this project does not use, in code and documentation."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
ROOTS = ("src", "docs", "benchmarks", "examples")
FILES = sorted(
    path
    for root in ROOTS
    for path in (REPOSITORY / root).rglob("*")
    if path.suffix in {".py", ".md", ".html"} and "results" not in path.parts and "reproduction" not in path.parts
) + [REPOSITORY / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]

# pattern -> what to write instead
BANNED = {
    r"\bmend(ed|s|ing)?\b": "fix",
    r"\bgross(ly)? (errors?|wrong)\b": "outlier",
    r"\bsieves?\b": "outlier filter",
    r"\bput(ting)? aside\b": "filter, replace",
    r"\b(is|are) taken for\b|\btakes? for\b": "counts as, is treated as",
    r"\blets? expect\b": "predicts",
    r"\bspeaks? for\b": "supports, has the lowest conductance",
    r"\b(is|are) told\b|\btold apart\b": "is reported, is distinguished",
    r"\btells? (how|what|whether|which|that|apart)\b": "reports, estimates, distinguishes",
    r"\bhid(den|es?) (some )?entries\b|\bentries (that are )?hidden\b|\bheld back\b": "held-out entries",
    r"\b(a|one|its|their|of|unit|in) deviations?\b": "standard deviation, mean absolute deviation",
    r"\bchain graphs?\b|\bgraph of a chain\b": "path graph",
    r"\bfalls? into \w+ pieces\b": "has ... connected components",
    r"\bno say\b|\bhas? (little|much) say\b": "is ignored, has weight 0",
    r"\bcut to (its|a|the|that) rank\b": "truncated to rank k",
    r"\bpass for\b": "count as",
    r"\bthe way of the data\b": "pipeline",
    r"\bneighbour\w*": "neighbor (American spelling)",
    r"\bcentr(e|es|ed|ing)\b": "center (American spelling)",
    r"\b(normali|standardi|regulari|factori|minimi|maximi|optimi|initiali|penali)s(e|ed|es|ing|ation|er)\b": "-ize",
}


# Old names, which the code and the changelog must mention.
DEPRECATED = ("nearest_neighbours", "normalise", '"gross errors"', '"Sieve"', '"centre"')


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_terms_of_the_field(path):
    text = path.read_text(encoding="utf-8")
    for name in DEPRECATED:
        text = text.replace(name, "")
    lines = text.splitlines()
    found = [
        f"{path.name}:{number}: {match.group(0)!r} -> {instead}"
        for number, line in enumerate(lines, 1)
        for pattern, instead in BANNED.items()
        for match in re.finditer(pattern, line, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)
