"""The patients of a group with one pathology are a cell: no score tells how many they are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from cdm_cases import case, scored

from medeval.cdm.aggregate import ScoredCase
from medeval.cdm.subgroups import Subgroups, subgroups
from medeval.tasks.cdm_tables import gap_sentences, gap_table, shown_groups

PATHOLOGIES = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")
NAMES = ("Diagnosis", "Treatment Requested")
# Of each group, how many of its patients have each pathology.
Table = tuple[tuple[int, ...], ...]
# All of a pathology are alike, and no two pathologies are: as telling as scores can be.
SCORES = tuple(
    scored(
        case(pathology=pathology),
        diagnosis=pathology if right else "gastritis",
        treatment=["antibiotics"] if treated else [],
    )
    for pathology, right, treated in zip(
        PATHOLOGIES, (True, True, False, False), (True, False, True, False), strict=True
    )
)


def people(table: Table) -> tuple[list[ScoredCase], dict[int, dict[str, str]]]:
    """Cases in the order of their pathologies, as everybody can see them, with their groups."""
    cases, attributes = [], {}
    for place, counts in enumerate(zip(*table, strict=True)):
        for group, count in enumerate(counts):
            for _ in range(count):
                number = len(cases)
                cases.append(ScoredCase(number, PATHOLOGIES[place], SCORES[place]))
                attributes[number] = {"gender": f"g{group}"}
    return cases, attributes


def found_of(table: Table, min_cell: int, **options: Any) -> Subgroups:
    cases, attributes = people(table)
    # Only groups that are told have intervals and p values, and these scores say all of them.
    quick = {"n_iters": 0, "n_permutations": 1} | options
    return subgroups(cases, attributes, min_cell=min_cell, possible=NAMES, **quick)


def shown_of(table: Table) -> list[int | None]:
    return [group.n for group in found_of(table, 11).groupings["gender"].groups]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Two men and ten women with diverticulitis, among many others.
        (((20, 15, 10, 12), (18, 17, 2, 24)), [None, None]),
        (((20, 15, 11, 12), (18, 17, 11, 24)), [58, 70]),
        # That nobody has a pathology is a number of no patient.
        (((20, 15, 0, 12), (18, 17, 11, 24)), [47, 70]),
        # The smallest other group is hidden with a small cell, and another if that is not enough.
        (((30, 10), (30, 40), (11, 12), (40, 50)), [None, 70, None, 90]),
        (((30, 2), (30, 9), (11, 12), (70, 50)), [None, None, 23, 120]),
        (((30, 1), (30, 9), (11, 12), (70, 50)), [None, None, None, 120]),
        (((30, 1), (30, 5), (60, 5), (70, 50), (80, 60)), [None, None, None, 120, 140]),
        # If few have a pathology in all, whoever is told shows how few there are of the others.
        (((30, 1), (30, 0), (40, 2)), [None, None, None]),
    ],
)
def test_groups_with_a_small_cell_are_hidden(table: Table, expected: list[int | None]) -> None:
    assert shown_of(table) == expected


def test_a_single_group_with_a_small_cell_is_not_even_named() -> None:
    assert shown_of(((30, 10),)) == []
    assert shown_of(((30, 11),)) == [41]


def test_nothing_is_told_of_hidden_groups_in_tables_and_sentences() -> None:
    table: Table = ((20, 15, 10, 12), (18, 17, 2, 24))
    found = found_of(table, 11)
    assert found.groupings["gender"].gaps == ()
    assert gap_table(found).rows == []
    assert shown_groups(found, NAMES)["gender"] == {
        name: {"n": None, **dict.fromkeys(NAMES)} for name in ("g0", "g1")
    }
    assert gap_sentences(found) == [
        "By gender, 2 of 2 groups are hidden, since one of them has fewer than 11 cases, in all or"
        " of one pathology (--min-cell), or such a one could be worked out from it."
    ]


def test_names_that_would_tell_a_number_are_missed_by_a_sentence() -> None:
    (told,) = gap_sentences(found_of(((30, 10),), 11))
    assert told == (
        "By gender nothing can be told, for it would tell of fewer than 11 cases, in all or of one"
        " pathology (--min-cell)."
    )
    assert gap_sentences(found_of(((30, 11), (20, 30)), 11, n_permutations=1)) == []


def test_with_a_smallest_cell_of_one_every_cell_is_told() -> None:
    table: Table = ((2, 1), (1, 0))
    found = found_of(table, 1)
    assert Counter({group.name: group.n for group in found.groupings["gender"].groups}) == {
        "g0": 3,
        "g1": 1,
    }
    assert len(found.groupings["gender"].gaps) == len(NAMES)
