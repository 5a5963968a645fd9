"""The listfiles of the MIMIC-III benchmark, computed patient by patient in Python and pandas.

This is the other way to build the benchmark, and the usual one: split the events into one file a
patient, turn each patient's file into the time series of the ICU stays, then read these again task
by task. It is written from the benchmark's rules alone and shares no code with the SQL of this
project, so it serves twice: benchmarks are measured against it, and a test compares its rows with
those of the SQL.

    python python/tests/oracles/patient_by_patient.py demo/mimic3 /tmp/listfiles [/tmp/timeseries]

writes TASK/{train,test}/listfile.csv, sorted by name and hour. A value that is not what its rule
asks for (a temperature `warm`) counts as missing; mimic3-benchmarks itself stops there.
"""

from __future__ import annotations

import csv
import math
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

FACTS = Path(__file__).resolve().parents[3] / "seeds" / "mimic3"
EVENT_TABLES = ("CHARTEVENTS", "LABEVENTS", "OUTPUTEVENTS")
EVENT_COLUMNS = ["SUBJECT_ID", "HADM_ID", "ICUSTAY_ID", "CHARTTIME", "ITEMID", "VALUE", "VALUEUOM"]
CHUNK_ROWS = 500_000
# What counts as a missing cell.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"]
MISSING += ["1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]
AS_TEXT: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": MISSING}
DIGITS = "(?:[0-9]+[.]?[0-9]*|[.][0-9]+)"
NUMBER = re.compile(f" *[+-]?(?:{DIGITS}(?:[eE][+-]?[0-9]{{1,2}})?|(?i:inf|infinity)) *")
LAB_NUMBER = re.compile(DIGITS)
BLOOD_PRESSURE = re.compile("(?P<sbp>[0-9]+)/(?P<dbp>[0-9]+)")
CAPILLARY_REFILL = {"Normal <3 secs": 0.0, "Brisk": 0.0, "Abnormal >3 secs": 1.0, "Delayed": 1.0}
MULTITASK_HEADER = (
    "filename,length of stay,in-hospital mortality task (pos;mask;label),"
    "length of stay task (masks;labels),phenotyping task (labels),"
    "decompensation task (masks;labels)"
)
NEVER = datetime.fromisoformat("9999-12-31")
EPSILON = 1e-6

Record = dict[Any, Any]
Cell = str | float
Event = tuple[datetime, int, str, Cell]  # time, stay, variable, cleaned value
Rows = Iterator[tuple[int, list[object]]]


@dataclass
class Stay:
    """One ICU stay of the cohort, with what the tasks ask of it."""

    subject: str
    hadm_id: int
    icustay_id: int
    intime: datetime
    outtime: datetime | None
    los: float  # hours; NaN where missing
    lived: float  # hours from INTIME to DEATHTIME
    mortality: int
    labels: list[int]  # of the phenotypes; empty without diagnoses
    name: str = ""  # in every listfile

    def owns(self, time: datetime, icustay_id: int) -> bool:
        """Tell whether a row is this stay's, or another stay's that was charted inside it."""
        inside = self.outtime is not None and self.intime <= time <= self.outtime
        return icustay_id == self.icustay_id or inside


Task = Callable[[Stay, list[float]], Rows]


def find_file(folder: Path, name: str) -> Path:
    """Find NAME.csv.gz in the folder, in upper or lower case."""
    for path in folder.iterdir():
        if path.name.upper() == f"{name}.CSV.GZ":
            return path
    raise SystemExit(f"There is no {name}.csv.gz in {folder}.")


def read_table(folder: Path, name: str) -> pd.DataFrame:
    """Read a small table whole: column names in upper case, missing cells NaN."""
    table: pd.DataFrame = pd.read_csv(find_file(folder, name), **AS_TEXT)
    return table.rename(columns=str.upper).drop(columns=["ROW_ID"], errors="ignore")


def read_facts(name: str) -> pd.DataFrame:
    """Read one of the benchmark's fact tables."""
    facts: pd.DataFrame = pd.read_csv(FACTS / f"{name}.csv", **AS_TEXT)
    return facts


def moment(text: str | float) -> datetime | None:
    """Read a time, or a date as its midnight."""
    return None if pd.isna(text) else datetime.fromisoformat(str(text))


def read_cohort(source: Path) -> dict[str, list[Stay]]:
    """Choose the ICU stays and number those of each patient."""
    rows = read_table(source, "ICUSTAYS")
    # In one ward and one care unit; a missing one is equal to nothing.
    stayed = (rows["FIRST_WARDID"] == rows["LAST_WARDID"]) & (
        rows["FIRST_CAREUNIT"] == rows["LAST_CAREUNIT"]
    )
    rows = rows[stayed].merge(read_table(source, "ADMISSIONS"), on=["SUBJECT_ID", "HADM_ID"])
    rows = rows.merge(read_table(source, "PATIENTS"), on="SUBJECT_ID")
    rows = rows[rows.groupby("HADM_ID")["HADM_ID"].transform("size") == 1]
    labels = read_labels(source)
    cohort = defaultdict(list)
    for row in rows.to_dict("records"):
        if age(row) >= 18:
            subject, hadm_id = row["SUBJECT_ID"], row["HADM_ID"]
            cohort[subject].append(make_stay(row, labels.get((subject, hadm_id), [])))
    for subject, stays in cohort.items():
        stays.sort(key=lambda stay: (stay.intime, stay.outtime or NEVER, stay.icustay_id))
        for number, stay in enumerate(stays, start=1):
            stay.name = f"{subject}_episode{number}_timeseries.csv"
    return cohort


def age(row: Record) -> float:
    """Return the age at INTIME in years of 365 days; a negative one is 90, a missing one NaN."""
    intime, birth = moment(row["INTIME"]), moment(row["DOB"])
    if intime is None or birth is None:
        return math.nan
    years = (intime - birth).total_seconds() / 3600 / 24 / 365
    return 90.0 if years < 0 else years


def make_stay(row: Record, labels: list[int]) -> Stay:
    """Turn the joined rows of a stay into what the tasks need."""
    admitted, discharged = moment(row["ADMITTIME"]), moment(row["DISCHTIME"])
    intime, death = datetime.fromisoformat(row["INTIME"]), moment(row["DEATHTIME"])
    deaths = [time for time in (moment(row["DOD"]), death) if time]
    return Stay(
        row["SUBJECT_ID"],
        int(row["HADM_ID"]),
        int(row["ICUSTAY_ID"]),
        intime,
        moment(row["OUTTIME"]),
        24.0 * float(row["LOS"]),
        (death - intime).total_seconds() / 3600 if death else 1e18,
        int(any(admitted and discharged and admitted <= time <= discharged for time in deaths)),
        labels,
    )


def read_labels(source: Path) -> dict[tuple[str, str], list[int]]:
    """Return the phenotype labels of every admission that has a code of the dictionary."""
    codes = read_table(source, "DIAGNOSES_ICD").dropna(subset=["ICD9_CODE"])
    codes = codes[codes["ICD9_CODE"].isin(read_table(source, "D_ICD_DIAGNOSES")["ICD9_CODE"])]
    facts = read_facts("icd9_phenotypes").set_index("icd9_code")["phenotype_id"]
    labels: dict[tuple[str, str], list[int]] = {}
    for subject, hadm_id, phenotype in zip(
        codes["SUBJECT_ID"], codes["HADM_ID"], codes["ICD9_CODE"].map(facts), strict=True
    ):
        of_admission = labels.setdefault((subject, hadm_id), [0] * 25)
        if not pd.isna(phenotype):
            of_admission[int(phenotype) - 1] = 1
    return labels


def split_events(source: Path, subjects: Iterable[str], work: Path) -> None:
    """Append the events of the cohort's patients to a file for each of them."""
    wanted = list(subjects)
    for table in EVENT_TABLES:
        chunks = pd.read_csv(
            find_file(source, table),
            usecols=lambda column: str(column).upper() in EVENT_COLUMNS,
            chunksize=CHUNK_ROWS,
            **AS_TEXT,
        )
        for chunk in chunks:
            events = chunk.rename(columns=str.upper).reindex(columns=EVENT_COLUMNS)
            events = events[events["SUBJECT_ID"].isin(wanted)]
            for subject, rows in events.groupby("SUBJECT_ID", sort=False):
                rows.to_csv(work / f"{subject}.csv", mode="a", header=False, index=False)


def read_checked_events(path: Path, stays: list[Stay]) -> pd.DataFrame:
    """Read a patient's events that belong to one of the stays and have a value."""
    events: pd.DataFrame = pd.read_csv(path, names=EVENT_COLUMNS, **AS_TEXT)
    for column in ("HADM_ID", "ICUSTAY_ID", "ITEMID"):
        events[column] = pd.to_numeric(events[column])
    charted = events["ICUSTAY_ID"]
    events["ICUSTAY_ID"] = events["HADM_ID"].map({s.hadm_id: s.icustay_id for s in stays})
    fits = events["ICUSTAY_ID"].notna() & (charted.isna() | (charted == events["ICUSTAY_ID"]))
    return events[fits & events["VALUE"].notna()]


def clean_events(events: pd.DataFrame, items: dict[int, Record]) -> Iterator[Event]:
    """Yield the events that the benchmark uses, cleaned.

    Where all values of a patient are numbers, the benchmark's CSV reader makes numbers of them
    before any rule sees a text.
    """
    only_numbers = all(map(NUMBER.fullmatch, events["VALUE"]))
    used = events[events["ITEMID"].isin(list(items)) & events["CHARTTIME"].notna()]
    columns = [used[name] for name in ("CHARTTIME", "ICUSTAY_ID", "ITEMID", "VALUE")]
    units = used["VALUEUOM"].fillna("").str.lower()
    for time, icustay_id, itemid, text, unit in zip(*columns, units, strict=True):
        item = items[int(itemid)]
        value = clean(item["cleaning_rule"], item["item_label"].lower(), text, unit, only_numbers)
        if value is not None:
            yield datetime.fromisoformat(time), int(icustay_id), item["variable"], value


def clean(rule: str, label: str, text: str, unit: str, only_numbers: bool) -> Cell | None:
    """Apply an item's rule to a value; None where it is not what the rule asks for."""
    match rule:
        case "none" if not only_numbers:
            return text
        case "crr":
            return CAPILLARY_REFILL.get(text)
        case "sbp" | "dbp" if "/" in text:
            both = BLOOD_PRESSURE.fullmatch(text)
            return float(both[rule]) if both else None
        case "lab" | "o2sat" if not only_numbers and not LAB_NUMBER.fullmatch(text):
            return None
    return convert(rule, label, float(text), unit) if NUMBER.fullmatch(text) else None


def convert(rule: str, label: str, value: float, unit: str) -> float:
    """Bring a number to the variable's unit."""
    match rule:
        case "fio2" if "torr" not in unit:
            return value / 100
        case "o2sat" if value <= 1:
            return value * 100
        case "temperature" if value >= 79:
            return (value - 32) * 5 / 9
        case "weight" if "oz" in unit or "oz" in label:
            return value / 16 * 0.453592
        case "weight" if "lb" in unit or "lb" in label:
            return value * 0.453592
        case "height" if "in" in unit or "in" in label:
            return float(round(value * 2.54)) if abs(value) < 9e15 else value * 2.54
    return value


def write_time_series(
    events: Iterable[Event], stays: list[Stay], variables: list[str], root: Path
) -> None:
    """Write the time series of a patient's stays; a stay without a row gets no file."""
    cells: dict[datetime, dict[str, Any]] = defaultdict(dict)
    rows: set[tuple[datetime, int]] = set()
    for time, icustay_id, variable, value in events:
        rows.add((time, icustay_id))
        cells[time][variable] = max(value, cells[time].get(variable, value))
    in_order = sorted(rows)
    for stay in stays:
        times = [time for time, icustay_id in in_order if stay.owns(time, icustay_id)]
        if times:
            with (root / stay.name).open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["Hours", *variables])
                for time in times:
                    hours = (time - stay.intime).total_seconds() / 60 / 60
                    writer.writerow([hours, *map(cells[time].get, variables)])


