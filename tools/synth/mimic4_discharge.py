"""Discharge notes in the hospital's template, with the ways in which notes leave it."""

from __future__ import annotations

from synth import mimic4_phrases as phrases
from synth.mimic4_cases import FORMER, INTEREST, SECONDARY, TRANSFERRED
from synth.mimic4_people import Stay, day_of, later, moment
from synth.writing import Row

MASKED = {
    "History of Present Illness": "___ of Present Illness",
    "Physical Exam": "Physical ___",
    "Pertinent Results": "___ Results",
    "Discharge Diagnosis": "___ Diagnosis",
    "Discharge Condition": "___ Condition",
    "Major Surgical or Invasive Procedure": "Major ___ or Invasive Procedure",
    "Past Medical History": "Past ___ History",
}
ALIASES = {
    "History of Present Illness": "History of Presenting Illness",
    "Physical Exam": "PE",
    "Brief Hospital Course": "Hospital Course",
    "Major Surgical or Invasive Procedure": "PROCEDURE(S)",
}
SPLIT_PROCEDURE = "MAJOR SURGICAL AND INVASIVE PROCEDURES PERFORMED THIS\nADMISSION"
DROPPED = {
    "note_without_history": "History of Present Illness",
    "note_without_past_history": "Past Medical History",
    "note_without_results": "Pertinent Results",
    "note_without_diagnosis": "Discharge Diagnosis",
}


def note_row(stay: Stay) -> Row | None:
    """Return the row of an admission's discharge note; one special case has none."""
    if stay.case == "note_missing":
        return None
    number = stay.ordinal + 2
    written = day_of(stay.discharge)
    stored = moment(later(written, 15 * 3600 + stay.dice.whole(0, 20000)))
    note = f"{stay.subject}-DS-{number}"
    return note, stay.subject, stay.hadm, "DS", number, moment(written), stored, write_note(stay)


def write_note(stay: Stay) -> str:
    """Return the text of one discharge note."""
    dice, case = stay.dice, stay.case
    sections = _sections(stay)
    sections.pop(DROPPED.get(case, ""), None)
    free = not case.startswith("note_")  # a special case has one irregularity, others any
    same_line = case == "note_same_line" or (free and dice.chance(0.05))
    capitals = case == "note_capitals" or (free and dice.chance(0.03))
    lines = [_HEADER.format(sex="F" if stay.female else "M", service=dice.pick(_SERVICES))]
    for heading, body in sections.items():
        shown = heading
        if case == "note_masked_headings":
            shown = MASKED.get(heading, heading)
        elif case == "note_aliases":
            shown = ALIASES.get(heading, heading)
        elif case == "note_masked_diagnosis" and heading == "Discharge Diagnosis":
            shown = "___"
        elif case == "note_procedure_list" and heading.startswith("Major"):
            shown = SPLIT_PROCEDURE
        elif (
            heading in ("History of Present Illness", "Physical Exam")
            and free
            and dice.chance(0.05)
        ):
            shown = {"Physical Exam": "Physical Examination"}.get(heading, MASKED[heading])
        if capitals:
            shown = shown.upper()
        lines.append(f"{shown}:{' ' if same_line else chr(10)}{body}\n \n")
    text = "".join(lines)
    if case in ("note_crlf", "note_broken_leak") or (free and dice.chance(0.03)):
        text = text.replace("\n", "\r\n")
    return text


_SERVICES = ("SURGERY", "MEDICINE", "___")
_HEADER = (
    " \nName:  ___                Unit No:   ___\n \n"
    "Admission Date:  ___              Discharge Date:   ___\n \n"
    "Date of Birth:  ___             Sex:   {sex}\n \nService: {service}\n \n"
)


