"""Edits that turn the special patients into their cases; see `mimic3_cases`."""

from __future__ import annotations

import numpy as np

from synth import arrays as ar
from synth.arrays import DAY, HOUR, Bools, Ints, Times
from synth.mimic3_cases import has_case
from synth.mimic3_patients import NICU, Population

# ICU stays of a wanted length, in seconds.
LENGTHS = {
    "los_two_days": 48 * HOUR,
    "los_below_two_days": 48 * HOUR - 5,
    "los_4_hours": 4 * HOUR,
    "los_5_hours": 5 * HOUR,
    "los_shorter_than_stay": 60 * HOUR + 4,  # LOS 2.5 exactly
    "time_edges": 72 * HOUR + 7,
    "every_item": 72 * HOUR,
    "value_texts": 72 * HOUR,
    "malformed_values": 72 * HOUR,
    "wrong_ids": 72 * HOUR,
    "duplicates": 72 * HOUR,
    "sibling_events": 72 * HOUR,
    "number_only": 72 * HOUR,
    "number_only_negative": 72 * HOUR,
    "number_only_exponent": 72 * HOUR,
    "events_outside": 30 * HOUR,
    "death_after_34_hours": 40 * HOUR,
    "dod_only": 50 * HOUR,
    "dod_on_admission_day": 50 * HOUR,
    "death_before_intime": 50 * HOUR,
}


def apply_edits(population: Population) -> None:
    """Edit the special patients in place, then give every stay its LOS."""
    _edit_wards(population)
    for case, length in LENGTHS.items():
        _set_length(population, population.stays_of(case), length)
    _edit_deaths(population)
    _edit_overlap(population)
    _edit_births(population)
    _give_los(population)


def _edit_wards(population: Population) -> None:
    stays = population.stays
    ward = population.stays_of("other_ward")
    stays.last_ward[ward] = stays.first_ward[ward] + 1
    unit = population.stays_of("other_unit")
    stays.last_unit[unit] = (stays.first_unit[unit] + 1) % NICU
    stays.first_ward[population.stays_of("missing_ward", "missing_both_wards")] = 0
    stays.last_ward[population.stays_of("missing_both_wards")] = 0
    newborn = population.stays_of("newborn")
    stays.first_unit[newborn] = stays.last_unit[newborn] = NICU


def _set_length(population: Population, places: Ints, length: int) -> None:
    stays, admissions = population.stays, population.admissions
    stays.outtime[places] = stays.intime[places] + ar.seconds(length)
    admission = stays.admission[places]
    leaves = ar.floor_minute(stays.outtime[places] + ar.seconds(2 * HOUR))
    admissions.dischtime[admission] = np.maximum(admissions.dischtime[admission], leaves)


def _edit_deaths(population: Population) -> None:
    stays, admissions, patients = population.stays, population.admissions, population.patients

    def parts(case: str) -> tuple[Ints, Ints, Ints]:
        stay = population.stays_of(case)
        return stay, stays.admission[stay], stays.patient[stay]

    def dies(patient: Ints, admission: Ints, death: Times) -> None:
        admissions.deathtime[admission] = death
        admissions.died[admission] = True
        patients.dod[patient] = ar.floor_day(death)
        patients.dod_hosp[patient] = patients.dod[patient]

    stay, admission, patient = parts("death_after_34_hours")
    dies(patient, admission, stays.intime[stay] + ar.seconds(34 * HOUR))

    stay, admission, patient = parts("dod_only")
    patients.dod[patient] = ar.floor_day(admissions.admittime[admission]) + ar.seconds(DAY)
    patients.dod_ssn[patient] = patients.dod[patient]
    admissions.died[admission] = True

    stay, admission, patient = parts("death_on_admission_day")
    morning = ar.floor_day(admissions.admittime[admission]) + ar.seconds(8 * HOUR)
    admissions.admittime[admission] = morning
    stays.intime[stay] = morning + ar.seconds(HOUR + 17)
    stays.outtime[stay] = morning + ar.seconds(12 * HOUR + 41)
    admissions.dischtime[admission] = morning + ar.seconds(12 * HOUR)
    dies(patient, admission, morning + ar.seconds(12 * HOUR))

    stay, admission, patient = parts("dod_on_admission_day")
    midnight = ar.floor_day(admissions.admittime[admission])
    admissions.admittime[admission] = np.maximum(
        admissions.admittime[admission] - ar.seconds(60), midnight + ar.seconds(60)
    )
    patients.dod[patient] = midnight
    patients.dod_ssn[patient] = midnight

    # The date of death must not fall inside the admission either: all in one evening and night.
    stay, admission, patient = parts("death_after_discharge")
    evening = ar.floor_day(admissions.admittime[admission]) + ar.seconds(19 * HOUR)
    admissions.admittime[admission] = evening
    stays.intime[stay] = evening + ar.seconds(HOUR)
    stays.outtime[stay] = evening + ar.seconds(61 * HOUR)
    admissions.dischtime[admission] = evening + ar.seconds(21 * HOUR)
    dies(patient, admission, evening + ar.seconds(31 * HOUR))

    stay, admission, patient = parts("death_before_intime")
    admissions.admittime[admission] = ar.floor_minute(stays.intime[stay] - ar.seconds(5 * HOUR))
    dies(patient, admission, admissions.admittime[admission])


