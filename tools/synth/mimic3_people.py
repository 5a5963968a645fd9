"""Patients, admissions and ICU stays of the MIMIC-III data: who, when, where and with what.

All of them are in memory at once (MIMIC's subject ids end at 99,999). A patient is named by its
place in ascending SUBJECT_ID order, an admission by its place in (patient, time) order and a stay
by its place in (admission, time) order.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from synth import draws
from synth.draws import DAY, HOUR, MINUTE, Bools, Cases, Columns, Floats, Ints
from synth.files import SEEDS, read_rows, read_yaml

SPECIAL: dict[str, Any] = read_yaml("mimic3_cases.yml")
CASES = Cases(SPECIAL)
MODEL: dict[str, Any] = read_yaml("mimic3_model.yml")
MEASURES: dict[str, dict[str, Any]] = MODEL["measures"]

HIGHEST_SUBJECT, PHENOTYPES = 99_999, 25
CARE_UNITS = ("MICU", "SICU", "CCU", "CSRU", "TSICU", "NICU")
NICU = CARE_UNITS.index("NICU")
CAREVUE, METAVISION, BOTH = 0, 1, 2
TRAIN, VALIDATION, TEST = 0, 1, 2

# An edit of a special case, see mimic3_cases.yml.
_COLUMN = r"(\w+)(?:@(\d))?"
_EDIT = re.compile(rf"{_COLUMN} (=|>=|~) (?:(day|minute)\()?{_COLUMN}\)?(?: ([+-]) (.+))?")
_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": 1}


class Population:
    """All patients with their admissions and stays.

    Attributes:
        patients: subject_id, case, part (of the split), rank, source (CareVue, MetaVision or both),
            female, dob, dod, dod_hosp, dod_ssn. `rank` counts the ordinary patients of a part; the
            first 25 are its *anchors*: from them each part gets a death in the ICU (0), a survival
            (1) and all phenotypes, whatever chance does.
        admissions: patient, ordinal, hadm_id, admittime, dischtime, deathtime, phenotypes, shape
            (admissions, 25), severity (standard normal) and died.
        stays: patient, admission, ordinal, icustay_id, intime, outtime, los (days, NaN for
            missing), first_unit, last_unit, first_ward, last_ward (0 for missing).
    """

    def __init__(self, patients: Columns, admissions: Columns, stays: Columns) -> None:
        self.patients, self.admissions, self.stays = patients, admissions, stays

    def stays_of(self, *cases: str, admission: int = 0, stay: int = 0) -> Ints:
        """Return the places of one stay of each patient of the named cases."""
        wanted = CASES.has(self.patients.case, *cases)[self.stays.patient]
        wanted &= self.admissions.ordinal[self.stays.admission] == admission
        return np.flatnonzero(wanted & (self.stays.ordinal == stay))

    def cells_of(self, column: str, case: str, admission: int = 0) -> tuple[npt.NDArray[Any], Ints]:
        """Return a column of any of the tables, and the places that a case has in it."""
        stay = self.stays_of(case, admission=admission)
        if hasattr(self.stays, column):
            return getattr(self.stays, column), stay
        if hasattr(self.admissions, column):
            return getattr(self.admissions, column), self.stays.admission[stay]
        return getattr(self.patients, column), self.stays.patient[stay]


def make_population(seed: int, scale: int) -> Population:
    """Draw `scale` patients with their admissions and ICU stays, special cases included."""
    patients = _draw_patients(seed, scale)
    rng = draws.stream(seed, 10)
    counts = rng.choice([1, 2, 3, 4], scale, p=[0.78, 0.14, 0.05, 0.03])
    counts[patients.rank < 2] = 1
    given = np.array([case.get("admissions", 1) for case in SPECIAL["cases"].values()])
    counts = np.where(patients.case == CASES.ORDINARY, counts, given[patients.case])
    patient, ordinal = np.repeat(np.arange(scale), counts), draws.ordinals(counts)
    owner = patients.take(patient)
    ordinary = owner.case == CASES.ORDINARY
    free = ordinary & ~((owner.rank < PHENOTYPES) & (ordinal == 0))
    stay_counts = np.where(free, rng.choice([1, 2, 0], len(patient), p=[0.90, 0.07, 0.03]), 1)
    for name, case in SPECIAL["cases"].items():
        for number, stays_given in case.get("stays", {}).items():
            stay_counts[CASES.has(owner.case, name) & (ordinal == number)] = stays_given

    severity = draws.stream(seed, 1).standard_normal(len(patient))
    phenotypes = _draw_phenotypes(seed, severity, owner, ordinal)
    age = np.clip(rng.normal(64, 17, scale), 18.5, 88.9)
    risk = _death_chance(severity, phenotypes, age[patient])
    died = (ordinal == counts[patient] - 1) & (rng.random(len(patient)) < risk)
    died = (died | (owner.rank == 0)) & (owner.rank != 1) & ordinary

    admissions, stays = _lay_out(seed, owner, counts, stay_counts, died)
    admissions.patient, admissions.ordinal = patient, ordinal
    admissions.phenotypes, admissions.severity = phenotypes, severity
    population = Population(patients, admissions, stays)
    _give_units(rng, population, free[stays.admission])
    _give_birth_and_death(rng, patients, admissions, age)
    _apply_edits(population)
    return population


def _draw_patients(seed: int, scale: int) -> Columns:
    rng = draws.stream(seed, 0)
    test, validation = (
        np.array([int(row["subject_id"]) for row in read_rows(SEEDS / "mimic3" / f"{name}.csv")])
        for name in ("test_subjects", "validation_subjects")
    )
    everyone = np.arange(1, HIGHEST_SUBJECT + 1)
    pools = {
        TRAIN: np.setdiff1d(everyone, np.concatenate([test, validation])),
        VALIDATION: np.setdiff1d(validation, test),
        TEST: np.unique(test),
    }
    tested = min(round(scale * 0.25), len(pools[TEST]))
    validated = min(round(scale * 0.15), len(pools[VALIDATION]))
    part = np.repeat([TRAIN, VALIDATION, TEST], [scale - tested - validated, validated, tested])
    part = rng.permutation(part)
    subject_id = np.empty(scale, dtype=np.int64)
    for number, pool in pools.items():
        chosen = part == number
        subject_id[chosen] = rng.choice(pool, int(chosen.sum()), replace=False)

    order = np.argsort(subject_id)
    case, part = CASES.assign(scale)[order], part[order]
    rank = np.full(scale, scale)
    for number in pools:
        ordinary = (part == number) & (case == CASES.ORDINARY)
        rank[ordinary] = np.arange(int(ordinary.sum()))
    source = np.where(rng.random(scale) < 0.55, CAREVUE, METAVISION)
    source[CASES.has(case, "both_systems")] = BOTH
    female = rng.random(scale) < 0.45
    return Columns(
        subject_id=subject_id[order], case=case, part=part, rank=rank, source=source, female=female
    )


def _draw_phenotypes(seed: int, severity: Floats, owner: Columns, ordinal: Ints) -> Bools:
    """Return which phenotypes each admission has; anchors have and lack each at least once."""
    prevalence = np.array(MODEL["phenotypes"]["prevalence"])
    logit = np.log(prevalence) - np.log1p(-prevalence)
    acute = np.isin(np.arange(1, PHENOTYPES + 1), MODEL["phenotypes"]["acute"])
    chance = _logistic(logit + np.where(acute, 0.8, 0.15) * severity[:, None])
    phenotypes: Bools = draws.stream(seed, 2).random(chance.shape) < chance
    for part in (TRAIN, VALIDATION, TEST):
        here = (owner.part == part) & (ordinal == 0)
        anchors = min(int((here & (owner.case == CASES.ORDINARY)).sum()), PHENOTYPES)
        for number in range(PHENOTYPES if anchors > 1 else 0):
            phenotypes[here & (owner.rank == number % anchors), number] = True
            phenotypes[here & (owner.rank == (number + anchors // 2) % anchors), number] = False
    return phenotypes


def _death_chance(severity: Floats, phenotypes: Bools, age: Floats) -> Floats:
    """Return the chance that each admission would end in death; ages in years."""
    effect = MODEL["death"]
    logit = effect["intercept"] + effect["by_severity"] * severity + effect["by_age"] * (age - 65)
    for number, added in effect["by_phenotype"].items():
        logit = logit + added * phenotypes[:, number - 1]
    return _logistic(logit)


def _logistic(logit: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logit)))


def draw_levels(seed: int, admissions: Columns) -> npt.NDArray[np.float32]:
    """Return each admission's distance from the mean of each measure.

    Shape (admissions, measures), in the measures' canonical units. Sums run in a fixed order (no
    matrix product), so that every machine gets the same bits.
    """
    shape = (len(admissions.severity), len(MEASURES))
    levels = draws.stream(seed, 3).standard_normal(shape, dtype=np.float32)
    for place, measure in enumerate(MEASURES.values()):
        level = levels[:, place].astype(np.float64) * measure["between"]
        level += measure["severity"] * admissions.severity
        level += measure["death"] * admissions.died
        for number, effect in measure["by_phenotype"].items():
            level += effect * admissions.phenotypes[:, number - 1]
        levels[:, place] = level
    return levels


def _lay_out(
    seed: int, owner: Columns, counts: Ints, stay_counts: Ints, died: Bools
) -> tuple[Columns, Columns]:
    """Draw ids and times of admissions, and of stays one after the other inside them."""
    rng = draws.stream(seed, 11)
    admission = np.repeat(np.arange(len(died)), stay_counts)
    count = len(admission)
    before = np.clip(rng.exponential(8 * HOUR, count), 10 * MINUTE, 5 * DAY)
    between = rng.uniform(12 * HOUR, 72 * HOUR, count)
    ordinal = draws.ordinals(stay_counts)
    lead: Ints = np.where(ordinal == 0, before, between).astype(np.int64)
    spread = rng.lognormal(np.log(50 * HOUR), 0.85, count)
    length: Ints = np.clip(spread, 7 * HOUR, 40 * DAY).astype(np.int64)
    long = owner.rank[admission] < 2
    length[long] = np.maximum(length[long], 60 * HOUR)
    into = draws.running_before(lead + length, stay_counts) + lead
    inside = np.zeros(len(died), dtype=np.int64)
    np.add.at(inside, admission, lead + length)

    after = np.clip(rng.exponential(4 * DAY, len(died)), 2 * HOUR, 60 * DAY).astype(np.int64)
    early = rng.integers(0, 90 * MINUTE, len(died))
    in_icu = (rng.random(len(died)) < 0.6) | (owner.rank == 0)
    whole = inside + np.where(died & (stay_counts > 0) & in_icu, -early, after)
    gap = rng.integers(20 * DAY, 400 * DAY, len(died))
    since = draws.seconds(rng.integers(0, 80 * 365 * DAY, len(counts)))
    begin = np.repeat(np.datetime64("2101-01-01T00:00:00", "s") + since, counts)
    admittime = draws.floor(begin + draws.seconds(draws.running_before(whole + gap, counts)), "m")
    dischtime = draws.floor(admittime + draws.seconds(whole), "m")
    intime = admittime[admission] + draws.seconds(into)
    admissions = Columns(
        hadm_id=_draw_ids(rng, 100_000, len(died)),
        admittime=admittime,
        dischtime=dischtime,
        deathtime=np.where(died, dischtime, draws.missing_times(len(died))),
        died=died,
    )
    stays = Columns(
        patient=np.repeat(np.arange(len(counts)), counts)[admission],
        admission=admission,
        ordinal=ordinal,
        icustay_id=_draw_ids(rng, 200_000, count),
        intime=intime,
        outtime=intime + draws.seconds(length),
    )
    return admissions, stays


def _draw_ids(rng: np.random.Generator, first: int, count: int) -> Ints:
    return first + rng.permutation(max(99_999, 2 * count))[:count]


def _give_units(rng: np.random.Generator, population: Population, free: Bools) -> None:
    """Draw care units and wards; some ordinary stays change them, and those of some cases do."""
    stays = population.stays
    count = len(stays.patient)
    stays.first_unit = rng.choice(5, count, p=[0.40, 0.20, 0.15, 0.15, 0.10])
    stays.first_ward = rng.integers(7, 58, count)
    chance = rng.random(count)
    moves = free & (chance < 0.09)
    for name, case in SPECIAL["cases"].items():
        for number, stay in case.get("transfers", ()):
            moves[population.stays_of(name, admission=number, stay=stay)] = True
    stays.last_ward = np.where(moves, 7 + (stays.first_ward - 6) % 51, stays.first_ward)
    changes_unit = free & (chance < 0.05)
    stays.last_unit = np.where(changes_unit, (stays.first_unit + 1) % 5, stays.first_unit)
    stays.first_ward[free & (chance > 0.99)] = 0

    ward, unit = population.stays_of("other_ward"), population.stays_of("other_unit")
    stays.last_ward[ward] = stays.first_ward[ward] + 1
    stays.last_unit[unit] = (stays.first_unit[unit] + 1) % NICU
    stays.first_ward[population.stays_of("missing_ward", "missing_both_wards")] = 0
    stays.last_ward[population.stays_of("missing_both_wards")] = 0
    newborn = population.stays_of("newborn")
    stays.first_unit[newborn] = stays.last_unit[newborn] = NICU


def _give_birth_and_death(
    rng: np.random.Generator, patients: Columns, admissions: Columns, age: Floats
) -> None:
    count = len(patients.case)
    ordinary = patients.case == CASES.ORDINARY
    first = np.flatnonzero(admissions.ordinal == 0)
    age = np.where(ordinary & (rng.random(count) < 0.05), 300, age)
    born = admissions.admittime[first] - draws.seconds(age * 365.25 * DAY)
    patients.dob = draws.floor(born, "D")

    last = np.append(first[1:], len(admissions.patient)) - 1
    in_hospital = admissions.died[last]
    later = ~in_hospital & ordinary & (rng.random(count) < 0.25)
    wait = draws.seconds(rng.exponential(400 * DAY, count) + 2 * DAY)
    day = draws.floor(admissions.dischtime[last] + np.where(later, wait, draws.seconds(0)), "D")
    nothing = draws.missing_times(count)
    patients.dod = np.where(in_hospital | later, day, nothing)
    patients.dod_hosp = np.where(in_hospital, day, nothing)
    in_ssn = later | (in_hospital & (rng.random(count) < 0.7))
    patients.dod_ssn = np.where(in_ssn, day, nothing)


def _apply_edits(population: Population) -> None:
    """Turn the special patients into their cases, then give every stay its LOS."""
    for name, case in SPECIAL["cases"].items():
        for edit in case.get("edits", ()):
            _apply_edit(population, name, edit)
        if case.get("dies"):
            died, place = population.cells_of("died", name)
            died[place] = True
    stays = population.stays
    stays.los = np.round((stays.outtime - stays.intime).astype(np.int64) / DAY, 4)
    no_out = population.stays_of("missing_outtime", "missing_outtime_and_los")
    stays.outtime[no_out] = np.datetime64("NaT", "s")
    stays.los[population.stays_of("missing_los", "missing_outtime_and_los")] = np.nan


def _apply_edit(population: Population, case: str, edit: str) -> None:
    found = _EDIT.fullmatch(edit)
    if not found:
        raise ValueError(f"mimic3_cases.yml: the edit {edit!r} of {case} cannot be read.")
    target, at, how, unit, source, source_at, sign, span = found.groups()
    column, places = population.cells_of(target, case, int(at or 0))
    start, start_places = population.cells_of(source, case, int(source_at or 0))
    moved = sum(int(n) * _UNITS[u] for n, u in re.findall(r"(\d+)([dhms])", span or ""))
    value = draws.floor(start[start_places], {"day": "D", "minute": "m"}.get(unit, "s"))
    value = value + draws.seconds(-moved if sign == "-" else moved)
    if how == "~":
        by = value - column[places]
        rounding = {"admittime": "m", "dischtime": "m", "intime": "s", "outtime": "s"}
        for name, rounded in rounding.items():
            column, places = population.cells_of(name, case)
            column[places] = draws.floor(column[places] + by, rounded)
    else:
        column[places] = value if how == "=" else np.maximum(column[places], value)