def _sections(stay: Stay) -> dict[str, str]:
    dice, condition = stay.dice, stay.condition
    medicines = dice.some(phrases.MEDICINES, dice.whole(2, 6))
    home = medicines[: dice.whole(1, 3)]
    complaint = phrases.COMPLAINTS[condition]
    sections = {
        "Allergies": f"{dice.pick(phrases.ALLERGIES)}",
        "Attending": "___",
        "Chief Complaint": dice.pick((complaint, complaint.lower(), "Abdominal pain", "abd pain")),
        "Major Surgical or Invasive Procedure": _procedures(stay),
        "History of Present Illness": _history(stay),
        "Past Medical History": _past(stay),
        "Social History": dice.pick(phrases.SOCIAL),
        "Family History": dice.pick(phrases.FAMILY),
        "Physical Exam": _exam(stay),
        "Pertinent Results": _results(stay),
        "Brief Hospital Course": _course(stay),
        "Medications on Admission": "The Preadmission Medication list is accurate and complete.\n"
        + _numbered(home),
        "Discharge Medications": _numbered(medicines),
        "Discharge Disposition": dice.pick(phrases.DISPOSITIONS),
        "Discharge Diagnosis": _diagnoses(stay),
        "Discharge Condition": dice.pick(phrases.CONDITIONS),
        "Discharge Instructions": dice.pick(phrases.INSTRUCTIONS),
        "Followup Instructions": "___",
    }
    if stay.died:
        sections["Discharge Disposition"] = sections["Discharge Condition"] = "Expired"
        sections["Discharge Instructions"] = "___"
    if stay.case == "note_repeated_diagnosis":
        sections["Brief Hospital Course"] += (
            "\n\nDischarge Diagnosis:\nto be settled, see below\n\nDischarge Condition:\nas below"
        )
    return sections


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _procedures(stay: Stay) -> str:
    done = stay.dice.pick(phrases.PROCEDURES[stay.condition])
    if stay.case == "note_procedure_list":
        return f"{done}, arterial line placement. Upper endoscopy - biopsy\ns/p hernia repair ___"
    if stay.procedure_day < 0:
        return stay.dice.pick(("None", "none", "___"))
    return stay.dice.pick((done, f"___: {done}", f"{done} on ___"))


def _history(stay: Stay) -> str:
    dice, condition = stay.dice, stay.condition
    sex = dice.pick(("F", "female", "woman") if stay.female else ("M", "male", "man"))
    denied = ", ".join(dice.some(phrases.DENIALS, 3))
    associated = " and ".join(dice.some(phrases.ASSOCIATED, 2))
    lines = [
        f"___ year old {sex} who presents with {dice.whole(2, 5)} days of",
        f"{phrases.PAINS[condition]}. It came with {associated}.",
        f"Denies {denied}.\n",
        dice.pick(phrases.ED_COURSES),
    ]
    pathology = condition if stay.concealed < 0 else stay.concealed
    free = stay.kind == INTEREST and not stay.case.startswith("note_")
    if stay.kind == TRANSFERRED:
        name = phrases.DIAGNOSES[condition][0]
        lines.insert(2, f"Sent from ___ Hospital, where {name} was found.")
    elif stay.case == "note_broken_leak":
        name = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")[pathology]
        lines.insert(2, f"They spoke of acute\n{name}, not yet confirmed.")
    elif stay.case == "note_leak" or (free and dice.chance(0.06)):
        lines.insert(2, phrases.LEAKS[pathology])
    elif stay.case == "note_stems" or (free and dice.chance(0.08)):
        lines.insert(2, phrases.STEMS[pathology])
    if stay.case == "note_unicode":
        lines.append(
            "Température 38,5 °C — “sharp” pain ≥ 7/10,\u00a0naïve to opioids.\u2028\x0bOK."
        )
    return "\n".join(lines)


def _past(stay: Stay) -> str:
    dice = stay.dice
    known = phrases.PAST if stay.female else [p for p in phrases.PAST if "C-section" not in p]
    past = dice.some(known, dice.whole(1, 5))
    if stay.kind == FORMER:
        past.append(f"{phrases.DIAGNOSES[stay.concealed][0]} in ___, treated elsewhere")
    label = dice.pick(("", "", "", "PMH:\n", "PMHx/PSHx: "))
    if stay.case == "note_repeated_headings":
        label = "Past Medical History:\n"
    return label + dice.pick(("\n".join(past), _numbered(past), ", ".join(past)))