def _edit_overlap(population: Population) -> None:
    stays, admissions = population.stays, population.admissions
    first = population.stays_of("equal_intime", admission=0)
    second = population.stays_of("equal_intime", admission=1)
    _set_length(population, first, 50 * HOUR)
    admissions.admittime[stays.admission[second]] = admissions.admittime[stays.admission[first]]
    stays.intime[second] = stays.intime[first]
    stays.outtime[second] = stays.intime[first] + ar.seconds(70 * HOUR)
    admissions.dischtime[stays.admission[second]] = ar.floor_minute(
        stays.outtime[second] + ar.seconds(3 * HOUR)
    )


def _edit_births(population: Population) -> None:
    stays, patients = population.stays, population.patients

    def born(case: str, shift: Times) -> None:
        patients.dob[stays.patient[population.stays_of(case)]] = shift

    def intime(case: str) -> Times:
        return stays.intime[population.stays_of(case)]

    # At midnight, since a date of birth has no time: 18.0 is 18 * 365 days of 24 hours.
    for case, before_midnight in (("age_18", 0), ("age_below_18", 1)):
        stay = population.stays_of(case)
        midnight = ar.floor_day(stays.intime[stay]) + ar.seconds(DAY)
        _shift(population, has_case(patients.case, case), stay, midnight, before_midnight)
        born(case, midnight - ar.seconds(18 * 365 * DAY))
    born("newborn", ar.floor_day(intime("newborn")))
    born("minor", ar.floor_day(intime("minor") - ar.seconds(12.4 * 365 * DAY)))
    born("age_300", ar.floor_day(intime("age_300") - ar.seconds(300 * 365.25 * DAY)))
    born("born_after_intime", ar.floor_day(intime("born_after_intime") + ar.seconds(30 * DAY)))


def _shift(
    population: Population, chosen: Bools, stay: Ints, midnight: Times, before_midnight: int
) -> None:
    """Move all times of patients with one admission and one stay, so that INTIME fits."""
    stays, admissions = population.stays, population.admissions
    by = midnight - ar.seconds(before_midnight) - stays.intime[stay]
    stays.outtime[stay] += by
    stays.intime[stay] += by
    admission = np.flatnonzero(chosen[admissions.patient])
    admissions.admittime[admission] = ar.floor_minute(admissions.admittime[admission] + by)
    admissions.dischtime[admission] = ar.floor_minute(admissions.dischtime[admission] + by)


def _give_los(population: Population) -> None:
    stays = population.stays
    length = (stays.outtime - stays.intime).astype(np.int64)
    stays.los = np.round(length / DAY, 4)
    no_out = population.stays_of("missing_outtime", "missing_outtime_and_los")
    stays.outtime[no_out] = np.datetime64("NaT", "s")
    stays.los[population.stays_of("missing_los", "missing_outtime_and_los")] = np.nan
