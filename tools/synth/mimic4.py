"""Synthetic raw data in MIMIC-IV's layout: hospital and note tables, admission by admission."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from synth import draws, mimic4_notes, mimic4_results
from synth import mimic4_stay as of
from synth.draws import DAY, HOUR, MINUTE, Columns, Dice
from synth.files import CsvFile, Progress, Row, open_tables, read_groups, read_yaml
from synth.mimic4_stay import CASES, Stay, later

COLUMNS: dict[str, list[str]] = read_yaml("tables.yml")["mimic4"]
SAID: dict[str, list[str | None]] = read_yaml("mimic4_people.yml")
CODES = read_groups("mimic4_codes.csv", "group")

SCALES = range(20, 1_000_001)  # admissions of interest
CHUNK_ROWS = 200_000  # about so many laboratory rows are in memory at once
CHUNK = 1000  # and never more admissions than this
SMALL = 2000  # up to so many admissions the files are packed tightly, beyond it quickly
DICE = 512
FIRST_SUBJECT, FIRST_HADM, FIRST_TRANSFER = 10_000_000, 20_000_000, 30_000_000
FIRST_SPECIMEN, FIRST_CULTURE, IDS = 1_000_000_000, 5_000_000_000, 9_900_000
PATTERN = "AACPACDPAACPACPADCAP"  # pathologies of twenty admissions of interest
CONTROLS = (of.OTHER, of.SECONDARY, of.OTHER, of.TRANSFERRED, of.FORMER, of.OTHER)
JOINING = ("overlapping", "readmitted")  # a later admission of the patient before

Code = tuple[str, int]


def write(
    folder: Path, scale: int, seed: int, events_per_stay: int, progress: Progress
) -> dict[str, int]:
    """Write the tables below `hosp` and `note` of a folder, and return their row counts.

    Three controls come with each ten admissions of interest. See `run.write_synthetic`.
    """
    admissions = make_admissions(seed, scale)
    total = len(admissions.case)
    size = max(1, min(CHUNK, CHUNK_ROWS // events_per_stay))
    with open_tables(folder, COLUMNS, 9 if total <= SMALL else 1) as files:
        files["hosp/d_labitems"].write_rows(mimic4_results.item_rows())
        for table in ("diagnoses", "procedures"):
            files[f"hosp/d_icd_{table}"].write_rows(_titles(table))
        specimens = FIRST_SPECIMEN
        for number, start in enumerate(range(0, total, size)):
            chunk = admissions.take(slice(start, start + size))
            labs = files["hosp/labevents"]
            columns, taken = mimic4_results.ordinary_labs(
                draws.stream(seed, 101, number), chunk, events_per_stay, 1 + labs.rows, specimens
            )
            labs.write_columns(columns)
            dice = draws.stream(seed, 102, number)
            specimens = _write_rows(files, chunk, dice, specimens + taken)
            progress(min(start + size, total), total)
        return {name: file.rows for name, file in files.items()}


def make_admissions(seed: int, scale: int) -> Columns:
    """Draw `scale` admissions of interest and three controls for each ten of them.

    All are in memory at once, in the order of (subject_id, time). `condition` is the main disease,
    `concealed` the pathology that a control has besides; `procedure_day` counts from the day of
    admission and is -1 without a procedure; `edregtime` is missing for those who did not come
    through the emergency department, `dod` for those who are not known to have died.
    """
    rng = draws.stream(seed, 100)
    controls = max(6, scale * 3 // 10)
    count = scale + controls
    number = np.arange(controls)
    control, pathology = np.array(CONTROLS)[number % len(CONTROLS)], number // 2 % 4
    control_condition = np.where(control == of.TRANSFERRED, pathology, 4 + number % 5)
    letters = np.array(["ACDP".index(letter) for letter in PATTERN])
    condition = np.concatenate([letters[np.arange(scale) % len(letters)], control_condition])
    concealed = np.concatenate([np.full(scale, -1), pathology])
    kind = np.concatenate([np.full(scale, of.INTEREST), control])
    case = np.concatenate([CASES.assign(scale), np.full(controls, CASES.ORDINARY)])

    joins = CASES.has(case, *JOINING)
    patient = np.cumsum(~joins) - 1
    patients = int(patient[-1]) + 1
    gap = IDS // count
    ids = np.cumsum(rng.integers(1, gap + 1, count))

    female = rng.random(patients) < 0.52
    only_women = np.array([disease.get("only_women", False) for disease in of.CONDITIONS])
    female[patient[only_women[condition]]] = True
    age = np.clip(np.rint(rng.normal(52, 18, patients)), 18, 89).astype(np.int64)
    oldest = rng.random(patients) < 0.01
    oldest[patient[CASES.has(case, "oldest")]] = True
    age[oldest] = 91
    anchor_year = rng.integers(2110, 2190, patients)

    begin = (anchor_year - 1970).astype("datetime64[Y]").astype("datetime64[s]")
    begin = begin + draws.seconds(rng.integers(0, 5 * 365 * DAY, patients))
    admittime = draws.floor(begin[patient], "m")
    length = np.clip(rng.lognormal(np.log(3.5), 0.6, count) * DAY, DAY, 30 * DAY).astype(np.int64)
    overlaps = CASES.has(case, "overlapping")
    before_overlap = np.flatnonzero(overlaps) - 1
    length[before_overlap] = np.maximum(length[before_overlap], 4 * DAY)
    after = np.where(overlaps, 2 * DAY, rng.integers(40 * DAY, 900 * DAY, count))
    admittime[joins] = draws.floor(admittime[joins] + draws.seconds(after[joins]), "m")
    morning = CASES.has(case, "same_day_procedure", "missing_charttime")
    admittime[morning] = draws.floor(admittime[morning], "D") + draws.seconds(8 * HOUR)
    dischtime = draws.floor(admittime + draws.seconds(length), "m")

    through_ed = (rng.random(count) < 0.88) & (kind != of.TRANSFERRED)
    through_ed |= kind == of.INTEREST
    wait = draws.seconds(rng.integers(2 * HOUR, 11 * HOUR, count) // MINUTE * MINUTE)
    edregtime = np.where(through_ed, admittime - wait, draws.missing_times(count))

    day = rng.choice([0, 1, 2, 3], count, p=[0.15, 0.5, 0.25, 0.1])
    without = np.array([disease["without_procedure"] for disease in of.CONDITIONS])[condition]
    day[rng.random(count) < without] = -1
    day[(case != CASES.ORDINARY) & (day < 0)] = 1
    for name, days in of.SPECIAL["procedure_day"].items():
        day[CASES.has(case, name)] = days
    longest = (draws.floor(dischtime, "D") - draws.floor(admittime, "D")).astype(np.int64) // DAY
    short = (day > longest) & (day > 0)
    dischtime[short] = admittime[short] + draws.seconds(day[short] * DAY + 9 * HOUR)

    # The last admission of a patient may end in death; that of the first control does.
    last = np.append(~joins[1:], True)
    died = last & (case == CASES.ORDINARY) & (age[patient] > 60) & (rng.random(count) < 0.03)
    died[scale] = True
    dod = draws.missing_times(patients)
    dod[patient[died]] = draws.floor(dischtime[died], "D")

    place = rng.permutation(patients)
    admissions = Columns(
        subject_id=FIRST_SUBJECT + ids[place][patient],
        hadm_id=FIRST_HADM + rng.permutation(np.cumsum(rng.integers(1, gap + 1, count))),
        ordinal=joins.astype(np.int64),
        case=case,
        kind=kind,
        condition=condition,
        concealed=concealed,
        female=female[patient],
        anchor_age=age[patient],
        anchor_year=anchor_year[patient],
        admittime=admittime,
        dischtime=dischtime,
        edregtime=edregtime,
        procedure_day=day,
        icd_version=np.where(rng.random(count) < 0.45, 9, 10),
        died=died,
        dod=dod[patient],
    )
    return admissions.take(np.lexsort([admittime, admissions.subject_id]))


def stays_of(admissions: Columns, rng: np.random.Generator) -> Iterator[Stay]:
    """Give the admissions one by one, as Python values."""
    names = list(vars(admissions))
    rolls: list[list[float]] = rng.random((len(admissions.case), DICE)).tolist()
    rows = zip(*(column.tolist() for column in vars(admissions).values()), strict=True)
    for numbers, row in zip(rolls, rows, strict=True):
        yield Stay(Dice(numbers), dict(zip(names, row, strict=True)))


def _write_rows(
    files: dict[str, CsvFile], chunk: Columns, rng: np.random.Generator, specimens: int
) -> int:
    """Write all other rows of some admissions; return the next specimen's id."""
    rows: dict[str, list[Row]] = defaultdict(list)
    cultures = files["hosp/microbiologyevents"].rows
    labevents = 1 + files["hosp/labevents"].rows
    for stay in stays_of(chunk, rng):
        rows["hosp/admissions"].append(_admission_row(stay))
        rows["hosp/transfers"] += _transfer_rows(stay)
        for table, coded in (
            ("hosp/diagnoses_icd", _diagnoses(stay)),
            ("hosp/procedures_icd", _procedures(stay)),
        ):
            rows[table] += [
                (stay.subject_id, stay.hadm_id, number, *cells)
                for number, cells in enumerate(coded, 1)
            ]
        labs = rows["hosp/labevents"]
        special = mimic4_results.special_labs(stay, labevents + len(labs), specimens)
        labs += special
        specimens += len(special)
        micro = rows["hosp/microbiologyevents"]
        # One specimen has one number, so an admission takes as many numbers as it has rows.
        done = cultures + len(micro)
        micro += mimic4_results.cultures(stay, 1 + done, FIRST_CULTURE + done)
        rows["note/discharge"] += mimic4_notes.discharge_notes(stay)
        reports, details = mimic4_notes.reports(stay)
        rows["note/radiology"] += reports
        rows["note/radiology_detail"] += details
        if stay.ordinal == 0:
            rows["hosp/patients"].append(_patient_row(stay))
    for name, lines in rows.items():
        files[name].write_rows(lines)
    return specimens


