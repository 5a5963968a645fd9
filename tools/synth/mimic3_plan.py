"""How many ordinary events each stay and admission gets, and between which times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synth import arrays as ar
from synth.arrays import DAY, HOUR, Bools, Ints
from synth.mimic3_cases import has_case
from synth.mimic3_items import CHART, LAB, OUTPUT
from synth.mimic3_patients import Population

LABS_PER_EVENT, OUTPUTS_PER_EVENT = 0.2, 0.06  # of one admission, of one stay
NUMBER_ONLY = ("number_only", "number_only_negative", "number_only_exponent")


@dataclass(frozen=True)
class Plan:
    """Where the ordinary events of one table go: one element a unit.

    A unit is a stay (-1 for labs) of an admission of a patient; its `counts` events lie between
    `begin` and `end`, seconds since 1970. `sibling` is the unit whose ids are taken in error.
    """

    table: int
    patient: Ints
    admission: Ints
    stay: Ints
    sibling: Ints
    counts: Ints
    begin: Ints
    end: Ints
    only_numbers: Bools
    system: Ints

    @property
    def rows(self) -> int:
        """The number of ordinary events."""
        return int(self.counts.sum())


def plan_events(seed: int, population: Population, events_per_stay: int) -> dict[int, Plan]:
    """Decide how many ordinary events each stay and admission gets, and between which times."""
    return {
        CHART: _plan_stays(seed, population, CHART, events_per_stay, least=8),
        LAB: _plan_labs(seed, population, events_per_stay * LABS_PER_EVENT),
        OUTPUT: _plan_stays(seed, population, OUTPUT, events_per_stay * OUTPUTS_PER_EVENT, least=1),
    }


def _plan_stays(seed: int, population: Population, table: int, mean: float, *, least: int) -> Plan:
    stays, patients = population.stays, population.patients
    rng = ar.stream(seed, 31, table)
    begin = stays.intime.astype(np.int64)
    length = np.where(np.isnan(stays.los), 2.0, stays.los) * DAY
    end = np.where(np.isnat(stays.outtime), begin + length, stays.outtime.astype(np.int64))
    death = population.admissions.deathtime[stays.admission]
    dies = ~np.isnat(death) & (death > stays.intime)
    end = np.where(dies, np.minimum(end, death.astype(np.int64)), end).astype(np.int64)
    weight = np.clip((end - begin) / HOUR, 6, 400) ** 0.8
    weight *= np.exp(rng.normal(0, 0.3, len(weight)))

    outside = population.stays_of("events_outside")
    begin[outside] = end[outside] + 2 * HOUR
    end[outside] = begin[outside] + 10 * HOUR
    # Their first observation is a special event, see mimic3_special_events.
    late = population.stays_of("number_only_negative", "number_only_exponent")
    begin[late] += 10 * HOUR

    counts = _shares(mean, weight, least)
    counts[has_case(patients.case, "no_events")[stays.patient]] = 0
    counts[population.stays_of("stay_without_events")] = 0
    return Plan(
        table=table,
        patient=stays.patient,
        admission=stays.admission,
        stay=np.arange(len(begin)),
        sibling=_siblings(population, stays.patient),
        counts=counts,
        begin=begin,
        end=end,
        only_numbers=has_case(patients.case, *NUMBER_ONLY)[stays.patient],
        system=patients.source[stays.patient],
    )


def _plan_labs(seed: int, population: Population, mean: float) -> Plan:
    admissions, patients = population.admissions, population.patients
    rng = ar.stream(seed, 31, LAB)
    count = len(admissions.patient)
    begin = admissions.admittime.astype(np.int64) - 2 * HOUR
    end = admissions.dischtime.astype(np.int64)
    weight = np.clip((end - begin) / HOUR, 12, 600) ** 0.7
    weight *= np.exp(rng.normal(0, 0.3, count))

    def admissions_of(*cases: str) -> tuple[Ints, Ints]:
        stay = population.stays_of(*cases)
        return population.stays.admission[stay], population.stays.intime[stay].astype(np.int64)

    admission, intime = admissions_of("events_outside")
    begin[admission], end[admission] = intime - 10 * HOUR, intime - HOUR
    admission, intime = admissions_of("number_only_negative", "number_only_exponent")
    begin[admission] = intime + 10 * HOUR
    end[admission] = np.maximum(end[admission], begin[admission] + HOUR)

    counts = _shares(mean, weight, 4)
    counts[has_case(patients.case, "no_events")[admissions.patient]] = 0
    counts[admissions_of("stay_without_events")[0]] = 0
    return Plan(
        table=LAB,
        patient=admissions.patient,
        admission=np.arange(count),
        stay=np.full(count, -1),
        sibling=_siblings(population, admissions.patient),
        counts=counts,
        begin=begin,
        end=end,
        only_numbers=has_case(patients.case, *NUMBER_ONLY)[admissions.patient],
        system=patients.source[admissions.patient],
    )


def _shares(mean: float, weight: ar.Floats, least: int) -> Ints:
    counts: Ints = np.maximum(np.round(mean * weight / weight.mean()), least).astype(np.int64)
    return counts


def _siblings(population: Population, patient: Ints) -> Ints:
    """Return another unit of the same patient where there is one, else another patient's.

    A stay that must stay without events gets none in error either.
    """
    count = len(patient)
    place = np.arange(count)
    after, before = (place + 1) % count, (place - 1) % count
    sibling = np.where((patient[after] != patient) & (patient[before] == patient), before, after)
    kept_apart = has_case(population.patients.case, "stay_without_events")[patient]
    stranger = np.searchsorted(patient, patient, side="right") % count
    return np.where(kept_apart, stranger, sibling)