def read_hours(path: Path) -> list[float]:
    """Read the first column of a time series."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return [float(row[0]) for row in rows]


def in_hospital_mortality(stay: Stay, hours: list[float]) -> Rows:
    """Died in hospital, judged after two days."""
    if stay.los >= 48 - EPSILON and any(-EPSILON < hour < 48 + EPSILON for hour in hours):
        yield 0, [stay.mortality]


def decompensation(stay: Stay, hours: list[float]) -> Rows:
    """Dies within a day, judged every hour of the life in the ICU."""
    for t in judged_hours(min(stay.los, stay.lived), inside_stay(stay, hours)):
        yield t, [six(t), dies_within_a_day(stay, t)]


def length_of_stay(stay: Stay, hours: list[float]) -> Rows:
    """Hours left, judged every hour of the stay."""
    for t in judged_hours(stay.los, inside_stay(stay, hours)):
        yield t, [six(t), six(stay.los - t)]


def phenotyping(stay: Stay, hours: list[float]) -> Rows:
    """Which of the phenotypes the stay has."""
    if inside_stay(stay, hours):
        yield 0, [six(stay.los), *stay.labels]


def multitask(stay: Stay, hours: list[float]) -> Rows:
    """All four, each with a mask of the hours that count."""
    if window := inside_stay(stay, hours):
        is_judged = stay.los >= 48 - EPSILON and window[0] <= 48 + EPSILON
        mortality = [47 if is_judged else 0, int(is_judged), stay.mortality]
        ticks, lived_ticks = sample_hours(stay.los), sample_hours(min(stay.los, stay.lived))
        judged = {*judged_hours(stay.los, window)}
        stay_mask, lived_mask = ([int(t in judged) for t in r] for r in (ticks, lived_ticks))
        left = [six(stay.los - t) for t in ticks]
        deaths = [dies_within_a_day(stay, t) for t in lived_ticks]
        lists = [mortality], [stay_mask, left], [stay.labels], [lived_mask, deaths]
        yield 0, [six(stay.los), *(joined(*cell) for cell in lists)]


def inside_stay(stay: Stay, hours: list[float]) -> list[float]:
    """Return the hours inside the stay."""
    return [hour for hour in hours if -EPSILON < hour < stay.los + EPSILON]


def sample_hours(stop: float) -> range:
    """Return the whole hours from 0 up to a limit."""
    return range(math.ceil(stop + EPSILON))


def judged_hours(stop: float, window: list[float]) -> list[int]:
    """Return the hours that are judged: after four of them, and after the first event inside."""
    return [t for t in sample_hours(stop) if window and t > max(4, window[0])]


def dies_within_a_day(stay: Stay, t: int) -> int:
    """Return the decompensation label of an hour."""
    return int(stay.mortality == 1 and stay.lived - t < 24)


def six(value: float) -> str:
    """Format a number with six decimals."""
    return f"{value:.6f}"


def joined(*lists: Iterable[object]) -> str:
    """Join lists in one cell; without any element it is a single separator."""
    return ";".join(str(value) for values in lists for value in values) or ";"


def write_listfiles(
    task: Task, header: list[str], stays: Iterable[Stay], root: Path, out: Path
) -> None:
    """Read every time series and write the rows of one task, sorted by name and hour."""
    test_subjects = set(read_facts("test_subjects")["subject_id"])
    rows: dict[str, list[tuple[str, int, list[object]]]] = {"train": [], "test": []}
    for stay in stays:
        path = root / stay.name
        if stay.labels and not math.isnan(stay.los) and path.exists():
            partition = rows["test" if stay.subject in test_subjects else "train"]
            partition += [(stay.name, t, cells) for t, cells in task(stay, read_hours(path))]
    for partition_name, lines in rows.items():
        folder = out / task.__name__ / partition_name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "listfile.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONE)
            writer.writerow(header)
            writer.writerows([name, *cells] for name, _, cells in sorted(lines))


def build(source: Path, out: Path, root: Path) -> None:
    """Compute the listfiles of the MIMIC-III files in a folder; time series go to `root`."""
    root.mkdir(parents=True, exist_ok=True)
    cohort = read_cohort(source)
    items = {int(row["itemid"]): row for row in read_facts("item_variables").to_dict("records")}
    variables = sorted({item["variable"] for item in items.values()})
    with tempfile.TemporaryDirectory() as work:
        split_events(source, cohort, Path(work))
        for subject, stays in cohort.items():
            path = Path(work) / f"{subject}.csv"
            if path.exists():
                events = clean_events(read_checked_events(path, stays), items)
                write_time_series(events, stays, variables, root)
    named = read_facts("phenotypes").dropna(subset=["phenotype_id"])
    phenotypes = named.sort_values("phenotype_id", key=lambda column: column.astype(int))
    hourly = ["stay", "period_length", "y_true"]
    tasks: dict[Task, list[str]] = {
        in_hospital_mortality: ["stay", "y_true"],
        decompensation: hourly,
        length_of_stay: hourly,
        phenotyping: ["stay", "period_length", *phenotypes["phenotype_name"]],
        multitask: MULTITASK_HEADER.split(","),
    }
    all_stays = [stay for stays in cohort.values() for stay in stays]
    for task, header in tasks.items():
        write_listfiles(task, header, all_stays, root, out)


if __name__ == "__main__":
    data, listfiles, *series = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as temporary:
        build(data, listfiles, *(series or [Path(temporary)]))
