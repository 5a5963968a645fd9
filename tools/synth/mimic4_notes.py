"""Discharge notes and radiology reports of the MIMIC-IV data, in the hospital's templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from synth import mimic4_stay as of
from synth.draws import DAY, HOUR, MINUTE, Dice
from synth.files import Row, read_groups, read_yaml
from synth.mimic4_stay import SPECIAL, Stay, later

NOTE: dict[str, Any] = read_yaml("mimic4_phrases.yml")["note"]
REPORT: dict[str, Any] = read_yaml("mimic4_phrases.yml")["report"]
REPORT_CASES = read_groups("mimic4_report_cases.csv", "case")

Plan = list[tuple[dict[str, str], datetime, str]]  # examination, time, form of the report

_FIELD = re.compile(r"\{(?:(\d+)-(\d+)(?:/(\d+))?|(\w+))\}")


def fill(template: str, dice: Dice, phrases: Mapping[str, Any]) -> str:
    """Fill in the braces of a template, from left to right; see mimic4_phrases.yml.

    A phrase may be a text, a list of which one is drawn, or a function that is called in its turn.
    """

    def filled(field: re.Match[str]) -> str:
        low, high, parts, name = field.groups()
        if name is None:
            number = dice.whole(int(low), int(high))
            return str(number / int(parts) if parts else number)
        phrase = phrases[name]
        if callable(phrase):
            return str(phrase())
        return str(phrase if isinstance(phrase, str) else dice.pick(phrase))

    return _FIELD.sub(filled, template)


def discharge_notes(stay: Stay) -> list[Row]:
    """Return the row of an admission's discharge note; one special case has none."""
    if stay.case == "note_missing":
        return []
    number = stay.ordinal + 2
    written = of.midnight(stay.dischtime)
    stored = later(written, 15 * HOUR + stay.dice.whole(0, 20000))
    head = (f"{stay.subject_id}-DS-{number}", stay.subject_id, stay.hadm_id, "DS", number)
    return [(*head, written, stored, write_note(stay))]


def write_note(stay: Stay) -> str:
    """Return the text of one discharge note."""
    dice, case = stay.dice, stay.case
    special = SPECIAL["notes"].get(case, {})
    headings = special.get("headings", {})
    sections = _sections(stay, special)
    free = not case.startswith("note_")  # a special case has one irregularity, others any
    same_line = case == "note_same_line" or (free and dice.chance(0.05))
    capitals = case == "note_capitals" or (free and dice.chance(0.03))
    sex = "F" if stay.female else "M"
    lines = [fill(NOTE["header"], dice, NOTE | {"sex": sex})]
    for heading, body in sections.items():
        shown = headings.get(heading, heading)
        if shown is None:
            continue
        if heading in NOTE["other_headings"] and free and dice.chance(0.05):
            shown = NOTE["other_headings"][heading]
        if capitals:
            shown = shown.upper()
        lines.append(f"{shown}:{' ' if same_line else chr(10)}{body}\n \n")
    text = "".join(lines)
    if case in ("note_crlf", "note_broken_leak") or (free and dice.chance(0.03)):
        text = text.replace("\n", "\r\n")
    return text


def _sections(stay: Stay, special: dict[str, Any]) -> dict[str, str]:
    dice, complaint = stay.dice, stay.disease["complaint"]
    medicines = dice.some(NOTE["medicines"], dice.whole(2, 6))
    besides = f" {stay.hidden['diagnoses'][0]} was noted besides."
    phrases = NOTE | {
        "complaints": [complaint, complaint.lower(), "Abdominal pain", "abd pain"],
        "done": lambda: _procedures(stay, special),
        "history": lambda: _history(stay, special),
        "past": lambda: _past(stay, special),
        "exams": lambda: _exam(stay, special),
        "results": lambda: fill(NOTE["results"], dice, stay.disease),
        "course": stay.disease["course"],
        "besides": besides if stay.kind == of.SECONDARY else "",
        "home": _numbered(medicines[: dice.whole(1, 3)]),
        "medicines": _numbered(medicines),
        "diagnoses": lambda: _diagnoses(stay),
    }
    sections = {name: fill(template, dice, phrases) for name, template in NOTE["sections"].items()}
    if "course" in special:
        sections["Brief Hospital Course"] += special["course"]
    return sections | (NOTE["expired"] if stay.died else {})


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _procedures(stay: Stay, special: dict[str, Any]) -> str:
    done = stay.dice.pick(stay.disease["procedures"])
    if "procedures" in special:
        return fill(special["procedures"], stay.dice, {"done": done})
    if stay.procedure_day < 0:
        return stay.dice.pick(("None", "none", "___"))
    return str(stay.dice.pick((done, f"___: {done}", f"{done} on ___")))


