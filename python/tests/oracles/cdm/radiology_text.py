"""Radiology reports: what an examination is, and which sections of its report are kept."""

from __future__ import annotations

import re
from functools import cache

from oracles.cdm import facts

HEADING = re.compile(r"^([A-Z \t,._-]+):", re.MULTILINE)


def find_modality(exam_name: str, report: str) -> str | None:
    """Return the modality that the name tells, or else the report."""
    # Not a word boundary on the right: U.S. and PORT. end in a full stop.
    by_name = _first("modality", r"(?:\W|$)", exam_name)
    if by_name is None and exam_name.upper().startswith("CHEST"):
        by_name = "Radiograph"
    return by_name or _first("modality", r"(?:\W|$)", report)


def find_region(exam_name: str, report: str) -> str | None:
    """Return the region that the name tells, or else the report."""
    return _first("region", r"\b", exam_name) or _first("region", r"\b", report)


def kept_sections(report: str) -> str:
    """Return the sections that do not tell history, comparison or conclusion."""
    return "".join(
        f"{heading}:\n{content}\n\n"
        for heading, content in sections(report).items()
        if content and not heading.startswith(facts.dropped_headings())
    ).strip()


def sections(report: str) -> dict[str, str]:
    """Split a report at its headings; a repeated one keeps its place and its last content."""
    lines = report.strip().split("\n")
    text = "\n".join(_promoted(line, number == 0) for number, line in enumerate(lines))
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {
        heading[1].strip(): text[heading.end() : end].strip()
        for heading, end in zip(headings, ends, strict=False)  # one end without any heading
    }


def _promoted(line: str, is_first: bool) -> str:
    """Make a heading of a line in capitals."""
    trimmed = line.strip()
    has_colon = trimmed.endswith(":") if is_first else ":" in trimmed
    return f"{trimmed}:" if trimmed.isupper() and not has_colon else line


def _first(kind: str, end: str, text: str) -> str | None:
    """Return the first category with a keyword in the text."""
    capitals = text.upper()
    return next((name for name, words in _patterns(kind, end) if words.search(capitals)), None)


@cache
def _patterns(kind: str, end: str) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (name, re.compile(rf"\b(?:{'|'.join(map(re.escape, words))}){end}"))
        for name, words in facts.keywords(kind).items()
    ]
