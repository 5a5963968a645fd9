"""The tools that a model may use on a case: what they take, what they answer, what they record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cdm_cases import ask, case, facts, image, mapping, table, toolbox
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.models.clinical_case import PATHOLOGIES
from medeval.tasks.cdm.lab_names import LabNames, canonical, read_mapping
from medeval.tasks.cdm.laboratory import Laboratory, requested_names
from medeval.tasks.cdm.prompts import definitions
from medeval.tasks.cdm.tools import TOOLS, VERSIONS, understood

ROWS = table("cdm_tools")


@pytest.mark.parametrize("row", ROWS["replies"], ids=lambda row: "-".join(map(str, row["call"])))
def test_a_call_has_the_answer_and_the_record_of_its_line(row: dict[str, Any]) -> None:
    answers = [toolbox(version, **row.get("of", {})).call(*row["call"]) for version in VERSIONS]
    for version, answer in zip(VERSIONS, answers, strict=True):
        assert answer.text == (row.get(version, row.get("says")) or answer.text)
    record = answers[1].record
    assert record["arguments"] == row["call"][1]
    due = row.get("record", {})
    assert {name: record.get(name) for name in due} == due
    valid = row.get("valid", [answer.record["is_valid"] for answer in answers])
    assert [answer.record["is_valid"] for answer in answers] == valid


@pytest.mark.parametrize(("name", "arguments"), ROWS["bad_calls"])
def test_a_call_that_does_not_fit_is_told_and_recorded(
    name: str, arguments: dict[str, Any]
) -> None:
    for version in VERSIONS:
        answer = toolbox(version).call(name, arguments)
        assert answer.text
        assert answer.record == {"tool": name, "arguments": arguments, "is_valid": False}


def test_definitions_are_what_an_endpoint_takes() -> None:
    found = definitions(TOOLS)
    assert [one["function"]["name"] for one in found] == list(TOOLS)
    for one in found:
        parameters = one["function"]["parameters"]
        assert one["type"] == "function"
        assert one["function"]["description"]
        assert parameters["required"] == list(parameters["properties"])
        assert parameters["additionalProperties"] is False


def test_only_enabled_tools_are_offered_and_answer() -> None:
    answer = toolbox(enabled=["request_imaging", "physical_examination"]).call(*ask("CBC"))
    assert not answer.record["is_valid"]
    assert answer.text == (
        "There is no tool request_lab_test. Tools: physical_examination, request_imaging."
    )
    with pytest.raises(UserError, match="Unknown tools order_ct"):
        toolbox(enabled=["order_ct"])


@given(
    st.sampled_from([*TOOLS, "order_ct"]),
    st.dictionaries(
        st.sampled_from(["test_name", "region", "modality", "condition"]),
        st.one_of(st.text(max_size=30), st.none(), st.integers(), st.lists(st.text(max_size=5))),
    ),
    st.sampled_from(VERSIONS),
)
def test_no_call_raises_and_every_record_is_json(
    name: str, arguments: dict[str, Any], version: int
) -> None:
    known = {
        "labs": [{"itemid": 51301}],
        "cultures": [{"test_itemid": None, "test_name": None}],
        "reports": [{"note_id": "1-RR-1"}],
    }
    answer = toolbox(version, **known).call(name, arguments)
    assert answer.text
    assert json.loads(json.dumps(answer.record)) == answer.record


# Tests


@pytest.mark.parametrize(("request_text", "first", "second"), ROWS["meanings"])
def test_what_a_request_for_tests_means(
    request_text: str, first: list[Any] | None, second: list[Any]
) -> None:
    labs = facts().labs
    record = toolbox().call(*ask(request_text)).record
    for version, names in (("1", first), ("2", second)):
        if names is not None:
            items = [item for name in names for item in labs.panels.get(name, (name,))]
            assert record["itemids"][version] == list(canonical(items, labs))


@pytest.mark.parametrize(("request_text", "first", "second"), ROWS["names"])
def test_names_of_a_request(request_text: str, first: list[str], second: list[str]) -> None:
    assert requested_names(request_text, facts().labs, 1) == first
    assert requested_names(request_text, facts().labs, 2) == second


@pytest.mark.parametrize(("request_text", "names"), ROWS["tests"])
def test_words_that_are_one_name_together_are_one_test(request_text: str, names: list[str]) -> None:
    laboratory = Laboratory(case(), facts().labs, mapping())
    assert [test.name for test in laboratory.requested(request_text, 2)] == names


def test_each_label_and_each_common_name_is_its_own_test() -> None:
    labs = facts().labs
    for label in mapping().items:
        if label not in ("WBC", "Leukocytes"):  # clinicians mean those of blood
            found = toolbox().call(*ask(label)).record["itemids"]["2"]
            assert found == list(canonical(mapping().items[label], labs)), label
    for name, meant in labs.request_names.items():
        found = toolbox().call(*ask(name)).record["itemids"]["2"]
        assert found == list(canonical(meant, labs)), name


def test_each_label_of_the_reference_s_table_is_its_own_test(shared: Path) -> None:
    found = read_mapping(shared / "golden" / "cdm_synth" / "lab_test_mapping.json")
    laboratory = Laboratory(case(), facts().labs, found)
    labels = [label for label in found.items if "," in label]
    assert labels
    for label in labels:
        (test,) = laboratory.requested(label, 2)
        assert (test.name, test.items) == (label, canonical(found.items[label], facts().labs))


@given(st.text("a, ()", max_size=30))
def test_a_comma_parts_names_unless_parentheses_close_behind_it(request_text: str) -> None:
    pattern = re.compile(r",\s*(?![^()]*\))")
    parts = [part.strip() for part in pattern.split(" ".join(request_text.split()))]
    assert requested_names(request_text, facts().labs, 1) == [part for part in parts if part]


@given(st.lists(st.sampled_from(list(mapping().items)), min_size=1, max_size=6))
def test_any_labels_one_a_line_are_each_found(labels: list[str]) -> None:
    names = LabNames(mapping(), facts().labs)
    assert requested_names("\n".join(labels), facts().labs, 2, names.is_exact) == labels


@pytest.mark.parametrize(("length", "is_valid"), [(4000, True), (4001, False)])
def test_a_request_that_is_too_long_is_an_invalid_call(length: int, is_valid: bool) -> None:
    for asked in (["lipase", "x" * (length - 6)], "lipase," + "x" * (length - 7)):
        answer = toolbox(labs=[{"itemid": 50956}]).call("request_lab_test", {"test_name": asked})
        assert answer.record["is_valid"] is is_valid
        assert ("no more than 4,000 characters" in answer.text) is not is_valid
        assert (answer.record["itemids"]["2"] == [50956]) is is_valid


@pytest.mark.parametrize(("changes", "first", "second"), ROWS["result_lines"])
def test_a_result_as_a_line(changes: dict[str, Any], first: str, second: str) -> None:
    labs = [{"itemid": 50956, "value": "9", "ref_range_upper": 60.0, **changes}]
    for version, line in zip(VERSIONS, (first, second), strict=True):
        assert toolbox(version, labs=labs).call(*ask("Lipase")).text == line


def test_the_table_of_tests_is_read_from_an_export(tmp_path: Path) -> None:
    path = tmp_path / "lab_test_mapping.json"
    with pytest.raises(UserError, match="`python -m medeval export --task cdm` writes it"):
        read_mapping(path)
    for broken in ("[", "[1]", '[{"itemid": 1}]', '{"itemid": 1}'):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(UserError, match="is not the table of tests"):
            read_mapping(path)


# Imaging


@pytest.mark.parametrize(("modality", "found", "kind"), ROWS["modalities"])
def test_modalities_of_a_request(modality: str, found: str | None, kind: str | None) -> None:
    request = understood("Abdomen", modality, facts().imaging)
    assert (request.modality, request.kind) == (found, kind)


@pytest.mark.parametrize(("region", "found"), ROWS["regions"])
def test_regions_of_a_request(region: str, found: str | None) -> None:
    assert understood(region, "CT", facts().imaging).region == found


def test_every_modality_and_region_of_a_report_can_be_asked_for_by_its_name() -> None:
    imaging = facts().imaging
    for modality in {meaning for _, meaning in imaging.modality_keywords}:
        request = understood("Abdomen", modality, imaging)
        assert modality in (request.modality, request.kind), modality
    for region in {meaning for _, meaning in imaging.region_keywords}:
        assert understood(region, "CT", imaging).region == region


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_longer_phrase_of_a_request_goes_before_a_shorter_one(is_turned: bool) -> None:
    phrases = [("chest", "Chest"), ("chest wall", "Thorax")]
    changed = {"region_phrases": dict(reversed(phrases) if is_turned else phrases)}
    known = facts().imaging.model_copy(update=changed)
    assert understood("the chest wall", "CT", known).region == "Thorax"
    assert understood("the chest", "CT", known).region == "Chest"


def test_version_1_finds_words_within_names_and_always_the_first_report() -> None:
    times = {"1-RR-10": "2150-01-02T08:00:00", "1-RR-9": "2150-01-01T08:00:00"}
    reports = [{"note_id": name, "charttime": time} for name, time in times.items()]
    tools = toolbox(1, reports=reports)
    for call in (image("abd", "c"), image("", ""), image("ABDOMEN", "ct")):
        assert "1-RR-10" in tools.call(*call).text


def test_version_2_gives_reports_in_order_of_time_one_after_the_other() -> None:
    hours = {"1-RR-10": "02T08", "1-RR-8": "01T09", "1-RR-9": "01T08", "1-RR-7": "01T08"}
    reports = [
        {
            "note_id": name,
            "charttime": f"2150-01-{hour}:00:00",
            "region": "Chest" if name == "1-RR-7" else "Abdomen",
        }
        for name, hour in hours.items()
    ]
    tools = toolbox(reports=reports)
    answers = [tools.call(*image("Abdomen", name)) for name in ("CT", "ct scan", "CAT scan", "CT")]
    assert [answer.record["report"] for answer in answers] == [2, 1, 0, None]
    assert answers[0].text == (
        "- Exam Name: CT ABDOMEN\n- Region: Abdomen\n- Modality: CT\n- Reports: FINDINGS: 1-RR-9\n"
    )
    assert answers[3].text == "No further imaging result for Abdomen CT."
    assert all(answer.record["is_valid"] for answer in answers)
    # Another conversation begins anew; two of one moment are in the order of their notes.
    tools = toolbox(reports=[{"note_id": "1-RR-8"}, {"note_id": "1-RR-12"}])
    assert [tools.call(*image("abdomen", "CT")).record["report"] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(("asked", "found"), ROWS["kinds"])
def test_a_broad_modality_accepts_its_special_kinds_and_no_kind_another(
    asked: str, found: list[int]
) -> None:
    named = (
        ("Ultrasound", "LIVER OR GALLBLADDER US"),
        ("Ultrasound", "ENDOSCOPIC US OF PANCREAS"),
        ("MRI", "MRI ABDOMEN"),
        ("MRCP", "MRCP"),
        ("Radiograph", "ABDOMEN (SUPINE)"),
        ("ERCP", "ERCP BILIARY"),
        ("Upper GI Series", "BAS/UGI AIR/SBFT"),
        ("NM", "HEPATOBILIARY SCAN"),
        ("NM", "GASTRIC EMPTYING"),
    )
    reports = [
        {"note_id": f"1-RR-{number}", "modality": modality, "exam_name": name}
        for number, (modality, name) in enumerate(named)
    ]
    tools = toolbox(reports=reports)
    given_out = {tools.call(*image("Abdomen", asked)).record["report"] for _ in range(10)}
    assert given_out == {*found, None}


# Criteria and facts


def test_criteria_name_their_guideline() -> None:
    assert len(facts().criteria) >= 11
    for criteria in facts().criteria:
        condition = criteria.condition
        found = toolbox().call("retrieve_diagnosis_criteria", {"condition": condition}).text
        assert found == f"{condition.capitalize()} ({criteria.guideline}): {criteria.text}"
        assert re.search(r"\b20\d\d\b", criteria.guideline), condition
    unknown = toolbox().call("retrieve_diagnosis_criteria", {"condition": "gout"}).text
    known = ", ".join(one.condition for one in facts().criteria)
    assert unknown == f"No criteria are stored for it. Conditions: {known}."


def test_facts_name_each_other_and_nothing_twice() -> None:
    known, labs = facts(), facts().labs
    by_pathology = [labs.required, labs.neutral, known.imaging.preferences, known.treatments]
    by_pathology += [known.correct_diagnoses, known.other_organs]
    assert all({*of} == {*PATHOLOGIES} for of in by_pathology)
    assert {one for of in labs.required.values() for one in of} <= {*labs.categories}
    assert {one for of in labs.neutral.values() for one in of} <= {*labs.panels}
    listed: list[Any] = [*labs.panels.values(), *labs.categories.values()]
    listed += [one.exam_keywords for one in known.imaging.kinds.values()]
    listed += [[name for one in known.criteria for name in one.names]]
    listed += [
        pairs + known.gracious_diagnoses.get(name, ())
        for name, pairs in known.correct_diagnoses.items()
    ]
    listed += list(known.negation_cues.model_dump().values())
    for one in listed:
        assert len(one) == len({*one}) > 0, one
    points = {one.points for of in known.imaging.preferences.values() for one in of}
    assert points == {1, 2}