def _exam(stay: Stay) -> str:
    dice, case = stay.dice, stay.case
    if case == "note_short_exam":
        return "see ED note"
    admission = _one_exam(stay, phrases.ABDOMENS[stay.condition], ill=True)
    after = _one_exam(stay, dice.pick(phrases.GOOD_ABDOMENS), ill=False)
    if case == "note_repeated_headings":
        return f"PE: {admission}"
    if case == "note_exam_by_line":
        return f"{admission}\n\nDischarge exam by the team\n{after}"
    if case == "note_exam_by_capitals":
        return f"ADMISSION EXAM\n{admission}\n\nDISCHARGE PHYSICAL EXAM\n{after}"
    if case == "note_exam_with_labs":
        return f"{admission}\n\nLabs:\nWBC 14.2 Hgb 13.1\n=======\n_______\nxxxxxxx"
    shape = dice.whole(0, 9)
    if shape < 4:
        return admission
    if shape < 6:
        return f"Admission Physical Exam:\n{admission}\n\nDischarge Physical Exam:\n{after}"
    if shape < 7:
        return f"On admission:\n{admission}\n\nOn discharge:\n{after}"
    if shape < 8:
        return f"{admission}\n\nPhysical Exam upon discharge: ___\n{after}"
    return f"{admission}\nWound: no discharge from the drain site"


def _one_exam(stay: Stay, abdomen: str, *, ill: bool) -> str:
    dice = stay.dice
    look = ("uncomfortable, awake", "tired", "in pain, NAD") if ill else ("well, NAD", "at ease")
    vitals = (
        f"T {dice.whole(970, 1019 if ill else 989) / 10} HR {dice.whole(62, 115 if ill else 90)} "
        f"BP {dice.whole(102, 158)}/{dice.whole(55, 95)} "
        f"RR {dice.whole(12, 22)} O2 {dice.whole(94, 100)}% RA"
    )
    return (
        f"Vitals: {vitals}\nGen: {dice.pick(look)}\n"
        "HEENT: mucosa dry, sclerae white\nCV: regular, no murmur\nPulm: clear on both sides\n"
        f"Abd: {abdomen}\nExt: warm, no edema"
    )


def _results(stay: Stay) -> str:
    dice = stay.dice
    blood = (
        f"___ 05:40AM BLOOD WBC-{dice.whole(60, 190) / 10}* RBC-{dice.whole(380, 520) / 100} "
        f"Hgb-{dice.whole(105, 150) / 10} Plt Ct-{dice.whole(150, 390)}\n"
        f"___ 05:40AM BLOOD Glucose-{dice.whole(80, 150)} Na-{dice.whole(133, 144)} "
        f"K-{dice.whole(33, 50) / 10}"
    )
    return f"{blood}\n\nIMAGING: {phrases.IMPRESSIONS[stay.condition]}"


def _course(stay: Stay) -> str:
    course = phrases.COURSES[stay.condition]
    if stay.kind == SECONDARY:
        course += f" {phrases.DIAGNOSES[stay.concealed][0]} was noted besides."
    return f"The patient was admitted to the ___ service. {course}\n\n#Transitional: see ___."


def _diagnoses(stay: Stay) -> str:
    dice, case = stay.dice, stay.case
    main = [dice.pick(phrases.DIAGNOSES[stay.condition])]
    second = dice.some(phrases.SECOND_DIAGNOSES, dice.whole(0, 3))
    if stay.kind == SECONDARY:
        second.insert(0, dice.pick(phrases.DIAGNOSES[stay.concealed]))
    if case == "note_other_diagnosis":
        main = ["Abdominal pain, cause unknown"]
    elif case == "note_two_diagnoses":
        main.append(phrases.DIAGNOSES[1 if stay.condition != 1 else 3][0])
    if case == "note_unicode":
        main[0] += " \u2013 \u201cmild\u201d"
    if not second:
        return dice.pick(("\n".join(main), _numbered(main), f"Primary Diagnosis: {main[0]}"))
    if case == "note_two_diagnoses" or dice.chance(0.5):
        return f"PRIMARY DIAGNOSIS:\n{_numbered(main)}\n\nSecondary diagnoses:\n{_numbered(second)}"
    return "\n".join(main + [f"- {name}" for name in second])
