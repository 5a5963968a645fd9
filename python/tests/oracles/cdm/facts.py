"""The word lists that the texts are searched for: the one thing shared with the SQL."""

from __future__ import annotations

import csv
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
    return grouped("cdm_scrub_terms", "pathology", "term")


@cache
def keywords(name: str) -> dict[str, list[str]]:
    """Return the keywords of each `modality` or each `region`, both in search order."""
    seeds = {"modality": "radiology_modalities", "region": "radiology_regions"}
    return grouped(seeds[name], name, "keyword")


@cache
def dropped_headings() -> tuple[str, ...]:
    """Return the beginnings of the headings whose sections are left out."""
    rows = read_seed("radiology_section_headings")
    return tuple(row["heading"] for row in rows if row["is_dropped_by_reference"] == "true")


def grouped(seed: str, key: str, value: str) -> dict[str, list[str]]:
    """Collect the values of each key of a seed, both in the order that its columns tell."""
    rows = read_seed(seed)
    orders = [name for name in rows[0] if name.endswith("_order")]
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: [int(row[name]) for name in orders]):
        found.setdefault(row[key], []).append(row[value])
    return found
