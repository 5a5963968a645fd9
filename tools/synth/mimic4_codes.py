"""ICD codes: diagnoses and procedures of an admission, and the two dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

from synth.mimic4_cases import FORMER, SECONDARY
from synth.mimic4_people import Stay, day_of
from synth.writing import Row

Code = tuple[str, int]

DIAGNOSES: dict[int, dict[Code, str]] = {
    0: {
        ("5400", 9): "Acute appendicitis with generalized peritonitis",
        ("5401", 9): "Acute appendicitis with peritoneal abscess",
        ("5409", 9): "Acute appendicitis without mention of peritonitis",
        ("K3532", 10): "Acute appendicitis with perforation, localized peritonitis, and gangrene, "
        "without abscess",
        ("K3580", 10): "Unspecified acute appendicitis",
    },
    1: {
        ("5750", 9): "Acute cholecystitis",
        ("57400", 9): "Calculus of gallbladder with acute cholecystitis, without mention of "
        "obstruction",
        ("K8000", 10): "Calculus of gallbladder with acute cholecystitis without obstruction",
        ("K810", 10): "Acute cholecystitis",
    },
    2: {
        ("56211", 9): "Diverticulitis of colon (without mention of hemorrhage)",
        ("K5720", 10): "Diverticulitis of large intestine with perforation and abscess without "
        "bleeding",
        ("K5732", 10): "Diverticulitis of large intestine without perforation or abscess without "
        "bleeding",
    },
    3: {
        ("5770", 9): "Acute pancreatitis",
        ("K8510", 10): "Biliary acute pancreatitis without necrosis or infection",
        ("K8520", 10): "Alcohol induced acute pancreatitis without necrosis or infection",
        ("K8590", 10): "Acute pancreatitis without necrosis or infection, unspecified",
    },
    4: {
        ("5589", 9): "Other and unspecified noninfectious gastroenteritis and colitis",
        ("K529", 10): "Noninfective gastroenteritis and colitis, unspecified",
    },
    5: {("5921", 9): "Calculus of ureter", ("N201", 10): "Calculus of ureter"},
    6: {
        ("5609", 9): "Unspecified intestinal obstruction",
        ("K56609", 10): "Unspecified intestinal obstruction, unspecified as to partial versus "
        "complete obstruction",
    },
    7: {
        ("6202", 9): "Other and unspecified ovarian cyst",
        ("N83209", 10): "Unspecified ovarian cyst, unspecified side",
    },
    8: {
        ("5990", 9): "Urinary tract infection, site not specified",
        ("N390", 10): "Urinary tract infection, site not specified",
    },
}
OTHER_DIAGNOSES: dict[Code, str] = {
    ("4019", 9): "Unspecified essential hypertension",
    ("25000", 9): "Diabetes mellitus without mention of complication, type II or unspecified "
    "type, not stated as uncontrolled",
    ("2724", 9): "Other and unspecified hyperlipidemia",
    ("53081", 9): "Esophageal reflux",
    ("3051", 9): "Tobacco use disorder",
    ("2768", 9): "Hypopotassemia",
    ("I10", 10): "Essential (primary) hypertension",
    ("E119", 10): "Type 2 diabetes mellitus without complications",
    ("E785", 10): "Hyperlipidemia, unspecified",
    ("K219", 10): "Gastro-esophageal reflux disease without esophagitis",
    ("Z87891", 10): "Personal history of nicotine dependence",
    ("E876", 10): "Hypokalemia",
}
FORMER_DIAGNOSES: dict[Code, str] = {
    ("V1279", 9): "Personal history of other diseases of digestive system",
    ("Z8719", 10): "Personal history of other diseases of the digestive system",
}
PROCEDURES: dict[int, dict[Code, str]] = {
    0: {
        ("4701", 9): "Laparoscopic appendectomy",
        ("4709", 9): "Other appendectomy",
        ("0DTJ0ZZ", 10): "Resection of Appendix, Open Approach",
        ("0DTJ4ZZ", 10): "Resection of Appendix, Percutaneous Endoscopic Approach",
    },
    1: {
        ("5122", 9): "Cholecystectomy",
        ("5123", 9): "Laparoscopic cholecystectomy",
        ("0FB44ZZ", 10): "Excision of Gallbladder, Percutaneous Endoscopic Approach",
        ("0FT44ZZ", 10): "Resection of Gallbladder, Percutaneous Endoscopic Approach",
    },
    2: {
        ("1736", 9): "Laparoscopic sigmoidectomy",
        ("4576", 9): "Open and other sigmoidectomy",
        ("0DTN0ZZ", 10): "Resection of Sigmoid Colon, Open Approach",
        ("0DTN4ZZ", 10): "Resection of Sigmoid Colon, Percutaneous Endoscopic Approach",
    },
    3: {
        ("5110", 9): "Endoscopic retrograde cholangiopancreatography [ERCP]",
        ("5185", 9): "Endoscopic sphincterotomy and papillotomy",
        ("0FC98ZZ", 10): "Extirpation of Matter from Common Bile Duct, Via Natural or Artificial "
        "Opening Endoscopic",
        ("0F9G30Z", 10): "Drainage of Pancreas with Drainage Device, Percutaneous Approach",
    },
    5: {
        ("5631", 9): "Ureteroscopy",
        ("0TJ98ZZ", 10): "Inspection of Ureter, Via Natural or Artificial Opening Endoscopic",
    },
}
BESIDE: dict[Code, str] = {
    ("3893", 9): "Venous catheterization, not elsewhere classified",
    ("5491", 9): "Percutaneous abdominal drainage",
    ("8801", 9): "Computerized axial tomography of abdomen",
    ("02HV33Z", 10): "Insertion of Infusion Device into Superior Vena Cava, Percutaneous Approach",
    ("0W9G30Z", 10): "Drainage of Peritoneal Cavity with Drainage Device, Percutaneous Approach",
    ("BW201ZZ", 10): "Computerized Tomography (CT Scan) of Abdomen using Low Osmolar Contrast",
}
# One code that stands for two procedures, by its version.
TWICE_TITLED: dict[Code, str] = {
    ("4513", 9): "Other endoscopy of small intestine",
    ("4513", 10): "Invented title under the same code, to be told apart by its version",
}
UNTITLED: Code = ("0ZZ9ZZZ", 10)


def _of_version(titles: dict[Code, str], version: int) -> list[Code]:
    return [code for code in titles if code[1] == version]


def diagnosis_rows(stay: Stay) -> Iterator[Row]:
    """Give the coded diagnoses of an admission, the main one first."""
    dice, version = stay.dice, stay.icd_version
    codes = [dice.pick(_of_version(DIAGNOSES[stay.condition], version))]
    others = dice.some(_of_version(OTHER_DIAGNOSES, version), dice.whole(0, 4))
    if stay.kind == SECONDARY:
        others.insert(0, dice.pick(_of_version(DIAGNOSES[stay.concealed], version)))
    if stay.kind == FORMER:
        others += _of_version(FORMER_DIAGNOSES, version)
    if stay.case == "note_two_diagnoses":
        second = 1 if stay.condition != 1 else 3
        others.insert(0, _of_version(DIAGNOSES[second], version)[0])
    for number, (code, code_version) in enumerate([*codes, *others], 1):
        yield stay.subject, stay.hadm, number, code, code_version


def procedure_rows(stay: Stay) -> list[Row]:
    """Return the coded procedures of an admission."""
    if stay.procedure_day < 0:
        return []
    dice, version, day = stay.dice, stay.icd_version, stay.procedure_day
    main = dice.pick(_of_version(PROCEDURES.get(stay.condition, BESIDE), version))
    dated = [(main, day)]
    if dice.chance(0.3):
        dated.append((dice.pick(_of_version(BESIDE, version)), day + dice.whole(0, 2)))
    if stay.case == "sequence_against_dates":
        # The first in order is the last in time, and an imaging code comes before the surgery.
        beside = _of_version(BESIDE, version)
        dated = [(beside[0], day + 2), (main, day + 1), (beside[1], day + 1), (beside[2], day)]
    if stay.case == "procedure_codes":
        dated += [(UNTITLED, day), *((code, day + 1) for code in TWICE_TITLED), (main, day + 2)]
    return [
        (stay.subject, stay.hadm, number, str(day_of(stay.admit, days))[:10], code, code_version)
        for number, ((code, code_version), days) in enumerate(dated, 1)
    ]


def diagnosis_titles() -> list[Row]:
    """Return the dictionary of diagnoses."""
    titles = {code: title for group in DIAGNOSES.values() for code, title in group.items()}
    titles |= OTHER_DIAGNOSES | FORMER_DIAGNOSES
    return [(*code, title) for code, title in sorted(titles.items())]


def procedure_titles() -> list[Row]:
    """Return the dictionary of procedures."""
    titles = {code: title for group in PROCEDURES.values() for code, title in group.items()}
    titles |= BESIDE | TWICE_TITLED
    return [(*code, title) for code, title in sorted(titles.items())]