def _history(stay: Stay, special: dict[str, Any]) -> str:
    dice, hidden = stay.dice, stay.hidden
    phrases = NOTE | {
        "sex": dice.pick(("F", "female", "woman") if stay.female else ("M", "male", "man")),
        "denied": ", ".join(dice.some(NOTE["denials"], 3)),
        "associated": " and ".join(dice.some(NOTE["associated"], 2)),
        "pain": stay.disease["pain"],
    }
    lines = fill(NOTE["history"], dice, phrases).split("\n")
    free = stay.kind == of.INTEREST and not stay.case.startswith("note_")
    if stay.kind == of.TRANSFERRED:
        name = stay.disease["diagnoses"][0]
        lines.insert(2, f"Sent from ___ Hospital, where {name} was found.")
    elif stay.case == "note_broken_leak":
        lines.insert(2, f"They spoke of acute\n{hidden['name']}, not yet confirmed.")
    elif stay.case == "note_leak" or (free and dice.chance(0.06)):
        lines.insert(2, hidden["leak"])
    elif stay.case == "note_stems" or (free and dice.chance(0.08)):
        lines.insert(2, hidden["stem"])
    return "\n".join(lines + special.get("history", []))


def _past(stay: Stay, special: dict[str, Any]) -> str:
    dice = stay.dice
    known = [one for one in NOTE["past"] if stay.female or "C-section" not in one]
    past = dice.some(known, dice.whole(1, 5))
    if stay.kind == of.FORMER:
        past.append(f"{stay.hidden['diagnoses'][0]} in ___, treated elsewhere")
    label = dice.pick(("", "", "", "PMH:\n", "PMHx/PSHx: "))
    shown = dice.pick(("\n".join(past), _numbered(past), ", ".join(past)))
    return str(special.get("past", label)) + shown


def _exam(stay: Stay, special: dict[str, Any]) -> str:
    dice = stay.dice
    if stay.case == "note_short_exam":
        return "see ED note"
    admission = fill(NOTE["exam"]["ill"], dice, NOTE | stay.disease)
    abdomen = dice.pick(NOTE["good_abdomens"])
    after = fill(NOTE["exam"]["well"], dice, NOTE | {"abdomen": abdomen})
    shape = special["exam"] if "exam" in special else dice.pick(NOTE["exams"])
    return fill(shape, dice, {"admission": admission, "after": after})


def _diagnoses(stay: Stay) -> str:
    dice, case = stay.dice, stay.case
    main = [dice.pick(stay.disease["diagnoses"])]
    second = dice.some(NOTE["second_diagnoses"], dice.whole(0, 3))
    if stay.kind == of.SECONDARY:
        second.insert(0, dice.pick(stay.hidden["diagnoses"]))
    if case == "note_other_diagnosis":
        main = ["Abdominal pain, cause unknown"]
    elif case == "note_two_diagnoses":
        main.append(stay.second["diagnoses"][0])
    elif case == "note_unicode":
        main[0] += " \u2013 \u201cmild\u201d"
    if not second:
        return dice.pick(("\n".join(main), _numbered(main), f"Primary Diagnosis: {main[0]}"))
    if case == "note_two_diagnoses" or dice.chance(0.5):
        return f"PRIMARY DIAGNOSIS:\n{_numbered(main)}\n\nSecondary diagnoses:\n{_numbered(second)}"
    return "\n".join(main + [f"- {name}" for name in second])


def reports(stay: Stay) -> tuple[list[Row], list[Row]]:
    """Return the rows of one admission for the tables radiology and radiology_detail."""
    dice, notes, details = stay.dice, list[Row](), list[Row]()

    def add(note: str, hadm: int | None, time: datetime, text: str) -> None:
        _, kind, number = note.split("-")
        stored = None if dice.chance(0.03) else later(time, 70 * MINUTE)
        notes.append((note, stay.subject_id, hadm, kind, number, time, stored, text))

    for place, (exam, time, form) in enumerate(_plan(stay)):
        number = 3 + stay.ordinal * 60 + place * 2
        note, addendum = f"{stay.subject_id}-RR-{number}", f"{stay.subject_id}-AR-{number + 1}"
        lost = time < stay.admittime and dice.chance(0.4)
        hadm = None if lost or (stay.case == "window" and place == 0) else stay.hadm_id
        names = [exam["name"]]
        if stay.case == "report_names" and place == 1:
            names = []  # neither a name of its own nor a report it belongs to
        elif (stay.case == "report_names" and place == 0) or dice.chance(0.04):
            names.append("CT RECONSTRUCTION" if exam["way"] == "ct" else "DUPLEX DOPP ABD/PEL")
        add(note, hadm, time, write_report(stay, exam, form))
        # Rows of later ordinals may come first.
        said = [(note, "exam_name", name, n) for n, name in enumerate(names, 1)][::-1]
        if names:
            code = (note, "cpt_code", f"7{len(exam['name']):02d}77", 1)
            said = [(note, "exam_code", exam["code"], 1), *said, code]
        if (stay.case == "report_addendum" and place == 0) or dice.chance(0.03):
            said.append((note, "addendum_note_id", addendum, 1))
            said.append((addendum, "parent_note_id", note, 1))
            text = fill(REPORT["addendum"], dice, stay.disease)
            add(addendum, hadm, later(time, 5 * HOUR), text)
        details += [(named, stay.subject_id, *rest) for named, *rest in said]
    return notes, details


