"""Patients, admissions and ICU stays: who, when and where.

All of them are in memory at once (MIMIC's subject ids end at 99,999), as structures of arrays.
A patient is named by its place in ascending SUBJECT_ID order, an admission by its place in
(patient, time) order and a stay by its place in (admission, time) order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synth import arrays as ar
from synth.arrays import DAY, HOUR, MINUTE, Bools, Floats, Ints, Times
from synth.mimic3_cases import CASES, ORDINARY, assign_cases, has_case
from synth.mimic3_facts import Facts
from synth.mimic3_model import PHENOTYPES, death_chance, draw_phenotypes, draw_severity

HIGHEST_SUBJECT = 99_999
TRAIN, VALIDATION, TEST = 0, 1, 2
TEST_SHARE, VALIDATION_SHARE = 0.25, 0.15

CARE_UNITS = ("MICU", "SICU", "CCU", "CSRU", "TSICU", "NICU")
NICU = CARE_UNITS.index("NICU")
CAREVUE, METAVISION, BOTH = 0, 1, 2


@dataclass
class Patients:
    """One element a patient; `rank` counts the ordinary patients of its part of the split.

    The first 25 ordinary patients of each part are the *anchors* (`rank` < 25): from them each
    part gets a death in the ICU (0), a survival (1) and all phenotypes, whatever chance does.
    """

    subject_id: Ints
    case: Ints
    part: Ints
    rank: Ints
    source: Ints
    female: Bools
    dob: Times
    dod: Times
    dod_hosp: Times
    dod_ssn: Times


@dataclass
class Admissions:
    """One element an admission; `ordinal` counts from 0 inside the patient."""

    patient: Ints
    ordinal: Ints
    hadm_id: Ints
    admittime: Times
    dischtime: Times
    deathtime: Times
    phenotypes: Bools
    severity: Floats
    died: Bools


@dataclass
class Stays:
    """One element an ICU stay; `ordinal` counts from 0 inside the admission.

    Wards are numbers, 0 for missing; `los` is in days with 4 decimals, NaN for missing.
    """

    patient: Ints
    admission: Ints
    ordinal: Ints
    icustay_id: Ints
    intime: Times
    outtime: Times
    los: Floats
    first_unit: Ints
    last_unit: Ints
    first_ward: Ints
    last_ward: Ints


@dataclass
class Population:
    """All patients with their admissions and stays."""

    patients: Patients
    admissions: Admissions
    stays: Stays

    def stays_of(self, *cases: str, admission: int = 0, stay: int = 0) -> Ints:
        """Return the places of one stay of each patient of the named cases."""
        wanted = has_case(self.patients.case, *cases)[self.stays.patient]
        wanted &= self.admissions.ordinal[self.stays.admission] == admission
        return np.flatnonzero(wanted & (self.stays.ordinal == stay))


def make_population(seed: int, scale: int, facts: Facts) -> Population:
    """Draw `scale` patients with their admissions and ICU stays, before the special edits."""
    patients = _draw_patients(seed, scale, facts)
    rng = ar.stream(seed, 10)
    admission_counts = _count_admissions(rng, patients)
    patient = np.repeat(np.arange(scale), admission_counts)
    ordinal = ar.ordinals(admission_counts)
    stay_counts = _count_stays(rng, patients, patient, ordinal)

    severity = draw_severity(seed, len(patient))
    phenotypes = draw_phenotypes(seed, severity)
    _force_phenotypes(patients, patient, ordinal, phenotypes)
    age = np.clip(rng.normal(64, 17, scale), 18.5, 88.9)
    is_last = ordinal == admission_counts[patient] - 1
    died = is_last & (rng.random(len(patient)) < death_chance(severity, phenotypes, age[patient]))
    rank = patients.rank[patient]
    died = (died | (rank == 0)) & (rank != 1) & (patients.case[patient] == ORDINARY)

    stays, admissions = _lay_out(
        seed, patients, admission_counts, stay_counts, phenotypes, severity, died
    )
    _give_units(rng, patients, admissions, stays)
    _give_birth_and_death(rng, patients, admissions, age)
    return Population(patients, admissions, stays)


def _draw_patients(seed: int, scale: int, facts: Facts) -> Patients:
    rng = ar.stream(seed, 0)
    listed = np.concatenate([facts.test_subjects, facts.validation_subjects])
    pools = {
        TRAIN: np.setdiff1d(np.arange(1, HIGHEST_SUBJECT + 1), listed),
        VALIDATION: np.setdiff1d(facts.validation_subjects, facts.test_subjects),
        TEST: np.unique(facts.test_subjects),
    }
    test = min(round(scale * TEST_SHARE), len(pools[TEST]))
    validation = min(round(scale * VALIDATION_SHARE), len(pools[VALIDATION]))
    part = np.repeat([TRAIN, VALIDATION, TEST], [scale - test - validation, validation, test])
    part = rng.permutation(part)
    subject_id = np.empty(scale, dtype=np.int64)
    for number, pool in pools.items():
        chosen = part == number
        subject_id[chosen] = rng.choice(pool, int(chosen.sum()), replace=False)

    order = np.argsort(subject_id)
    case, part = assign_cases(scale)[order], part[order]
    rank = np.full(scale, scale)
    for number in pools:
        ordinary = (part == number) & (case == ORDINARY)
        rank[ordinary] = np.arange(int(ordinary.sum()))
    source = np.where(rng.random(scale) < 0.55, CAREVUE, METAVISION)
    source[has_case(case, "both_systems")] = BOTH
    return Patients(
        subject_id=subject_id[order],
        case=case,
        part=part,
        rank=rank,
        source=source,
        female=rng.random(scale) < 0.45,
        dob=ar.missing_times(scale),
        dod=ar.missing_times(scale),
        dod_hosp=ar.missing_times(scale),
        dod_ssn=ar.missing_times(scale),
    )


def _count_admissions(rng: np.random.Generator, patients: Patients) -> Ints:
    counts = rng.choice([1, 2, 3, 4], len(patients.case), p=[0.78, 0.14, 0.05, 0.03])
    counts[patients.rank < 2] = 1
    special = patients.case != ORDINARY
    counts[special] = np.array([case.admissions for case in CASES])[patients.case[special]]
    return counts


def _count_stays(
    rng: np.random.Generator, patients: Patients, patient: Ints, ordinal: Ints
) -> Ints:
    counts = rng.choice([1, 2, 0], len(patient), p=[0.90, 0.07, 0.03])
    counts[(patients.case[patient] != ORDINARY) | _is_anchor(patients, patient, ordinal)] = 1
    for place, case in enumerate(CASES):
        for number, stays in case.stays.items():
            counts[(patients.case[patient] == place) & (ordinal == number)] = stays
    return counts


def _is_anchor(patients: Patients, patient: Ints, ordinal: Ints) -> Bools:
    return np.asarray((patients.rank[patient] < PHENOTYPES) & (ordinal == 0))


def _force_phenotypes(patients: Patients, patient: Ints, ordinal: Ints, phenotypes: Bools) -> None:
    for part in (TRAIN, VALIDATION, TEST):
        ordinary = (patients.part == part) & (patients.case == ORDINARY)
        anchors = min(int(ordinary.sum()), PHENOTYPES)
        if anchors < 2:
            continue
        here = (patients.part[patient] == part) & (ordinal == 0)
        for number in range(PHENOTYPES):
            phenotypes[here & (patients.rank[patient] == number % anchors), number] = True
            lacking = (number + anchors // 2) % anchors
            phenotypes[here & (patients.rank[patient] == lacking), number] = False


def _lay_out(
    seed: int,
    patients: Patients,
    admission_counts: Ints,
    stay_counts: Ints,
    phenotypes: Bools,
    severity: Floats,
    died: Bools,
) -> tuple[Stays, Admissions]:
    rng = ar.stream(seed, 11)
    patient = np.repeat(np.arange(len(admission_counts)), admission_counts)
    ordinal = ar.ordinals(admission_counts)
    admission = np.repeat(np.arange(len(patient)), stay_counts)
    count = len(admission)

    # One stay after the other inside the admission: time before it, then the stay.
    before = np.clip(rng.exponential(8 * HOUR, count), 10 * MINUTE, 5 * DAY)
    between = rng.uniform(12 * HOUR, 72 * HOUR, count)
    lead: Ints = np.where(ar.ordinals(stay_counts) == 0, before, between).astype(np.int64)
    spread = rng.lognormal(np.log(50 * HOUR), 0.85, count)
    length: Ints = np.clip(spread, 7 * HOUR, 40 * DAY).astype(np.int64)
    long = patients.rank[patient[admission]] < 2
    length[long] = np.maximum(length[long], 60 * HOUR)
    into = ar.running_before(lead + length, stay_counts) + lead
    inside = np.zeros(len(patient), dtype=np.int64)
    np.add.at(inside, admission, lead + length)

    after = np.clip(rng.exponential(4 * DAY, len(patient)), 2 * HOUR, 60 * DAY).astype(np.int64)
    early = rng.integers(0, 90 * MINUTE, len(patient))
    in_icu = (rng.random(len(patient)) < 0.6) | (patients.rank[patient] == 0)
    dies_in_icu = died & (stay_counts > 0) & in_icu
    whole = inside + np.where(dies_in_icu, -early, after)

    gap = rng.integers(20 * DAY, 400 * DAY, len(patient))
    begin = np.datetime64("2101-01-01T00:00:00", "s") + ar.seconds(
        rng.integers(0, 80 * 365 * DAY, len(admission_counts))
    )
    admittime = ar.floor_minute(
        begin[patient] + ar.seconds(ar.running_before(whole + gap, admission_counts))
    )
    dischtime = ar.floor_minute(admittime + ar.seconds(whole))
    intime = admittime[admission] + ar.seconds(into)
    admissions = Admissions(
        patient=patient,
        ordinal=ordinal,
        hadm_id=_draw_ids(rng, 100_000, len(patient)),
        admittime=admittime,
        dischtime=dischtime,
        deathtime=np.where(died, dischtime, ar.missing_times(len(patient))),
        phenotypes=phenotypes,
        severity=severity,
        died=died,
    )
    stays = Stays(
        patient=patient[admission],
        admission=admission,
        ordinal=ar.ordinals(stay_counts),
        icustay_id=_draw_ids(rng, 200_000, count),
        intime=intime,
        outtime=intime + ar.seconds(length),
        los=np.full(count, np.nan),
        first_unit=np.zeros(count, dtype=np.int64),
        last_unit=np.zeros(count, dtype=np.int64),
        first_ward=np.zeros(count, dtype=np.int64),
        last_ward=np.zeros(count, dtype=np.int64),
    )
    return stays, admissions


def _draw_ids(rng: np.random.Generator, first: int, count: int) -> Ints:
    return first + rng.permutation(max(99_999, 2 * count))[:count]


def _give_units(
    rng: np.random.Generator, patients: Patients, admissions: Admissions, stays: Stays
) -> None:
    count = len(stays.patient)
    stays.first_unit = rng.choice(5, count, p=[0.40, 0.20, 0.15, 0.15, 0.10])
    stays.first_ward = rng.integers(7, 58, count)
    ordinal = admissions.ordinal[stays.admission]
    free = (patients.case[stays.patient] == ORDINARY) & ~_is_anchor(
        patients, stays.patient, ordinal
    )
    chance = rng.random(count)
    moves = free & (chance < 0.09)
    changes_unit = free & (chance < 0.05)
    for place, case in enumerate(CASES):
        for number, stay in case.transfers:
            moves |= (
                (patients.case[stays.patient] == place)
                & (ordinal == number)
                & (stays.ordinal == stay)
            )
    stays.last_ward = np.where(moves, 7 + (stays.first_ward - 6) % 51, stays.first_ward)
    stays.last_unit = np.where(changes_unit, (stays.first_unit + 1) % 5, stays.first_unit)
    lacks_ward = free & (chance > 0.99)
    stays.first_ward[lacks_ward] = 0


def _give_birth_and_death(
    rng: np.random.Generator, patients: Patients, admissions: Admissions, age: Floats
) -> None:
    first = np.flatnonzero(admissions.ordinal == 0)
    born = admissions.admittime[first] - ar.seconds(age * 365.25 * DAY)
    over_89 = (patients.case == ORDINARY) & (rng.random(len(first)) < 0.05)
    born[over_89] = admissions.admittime[first][over_89] - ar.seconds(300 * 365.25 * DAY)
    patients.dob = ar.floor_day(born)

    last = np.append(first[1:], len(admissions.patient)) - 1
    in_hospital = admissions.died[last]
    later = ~in_hospital & (patients.case == ORDINARY) & (rng.random(len(first)) < 0.25)
    wait = ar.seconds(rng.exponential(400 * DAY, len(first)) + 2 * DAY)
    day = ar.floor_day(admissions.dischtime[last] + np.where(later, wait, ar.seconds(0)))
    nothing = ar.missing_times(len(first))
    patients.dod = np.where(in_hospital | later, day, nothing)
    patients.dod_hosp = np.where(in_hospital, day, nothing)
    patients.dod_ssn = np.where(
        later | (in_hospital & (rng.random(len(first)) < 0.7)), day, nothing
    )
