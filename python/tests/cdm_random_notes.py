"""Random sections and reports, made of the very words that the rules look for.

Real notes hold few of them, so where two ways agree on these texts, they agree on the rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from oracles.cdm import facts
from tables import table

WORDS = table("cdm_note_words")
SECTIONS = ("history_of_present_illness", "past_medical_history", "physical_examination")


def exam(dice: random.Random) -> str:
    """Return a physical examination."""
    return dice.choice(WORDS["openings"]) + chain(
        dice, WORDS["exam"], WORDS["spaces"], (4, 8, 15, 30, 45)
    )


def past_history(dice: random.Random) -> str:
    """Return a past medical history, often with a label."""
    label = dice.choice(["", "\n", " "]) + dice.choice(WORDS["past_labels"])
    label += dice.choice([":", " :", "", "\n", "PMH:"])
    return f"{label} {exam(dice)}" if dice.random() < 0.6 else exam(dice)


def exam_name(dice: random.Random) -> str:
    """Return the name of a radiology examination."""
    if dice.random() < 0.15:
        return dice.choice(WORDS["names"])
    parts = [*keywords(), "W/CONTRAST", "VIEW", "ß", "LEFT"]
    return chain(dice, parts, WORDS["joints"], (1, 1, 2, 2, 3)).strip() or "X"


def report(dice: random.Random) -> str:
    """Return a radiology report."""
    headings = [*WORDS["headings"], *facts.dropped_headings()]
    phrases = [*WORDS["phrases"], *keywords(), *map(str.lower, keywords())]
    text = dice.choice(["", "", "\n", "  ", "\u00a0"])
    for _ in range(dice.choice([1, 2, 3, 4, 6])):
        heading = (
            dice.choice(headings) + dice.choice(WORDS["colons"]) if dice.random() < 0.8 else ""
        )
        text += heading + dice.choice([" ", "\n", "", " \r\n"])
        text += chain(dice, phrases, WORDS["joints"], (0, 1, 3, 6)) + dice.choice(WORDS["breaks"])
    return text


def keywords() -> list[str]:
    """Return all keywords of modalities and regions."""
    lists = [*facts.keywords("modality").values(), *facts.keywords("region").values()]
    return [keyword for found in lists for keyword in found]


def chain(
    dice: random.Random, parts: Sequence[str], joints: Sequence[str], lengths: Sequence[int]
) -> str:
    """Return some parts with joints between and behind."""
    count = dice.choice(lengths)
    return "".join(dice.choice(parts) + dice.choice(joints) for _ in range(count))


def write_random_notes(folder: Path, hadm_ids: Iterable[int], per_admission: int) -> None:
    """Write extracts, and reports with their names, for some admissions."""
    dice = random.Random(0)
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in WORDS["files"]}
    sections, diagnoses, procedures, notes, details = rows.values()
    for number, hadm_id in enumerate(hadm_ids):
        of, row = {"hadm_id": hadm_id}, {"subject_id": hadm_id}
        texts = (exam(dice), past_history(dice), exam(dice))
        sections.append({**of, **dict(zip(SECTIONS, texts, strict=True))})
        title = "Fall" if number % 4 == 0 else "Acute appendicitis"
        diagnoses.append({**of, "title": title, "is_primary": "t", "seq_num": 1})
        procedures.append({**of, "title": "Laparoscopy", "is_previous": "f", "seq_num": 1})
        for ordinal in range(1, per_admission + 1):
            row["note_id"] = f"{hadm_id}-RR-{ordinal}"
            time = f"2150-01-{ordinal:02d} 00:00:00"
            note = {"note_type": "RR", "note_seq": ordinal, "charttime": time, "storetime": None}
            notes.append({**of, **row, **note, "text": report(dice)})
            field = {"field_name": "exam_name", "field_value": exam_name(dice)}
            details.append({**row, **field, "field_ordinal": 1})
    for name, those in rows.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(those).to_csv(path, index=False)
