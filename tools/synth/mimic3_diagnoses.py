"""Diagnosis codes of admissions, and a small dictionary that lacks some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synth import arrays as ar
from synth.arrays import Ints
from synth.mimic3_cases import has_case
from synth.mimic3_facts import Code, Facts
from synth.mimic3_model import PHENOTYPES
from synth.mimic3_patients import Population

KIDNEY_CODE = "585"
UNKNOWN = (KIDNEY_CODE, "5185", "2765", "2840", "2880")  # valid once, absent from the dictionary
CHRONIC_KIDNEY_DISEASE = 5
# How many known codes belong to no phenotype, by first character.
OTHER_CODES = dict.fromkeys("EV0", 25) | dict.fromkeys("123456789", 40)
NO_CODE = -1


@dataclass(frozen=True)
class Dictionary:
    """Known codes first (`known` of them, sorted by code), then `UNKNOWN`."""

    codes: tuple[Code, ...]
    known: int

    def places(self, phenotype: int) -> Ints:
        """Return the places of the known codes of one phenotype; 0 stands for none of them."""
        return np.array(
            [i for i, code in enumerate(self.codes[: self.known]) if code.phenotype == phenotype]
        )


@dataclass(frozen=True)
class Diagnoses:
    """One element a diagnosis row; `code` is a place in the dictionary, `NO_CODE` missing.

    `sequence` counts from 1 inside an admission; it is 0 (missing) where the code is missing.
    """

    admission: Ints
    sequence: Ints
    code: Ints


def make_dictionary(seed: int, facts: Facts) -> Dictionary:
    """Choose the known codes: all phenotype codes and a sample of the others, V and E included."""
    grouped = [c for c in facts.codes if c.phenotype and c.code not in UNKNOWN]
    others = [c for c in facts.codes if not c.phenotype and c.code not in UNKNOWN]
    rng = ar.stream(seed, 20)
    for mark, count in OTHER_CODES.items():
        pool = [c for c in others if c.code.startswith(mark)]
        grouped += [pool[i] for i in rng.choice(len(pool), count, replace=False)]
    known = sorted(grouped, key=lambda code: code.code)
    by_code = {code.code: code for code in facts.codes}
    unknown = [by_code.get(code, Code(code, 0, 0)) for code in UNKNOWN]
    return Dictionary((*known, *unknown), len(known))


def titles(dictionary: Dictionary, facts: Facts) -> tuple[list[str], list[str]]:
    """Return invented short and long titles of the known codes, some with commas and quotes."""
    short, long = [], []
    for place, code in enumerate(dictionary.codes[: dictionary.known]):
        name = facts.phenotypes[code.phenotype - 1] if code.phenotype else "other conditions"
        short.append(f"Group {code.ccs} code {code.code}")
        if place == 7:
            long.append(f'Synthetic title of {code.code}, also called "{name}"')
        elif place % 10 == 3:
            long.append(f'Synthetic "{name}" of group {code.ccs}, code {code.code}')
        elif place % 3 == 0:
            long.append(f"{name}, group {code.ccs}, code {code.code}")
        else:
            long.append(f"{name} of group {code.ccs} code {code.code}")
    return short, long


def draw_diagnoses(seed: int, population: Population, dictionary: Dictionary) -> Diagnoses:
    """Give each admission codes of its phenotypes, others, and a few that are unknown."""
    rng = ar.stream(seed, 21)
    admissions = population.admissions
    case = population.patients.case[admissions.patient]
    count = len(case)
    phenotypes = admissions.phenotypes.copy()
    kidney = has_case(case, "unknown_kidney_code")
    phenotypes[kidney, CHRONIC_KIDNEY_DISEASE - 1] = False
    phenotypes[has_case(case, "unknown_codes_only", "no_diagnosis")] = False

    rows: list[tuple[Ints, Ints]] = []
    for number in range(1, PHENOTYPES + 1):
        having = np.flatnonzero(phenotypes[:, number - 1])
        again = having[rng.random(len(having)) < 0.2]
        chosen = np.concatenate([having, again])
        rows.append((chosen, rng.choice(dictionary.places(number), len(chosen))))

    plain = ~has_case(case, "no_diagnosis", "unknown_codes_only")
    others = np.repeat(np.arange(count), np.where(plain, rng.poisson(4, count), 0))
    rows.append((others, rng.choice(dictionary.places(0), len(others))))
    some = np.flatnonzero(plain & (rng.random(count) < 0.08))
    rows.append((some, dictionary.known + rng.integers(1, len(UNKNOWN), len(some))))
    kidneys = np.flatnonzero(kidney)
    rows.append((kidneys, np.full(len(kidneys), dictionary.known)))
    only = np.flatnonzero(has_case(case, "unknown_codes_only"))
    unknown = (dictionary.known, dictionary.known + 1, dictionary.known + 2, NO_CODE)
    rows.extend((only, np.full(len(only), place)) for place in unknown)
    lacking = np.flatnonzero(plain & (rng.random(count) < 0.004))
    rows.append((lacking, np.full(len(lacking), NO_CODE)))

    admission = np.concatenate([row[0] for row in rows])
    code = np.concatenate([row[1] for row in rows])
    order = np.lexsort((rng.random(len(code)), code == NO_CODE, admission))
    admission, code = admission[order], code[order]
    sequence = ar.ordinals(np.bincount(admission, minlength=count)) + 1
    return Diagnoses(admission, np.where(code == NO_CODE, 0, sequence), code)