def _patient_row(stay: Stay) -> Row:
    group = 2008 + stay.anchor_year % 4 * 3
    return (
        *(stay.subject_id, "F" if stay.female else "M", stay.anchor_age, stay.anchor_year),
        *(f"{group} - {group + 2}", stay.dod and stay.dod.date()),
    )


def _admission_row(stay: Stay) -> Row:
    dice = stay.dice
    source, kind = "EMERGENCY ROOM", "EW EMER."
    if stay.kind == of.TRANSFERRED:
        source, kind = "TRANSFER FROM HOSPITAL", "URGENT"
    elif stay.edregtime is None:
        source, kind = "PHYSICIAN REFERRAL", "DIRECT EMER."
    return (
        stay.subject_id,
        stay.hadm_id,
        stay.admittime,
        stay.dischtime,
        stay.dischtime if stay.died else None,
        kind,
        f"P{dice.whole(0, 999):03d}AB",
        source,
        "DIED" if stay.died else dice.pick(SAID["home"]),
        dice.pick(SAID["insurance"]),
        "English" if dice.chance(0.9) else "?",
        dice.pick(SAID["marital_status"]),
        dice.pick(SAID["race"]),
        stay.edregtime,
        None if stay.edregtime is None else later(stay.admittime, 50 * MINUTE),
        int(stay.died),
    )


