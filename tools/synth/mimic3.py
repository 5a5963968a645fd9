"""Synthetic raw data in MIMIC-III 1.4's layout: ten tables, written one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from medeval.errors import UserError
from synth import draws
from synth.draws import MINUTE, Columns, Ints
from synth.files import SEEDS, CsvFile, cells, pick, read_rows, read_yaml, text_cells
from synth.mimic3_events import (
    CHART,
    COLUMNS,
    PIECE,
    TABLES,
    Catalogue,
    Events,
    Renderer,
    plan_events,
    special_events,
)
from synth.mimic3_people import (
    CARE_UNITS,
    CASES,
    HIGHEST_SUBJECT,
    METAVISION,
    PHENOTYPES,
    Population,
    draw_levels,
    make_population,
)

LEAST_PATIENTS = 20
SMALL = 1_000_000  # up to so many rows the files are packed tightly, beyond it quickly
SAID: dict[str, Any] = read_yaml("mimic3_people.yml")
DBSOURCES = ("carevue", "metavision", "both")
UNKNOWN = ("585", "5185", "2765", "2840", "2880")  # valid once, absent from the dictionary
CHRONIC_KIDNEY_DISEASE = 5  # what the first of them is
# How many known codes belong to no phenotype, by first character.
OTHER_CODES = dict.fromkeys("EV0", 25) | dict.fromkeys("123456789", 40)

Table = dict[str, pa.Array]


def write_mimic3(
    folder: Path,
    scale: int,
    seed: int,
    events_per_stay: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, int]:
    """Write the ten tables into an existing folder and return their row counts.

    Args:
        folder: where the ``.csv.gz`` files go.
        scale: the number of patients.
        seed: any number from 0; the same arguments give the same bytes.
        events_per_stay: about how many chart events an ICU stay has on average.
        progress: called now and then with event rows done and in all.

    Raises:
        UserError: a scale outside 20 to 99,999, or a seed of the project is missing.
    """
    if not LEAST_PATIENTS <= scale <= HIGHEST_SUBJECT:
        raise UserError(
            f"--scale {scale} is not possible. Give a number of patients from {LEAST_PATIENTS} "
            f"to {HIGHEST_SUBJECT} (MIMIC-III's subject ids end there)."
        )
    population = make_population(seed, scale)
    plans = [plan_events(seed, population, table, events_per_stay) for table in range(len(TABLES))]
    catalogue = Catalogue()
    special = special_events(seed, population, catalogue)
    total = sum(int(plan.counts.sum()) for plan in plans) + sum(len(one.item) for one in special)
    level = 9 if total <= SMALL else 1
    rows: dict[str, int] = {}
    for name, columns in _small_tables(seed, population, catalogue, plans[CHART]):
        with CsvFile(folder / f"{name}.csv.gz", list(columns), level, row_id=True) as file:
            file.write_columns(list(columns.values()))
            rows[name] = file.rows

    levels = draw_levels(seed, population.admissions)
    renderer = Renderer(population, catalogue)
    done = 0
    for table, name in enumerate(TABLES):
        with CsvFile(folder / f"{name}.csv.gz", COLUMNS[name], level, row_id=True) as file:
            for batch in Events(seed, table, plans[table], catalogue, levels).pieces():
                file.write_columns(renderer.columns(table, batch))
                progress(done + file.rows, total)
            for start in range(0, len(special[table].item), PIECE):
                batch = special[table].take(slice(start, start + PIECE))
                file.write_columns(renderer.columns(table, batch))
            done += file.rows
            progress(done, total)
            rows[name] = file.rows
    return rows


def _small_tables(
    seed: int, population: Population, catalogue: Catalogue, charted: Columns
) -> Iterator[tuple[str, Table]]:
    """Yield name and columns (all but ROW_ID, in the order of MIMIC-III) of each small table."""
    patients, admissions, stays = population.patients, population.admissions, population.stays
    yield (
        "patients",
        {
            "SUBJECT_ID": cells(patients.subject_id),
            "GENDER": pick(text_cells("MF"), patients.female.astype(np.int64)),
            **{name.upper(): cells(getattr(patients, name)) for name in _DATES},
            "EXPIRE_FLAG": _flags(~np.isnat(patients.dod)),
        },
    )
    yield "admissions", _admissions(seed, population, charted)
    units, wards = text_cells(CARE_UNITS), text_cells(["", *map(str, range(1, 100))])
    yield (
        "icustays",
        {
            "SUBJECT_ID": cells(patients.subject_id[stays.patient]),
            "HADM_ID": cells(admissions.hadm_id[stays.admission]),
            "ICUSTAY_ID": cells(stays.icustay_id),
            "DBSOURCE": pick(text_cells(DBSOURCES), patients.source[stays.patient]),
            "FIRST_CAREUNIT": pick(units, stays.first_unit),
            "LAST_CAREUNIT": pick(units, stays.last_unit),
            "FIRST_WARDID": pick(wards, stays.first_ward),
            "LAST_WARDID": pick(wards, stays.last_ward),
            "INTIME": cells(stays.intime),
            "OUTTIME": cells(stays.outtime),
            "LOS": cells(stays.los),
        },
    )
    yield from _diagnoses(seed, population)
    yield from _dictionaries(catalogue)


_DATES = ("dob", "dod", "dod_hosp", "dod_ssn")


def _flags(values: npt.NDArray[np.bool_]) -> pa.Array:
    return pick(text_cells("01"), values.astype(np.int64))


def _admissions(seed: int, population: Population, charted: Columns) -> Table:
    admissions, patients = population.admissions, population.patients
    patient, count = admissions.patient, len(admissions.patient)
    case = patients.case[patient]
    expired = ~np.isnat(admissions.deathtime)
    newborn = CASES.has(case, "newborn")
    last = {
        "ADMISSION_TYPE": newborn,
        "ETHNICITY": CASES.has(case, "missing_ethnicity"),
        "DISCHARGE_LOCATION": expired,
        "DIAGNOSIS": newborn,
    }
    rng = draws.stream(seed, 40)

    def draw(column: str, shares: dict[str, float]) -> Ints:
        if column in SAID["patient"]:
            return draws.choices(rng, shares, len(patients.case))[patient]
        return draws.choices(rng, shares, count)

    said: dict[str, Ints] = {}
    for column, shares in SAID["special"].items():
        said[column] = np.where(last[column], len(shares) - 1, draw(column, shares))
    emergency = (said["ADMISSION_TYPE"] == 0) & (rng.random(count) < 0.8)
    arrival = admissions.admittime - draws.seconds(rng.integers(30, 600, count) * MINUTE)
    departure = admissions.admittime + draws.seconds(rng.integers(10, 120, count) * MINUTE)
    said |= {column: draw(column, shares) for column, shares in SAID["others"].items()}
    options = SAID["special"] | SAID["others"]
    nothing = draws.missing_times(count)
    has_charted = np.zeros(count, dtype=np.bool_)
    has_charted[charted.admission[charted.counts > 0]] = True
    texts = {column: pick(text_cells(options[column]), said[column]) for column in options}
    return {
        "SUBJECT_ID": cells(patients.subject_id[patient]),
        "HADM_ID": cells(admissions.hadm_id),
        "ADMITTIME": cells(admissions.admittime),
        "DISCHTIME": cells(admissions.dischtime),
        "DEATHTIME": cells(admissions.deathtime),
        **{column: texts[column] for column in SAID["columns"]},
        "EDREGTIME": cells(np.where(emergency, arrival, nothing)),
        "EDOUTTIME": cells(np.where(emergency, departure, nothing)),
        "DIAGNOSIS": texts["DIAGNOSIS"],
        "HOSPITAL_EXPIRE_FLAG": _flags(expired),
        "HAS_CHARTEVENTS_DATA": _flags(has_charted),
    }


def _diagnoses(seed: int, population: Population) -> Iterator[tuple[str, Table]]:
    """Yield the diagnoses, and a small dictionary that lacks some of their codes."""
    listed = read_rows(SEEDS / "mimic3" / "icd9_phenotypes.csv")
    known = [code for code in listed if code["icd9_code"] not in UNKNOWN]
    chosen = [code for code in known if code["phenotype_id"]]
    others = [code for code in known if not code["phenotype_id"]]
    rng = draws.stream(seed, 20)
    for mark, count in OTHER_CODES.items():
        pool = [code for code in others if code["icd9_code"].startswith(mark)]
        chosen += [pool[place] for place in rng.choice(len(pool), count, replace=False)]
    chosen.sort(key=lambda code: code["icd9_code"])
    phenotype = np.array([int(code["phenotype_id"] or 0) for code in chosen])
    admission, code = _draw_codes(seed, population, phenotype)

    admissions = population.admissions
    sequence = draws.ordinals(np.bincount(admission, minlength=len(admissions.hadm_id))) + 1
    codes = [one["icd9_code"] for one in chosen]
    subject = population.patients.subject_id[admissions.patient]
    yield (
        "diagnoses_icd",
        {
            "SUBJECT_ID": cells(subject[admission]),
            "HADM_ID": cells(admissions.hadm_id[admission]),
            "SEQ_NUM": pick(cells(sequence), np.where(code < 0, -1, np.arange(len(code)))),
            "ICD9_CODE": pick(text_cells([*codes, *UNKNOWN]), code),
        },
    )
    groups = [int(one["ccs_id"]) for one in chosen]
    shorts = (f"Group {group} code {one}" for group, one in zip(groups, codes, strict=True))
    yield (
        "d_icd_diagnoses",
        {
            "ICD9_CODE": text_cells(codes),
            "SHORT_TITLE": text_cells(shorts),
            "LONG_TITLE": text_cells(_long_titles(codes, groups, phenotype)),
        },
    )


def _draw_codes(seed: int, population: Population, phenotype: Ints) -> tuple[Ints, Ints]:
    """Give each admission codes of its phenotypes, others, and a few that are unknown.

    Return the admission and the code of each row: a place among the known codes, whose phenotypes
    (0 for none) are given, behind them one of `UNKNOWN`, and -1 for a missing code.
    """
    rng = draws.stream(seed, 21)
    admissions, known = population.admissions, len(phenotype)
    case = population.patients.case[admissions.patient]
    count = len(case)
    without = CASES.has(case, "no_diagnosis", "unknown_codes_only")
    kidney, only = CASES.has(case, "unknown_kidney_code"), CASES.has(case, "unknown_codes_only")
    has = admissions.phenotypes & ~without[:, None]
    has[kidney, CHRONIC_KIDNEY_DISEASE - 1] = False

    rows: list[tuple[Ints, Ints | int]] = []
    for number in range(1, PHENOTYPES + 1):
        having = np.flatnonzero(has[:, number - 1])
        having = np.concatenate([having, having[rng.random(len(having)) < 0.2]])
        rows.append((having, rng.choice(np.flatnonzero(phenotype == number), len(having))))
    others = np.repeat(np.arange(count), np.where(without, 0, rng.poisson(4, count)))
    rows.append((others, rng.choice(np.flatnonzero(phenotype == 0), len(others))))
    some = np.flatnonzero(~without & (rng.random(count) < 0.08))
    rows.append((some, known + rng.integers(1, len(UNKNOWN), len(some))))
    rows.append((np.flatnonzero(kidney), known))
    rows += [(np.flatnonzero(only), place) for place in (known, known + 1, known + 2, -1)]
    rows.append((np.flatnonzero(~without & (rng.random(count) < 0.004)), -1))

    admission = np.concatenate([row[0] for row in rows])
    code = np.concatenate([np.broadcast_to(code, len(where)) for where, code in rows])
    order = np.lexsort((rng.random(len(code)), code < 0, admission))
    return admission[order], code[order]


def _long_titles(codes: list[str], groups: list[int], phenotype: Ints) -> Iterator[str]:
    """Give invented titles, some with commas and quotes."""
    phenotypes = read_rows(SEEDS / "mimic3" / "phenotypes.csv")
    names = ["other conditions", *(row["phenotype_name"] for row in phenotypes)]
    for place, (code, group) in enumerate(zip(codes, groups, strict=True)):
        name = names[phenotype[place]]
        if place == 7:
            yield f'Synthetic title of {code}, also called "{name}"'
        elif place % 10 == 3:
            yield f'Synthetic "{name}" of group {group}, code {code}'
        elif place % 3 == 0:
            yield f"{name}, group {group}, code {code}"
        else:
            yield f"{name} of group {group} code {code}"


def _dictionaries(catalogue: Catalogue) -> Iterator[tuple[str, Table]]:
    """Yield the dictionaries of items; those of MetaVision say more of an item."""
    charted = [
        (item, int(system))
        for item, system in zip(catalogue.items, catalogue.system, strict=True)
        if item["table"] != "labevents"
    ]
    labs = [item for item in catalogue.items if item["table"] == "labevents"]

    def of_metavision(column: str) -> pa.Array:
        return text_cells(item[column] if system == METAVISION else "" for item, system in charted)

    yield (
        "d_items",
        {
            "ITEMID": text_cells(item["itemid"] for item, _ in charted),
            "LABEL": text_cells(item["label"] for item, _ in charted),
            "ABBREVIATION": of_metavision("label"),
            "DBSOURCE": text_cells(DBSOURCES[system] for _, system in charted),
            "LINKSTO": text_cells(item["table"] for item, _ in charted),
            "CATEGORY": text_cells("" for _ in charted),
            "UNITNAME": of_metavision("unit"),
            "PARAM_TYPE": text_cells(
                "Numeric" if system == METAVISION else "" for _, system in charted
            ),
            "CONCEPTID": text_cells("" for _ in charted),
        },
    )
    urine = ["Urine" if item["label"].startswith("Urine") else "Blood" for item in labs]
    kinds = ["Chemistry" if int(item["itemid"]) < 51_000 else "Hematology" for item in labs]
    yield (
        "d_labitems",
        {
            "ITEMID": text_cells(item["itemid"] for item in labs),
            "LABEL": text_cells(item["label"] for item in labs),
            "FLUID": text_cells(urine),
            "CATEGORY": text_cells(kinds),
            "LOINC_CODE": text_cells("" for _ in labs),
        },
    )
