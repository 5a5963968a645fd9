"""The seven small tables as CSV columns: patients, admissions, stays, diagnoses, dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from synth import arrays as ar
from synth.arrays import MINUTE, Ints
from synth.mimic3_cases import has_case
from synth.mimic3_diagnoses import Diagnoses, Dictionary, titles
from synth.mimic3_facts import Facts
from synth.mimic3_items import CHART, LAB, OUTPUT, Catalogue, Item
from synth.mimic3_patients import CARE_UNITS, METAVISION, Population
from synth.mimic3_plan import Plan
from synth.writing import cells, pick, text_cells

Columns = dict[str, pa.Array]

DBSOURCES = ("carevue", "metavision", "both")
ADMISSION_TYPES = ("EMERGENCY", "ELECTIVE", "URGENT", "NEWBORN")
ADMISSION_LOCATIONS = (
    *("EMERGENCY ROOM ADMIT", "PHYS REFERRAL/NORMAL DELI", "TRANSFER FROM HOSP/EXTRAM"),
    "CLINIC REFERRAL/PREMATURE",
)
DISCHARGES = ("HOME", "HOME HEALTH CARE", "SNF", "REHAB/DISTINCT PART HOSP", "DEAD/EXPIRED")
DEAD = DISCHARGES.index("DEAD/EXPIRED")
INSURANCES = ("Medicare", "Private", "Medicaid", "Government", "Self Pay")
LANGUAGES = ("", "ENGL", "SPAN", "RUSS", "PORT")
RELIGIONS = ("CATHOLIC", "NOT SPECIFIED", "PROTESTANT QUAKER", "JEWISH", "UNOBTAINABLE", "")
MARITAL = ("MARRIED", "SINGLE", "WIDOWED", "DIVORCED", "SEPARATED", "")
ETHNICITIES = (
    *("WHITE", "BLACK/AFRICAN AMERICAN", "UNKNOWN/NOT SPECIFIED", "HISPANIC OR LATINO", "ASIAN"),
    *("OTHER", ""),
)
REASONS = (
    *("SEPSIS", "PNEUMONIA", "CHEST PAIN", "CORONARY ARTERY DISEASE\\CORONARY ARTERY BYPASS GRAFT"),
    *("FEVER, COUGH", "GASTROINTESTINAL BLEED", "S/P FALL", "ALTERED MENTAL STATUS", "NEWBORN"),
)


def small_tables(
    seed: int,
    population: Population,
    facts: Facts,
    dictionary: Dictionary,
    diagnoses: Diagnoses,
    catalogue: Catalogue,
    plans: dict[int, Plan],
) -> Iterator[tuple[str, Columns]]:
    """Yield name and columns (all but ROW_ID, in the order of MIMIC-III) of each small table."""
    yield "patients", _patients(population)
    yield "admissions", _admissions(seed, population, plans)
    yield "icustays", _icustays(population)
    yield "diagnoses_icd", _diagnoses(population, dictionary, diagnoses)
    short, long = titles(dictionary, facts)
    yield (
        "d_icd_diagnoses",
        {
            "ICD9_CODE": text_cells([code.code for code in dictionary.codes[: dictionary.known]]),
            "SHORT_TITLE": text_cells(short),
            "LONG_TITLE": text_cells(long),
        },
    )
    yield "d_items", _items([item for item in catalogue.items if item.table != LAB])
    yield "d_labitems", _lab_items([item for item in catalogue.items if item.table == LAB])


def _patients(population: Population) -> Columns:
    patients = population.patients
    return {
        "SUBJECT_ID": cells(patients.subject_id),
        "GENDER": pick(text_cells("MF"), patients.female.astype(np.int64)),
        "DOB": cells(patients.dob),
        "DOD": cells(patients.dod),
        "DOD_HOSP": cells(patients.dod_hosp),
        "DOD_SSN": cells(patients.dod_ssn),
        "EXPIRE_FLAG": _flags(~np.isnat(patients.dod)),
    }


def _admissions(seed: int, population: Population, plans: dict[int, Plan]) -> Columns:
    admissions, patients = population.admissions, population.patients
    patient = admissions.patient
    count = len(patient)
    rng = ar.stream(seed, 40)

    def draw(options: Sequence[str], shares: Sequence[float], places: int) -> Ints:
        return rng.choice(len(options), places, p=shares)

    of_patient = len(patients.subject_id)
    newborn = has_case(patients.case, "newborn")[patient]
    kind = np.where(newborn, 3, draw(ADMISSION_TYPES, [0.75, 0.17, 0.08, 0], count))
    ethnicity = draw(ETHNICITIES, [0.68, 0.11, 0.11, 0.04, 0.03, 0.03, 0], of_patient)
    ethnicity[has_case(patients.case, "missing_ethnicity")] = ETHNICITIES.index("")
    discharge = draw(DISCHARGES, [0.35, 0.3, 0.2, 0.15, 0], count)
    expired = ~np.isnat(admissions.deathtime)
    reason = draw(REASONS, [0.2, 0.15, 0.1, 0.15, 0.1, 0.1, 0.1, 0.1, 0], count)
    emergency = (kind == 0) & (rng.random(count) < 0.8)
    arrival = admissions.admittime - ar.seconds(rng.integers(30, 600, count) * MINUTE)
    departure = admissions.admittime + ar.seconds(rng.integers(10, 120, count) * MINUTE)
    nothing = ar.missing_times(count)
    charted = np.zeros(count, dtype=np.bool_)
    charted[plans[CHART].admission[plans[CHART].counts > 0]] = True
    return {
        "SUBJECT_ID": cells(patients.subject_id[patient]),
        "HADM_ID": cells(admissions.hadm_id),
        "ADMITTIME": cells(admissions.admittime),
        "DISCHTIME": cells(admissions.dischtime),
        "DEATHTIME": cells(admissions.deathtime),
        "ADMISSION_TYPE": pick(text_cells(ADMISSION_TYPES), kind),
        "ADMISSION_LOCATION": pick(
            text_cells(ADMISSION_LOCATIONS),
            draw(ADMISSION_LOCATIONS, [0.45, 0.2, 0.15, 0.2], count),
        ),
        "DISCHARGE_LOCATION": pick(text_cells(DISCHARGES), np.where(expired, DEAD, discharge)),
        "INSURANCE": pick(
            text_cells(INSURANCES),
            draw(INSURANCES, [0.5, 0.33, 0.1, 0.05, 0.02], of_patient)[patient],
        ),
        "LANGUAGE": pick(
            text_cells(LANGUAGES),
            draw(LANGUAGES, [0.4, 0.5, 0.04, 0.03, 0.03], of_patient)[patient],
        ),
        "RELIGION": pick(
            text_cells(RELIGIONS),
            draw(RELIGIONS, [0.35, 0.25, 0.15, 0.1, 0.1, 0.05], of_patient)[patient],
        ),
        "MARITAL_STATUS": pick(
            text_cells(MARITAL),
            draw(MARITAL, [0.45, 0.25, 0.13, 0.06, 0.01, 0.1], of_patient)[patient],
        ),
        "ETHNICITY": pick(text_cells(ETHNICITIES), ethnicity[patient]),
        "EDREGTIME": cells(np.where(emergency, arrival, nothing)),
        "EDOUTTIME": cells(np.where(emergency, departure, nothing)),
        "DIAGNOSIS": pick(text_cells(REASONS), np.where(newborn, len(REASONS) - 1, reason)),
        "HOSPITAL_EXPIRE_FLAG": _flags(expired),
        "HAS_CHARTEVENTS_DATA": _flags(charted),
    }


def _icustays(population: Population) -> Columns:
    stays, patients = population.stays, population.patients
    units = text_cells(CARE_UNITS)
    wards = text_cells(["", *map(str, range(1, 100))])
    return {
        "SUBJECT_ID": cells(patients.subject_id[stays.patient]),
        "HADM_ID": cells(population.admissions.hadm_id[stays.admission]),
        "ICUSTAY_ID": cells(stays.icustay_id),
        "DBSOURCE": pick(text_cells(DBSOURCES), patients.source[stays.patient]),
        "FIRST_CAREUNIT": pick(units, stays.first_unit),
        "LAST_CAREUNIT": pick(units, stays.last_unit),
        "FIRST_WARDID": pick(wards, stays.first_ward),
        "LAST_WARDID": pick(wards, stays.last_ward),
        "INTIME": cells(stays.intime),
        "OUTTIME": cells(stays.outtime),
        "LOS": cells(stays.los),
    }


def _diagnoses(population: Population, dictionary: Dictionary, diagnoses: Diagnoses) -> Columns:
    admissions = population.admissions
    subject = population.patients.subject_id[admissions.patient]
    numbers = text_cells([str(number) for number in range(diagnoses.sequence.max() + 1)])
    return {
        "SUBJECT_ID": pick(cells(subject), diagnoses.admission),
        "HADM_ID": pick(cells(admissions.hadm_id), diagnoses.admission),
        "SEQ_NUM": pick(numbers, np.where(diagnoses.sequence == 0, -1, diagnoses.sequence)),
        "ICD9_CODE": pick(text_cells([code.code for code in dictionary.codes]), diagnoses.code),
    }


def _items(items: Sequence[Item]) -> Columns:
    empty = text_cells([""] * len(items))
    kinds = ["" if item.system != METAVISION else "Numeric" for item in items]
    links = {CHART: "chartevents", OUTPUT: "outputevents"}
    return {
        "ITEMID": cells(np.array([item.itemid for item in items])),
        "LABEL": text_cells([item.label for item in items]),
        "ABBREVIATION": text_cells(
            [item.label if kind else "" for item, kind in zip(items, kinds, strict=True)]
        ),
        "DBSOURCE": text_cells([DBSOURCES[item.system] for item in items]),
        "LINKSTO": text_cells([links[item.table] for item in items]),
        "CATEGORY": empty,
        "UNITNAME": text_cells(
            [item.unit if kind else "" for item, kind in zip(items, kinds, strict=True)]
        ),
        "PARAM_TYPE": text_cells(kinds),
        "CONCEPTID": empty,
    }


def _lab_items(items: Sequence[Item]) -> Columns:
    return {
        "ITEMID": cells(np.array([item.itemid for item in items])),
        "LABEL": text_cells([item.label for item in items]),
        "FLUID": text_cells(
            ["Urine" if item.label.startswith("Urine") else "Blood" for item in items]
        ),
        "CATEGORY": text_cells(
            ["Chemistry" if item.itemid < 51_000 else "Hematology" for item in items]
        ),
        "LOINC_CODE": text_cells([""] * len(items)),
    }


def _flags(values: ar.Bools) -> pa.Array:
    return pick(text_cells("01"), values.astype(np.int64))
