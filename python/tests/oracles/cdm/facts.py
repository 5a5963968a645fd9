"""The word lists that the texts are searched for: the one thing shared with the SQL."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[4] / "seeds" / "cdm"


def read_seed(name: str) -> list[dict[str, str]]:
    """Return the rows of a seed that hold for the reference's rules."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row.get("in_reference", "true") == "true"]


@cache
def scrub_terms() -> dict[str, list[str]]:
    """Return the terms of each pathology, both in search order."""
    rows = in_order(read_seed("cdm_scrub_terms"), "pathology_order", "term_order")
    return grouped(rows, "pathology", "term")


@cache
def modality_keywords() -> dict[str, list[str]]:
    """Return the keywords of each modality, both in search order."""
    rows = in_order(read_seed("radiology_modalities"), "category_order", "keyword_order")
    return grouped(rows, "modality", "keyword")


@cache
def region_keywords() -> dict[str, list[str]]:
    """Return the keywords of each region, both in search order."""
    rows = in_order(read_seed("radiology_regions"), "category_order", "keyword_order")
    return grouped(rows, "region", "keyword")


@cache
def dropped_headings() -> tuple[str, ...]:
    """Return the beginnings of the headings whose sections are left out."""
    rows = read_seed("radiology_section_headings")
    return tuple(row["heading"] for row in rows if row["is_dropped_by_reference"] == "true")


def in_order(rows: Iterable[dict[str, str]], *columns: str) -> list[dict[str, str]]:
    """Sort rows by columns of whole numbers."""
    return sorted(rows, key=lambda row: [int(row[column]) for column in columns])


def grouped(rows: Iterable[dict[str, str]], key: str, value: str) -> dict[str, list[str]]:
    """Collect the values of each key, in the order in which they come."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row[value])
    return found
