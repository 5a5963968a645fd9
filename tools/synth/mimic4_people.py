"""Patients and admissions: who, when, why. All of them are in memory at once, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from synth import arrays as ar
from synth.arrays import DAY, HOUR, MINUTE, Bools, Ints, Times
from synth.mimic4_cases import (
    CASES,
    INTEREST,
    JOINING,
    ORDINARY,
    TRANSFERRED,
    assign_cases,
    assign_conditions,
    assign_controls,
    has_case,
)

FIRST_SUBJECT, FIRST_HADM, IDS = 10_000_000, 20_000_000, 9_900_000
DICE = 512
T = TypeVar("T")


@dataclass
class Admissions:
    """One element an admission, in the order of (subject_id, time).

    `condition` is the main disease, `concealed` the pathology that a control has besides;
    `procedure_day` counts from the day of admission and is -1 without a procedure; `edregtime`
    is missing for those who did not come through the emergency department, `dod` for those who
    are not known to have died.
    """

    subject_id: Ints
    hadm_id: Ints
    ordinal: Ints
    case: Ints
    kind: Ints
    condition: Ints
    concealed: Ints
    female: Bools
    anchor_age: Ints
    anchor_year: Ints
    admittime: Times
    dischtime: Times
    edregtime: Times
    procedure_day: Ints
    icd_version: Ints
    died: Bools
    dod: Times

    def take(self, places: Ints | slice) -> Admissions:
        """Return some admissions."""
        return Admissions(*(getattr(self, field.name)[places] for field in fields(self)))


def make_admissions(seed: int, scale: int) -> Admissions:
    """Draw `scale` admissions of interest and three controls for each ten of them."""
    rng = ar.stream(seed, 100)
    controls = max(6, scale * 3 // 10)
    count = scale + controls
    control_kind, control_condition, concealed = assign_controls(controls)
    case = np.concatenate([assign_cases(scale), np.full(controls, ORDINARY)])
    kind = np.concatenate([np.full(scale, INTEREST), control_kind])
    condition = np.concatenate([assign_conditions(scale), control_condition])
    concealed = np.concatenate([np.full(scale, -1), concealed])

    joins = has_case(case, *JOINING)
    patient = np.cumsum(~joins) - 1
    patients = int(patient[-1]) + 1
    ordinal = joins.astype(np.int64)
    gap = IDS // count
    ids = np.cumsum(rng.integers(1, gap + 1, count))

    female = rng.random(patients) < 0.52
    female[patient[condition == 7]] = True  # ovarian cyst
    age = np.clip(np.rint(rng.normal(52, 18, patients)), 18, 89).astype(np.int64)
    oldest = rng.random(patients) < 0.01
    oldest[patient[has_case(case, "oldest")]] = True
    age[oldest] = 91
    anchor_year = rng.integers(2110, 2190, patients)

    begin = (anchor_year - 1970).astype("datetime64[Y]").astype("datetime64[s]")
    begin = begin + ar.seconds(rng.integers(0, 5 * 365 * DAY, patients))
    admittime = ar.floor_minute(begin[patient])
    length = np.clip(rng.lognormal(np.log(3.5), 0.6, count) * DAY, DAY, 30 * DAY).astype(np.int64)
    before_overlap = np.flatnonzero(has_case(case, "overlapping")) - 1
    length[before_overlap] = np.maximum(length[before_overlap], 4 * DAY)
    later = np.where(
        has_case(case, "overlapping"), 2 * DAY, rng.integers(40 * DAY, 900 * DAY, count)
    )
    admittime[joins] = ar.floor_minute(admittime[joins] + ar.seconds(later[joins]))
    morning = has_case(case, "same_day_procedure", "missing_charttime")
    admittime[morning] = ar.floor_day(admittime[morning]) + ar.seconds(8 * HOUR)
    dischtime = ar.floor_minute(admittime + ar.seconds(length))

    through_ed = (rng.random(count) < 0.88) & (kind != TRANSFERRED)
    through_ed |= kind == INTEREST
    wait = ar.seconds(rng.integers(2 * HOUR, 11 * HOUR, count) // MINUTE * MINUTE)
    edregtime = np.where(through_ed, admittime - wait, ar.missing_times(count))

    day = rng.choice([0, 1, 2, 3], count, p=[0.15, 0.5, 0.25, 0.1])
    without = np.array([0.12, 0.2, 0.6, 0.5, 1, 0.3, 0.4, 0.3, 1])[condition]
    day[rng.random(count) < without] = -1
    day[has_case(case, *CASES) & (day < 0)] = 1
    day[has_case(case, *CASES[:6], "lab_cap", "lab_forms")] = 2
    day[has_case(case, "cultures_by_day", "culture_tie")] = 2
    day[has_case(case, "same_day_procedure")] = 0
    day[has_case(case, "no_procedure")] = -1
    longest = (ar.floor_day(dischtime) - ar.floor_day(admittime)).astype(np.int64) // DAY
    short = (day > longest) & (day > 0)
    dischtime[short] = admittime[short] + ar.seconds(day[short] * DAY + 9 * HOUR)

    # The last admission of a patient may end in death; that of the first control does.
    last = np.append(~joins[1:], True)
    died = last & (case == ORDINARY) & (age[patient] > 60) & (rng.random(count) < 0.03)
    died[scale] = True
    dod = ar.missing_times(patients)
    dod[patient[died]] = ar.floor_day(dischtime[died])

    place = rng.permutation(patients)
    admissions = Admissions(
        subject_id=FIRST_SUBJECT + ids[place][patient],
        hadm_id=FIRST_HADM + rng.permutation(np.cumsum(rng.integers(1, gap + 1, count))),
        ordinal=ordinal,
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


class Dice:
    """The random draws of one admission, in the order in which they are asked for."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers
        self._next = 0

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        number = self._numbers[self._next % len(self._numbers)]
        self._next += 1
        return number

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.unit() < probability

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + int(self.unit() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self.unit() * len(options))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """Return up to `count` different options, in their own order."""
        order = sorted(range(len(options)), key=lambda _: self.unit())[:count]
        return [options[place] for place in sorted(order)]


