"""The special patients: which rule of the benchmark each one is there for.

Of every 240 patients the first of each five is a special one, so that a data set of 240 holds
every case once and a larger one holds each in the same proportion. The others are ordinary.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from synth.arrays import Bools, Ints

CYCLE = 240
STRIDE = 5


@dataclass(frozen=True)
class Case:
    """One kind of special patient.

    `admissions` is how many the patient has; `stays` how many ICU stays an admission has where
    that is not one; `transfers` the (admission, stay) that change ward or care unit.
    """

    name: str
    admissions: int = 1
    stays: dict[int, int] = field(default_factory=dict)
    transfers: tuple[tuple[int, int], ...] = ()


CASES = (
    # who is in the cohort
    Case("many_episodes", admissions=12),
    Case("sibling_events", admissions=3),  # events of the second stay charted inside the first
    Case("no_events"),
    Case("number_only_negative"),  # only numbers; a negative glucose is the first observation
    Case("los_two_days"),
    Case("newborn"),
    Case("transfer_leaves_one", stays={0: 2}, transfers=((0, 1),)),
    Case("death_after_34_hours"),  # exactly 24 hours after a sample time
    Case("two_stays", admissions=2, stays={0: 2}),  # the first admission is dropped
    Case("other_ward"),
    Case("other_unit"),
    Case("missing_ward"),
    Case("missing_both_wards"),
    Case("minor"),
    Case("age_18"),
    Case("age_below_18"),
    Case("age_300"),
    Case("born_after_intime"),
    # times
    Case("missing_outtime_and_los"),
    Case("missing_outtime"),
    Case("missing_los"),
    Case("los_below_two_days"),
    Case("los_4_hours"),
    Case("los_5_hours"),
    Case("los_shorter_than_stay"),  # rounding puts 24 * LOS before OUTTIME
    Case("dod_only"),
    Case("death_on_admission_day"),
    Case("dod_on_admission_day"),
    Case("death_after_discharge"),
    Case("death_before_intime"),
    Case("equal_intime", admissions=2),
    # diagnoses
    Case("no_diagnosis"),
    Case("unknown_codes_only"),
    Case("unknown_kidney_code"),
    # events
    Case("stay_without_events", admissions=2),
    Case("events_outside"),
    Case("number_only"),
    Case("number_only_exponent"),
    Case("value_texts"),
    Case("malformed_values"),
    Case("every_item"),
    Case("wrong_ids", admissions=2, transfers=((1, 0),)),
    Case("time_edges"),
    Case("duplicates"),
    # the rest
    Case("missing_ethnicity"),
    Case("admission_without_stay", admissions=2, stays={1: 0}),
    Case("both_systems"),
)
CASE_PLACE = {case.name: place for place, case in enumerate(CASES)}
ORDINARY = -1


def assign_cases(patients: int) -> Ints:
    """Return each patient's place in `CASES`, or `ORDINARY`."""
    slot, rest = np.divmod(np.arange(patients) % CYCLE, STRIDE)
    return np.where((rest == 0) & (slot < len(CASES)), slot, ORDINARY)


def has_case(cases: Ints, *names: str) -> Bools:
    """Return which patients are one of the named cases."""
    return np.isin(cases, [CASE_PLACE[name] for name in names])
