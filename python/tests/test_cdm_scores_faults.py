"""Each fault of the reference's scores and tools, there in version 1 and repaired in version 2."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cdm_cases import ask, case, culture, facts, image, scored, toolbox

from medeval.cdm.scores import icd_version
from medeval.cdm.tools import VERSIONS

Check = Callable[[int], None]
FAULTS: list[Check] = []


def fault(check: Check) -> Check:
    FAULTS.append(check)
    return check


@fault
def keywords_of_several_words_are_found_in_the_ground_truth(version: int) -> None:
    of = case("pancreatitis", treatments=[("had a biliary stent placed", None)])
    assert scored(of, version=version).answers["Treatment Required"]["ERCP"]


@fault
def keywords_of_several_words_are_found_in_the_answer(version: int) -> None:
    score = scored(case("diverticulitis"), treatment=["low anterior resection"], version=version)
    assert score.answers["Treatment Requested"]["Colectomy"]


@fault
def pairs_of_several_words_are_found_in_the_diagnosis(version: int) -> None:
    score = scored(case("diverticulitis"), diagnosis="acute colonic perforation", version=version)
    assert score.scores["Gracious Diagnosis"] == 1


@fault
def a_negated_diagnosis_is_not_right(version: int) -> None:
    assert scored(case(), diagnosis="no appendicitis", version=version).scores["Diagnosis"] == 0


@fault
def a_full_stop_does_not_make_a_diagnosis_wrong(version: int) -> None:
    score = scored(case(), diagnosis="Acute appendicitis.", version=version)
    assert score.scores["Diagnosis"] == 1


@fault
def a_misspelling_that_passes_the_ratio_counts(version: int) -> None:
    assert scored(case(), diagnosis="appendicitiss", version=version).scores["Diagnosis"] == 1


@fault
def a_negation_reaches_over_words(version: int) -> None:
    score = scored(case(), diagnosis="no sign of any perforated appendix", version=version)
    assert score.scores["Diagnosis"] == 0


@fault
def one_negated_mention_does_not_void_the_others(version: int) -> None:
    treatment = ["no antibiotics before surgery, then antibiotics for a week"]
    score = scored(case(), treatment=treatment, version=version)
    assert score.answers["Treatment Requested"]["Antibiotics"]


@fault
def a_negation_is_no_tail_of_a_word(version: int) -> None:
    score = scored(case(), treatment=["casino antibiotics"], version=version)
    assert score.answers["Treatment Requested"]["Antibiotics"]


@fault
def bilirubin_is_a_test_of_the_gallbladder(version: int) -> None:
    score = scored(case("cholecystitis"), [ask("Direct Bilirubin")], version=version)
    assert score.answers["Correct Laboratory Tests"]["Gallbladder"]


@fault
def every_word_for_a_modality_is_scored(version: int) -> None:
    score = scored(case(), [image("abdomen", "abdominal ultrasound")], version=version)
    assert score.scores["Imaging"] == 2


@fault
def every_word_for_a_region_is_scored(version: int) -> None:
    score = scored(case(), [image("right lower quadrant", "us")], version=version)
    assert score.scores["Imaging"] == 2


@fault
def unnecessary_tests_are_reported(version: int) -> None:
    score = scored(case(), [ask("Lipase")], version=version).as_json()
    assert score["answers"].get("Unnecessary Laboratory Tests") == [50956]


@fault
def cultures_are_found_where_there_are_no_other_results(version: int) -> None:
    of = case(cultures=[culture(90201, "Blood Culture, Routine")])
    answer = toolbox(of, version=version).call(*ask("blood culture"))
    assert "No growth" in answer.text


@fault
def endoscopic_ultrasound_adds_once(version: int) -> None:
    of = case("pancreatitis", diagnoses=["biliary pancreatitis"])
    calls = [image("abdomen", "eus")] * 3
    assert scored(of, calls, version=version).scores["Imaging"] == 1


@fault
def a_change_of_another_organ_is_no_diagnosis(version: int) -> None:
    diagnosis = "Perforated duodenal ulcer; the appendix is normal"
    assert scored(case(), diagnosis=diagnosis, version=version).scores["Diagnosis"] == 0


@fault
def a_diagnosis_that_is_ruled_out_is_not_right(version: int) -> None:
    diagnosis = "appendicitis ruled out"
    assert scored(case(), diagnosis=diagnosis, version=version).scores["Diagnosis"] == 0


@fault
def a_diagnosis_that_is_to_be_ruled_out_is_not_right(version: int) -> None:
    diagnosis = "rule out appendicitis"
    assert scored(case(), diagnosis=diagnosis, version=version).scores["Diagnosis"] == 0


@fault
def a_treatment_that_is_not_needed_is_not_asked_for(version: int) -> None:
    score = scored(case(), treatment=["antibiotics are not needed"], version=version)
    assert not score.answers["Treatment Requested"]["Antibiotics"]


@fault
def a_label_with_a_comma_is_one_test(version: int) -> None:
    answer = toolbox(version=version).call(*ask("Bilirubin, Total"))
    assert answer.record["itemids"][str(version)] == [50885]


@fault
def a_test_is_found_whatever_its_haste(version: int) -> None:
    answer = toolbox(version=version).call(*ask("STAT lipase"))
    assert answer.record["itemids"][str(version)] == [50956]


@fault
def imaging_earns_no_more_than_two_points(version: int) -> None:
    of = case("pancreatitis", diagnoses=["biliary pancreatitis"])
    calls = [image("abdomen", "us"), image("abdomen", "eus")]
    assert scored(of, calls, version=version).scores["Imaging"] == 2


@pytest.mark.parametrize("check", FAULTS, ids=lambda check: str(check.__name__))
def test_the_fault_is_repaired(check: Check) -> None:
    check(2)


@pytest.mark.parametrize("check", FAULTS, ids=lambda check: str(check.__name__))
def test_the_reference_has_the_fault(check: Check) -> None:
    with pytest.raises(AssertionError):
        check(1)


def test_codes_of_both_versions_are_told_apart_by_their_form() -> None:
    codes = {code for of in facts().treatments.values() for one in of for code in one.codes}
    assert {version for version, _ in codes} == {9, 10}
    assert all(icd_version(code) == version for version, code in codes)
    by_version = [{code for version, code in codes if version == number} for number in (9, 10)]
    assert by_version[0].isdisjoint(by_version[1])


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_of_one_run_are_scored_in_both_versions(version: int) -> None:
    calls = [("physical_examination", {}), ask("White Blood Cells"), image("abdomen", "CT")]
    scores = scored(case(), calls, diagnosis="appendicitis", version=version).scores
    assert [scores[name] for name in ("Physical Examination", "Laboratory Tests", "Imaging")] == [
        *(1, 1, 1),
    ]
