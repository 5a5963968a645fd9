"""Random sections and reports, made of the very words that the rules look for.

Real notes hold few of them, so where two ways agree on these texts, they agree on the rules.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from oracles.cdm import facts
from tables import table

WORDS = table("cdm_note_words")


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
    sections: list[Sequence[object]] = []
    diagnoses: list[Sequence[object]] = []
    procedures: list[Sequence[object]] = []
    notes: list[Sequence[object]] = []
    details: list[Sequence[object]] = []
    for number, hadm_id in enumerate(hadm_ids):
        sections.append([hadm_id, exam(dice), past_history(dice), exam(dice)])
        diagnoses.append([hadm_id, "Fall" if number % 4 == 0 else "Acute appendicitis", "t", 1])
        procedures.append([hadm_id, "Laparoscopy", "f", 1])
        for ordinal in range(1, per_admission + 1):
            note_id = f"{hadm_id}-RR-{ordinal}"
            time = f"2150-01-{ordinal:02d} 00:00:00"
            notes.append([note_id, hadm_id, hadm_id, "RR", ordinal, time, None, report(dice)])
            details.append([note_id, hadm_id, "exam_name", exam_name(dice), 1])
    files = {
        "note_extract/discharge_free_text": (
            "hadm_id,history_of_present_illness,past_medical_history,physical_examination",
            sections,
        ),
        "note_extract/discharge_diagnosis": ("hadm_id,title,is_primary,seq_num", diagnoses),
        "note_extract/procedures": ("hadm_id,title,is_previous,seq_num", procedures),
        "note/radiology": (
            "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text",
            notes,
        ),
        "note/radiology_detail": (
            "note_id,subject_id,field_name,field_value,field_ordinal",
            details,
        ),
    }
    for name, (header, rows) in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header.split(","))
            writer.writerows(rows)