@dataclass(frozen=True)
class Stay:
    """One admission as Python values, for what is written text by text."""

    subject: int
    hadm: int
    ordinal: int
    case: str
    kind: int
    condition: int
    concealed: int
    female: bool
    age: int
    admit: np.datetime64
    discharge: np.datetime64
    ed: np.datetime64 | None
    procedure_day: int
    icd_version: int
    died: bool
    dice: Dice

    @property
    def start(self) -> np.datetime64:
        """The time of arrival."""
        return self.admit if self.ed is None else self.ed


def stays_of(admissions: Admissions, dice: np.random.Generator) -> Iterator[Stay]:
    """Give the admissions one by one."""
    names = (*CASES, "")
    rolls = dice.random((len(admissions.case), DICE)).tolist()
    since = admissions.admittime.astype("datetime64[Y]").astype(np.int64) + 1970
    age = (admissions.anchor_age + since - admissions.anchor_year).tolist()
    for place, numbers in enumerate(rolls):
        ed = admissions.edregtime[place]
        yield Stay(
            subject=int(admissions.subject_id[place]),
            hadm=int(admissions.hadm_id[place]),
            ordinal=int(admissions.ordinal[place]),
            case=names[admissions.case[place]],
            kind=int(admissions.kind[place]),
            condition=int(admissions.condition[place]),
            concealed=int(admissions.concealed[place]),
            female=bool(admissions.female[place]),
            age=age[place],
            admit=admissions.admittime[place],
            discharge=admissions.dischtime[place],
            ed=None if np.isnat(ed) else ed,
            procedure_day=int(admissions.procedure_day[place]),
            icd_version=int(admissions.icd_version[place]),
            died=bool(admissions.died[place]),
            dice=Dice(numbers),
        )


def moment(time: np.datetime64 | None) -> str | None:
    """Return a time as the files write it."""
    return None if time is None else str(time).replace("T", " ")


def later(time: np.datetime64, seconds: int) -> np.datetime64:
    """Return a time some seconds later."""
    return time + np.timedelta64(seconds, "s")


def day_of(time: np.datetime64, days: int = 0) -> np.datetime64:
    """Return 00:00:00 of the day of a time, or of a day after it."""
    day: np.datetime64 = (time.astype("datetime64[D]") + np.timedelta64(days, "D")).astype(
        "datetime64[s]"
    )
    return day