def _plan(stay: Stay) -> Plan:
    dice, exams = stay.dice, [REPORT["exams"][name] for name in stay.disease["exams"]]
    chest = [REPORT["exams"][name] for name in ("chest_pa", "chest_ap")]
    hours = int((stay.dischtime - stay.arrival).total_seconds() / HOUR)
    forms = SPECIAL["reports"]
    forced = stay.case.removeprefix("report_").replace("_", " ")
    named = [exam for exam in exams if exam["way"] != "nuclear"]  # the name says how it was done
    exam, time = dice.pick(named), later(stay.arrival, dice.whole(60, 260) * MINUTE)
    plan: Plan = [(exam, time, forced if forced in forms else "")]
    for _ in range(dice.pick((0, 0, 1, 1, 1, 2, 3))):
        exam = dice.pick((*exams, *chest))
        form = dice.pick(list(forms)) if dice.chance(0.2) else ""
        plan.append((exam, later(stay.arrival, dice.whole(4, max(5, hours)) * HOUR), form))
    if stay.case == "report_chest_only":
        plan = [(chest[0], time, form) for _, time, form in plan]
    elif stay.case == "report_names":
        plan = plan[:1]
    elif stay.case == "window":
        plan[0] = (plan[0][0], later(stay.arrival, -DAY), "")
    for row in REPORT_CASES.get(stay.case, ()):
        special = stay.time(row["anchor"], row["seconds"])
        plan.append((REPORT["exams"][row["exam"]], special or stay.arrival, ""))
    return plan


def write_report(stay: Stay, exam: dict[str, str], form: str) -> str:
    """Return the text of one report; `form` is one of the special forms or empty."""
    dice, way = stay.dice, exam["way"]
    phrases = (
        REPORT
        | exam
        | {
            "findings": _findings(stay, way),
            "impression": stay.disease["impression"] if way != "chest" else "No acute process.",
            "indication": stay.disease["indication"],
            "sex": "woman" if stay.female else "man",
            "technique": REPORT["techniques"][way],
        }
    )

    def said(template: str) -> str:
        return fill(template, dice, phrases)

    phrases["summary"] = said(REPORT["two_points"] if dice.chance(0.5) else "{impression}")
    parts = [(said(heading), said(template)) for heading, template in REPORT["parts"]]
    if way == "ct" and dice.chance(0.4):
        parts.insert(3, ("DOSE", said(REPORT["dose"])))
    if dice.chance(0.12):
        parts.append(("RECOMMENDATION(S)", said("{recommendations}")))
    if form == "wet read" or dice.chance(0.06):
        parts.append(("NOTIFICATION", said(REPORT["notification"])))
    lines = []
    for heading, text in _reshaped(parts, form, phrases["impression"]):
        mark = " :" if form == "spaced colon" and heading == "Findings" else ":"
        own_line = heading.upper() in ("FINDINGS", "IMPRESSION") and dice.chance(0.5)
        lines.append(f"{heading}{mark}{chr(10) * 2 if own_line else '  '}{text}")
    report = "\n\n".join(lines) + "\n"
    if form == "glued heading":
        report = report.replace("\n\nFINDINGS:", "FINDINGS:")
    return report.replace("\n", "\r\n") if form == "crlf" else report


def _findings(stay: Stay, way: str) -> str:
    if way == "chest":
        return str(REPORT["chest"])
    dice, seen = stay.dice, stay.disease["ct" if way == "ct" else "us"]
    organs = dice.some(REPORT["organs"], dice.whole(2, 4))
    if way == "ct" and dice.chance(0.6):
        # Headings of organs below the heading of the findings.
        lines = [f"{heading}: {text}" for heading, text in organs]
        return "\n\n".join(["ABDOMEN:", *lines, f"PELVIS: {seen}"])
    return " ".join([seen, *(text for _, text in organs)])


def _reshaped(parts: list[tuple[str, str]], form: str, summed: str) -> list[tuple[str, str]]:
    """Return headings and texts as a special form has them."""
    changed = SPECIAL["reports"].get(form, {})
    shaped = [
        (shown, template.format(text=text, summed=summed))
        for heading, text in parts
        for shown, template in changed.get(heading, [(heading, "{text}")])
    ]
    if form in ("mixed case", "spaced colon"):
        return [(heading.capitalize(), text) for heading, text in shaped]
    if form == "wet read":
        shaped.append(("WET READ", f"___ ___ 8:40 PM\n {summed} No free air."))
    return shaped
