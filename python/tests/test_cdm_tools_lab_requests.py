"""Requests for tests as version 2 of the tools reads them: names with commas, fillers, joints."""

from __future__ import annotations

from pathlib import Path

import pytest
from cdm_cases import LAB_TESTS, ask, case, facts, lab, mapping, rows, toolbox
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.lab_names import LabMapping, LabNames, canonical, read_mapping
from medeval.cdm.laboratory import Laboratory, Requested, requested_names, shorter_name

MORE_TESTS = (
    (50893, "Calcium, Total", "Blood"),
    (50862, "Albumin", "Blood"),
    (51069, "Albumin, Urine", "Urine"),
    (51492, "Protein", "Urine"),
    (51068, "Factor, Total, Urine, Timed", "Urine"),
    (51486, "Leukocytes", "Urine"),
    (90250, "OVA + PARASITES", None),
    (90260, "Rapid Viral Screen & Culture", None),
    (90270, "Smear with stain or culture", None),
    (50971, "Potassium", "Blood"),
)


def table() -> LabMapping:
    rows = [(itemid, label, same) for itemid, label, _, same in LAB_TESTS]
    rows += [(itemid, label, (itemid,)) for itemid, label, _ in MORE_TESTS]
    return LabMapping(
        {"itemid": itemid, "label": label, "corresponding_ids": same}
        for itemid, label, same in rows
    )


def requested(text: str, version: int = 2) -> list[Requested]:
    return Laboratory(case(), facts().labs, table()).requested(text, version)


def items_of_each(text: str) -> list[tuple[int, ...]]:
    return [test.items for test in requested(text)]


def panel(name: str) -> tuple[int, ...]:
    return canonical(facts().labs.panels[name], facts().labs)


CBC = "Complete Blood Count (CBC)"
LIPASE = (50956,)


# Names that hold what sets names apart


def test_each_label_is_its_own_test() -> None:
    found = table()
    for label in found.labels:
        if label in ("WBC", "Leukocytes"):  # clinicians mean those of blood
            continue
        wanted = canonical(found.items(label), facts().labs)
        assert requested(label) == [Requested(label, wanted)], label


def test_each_label_of_the_reference_s_table_is_its_own_test(shared: Path) -> None:
    found = read_mapping(shared / "golden" / "cdm_synth" / "lab_test_mapping.json")
    laboratory = Laboratory(case(), facts().labs, found)
    labels = [label for label in found.labels if "," in label]
    assert labels
    for label in labels:
        wanted = canonical(found.items(label), facts().labs)
        assert laboratory.requested(label, 2) == [Requested(label, wanted)], label


@pytest.mark.parametrize(("text", "names"), rows("words_that_are_one_name_together_are_one_test"))
def test_words_that_are_one_name_together_are_one_test(text: str, names: list[str]) -> None:
    assert [test.name for test in requested(text)] == names


def test_a_test_with_a_comma_gives_its_own_results_only() -> None:
    of = case(labs=[lab(50885, "2 mg/dL"), lab(50883, "1 mg/dL"), lab(50893, "9 mg/dL")])
    tools = toolbox(of)
    assert tools.call(*ask("Blood Culture, Routine")).record["unknown_names"] == []
    answer = Laboratory(of, facts().labs, table()).answer("Calcium, Total", 2)
    assert answer.splitlines() == ["(Blood) Item 50893: 9 mg/dL (ref: 0-40)"]


def test_the_reference_takes_a_label_with_a_comma_for_two_names() -> None:
    assert [test.name for test in requested("Calcium, Total", 1)] == ["Calcium", "Total"]
    assert requested_names("Calcium, Total", facts().labs, 1, lambda name: True) == [
        "Calcium",
        "Total",
    ]


# What sets names apart


@pytest.mark.parametrize("text", rows("names_are_set_apart"))
def test_names_are_set_apart(text: str) -> None:
    assert items_of_each(text) == [panel(CBC), LIPASE]


@pytest.mark.parametrize("text", ["CBC with differential", "cbc with diff", "CBC w diff"])
def test_a_whole_name_goes_before_its_parts(text: str) -> None:
    assert items_of_each(text) == [panel(CBC)]


def test_a_plus_sign_at_a_word_belongs_to_it() -> None:
    assert items_of_each("Na+, K+") == [(50983,), (50971,)]
    assert items_of_each("Na+/K+") == [(50983,), (50971,)]


@pytest.mark.parametrize("text", ["U&E", "U & E", "u&es", "urea and electrolytes"])
def test_urea_and_electrolytes_are_a_panel(text: str) -> None:
    assert items_of_each(text) == [panel("Renal Function Panel (RFP)")]


def test_leukocytes_are_those_of_blood() -> None:
    assert items_of_each("Leukocytes, leucocytes") == [(51301,), (51301,)]


# Words that say nothing of the test


@pytest.mark.parametrize("text", rows("words_that_say_nothing_are_dropped"))
def test_words_that_say_nothing_are_dropped(text: str) -> None:
    assert items_of_each(text) == [LIPASE]


def test_haste_comes_before_panels_too() -> None:
    assert items_of_each("STAT CBC") == [panel(CBC)]
    assert items_of_each("STAT CBC with diff") == [panel(CBC)]
    assert items_of_each("potassium mmol/L") == [(50971,)]


def test_such_a_word_stays_where_it_is_part_of_a_name() -> None:
    assert [test.name for test in requested("Amylase, Serum")] == ["Amylase, Serum"]
    assert [test.name for test in requested("pregnancy test")] == ["pregnancy test"]
    assert [test.name for test in requested("serum lipase")] == ["serum lipase"]


def test_nothing_but_such_words_is_no_test() -> None:
    assert requested("the patient, please, today") == []
    assert not toolbox(case(labs=[lab(50956)])).call(*ask("serum tests")).record["is_valid"]


def test_the_reference_keeps_such_words() -> None:
    assert [test.name for test in requested("STAT CBC", 1)] == ["STAT CBC"]


def test_a_name_that_stays_unknown_is_told_without_them() -> None:
    record = toolbox().call(*ask("STAT xyz mmol/L")).record
    assert record["unknown_names"] == ["xyz"]
    assert shorter_name("stat patient's xyz", facts().labs) == "xyz"
    assert shorter_name("statin", facts().labs) == "statin"


@given(st.lists(st.sampled_from([label for _, label, *_ in LAB_TESTS]), min_size=1, max_size=6))
def test_any_labels_one_a_line_are_each_found(labels: list[str]) -> None:
    names = LabNames(mapping(), facts().labs)
    assert requested_names("\n".join(labels), facts().labs, 2, names.is_exact) == labels
