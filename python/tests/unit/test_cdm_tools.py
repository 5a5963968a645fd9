"""The tools that a model may use on a case: what they take, what they answer, what they record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cdm_cases import ask, facts, image, names, table, toolbox
from hypothesis import given
from hypothesis import strategies as st
from tables import refused

from medeval.models.clinical_case import PATHOLOGIES
from medeval.tasks.cdm.facts import LabNames, canonical, read_lab_tests
from medeval.tasks.cdm.tools import TOOLS, requested_names, requested_tests, understood

ROWS = table("cdm_tools")


def itemids(request: str, version: str = "2") -> list[int]:
    found: list[int] = toolbox().call(*ask(request))[1]["itemids"][version]
    return found


@pytest.mark.parametrize("row", ROWS["replies"], ids=lambda row: "-".join(map(str, row["call"])))
def test_a_call_has_the_answer_and_the_record_of_its_line(row: dict[str, Any]) -> None:
    text, record = toolbox(**row.get("of", {})).call(*row["call"])
    due = {"arguments": row["call"][1], **row.get("record", {})}
    assert text == row.get("says", text)
    assert {name: record.get(name) for name in due} == due


@pytest.mark.parametrize(("name", "arguments"), ROWS["bad_calls"])
def test_a_call_that_does_not_fit_is_told(name: str, arguments: dict[str, Any]) -> None:
    text, record = toolbox().call(name, arguments)
    assert text
    assert record == {"tool": name, "arguments": arguments, "is_valid": False}


def test_only_enabled_tools_are_offered_and_answer() -> None:
    text, record = toolbox(["request_imaging", "physical_examination"]).call(*ask("CBC"))
    assert not record["is_valid"]
    tools = "physical_examination, request_imaging"
    assert text == f"There is no tool request_lab_test. Tools: {tools}."
    refused("Unknown tools order_ct", toolbox, ["order_ct"])


@given(
    st.sampled_from([*TOOLS, "order_ct"]),
    st.dictionaries(
        st.sampled_from(["test_name", "region", "modality", "condition"]),
        st.one_of(st.text(max_size=30), st.none(), st.integers(), st.lists(st.text(max_size=5))),
    ),
)
def test_no_call_raises_and_every_record_is_json(name: str, arguments: dict[str, Any]) -> None:
    text, record = toolbox(**ROWS["known"]).call(name, arguments)
    assert text
    assert json.loads(json.dumps(record)) == record


# Tests


@pytest.mark.parametrize(("request_text", "first", "second"), ROWS["meanings"])
def test_what_requests_mean(request_text: str, first: list[Any] | None, second: list[Any]) -> None:
    labs = facts().labs
    for version, meant in (("1", first), ("2", second)):
        if meant is not None:
            items = [item for name in meant for item in labs.panels.get(name, (name,))]
            assert itemids(request_text, version) == list(canonical(items, labs))


READINGS: dict[str, Callable[[str], Any]] = {
    "names": lambda text: requested_names(text, facts().labs),
    # Words that are one name together are one test.
    "tests": lambda text: [name for name, _ in requested_tests(text, names())],
    "modalities": lambda text: list(understood("Abdomen", text, facts().imaging)[1:]),
    "regions": lambda text: understood(text, "CT", facts().imaging)[0],
}


@pytest.mark.parametrize(
    ("kind", "text", "found"), [(kind, *row) for kind in READINGS for row in ROWS[kind]]
)
def test_words_of_a_request_are_read_as_their_line_says(kind: str, text: str, found: Any) -> None:
    assert READINGS[kind](text) == found


def test_each_label_and_each_common_name_is_its_own_test() -> None:
    labs, labels = facts().labs, names().labels
    for label, items in labels.items():
        if label not in ("WBC", "Leukocytes"):  # clinicians mean those of blood
            assert itemids(label) == list(canonical(items, labs)), label
    for name, meant in labs.request_names.items():
        assert itemids(name) == list(canonical(meant, labs)), name


def test_each_label_of_the_reference_s_table_is_its_own_test(shared: Path) -> None:
    labels = read_lab_tests(shared / "golden" / "cdm_synth" / "lab_test_mapping.json")
    with_comma = [label for label in labels if "," in label]
    assert with_comma
    for label in with_comma:
        found = requested_tests(label, LabNames(labels, facts().labs))
        assert found == [(label, canonical(labels[label], facts().labs))]


@given(st.lists(st.sampled_from(list(names().labels)), min_size=1, max_size=6))
def test_any_labels_one_a_line_are_each_found(labels: list[str]) -> None:
    assert requested_names("\n".join(labels), facts().labs, names().is_exact) == labels


@pytest.mark.parametrize(("length", "is_valid"), [(4000, True), (4001, False)])
def test_a_request_that_is_too_long_is_an_invalid_call(length: int, is_valid: bool) -> None:
    for asked in (["lipase", "x" * (length - 6)], "lipase," + "x" * (length - 7)):
        tools = toolbox(labs=[{"itemid": 50956}])
        text, record = tools.call("request_lab_test", {"test_name": asked})
        assert record["is_valid"] is is_valid
        assert ("no more than 4,000 characters" in text) is not is_valid
        assert (record["itemids"]["2"] == [50956]) is is_valid


@pytest.mark.parametrize(("changes", "line"), ROWS["result_lines"])
def test_a_result_as_a_line(changes: dict[str, Any], line: str) -> None:
    labs = [{"itemid": 50956, "value": "9", "ref_range_upper": 60.0, **changes}]
    assert toolbox(labs=labs).call(*ask("Lipase"))[0] == line


def test_the_table_of_tests_is_read_from_an_export(tmp_path: Path) -> None:
    path = tmp_path / "lab_test_mapping.json"
    refused("`python -m medeval export --task cdm` writes it", read_lab_tests, path)
    for broken in ("[", "[1]", '[{"itemid": 1}]', '{"itemid": 1}'):
        path.write_text(broken, encoding="utf-8")
        refused("is not the table of tests", read_lab_tests, path)


# Imaging


def test_every_modality_and_region_of_a_report_can_be_asked_for_by_its_name() -> None:
    imaging = facts().imaging
    for modality in {meaning for _, meaning, _ in imaging.modality_keywords}:
        assert modality in understood("Abdomen", modality, imaging)[1:], modality
    for region in {meaning for _, meaning, _ in imaging.region_keywords}:
        assert understood(region, "CT", imaging)[0] == region


def test_reports_come_in_order_of_time_one_after_the_other() -> None:
    row = ROWS["reports_in_time"]
    tools = toolbox(reports=row["of"])
    answers = [tools.call(*image("Abdomen", name)) for name in row["asked"]]
    assert [record["report"] for _, record in answers] == row["given"]
    assert answers[0][0] == row["first"]
    assert answers[3][0] == "No further imaging result for Abdomen CT."
    assert all(record["is_valid"] for _, record in answers)
    # Another conversation begins anew; two of one moment are in the order of their notes.
    tools = toolbox(reports=[{"note_id": "1-RR-8"}, {"note_id": "1-RR-12"}])
    assert [tools.call(*image("abdomen", "CT"))[1]["report"] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(("asked", "found"), ROWS["kinds"])
def test_a_broad_modality_accepts_its_kinds_no_kind_another(asked: str, found: list[int]) -> None:
    reports = [
        {"note_id": f"1-RR-{number}", "modality": modality, "exam_name": name}
        for number, (modality, name) in enumerate(ROWS["kinds_of"])
    ]
    tools = toolbox(reports=reports)
    given_out = {tools.call(*image("Abdomen", asked))[1]["report"] for _ in range(10)}
    assert given_out == {*found, None}


# Criteria and facts


def test_criteria_name_their_guideline() -> None:
    assert len(facts().criteria) >= 11
    for criteria in facts().criteria:
        condition = criteria.condition
        found = toolbox().call("retrieve_diagnosis_criteria", {"condition": condition})[0]
        assert found == f"{condition.capitalize()} ({criteria.guideline}): {criteria.text}"
        assert re.search(r"\b20\d\d\b", criteria.guideline), condition
    unknown = toolbox().call("retrieve_diagnosis_criteria", {"condition": "gout"})[0]
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
    listed += list(known.negation_cues.values())
    for one in listed:
        assert len(one) == len({*one}) > 0, one
    points = {one.points for of in known.imaging.preferences.values() for one in of}
    assert points == {1, 2}
