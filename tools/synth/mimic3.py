"""Synthetic raw data in MIMIC-III 1.4's layout: ten tables, written one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from synth import draws
from synth import mimic3_events as events
from synth import mimic3_people as people
from synth.draws import MINUTE, Columns, Ints
from synth.files import SEEDS, Progress, cells, open_tables, pick, read_rows, read_yaml, text_cells

SCALES = range(20, people.HIGHEST_SUBJECT + 1)  # patients
SMALL = 1_000_000  # up to so many rows the files are packed tightly, beyond it quickly
SAID: dict[str, Any] = read_yaml("mimic3_people.yml")
# Columns of the dictionaries of items, by their names in mimic3_items.csv.
ITEM_COLUMNS = {"ITEMID": "itemid", "LABEL": "item_label", "LINKSTO": "source_table"}
ITEM_COLUMNS |= {"FLUID": "fluid", "CATEGORY": "category"}
DBSOURCES = ("carevue", "metavision", "both")
UNKNOWN = ("585", "5185", "2765", "2840", "2880")  # valid once, absent from the dictionary
CHRONIC_KIDNEY_DISEASE = 5  # what the first of them is
# How many known codes belong to no phenotype, by first character.
OTHER_CODES = dict.fromkeys("EV0", 25) | dict.fromkeys("123456789", 40)

Table = dict[str, pa.Array]


def write(
    folder: Path, scale: int, seed: int, events_per_stay: int, progress: Progress
) -> dict[str, int]:
    """Write the ten tables into a folder, and return their row counts; see `run.write_synthetic`.

    Raises:
        UserError: a seed of the project is missing.
    """
    population = people.make_population(seed, scale)
    plans = [
        events.plan_events(seed, population, table, events_per_stay)
        for table in range(len(events.TABLES))
    ]
    catalogue = events.Catalogue()
    special = events.special_events(seed, population, catalogue)
    total = sum(int(plan.counts.sum()) for plan in plans) + sum(len(one.item) for one in special)
    level = 9 if total <= SMALL else 1
    levels = people.draw_levels(seed, population.admissions)
    renderer = events.Renderer(population, catalogue)
    done = 0
    with open_tables(folder, events.COLUMNS, level) as files:
        for name, columns in _small_tables(seed, population, catalogue, plans[events.CHART]):
            files[name].write_columns(columns)
        for table, name in enumerate(events.TABLES):
            file = files[name]
            for batch in events.ordinary_events(seed, table, plans[table], catalogue, levels):
                file.write_columns(renderer.columns(table, batch))
                progress(done + file.rows, total)
            for start in range(0, len(special[table].item), events.PIECE):
                batch = special[table].take(slice(start, start + events.PIECE))
                file.write_columns(renderer.columns(table, batch))
            done += file.rows
            progress(done, total)
        return {name: file.rows for name, file in files.items()}


def _small_tables(
    seed: int, population: people.Population, catalogue: events.Catalogue, charted: Columns
) -> Iterator[tuple[str, Table]]:
    """Yield name and columns of each small table."""
    patients, admissions, stays = population.patients, population.admissions, population.stays
    yield (
        "patients",
        {
            **_plain(patients, "subject_id", "dob", "dod", "dod_hosp", "dod_ssn"),
            "GENDER": pick(text_cells("MF"), patients.female.astype(np.int64)),
            "EXPIRE_FLAG": _flags(~np.isnat(patients.dod)),
        },
    )
    yield "admissions", _admissions(seed, population, charted)
    units, wards = text_cells(people.CARE_UNITS), text_cells(["", *map(str, range(1, 100))])
    yield (
        "icustays",
        {
            "SUBJECT_ID": cells(patients.subject_id[stays.patient]),
            "HADM_ID": cells(admissions.hadm_id[stays.admission]),
            **_plain(stays, "icustay_id", "intime", "outtime", "los"),
            "DBSOURCE": pick(text_cells(DBSOURCES), patients.source[stays.patient]),
            "FIRST_CAREUNIT": pick(units, stays.first_unit),
            "LAST_CAREUNIT": pick(units, stays.last_unit),
            "FIRST_WARDID": pick(wards, stays.first_ward),
            "LAST_WARDID": pick(wards, stays.last_ward),
        },
    )
    yield from _diagnoses(seed, population)
    yield from _dictionaries(catalogue)


def _plain(columns: Columns, *names: str) -> Table:
    return {name.upper(): cells(getattr(columns, name)) for name in names}


def _flags(values: npt.NDArray[np.bool_]) -> pa.Array:
    return pick(text_cells("01"), values.astype(np.int64))


def _admissions(seed: int, population: people.Population, charted: Columns) -> Table:
    admissions, patients = population.admissions, population.patients
    patient, count = admissions.patient, len(admissions.patient)
    case = patients.case[patient]
    expired = ~np.isnat(admissions.deathtime)
    rng = draws.stream(seed, 40)
    texts: dict[str, Ints] = {}

    def draw(columns: Iterable[str]) -> None:
        for column in columns:
            shares = list(SAID["shares"][column].values())
            of_patient = column in SAID["patient"]
            places = rng.choice(len(shares), len(patients.case) if of_patient else count, p=shares)
            texts[column] = places[patient] if of_patient else places

    draw(SAID["last"])
    for column, why in SAID["last"].items():
        chosen = expired if why == "death" else people.CASES.has(case, why)
        texts[column][chosen] = len(SAID["shares"][column]) - 1
    emergency = (texts["ADMISSION_TYPE"] == 0) & (rng.random(count) < 0.8)
    arrival = admissions.admittime - draws.seconds(rng.integers(30, 600, count) * MINUTE)
    departure = admissions.admittime + draws.seconds(rng.integers(10, 120, count) * MINUTE)
    draw(column for column in SAID["shares"] if column not in SAID["last"])
    nothing = draws.missing_times(count)
    has_charted = np.zeros(count, dtype=np.bool_)
    has_charted[charted.admission[charted.counts > 0]] = True
    return {
        "SUBJECT_ID": cells(patients.subject_id[patient]),
        **_plain(admissions, "hadm_id", "admittime", "dischtime", "deathtime"),
        **{column: pick(text_cells(SAID["shares"][column]), texts[column]) for column in texts},
        "EDREGTIME": cells(np.where(emergency, arrival, nothing)),
        "EDOUTTIME": cells(np.where(emergency, departure, nothing)),
        "HOSPITAL_EXPIRE_FLAG": _flags(expired),
        "HAS_CHARTEVENTS_DATA": _flags(has_charted),
    }


def _diagnoses(seed: int, population: people.Population) -> Iterator[tuple[str, Table]]:
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


def _draw_codes(seed: int, population: people.Population, phenotype: Ints) -> tuple[Ints, Ints]:
    """Give each admission codes of its phenotypes, others, and a few that are unknown.

    Return the admission and the code of each row: a place among the known codes, whose phenotypes
    (0 for none) are given, behind them one of `UNKNOWN`, and -1 for a missing code.
    """
    rng = draws.stream(seed, 21)
    admissions, known = population.admissions, len(phenotype)
    case = population.patients.case[admissions.patient]
    count = len(case)
    without = people.CASES.has(case, "no_diagnosis", "unknown_codes_only")
    kidney, only = (
        people.CASES.has(case, "unknown_kidney_code"),
        people.CASES.has(case, "unknown_codes_only"),
    )
    has = admissions.phenotypes & ~without[:, None]
    has[kidney, CHRONIC_KIDNEY_DISEASE - 1] = False

    rows: list[tuple[Ints, Ints | int]] = []
    for number in range(1, people.PHENOTYPES + 1):
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


def _dictionaries(catalogue: events.Catalogue) -> Iterator[tuple[str, Table]]:
    """Yield the dictionaries of items; those of MetaVision say more of an item."""
    rows = []
    for item, system in zip(catalogue.items, catalogue.system, strict=True):
        row = {column: item[known] for column, known in ITEM_COLUMNS.items()}
        row["DBSOURCE"] = DBSOURCES[system]
        if system == people.METAVISION:
            row |= {"ABBREVIATION": item["item_label"], "UNITNAME": item["unit"]}
            row["PARAM_TYPE"] = "Numeric"
        rows.append(row)
    for name, is_lab in (("d_items", False), ("d_labitems", True)):
        listed = [row for row in rows if (row["LINKSTO"] == "labevents") == is_lab]
        columns = [column for column in events.COLUMNS[name] if column != "ROW_ID"]
        yield name, {one: text_cells(row.get(one, "") for row in listed) for one in columns}
