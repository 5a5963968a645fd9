"""Radiology reports in the hospital's template, with the ways in which reports leave it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from synth import mimic4_phrases as phrases
from synth.arrays import DAY, HOUR, MINUTE
from synth.mimic4_people import Dice, Stay, day_of, later, moment
from synth.writing import Row


@dataclass(frozen=True)
class Exam:
    """One kind of examination: its code, its name and how it is done."""

    code: str
    name: str
    way: str


CT = Exam("C904", "CT ABD & PELVIS WITH CONTRAST", "ct")
CT_PLAIN = Exam("C903", "CT ABD & PELVIS W/O CONTRAST", "ct")
CT_PELVIS = Exam("C731", "CT PELVIS W/CONTRAST", "ct")
US = Exam("U301", "US ABD LIMIT, SINGLE ORGAN", "us")
US_LIVER = Exam("U305", "LIVER OR GALLBLADDER US (SINGLE ORGAN)", "us")
US_PELVIS = Exam("U320", "PELVIS U.S., TRANSVAGINAL", "us")
MRCP = Exam("M512", "MRCP (MR ABD W&W/OC)", "mr")
HIDA = Exam("N204", "GALLBLADDER SCAN", "nuclear")
CHEST_PA = Exam("D100", "CHEST (PA & LAT)", "chest")
CHEST_AP = Exam("D101", "CHEST (PORTABLE AP)", "chest")
ABDOMEN = Exam("D211", "ABDOMEN (SUPINE & ERECT)", "chest")

EXAMS: tuple[tuple[Exam, ...], ...] = (
    (CT, CT, US, CT_PLAIN),
    (US_LIVER, US_LIVER, HIDA, CT, MRCP),
    (CT, CT, CT_PLAIN),
    (CT, US_LIVER, MRCP),
    (CT,),
    (CT_PLAIN,),
    (CT, ABDOMEN),
    (US_PELVIS, CT),
    (US, CT),
)
UNUSUAL = (
    "no findings",
    "empty findings",
    "joint heading",
    "mixed case",
    "spaced colon",
    "glued heading",
    "wet read",
    "crlf",
    "capital line",
    "other conclusion",
    "repeated heading",
    "leak",
    "inner impression",
)
FORCED = {
    "report_without_findings": "no findings",
    "report_empty_findings": "empty findings",
    "report_joint_heading": "joint heading",
    "report_mixed_case": "mixed case",
    "report_spaced_colon": "spaced colon",
    "report_glued_heading": "glued heading",
    "report_wet_read": "wet read",
    "report_crlf": "crlf",
    "report_capital_line": "capital line",
    "report_other_conclusion": "other conclusion",
    "report_repeated_heading": "repeated heading",
    "report_leak": "leak",
    "report_inner_impression": "inner impression",
}


@dataclass
class Reports:
    """Rows of one admission for the tables radiology and radiology_detail."""

    notes: list[Row] = field(default_factory=list)
    details: list[Row] = field(default_factory=list)


def reports_of(stay: Stay) -> Reports:
    """Return the reports of one admission."""
    dice, out = stay.dice, Reports()
    for place, (exam, time, form) in enumerate(_plan(stay)):
        number = 3 + stay.ordinal * 60 + place * 2
        note = f"{stay.subject}-RR-{number}"
        lost = (time < stay.admit and dice.chance(0.4)) or (stay.case == "window" and place == 0)
        hadm = None if lost else stay.hadm
        names = [exam.name]
        if stay.case == "report_names" and place == 1:
            names = []  # neither a name of its own nor a report it belongs to
        elif (stay.case == "report_names" and place == 0) or dice.chance(0.04):
            names.append("CT RECONSTRUCTION" if exam.way == "ct" else "DUPLEX DOPP ABD/PEL")
        out.notes.append(
            _note(stay, note, hadm, "RR", number, time, write_report(stay, exam, form))
        )
        # Rows of later ordinals may come first.
        details: list[Row] = []
        for ordinal in range(len(names), 0, -1):
            name = names[ordinal - 1]
            details.append((note, stay.subject, "exam_name", name, ordinal))
        if names:
            details.insert(0, (note, stay.subject, "exam_code", exam.code, 1))
            details.append((note, stay.subject, "cpt_code", f"7{len(exam.name):02d}77", 1))
        if (stay.case == "report_addendum" and place == 0) or dice.chance(0.03):
            addendum = f"{stay.subject}-AR-{number + 1}"
            details.append((note, stay.subject, "addendum_note_id", addendum, 1))
            details.append((addendum, stay.subject, "parent_note_id", note, 1))
            text = (
                "ADDENDUM  On second look the terminal ileum is thickened too.\n\nIMPRESSION:  "
                f"{phrases.IMPRESSIONS[stay.condition]} Unchanged otherwise.\n"
            )
            when = later(time, 5 * HOUR)
            out.notes.append(_note(stay, addendum, hadm, "AR", number + 1, when, text))
        out.details += details
    return out


def _plan(stay: Stay) -> list[tuple[Exam, np.datetime64, str]]:
    dice, exams = stay.dice, list(EXAMS[stay.condition])
    hours = int((stay.discharge - stay.start) / np.timedelta64(1, "h"))
    forced = FORCED.get(stay.case, "")
    named = [exam for exam in exams if exam.way != "nuclear"]  # the name says how it was done
    plan = [(dice.pick(named), later(stay.start, dice.whole(60, 260) * MINUTE), forced)]
    for _ in range(dice.pick((0, 0, 1, 1, 1, 2, 3))):
        exam = dice.pick((*exams, CHEST_PA, CHEST_AP))
        form = dice.pick(UNUSUAL) if dice.chance(0.2) else ""
        plan.append((exam, later(stay.start, dice.whole(4, max(5, hours)) * HOUR), form))
    if stay.case == "report_chest_only":
        plan = [(CHEST_PA, time, form) for _, time, form in plan]
    elif stay.case == "report_names":
        plan = [*plan[:1], (CT, later(stay.start, 4 * HOUR), "")]
    elif stay.case == "report_pelvis":
        plan.append((CT_PELVIS, later(stay.start, 5 * HOUR), ""))
        plan.append((US_PELVIS, later(stay.start, 6 * HOUR), ""))
    elif stay.case == "report_many":
        # Five of one modality and region, two of them at one time.
        plan += [(CT, later(stay.start, n // 2 * 2 * HOUR + HOUR), "") for n in range(1, 6)]
    elif stay.case == "midnight":
        midnight = day_of(stay.admit, max(stay.procedure_day, 0))
        plan += [(CT, later(midnight, second), "") for second in (-1, 0, 1)]
    elif stay.case == "window":
        plan[0] = (plan[0][0], later(stay.start, -DAY), "")
        plan.append((CT, later(stay.start, 2 * HOUR), ""))
    return plan


def _note(
    stay: Stay, note: str, hadm: int | None, kind: str, seq: int, time: np.datetime64, text: str
) -> Row:
    stored = None if stay.dice.chance(0.03) else moment(later(time, 70 * MINUTE))
    return note, stay.subject, hadm, kind, seq, moment(time), stored, text


def write_report(stay: Stay, exam: Exam, form: str) -> str:
    """Return the text of one report; `form` is one of `UNUSUAL` or empty."""
    dice, condition = stay.dice, stay.condition
    findings = _findings(stay, exam)
    summed = phrases.IMPRESSIONS[condition] if exam.way != "chest" else "No acute process."
    impression = f"1. {summed}\n2. {dice.pick(_SECOND_POINTS)}" if dice.chance(0.5) else summed
    sex = "woman" if stay.female else "man"
    indication = f"___ year old {sex} with {phrases.INDICATIONS[condition]}"
    parts = [
        ("EXAMINATION", exam.name),
        (dice.pick(("INDICATION", "INDICATION", "HISTORY")), indication),
        ("TECHNIQUE", phrases.TECHNIQUES[exam.way]),
        ("COMPARISON", dice.pick(("None.", "CT of ___.", "Radiograph from ___."))),
        ("FINDINGS", findings),
        ("IMPRESSION", impression),
    ]
    if exam.way == "ct" and dice.chance(0.4):
        parts.insert(3, ("DOSE", f"DLP: {dice.whole(300, 900)} mGy-cm."))
    if dice.chance(0.12):
        parts.append(("RECOMMENDATION(S)", dice.pick(_RECOMMENDATIONS)))
    if form == "wet read" or dice.chance(0.06):
        parts.append(("NOTIFICATION", _NOTIFICATION.format(summed=summed)))
    text = _laid_out(_reshaped(parts, form, summed), form, dice)
    if form == "glued heading":
        text = text.replace("\n\nFINDINGS:", "FINDINGS:")
    if form == "crlf":
        text = text.replace("\n", "\r\n")
    return text


_SECOND_POINTS = (
    "Hepatic steatosis.",
    "Small hiatal hernia.",
    "4 mm nodule at the right lung base.",
)
_RECOMMENDATIONS = (
    "Follow-up imaging in three months.",
    "Correlation with the surgical findings; repeat the ultrasound if pain persists.",
)
_NOTIFICATION = (
    "{summed} The findings were discussed with ___, M.D. by ___, M.D. on the telephone on ___ "
    "at 3:14 pm, 5 minutes after discovery."
)


def _findings(stay: Stay, exam: Exam) -> str:
    if exam.way == "chest":
        return phrases.CHEST
    seen = (phrases.CT_FINDINGS if exam.way == "ct" else phrases.US_FINDINGS)[stay.condition]
    organs = stay.dice.some(phrases.NORMAL_ORGANS, stay.dice.whole(2, 4))
    if exam.way == "ct" and stay.dice.chance(0.6):
        # Headings of organs below the heading of the findings.
        lines = [f"{heading}: {text}" for heading, text in organs]
        return "\n\n".join(["ABDOMEN:", *lines, f"PELVIS: {seen}"])
    return " ".join([seen, *(text for _, text in organs)])


def _reshaped(parts: list[tuple[str, str]], form: str, summed: str) -> list[tuple[str, str]]:
    if form == "no findings":
        return [part for part in parts if part[0] != "FINDINGS"]
    out = []
    for heading, text in parts:
        if form == "empty findings" and heading == "FINDINGS":
            out.append((heading, ""))
        elif form == "joint heading" and heading in ("FINDINGS", "IMPRESSION"):
            if heading == "FINDINGS":
                out.append(("FINDINGS/IMPRESSION", f"{text} {summed}"))
        elif form in ("mixed case", "spaced colon"):
            out.append((heading.capitalize(), text))
        elif form == "capital line" and heading == "IMPRESSION":
            out.append((heading, f"{text}\nPLEASE NOTE\nThis means: {summed}"))
        elif form == "other conclusion" and heading == "IMPRESSION":
            out += [("FINAL IMPRESSION", text), ("SUMMARY", summed), ("CONCLUSIONS", summed)]
        elif form == "repeated heading" and heading == "FINDINGS":
            out += [
                (heading, text),
                (heading, f"Additional views: naïve fat planes, 2\u20133 mm. {text}"),
            ]
        elif form == "leak" and heading == "FINDINGS":
            out.append((heading, f"{text} Taken together: {summed}"))
        elif form == "inner impression" and heading == "FINDINGS":
            out.append((heading, f"{text}\nImpression: {summed}"))
        elif form == "crlf" and heading == "FINDINGS":
            out.append((heading, f"{text}\u00a0Diameter ≥ 9 mm (38 °C at the time)."))
        else:
            out.append((heading, text))
    if form == "wet read":
        out.append(("WET READ", f"___ ___ 8:40 PM\n {summed} No free air."))
    return out


def _laid_out(parts: list[tuple[str, str]], form: str, dice: Dice) -> str:
    lines = []
    for heading, text in parts:
        mark = " :" if form == "spaced colon" and heading == "Findings" else ":"
        own_line = heading.upper() in ("FINDINGS", "IMPRESSION") and dice.chance(0.5)
        lines.append(f"{heading}{mark}{chr(10) * 2 if own_line else '  '}{text}")
    return "\n\n".join(lines) + "\n"
