"""The physical examination of the admission, without what was found at discharge.

Sections of notes hold more than the first examination: the one at discharge, results, plans. Most
rules cut from where such a part begins to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Rule = Callable[[str], str]

AFTER = 200  # a second examination or bare vital signs count only behind so many characters
LOOK = 22  # characters from a second heading in which Gen: or HEENT: shows that it is the first
INTO = 15  # characters of a line that may stand before a second heading

AMA = "Prior to leaving AMA..."
REVIEW = "10 system review negative, except as stated above in HPI."
SECOND_EXAM = re.compile(
    rf"\n[^\n]{{0,{INTO}}}(physical\s+exam|transfer\s+exam:|examination:"
    r"|(?<!scrotal )(?<!pelvic )exam:|p/e:|pe:|vs:|vital\s+signs:|ama:)",
    re.IGNORECASE,
)
SAME_EXAM = re.compile(r"\b(gen|heent)\s*:", re.IGNORECASE)
HEENT = re.compile(r"\bheent\s*:", re.IGNORECASE)
VITAL_SIGNS = re.compile(
    r"\st\s*\d+(\.\d+)?\s+hr\s*\d+\s+bp\s*\d+\s*/\s*\d+",
    re.IGNORECASE,
)
LABEL = re.compile(r"\b(pe|physical\s+exam(ination)?)\s*:\s*", re.IGNORECASE)
LONG_X = re.compile(r"x{5,}", re.IGNORECASE)
EDGES = (r"^={3,}", r"={3,}$", r"^_{5,}", r"_{5,}$", r"^___:", r"___:$")


def exam_text(section: str) -> str:
    """Apply all rules in their order."""
    text = section
    for rule in RULES:
        text = rule(text).strip()
    text = LABEL.sub("", text).strip().replace(REVIEW, "").strip()
    text = LONG_X.sub("___", text).strip()
    for edge in EDGES:
        text = re.sub(edge, "", text).strip()
    return text


def cut_from(pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> Rule:
    """Return the rule that drops everything from a match on."""
    compiled = re.compile(pattern, flags)

    def rule(text: str) -> str:
        return cut_at(text, compiled.search(text))

    return rule


def cut_at(text: str, match: re.Match[str] | None) -> str:
    """Drop everything from a match on."""
    return text[: match.start()] if match else text


def cut_second_exam(text: str) -> str:
    """Drop a second examination, unless its first words are those of a first one."""
    for match in SECOND_EXAM.finditer(text):
        start = match.start()
        if start > AFTER and not SAME_EXAM.search(text[start : start + LOOK]):
            return text[:start]
    return text


def drop_ama(text: str) -> str:
    """Drop one phrase of patients who left against advice."""
    return text.replace(AMA, "")


def cut_second_heent(text: str) -> str:
    """Drop everything from where the head is examined again."""
    found = list(HEENT.finditer(text))
    return cut_at(text, found[1] if len(found) > 1 else None)


def cut_vital_signs(text: str) -> str:
    """Drop everything from a line of bare vital signs; an early one protects those behind it."""
    match = VITAL_SIGNS.search(text)
    return cut_at(text, match if match and match.start() > AFTER else None)


ON_DISCHARGE = (
    r"\b(((physical|phsyical|physcial)\s+exam(ination)?|exam(ination)?|pe|patient\s+examined)\s+)?"
    r"((on|upon|at|in)\s+((day|time)\s+of\s+)?|day\s+of\s+)discharge\b"
)
PHYSICAL_OF_DISCHARGE = (
    r"(\b(acs\s+)?(discharge|transfer|d/c)\s+|___\s*)(physical\s+exam\s+)?physical\s*:"
)
DISCHARGE_HEADINGS = (
    r"\b(prior\s+discharge\s*:|discharge\s*:|discharge\s+exam|discharge\s+pe|discharge\s+labs"
    r"|on\s+discharged\s*:|on\s+d/c\s*:|time\s+of\s+discharge\s*:|d/c\s*:|dispo)"
)
RESULTS = r"(?<!admission\s)\b(labs\s+and\s+imaging|labs|laboratory|imaging|diagnostics)\s*:"
RULES: tuple[Rule, ...] = (
    cut_from(ON_DISCHARGE),
    cut_from(r"\bdischarge\s+vs\b"),
    cut_from(r"\bdischarge\s+ph[sy]+[iyc]+a?l\b"),
    cut_from(PHYSICAL_OF_DISCHARGE),
    cut_from(r"\bat\s+.{0,3}ischarge\s+exam\b", re.IGNORECASE | re.DOTALL),
    cut_from(r"^\s*discharge\b", re.IGNORECASE | re.MULTILINE),
    cut_from(r"--discharge--"),
    cut_from(r"\bDISCHARGE\b", re.NOFLAG),
    cut_from(DISCHARGE_HEADINGS),
    cut_from(RESULTS),
    cut_second_exam,
    drop_ama,
    cut_second_heent,
    cut_vital_signs,
    cut_from(r"\swbc\s+\d+(\.\d+)?,?\s"),
)
