"""The invented patient model: what illness and death do to what is measured.

All numbers are rough textbook values, chosen by hand; none was estimated from patient data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from synth.arrays import Bools, Floats, stream

PHENOTYPES = 25
Levels = npt.NDArray[np.float32]

# Share of admissions with each phenotype, in label order, and how much severity raises it.
PREVALENCE = (
    *(0.21, 0.08, 0.10, 0.32, 0.13, 0.13, 0.21, 0.07, 0.27, 0.32, 0.10, 0.19, 0.29),
    *(0.42, 0.27, 0.07, 0.13, 0.09, 0.05, 0.04, 0.09, 0.14, 0.18, 0.14, 0.08),
)
ACUTE = frozenset({1, 15, 22, 23, 24, 25})
DEATH_LOGIT = {0: -2.9, 1: 0.5, 2: 0.5, 23: 0.7, 24: 0.6, 25: 0.9}  # 0 is the intercept
DEATH_BY_SEVERITY = 1.0
DEATH_BY_AGE = 0.02  # a year over 65


@dataclass(frozen=True)
class Measure:
    """One measured quantity, in its canonical unit.

    `between` and `within` are standard deviations between and inside admissions; `severity`,
    `death` and `by_phenotype` move an admission's level.
    """

    mean: float
    between: float
    within: float
    severity: float = 0.0
    death: float = 0.0
    by_phenotype: dict[int, float] = field(default_factory=dict)


MEASURES: dict[str, Measure] = {
    "Capillary refill rate": Measure(0.6, 0.4, 0.6, 0.3, 0.7, {25: 0.7}),  # place in a list of 4
    "Diastolic blood pressure": Measure(61, 7, 6, -2, -4, {25: -9}),  # mmHg
    "Fraction inspired oxygen": Measure(42, 7, 7, 5, 8, {23: 10}),  # percent
    "Glascow coma scale eye opening": Measure(3.6, 0.3, 0.4, -0.35, -0.8, {2: -0.6}),
    "Glascow coma scale motor response": Measure(5.7, 0.4, 0.5, -0.4, -1.1, {2: -0.7}),
    "Glascow coma scale total": Measure(13.4, 1, 0.9, -1.2, -3, {2: -2, 23: -1.5}),
    "Glascow coma scale verbal response": Measure(4.4, 0.6, 0.6, -0.6, -1.2, {23: -1.5}),
    "Glucose": Measure(130, 20, 18, 6, 10, {11: 55, 12: 28}),  # mg/dL
    "Heart Rate": Measure(85, 10, 7, 6, 8, {4: 5, 24: 8, 25: 9}),  # 1/min
    "Height": Measure(169, 9, 0.4),  # cm
    "Mean blood pressure": Measure(79, 8, 7, -3, -6, {24: -4, 25: -12}),  # mmHg
    "Oxygen saturation": Measure(97.3, 0.9, 1.1, -0.4, -1, {6: -1.5, 22: -1, 23: -1.5}),  # percent
    "Respiratory rate": Measure(18.5, 3, 3, 1.5, 2.5, {22: 2, 23: 3}),  # 1/min
    "Systolic blood pressure": Measure(121, 12, 9, -4, -8, {14: 8, 17: 8, 24: -7, 25: -18}),
    "Temperature": Measure(36.9, 0.3, 0.35, 0.05, -0.15, {22: 0.4, 24: 0.5}),  # degrees C
    "Weight": Measure(81, 17, 0.5, 0, 0, {9: 4}),  # kg
    "pH": Measure(7.39, 0.03, 0.03, -0.015, -0.04, {23: -0.03, 25: -0.04}),
    "Lactate": Measure(1.6, 0.4, 0.3, 0.5, 1.4, {24: 0.8, 25: 1.6}),  # mmol/L
    "Creatinine": Measure(1.0, 0.2, 0.1, 0.15, 0.2, {1: 1.6, 5: 1.8}),  # mg/dL
    "Urea nitrogen": Measure(20, 5, 3, 4, 6, {1: 20, 5: 18}),  # mg/dL
    "Potassium": Measure(4.1, 0.3, 0.3, 0.05, 0.1, {1: 0.3, 15: 0.4}),  # mmol/L
    "Sodium": Measure(138.5, 2.5, 2, -0.3, 0, {15: -4}),  # mmol/L
    "Hemoglobin": Measure(10.9, 1.2, 0.5, -0.3, -0.3, {5: -0.8, 16: -2}),  # g/dL
    "Platelets": Measure(215, 60, 15, -12, -25, {18: -80}),  # 1000/uL
    "White cells": Measure(10.2, 2.5, 1.2, 0.8, 1.5, {22: 3, 24: 5}),  # 1000/uL
    "INR": Measure(1.3, 0.2, 0.1, 0.1, 0.2, {18: 0.6}),
    "Bilirubin": Measure(0.8, 0.3, 0.1, 0.2, 0.4, {18: 3.5}),  # mg/dL
    "Central venous pressure": Measure(9, 3, 2, 0.5, 1, {9: 3}),  # mmHg
    "Tidal volume": Measure(470, 60, 40),  # mL
    "Urine output": Measure(120, 40, 45, -12, -25, {1: -60, 25: -35}),  # mL
    "Nursing text": Measure(1.5, 1.0, 1.3, 0.3, 0.5),  # place in a list of words
}
MEASURE_PLACE = {name: place for place, name in enumerate(MEASURES)}


def draw_severity(seed: int, admissions: int) -> Floats:
    """Return the hidden severity of each admission: standard normal."""
    return stream(seed, 1).standard_normal(admissions)


def draw_phenotypes(seed: int, severity: Floats) -> Bools:
    """Return which phenotypes each admission has: shape (admissions, 25)."""
    logit = np.log(np.array(PREVALENCE)) - np.log1p(-np.array(PREVALENCE))
    slope = np.array([0.8 if number + 1 in ACUTE else 0.15 for number in range(PHENOTYPES)])
    chance = _logistic(logit + slope * severity[:, None])
    return np.asarray(stream(seed, 2).random(chance.shape) < chance)


def death_chance(severity: Floats, phenotypes: Bools, age: Floats) -> Floats:
    """Return the chance that each admission would end in death; ages in years."""
    logit = DEATH_LOGIT[0] + DEATH_BY_SEVERITY * severity + DEATH_BY_AGE * (age - 65)
    for number, effect in DEATH_LOGIT.items():
        if number:
            logit = logit + effect * phenotypes[:, number - 1]
    return _logistic(logit)


def draw_levels(seed: int, severity: Floats, died: Bools, phenotypes: Bools) -> Levels:
    """Return each admission's distance from the mean of each measure.

    Shape (admissions, measures), in the measures' canonical units. Sums run in a fixed order (no
    matrix product), so that every machine gets the same bits.
    """
    shape = (len(severity), len(MEASURES))
    levels = stream(seed, 3).standard_normal(shape, dtype=np.float32)
    for place, measure in enumerate(MEASURES.values()):
        level = levels[:, place].astype(np.float64) * measure.between
        level += measure.severity * severity
        level += measure.death * died
        for number, effect in measure.by_phenotype.items():
            level += effect * phenotypes[:, number - 1]
        levels[:, place] = level
    return levels


def _logistic(logit: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logit)))
