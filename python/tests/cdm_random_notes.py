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

EXAM_WORDS = """
Physical|Phsyical|Physcial|Exam|Examination|PE|Patient examined|on|upon|at|in|day of|time of|the|no
discharge|Discharge|DISCHARGE|discharged|discharge vs|discharge physical|discharge phsycial|purulent
Transfer|D/C|ACS|Physical:|___ Physical:|___Physical:|___|at ___ischarge exam|at Dischage exam|GEN
--DISCHARGE--|Prior discharge:|discharge:|discharge exam|discharge period|discharge labs|predisposed
on discharged:|On D/C:|Time of Discharge:|D/C:|Dispo: home|disposition|ADMISSION |ADMISSION|day of
Labs and imaging:|Labs:|LABS :|Laboratory:|Imaging:|Diagnostics:|PHYSICAL EXAM|TRANSFER EXAM:|VS:
EXAMINATION:|EXAM:|Scrotal exam:|Pelvic exam:|P/E:|PE:|CVS:|SHAPE:|Vital signs:|AMA:|Gen:|HEENT:
HEENT :|Prior to leaving AMA...|T98.2 HR 70 BP 110/70|T98 HR 88 BP 120/80 RR 12|WBC 12|WBC 12.1,
WBC 9.3 |Physical Exam:|Physical Examination:|xxxxx|XXXXXXX|=====|===|_____|______|___:|soft|wound
appendicitis|acute appendicitis|peri-appendicitis|appendectomy|tip appendicitis|é|ß|²|“|-|,|.|;|:
ABD: soft, tender in all quadrants|General appearance well, no distress, pleasant and oriented
"""
PAST_LABELS = [
    "PMH",
    "PMHx",
    "PMHx/PSHx",
    "Past Medical History",
    "Past Medical and Surgical History",
    "PAST MEDICAL/SURGICAL HISTORY",
    "past medical  surgical history",
    "Past\nMedical History",
]
HEADINGS = """
FINDINGS|FINDINGS|IMPRESSION|LIVER|RECOMMENDATION(S)|FINDINGS/IMPRESSION|Findings|___| |.|ÉCOLE
FINAL IMPRESSION|EXAM: CT|CT ABDOMEN|ALL CLEAR|12|A-B_C, D|IMPRESSIONS
"""
PHRASES = """
clear|no acute|the liver|ct|us|telling us|Pelvis|mri of the knee|acute appendicitis|appendicitis|1.
Impression:|ß|É
"""
NAMES = "SERIES|PROC|CHESTX VIEW|chest pa|STUDY OF CT|UNKNOWN|EXAM 1"
SPACES = [" "] * 14 + ["\n"] * 5 + ["  ", "\n\n", "\r\n", "\t", "\u00a0", "\u2028", "\v", "", "\n "]
BREAKS = ["\n"] * 8 + ["\n\n", "\r\n", "\u2028", "\v", " \n", "\n "]
JOINTS = [" "] * 8 + ["/", ", ", "-", " (", ") ", "_", ". ", "", "\t", "é", "s"]
COLONS = [":", ":", ":", " :", "", "::", ":\t"]
OPENINGS = ["", "", "GEN: long text here, nothing else of note. " * 5]


def words(text: str) -> list[str]:
    """Split a list of words."""
    return [word for word in text.strip("\n").replace("\n", "|").split("|") if word]


def exam(dice: random.Random) -> str:
    """Return a physical examination."""
    return dice.choice(OPENINGS) + chain(dice, words(EXAM_WORDS), SPACES, (4, 8, 15, 30, 45))


def past_history(dice: random.Random) -> str:
    """Return a past medical history, often with a label."""
    label = dice.choice(["", "\n", " "]) + dice.choice(PAST_LABELS)
    label += dice.choice([":", " :", "", "\n", "PMH:"])
    return f"{label} {exam(dice)}" if dice.random() < 0.6 else exam(dice)


def exam_name(dice: random.Random) -> str:
    """Return the name of a radiology examination."""
    if dice.random() < 0.15:
        return dice.choice(words(NAMES))
    parts = [*keywords(), "W/CONTRAST", "VIEW", "ß", "LEFT"]
    return chain(dice, parts, JOINTS, (1, 1, 2, 2, 3)).strip() or "X"


def report(dice: random.Random) -> str:
    """Return a radiology report."""
    headings = [*words(HEADINGS), *facts.dropped_headings()]
    phrases = [*words(PHRASES), *keywords(), *map(str.lower, keywords())]
    text = dice.choice(["", "", "\n", "  ", "\u00a0"])
    for _ in range(dice.choice([1, 2, 3, 4, 6])):
        heading = dice.choice(headings) + dice.choice(COLONS) if dice.random() < 0.8 else ""
        text += heading + dice.choice([" ", "\n", "", " \r\n"])
        text += chain(dice, phrases, JOINTS, (0, 1, 3, 6)) + dice.choice(BREAKS)
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