def _transfer_rows(stay: Stay) -> list[Row]:
    """Return where the patient was; one special case has no row."""
    if stay.case == "no_transfers":
        return []
    dice, rows = stay.dice, list[Row]()
    number = FIRST_TRANSFER + (stay.hadm_id - FIRST_HADM) * 5
    head = (stay.subject_id, stay.hadm_id)
    emergency = ("ED", "Emergency Department")
    if dice.chance(0.06):
        # A visit to the emergency department that led to no admission.
        seen = later(stay.arrival, -dice.whole(500, 2000) * HOUR)
        rows.append((stay.subject_id, None, number + 4, *emergency, seen, later(seen, 5 * HOUR)))
    if stay.edregtime is not None:
        rows.append((*head, number, *emergency, stay.edregtime, stay.admittime))
    moved, unit = stay.admittime, dice.pick(SAID["careunit"])
    if dice.chance(0.3):
        moved = later(stay.admittime, dice.whole(3, 20) * HOUR)
        rows.append((*head, number + 1, "admit", unit, stay.admittime, moved))
        unit = dice.pick(SAID["careunit"])
    kind = "admit" if moved == stay.admittime else "transfer"
    rows.append((*head, number + 2, kind, unit, moved, stay.dischtime))
    rows.append((*head, number + 3, "discharge", "UNKNOWN", stay.dischtime, None))
    return rows


def _codes(table: str, group: str, version: int) -> list[Code]:
    rows = (row for row in CODES.get(group, ()) if row["table"] == table)
    return [(row["icd_code"], version) for row in rows if row["icd_version"] == str(version)]


def _diagnoses(stay: Stay) -> list[Row]:
    """Return the coded diagnoses of an admission, the main one first."""
    dice, version = stay.dice, stay.icd_version
    codes = functools.partial(_codes, "diagnoses", version=version)
    main = dice.pick(codes(stay.disease["name"]))
    others = dice.some(codes("others"), dice.whole(0, 4))
    if stay.kind == of.SECONDARY:
        others.insert(0, dice.pick(codes(stay.hidden["name"])))
    if stay.kind == of.FORMER:
        others += codes("history")
    if stay.case == "note_two_diagnoses":
        others.insert(0, codes(stay.second["name"])[0])
    return [main, *others]


def _procedures(stay: Stay) -> list[Row]:
    """Return day and code of the procedures of an admission."""
    if stay.procedure_day < 0:
        return []
    dice, version, day = stay.dice, stay.icd_version, stay.procedure_day
    beside = _codes("procedures", "beside", version)
    main = dice.pick(_codes("procedures", stay.disease["name"], version) or beside)
    dated = [(day, main)]
    if dice.chance(0.3):
        code = dice.pick(beside)
        dated.append((day + dice.whole(0, 2), code))
    if stay.case == "sequence_against_dates":
        # The first in order is the last in time, and an imaging code comes before the surgery.
        dated = [(day + 2, beside[0]), (day + 1, main), (day + 1, beside[1]), (day, beside[2])]
    if stay.case == "procedure_codes":
        dated += [(day, code) for code in _codes("procedures", "untitled", 10)]
        for either in (9, 10):
            dated += [(day + 1, code) for code in _codes("procedures", "twice titled", either)]
        dated.append((day + 2, main))
    return [(of.midnight(stay.admittime, days).date(), *code) for days, code in dated]


def _titles(table: str) -> list[Row]:
    """Return the dictionary of diagnoses or procedures."""
    titles = [
        (row["icd_code"], int(row["icd_version"]), row["long_title"])
        for group in CODES.values()
        for row in group
        if row["table"] == table and row["long_title"]
    ]
    return sorted(titles)
