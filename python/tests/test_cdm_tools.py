"""The tools that a model may use on a case: what they take, what they answer, what they record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from cdm_cases import ask, case, culture, facts, image, lab, report, rows, toolbox
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.facts import DATA
from medeval.cdm.lab_names import read_mapping
from medeval.cdm.laboratory import requested_names
from medeval.cdm.prompts import definitions
from medeval.cdm.tools import TOOLS, Toolbox, understood
from medeval.errors import UserError

NO_LABS = "No laboratory results available for this patient."
NO_IMAGING = "No imaging results available for this patient."
NOT_THERE = "The requested lab tests are not available for this patient: "


def text(tools: Toolbox, call: tuple[str, dict[str, Any]]) -> str:
    return tools.call(*call).text


# The toolbox


def test_definitions_are_what_an_endpoint_takes() -> None:
    found = definitions(TOOLS)
    assert [one["function"]["name"] for one in found] == list(TOOLS)
    for one in found:
        parameters = one["function"]["parameters"]
        assert one["type"] == "function"
        assert one["function"]["description"]
        assert parameters["required"] == list(parameters["properties"])
        assert parameters["additionalProperties"] is False
    assert json.loads(json.dumps(found)) == found


def test_only_enabled_tools_are_offered_and_answer() -> None:
    tools = toolbox(enabled=["request_imaging", "physical_examination"])
    answer = tools.call(*ask("CBC"))
    assert not answer.record["is_valid"]
    assert answer.text == (
        "There is no tool request_lab_test. Tools: physical_examination, request_imaging."
    )
    assert answer.record == {
        "tool": "request_lab_test",
        "arguments": {"test_name": "CBC"},
        "is_valid": False,
    }


def test_an_unknown_tool_in_the_settings_is_an_error() -> None:
    with pytest.raises(UserError, match="Unknown tools order_ct"):
        toolbox(enabled=["order_ct"])
    with pytest.raises(UserError, match="Unknown version 3"):
        toolbox(version=3)


@pytest.mark.parametrize(
    ("name", "arguments"), rows("a_call_that_does_not_fit_is_told_and_recorded__name_arguments")
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_call_that_does_not_fit_is_told_and_recorded(
    name: str, arguments: dict[str, Any], version: int
) -> None:
    answer = toolbox(version=version).call(name, arguments)
    assert not answer.record["is_valid"]
    assert answer.text
    assert answer.record == {"tool": name, "arguments": arguments, "is_valid": False}


def test_arguments_that_nobody_asked_for_are_ignored() -> None:
    assert toolbox().call("physical_examination", {"area": "abdomen"}).record["is_valid"]


@given(
    st.sampled_from([*TOOLS, "order_ct"]),
    st.dictionaries(
        st.sampled_from(["test_name", "region", "modality", "condition"]),
        st.one_of(st.text(max_size=30), st.none(), st.integers(), st.lists(st.text(max_size=5))),
    ),
    st.sampled_from([1, 2]),
)
def test_no_call_raises_and_every_record_is_json(
    name: str, arguments: dict[str, Any], version: int
) -> None:
    of = case(labs=[lab(51301)], cultures=[culture(None, None)], reports=[report("1-RR-1")])
    answer = toolbox(of, version=version).call(name, arguments)
    assert answer.text
    assert json.loads(json.dumps(answer.record)) == answer.record


# Physical examination


def test_the_examination_is_that_of_the_case_or_none() -> None:
    call = ("physical_examination", {})
    assert text(toolbox(case(exam="Rebound.")), call) == "Rebound."
    assert text(toolbox(case(exam="")), call) == "No physical exam data available."


# Names of tests in a request


@pytest.mark.parametrize(("request_text", "first", "second"), rows("names_of_a_request"))
def test_names_of_a_request(request_text: str, first: list[str], second: list[str]) -> None:
    assert requested_names(request_text, facts().labs, 1) == first
    assert requested_names(request_text, facts().labs, 2) == second


def test_a_list_of_names_is_a_request_too() -> None:
    of = case(labs=[lab(51301, "15 K/uL"), lab(50956, "30 IU/L")])
    call = ("request_lab_test", {"test_name": ["lipase", "White Blood Cells"]})
    assert text(toolbox(of), call) == (
        "(Blood) Lipase: 30 IU/L (ref: 0-40)\n(Blood) White Blood Cells: 15 K/uL (ref: 0-40)"
    )


# What a name means


def items(name: str, version: int) -> list[int]:
    found = toolbox().call(*ask(name)).record["itemids"]
    return list(found[str(version)])


@pytest.mark.parametrize(("name", "first", "second"), rows("names_of_panels"))
def test_names_of_panels(name: str, first: str | None, second: str) -> None:
    synonyms = facts().labs.item_synonyms
    for version, panel in ((1, first), (2, second)):
        wanted = facts().labs.panels[panel] if panel else ()
        assert items(name, version) == list(dict.fromkeys(synonyms.get(i, i) for i in wanted))


@pytest.mark.parametrize(("name", "first", "second"), rows("names_of_tests"))
def test_names_of_tests(name: str, first: list[int], second: list[int]) -> None:
    assert items(name, 1) == first
    assert items(name, 2) == second


@given(st.text("a, ()", max_size=30))
def test_a_comma_parts_names_unless_parentheses_close_behind_it(request_text: str) -> None:
    pattern = re.compile(r",\s*(?![^()]*\))")
    parts = [part.strip() for part in pattern.split(" ".join(request_text.split()))]
    wanted = [part for part in parts if part]
    assert requested_names(request_text, facts().labs, 1) == wanted


@pytest.mark.parametrize("is_list", [False, True])
def test_a_request_that_is_too_long_is_an_invalid_call(is_list: bool) -> None:
    for length, is_valid in ((4000, True), (4001, False)):
        names = ["lipase", "x" * (length - 6)]
        asked = names if is_list else "lipase," + "x" * (length - 7)
        answer = toolbox(case(labs=[lab(50956)])).call("request_lab_test", {"test_name": asked})
        assert answer.record["is_valid"] is is_valid
        assert ("no more than 4,000 characters" in answer.text) is not is_valid
        assert (answer.record["itemids"]["2"] == [50956]) is is_valid


def test_names_that_mean_nothing_are_recorded() -> None:
    record = toolbox().call(*ask("xyz, lipase, (#)")).record
    assert record["unknown_names"] == ["xyz", "(#)"]
    assert record["itemids"] == {"1": [50956], "2": [50956]}


def test_every_common_name_means_what_its_list_says() -> None:
    synonyms = facts().labs.item_synonyms
    for name, meant in facts().labs.request_names.items():
        assert items(name, 2) == list(dict.fromkeys(synonyms.get(i, i) for i in meant)), name


# Results of tests


def test_version_2_looks_for_cultures_where_there_are_no_other_results() -> None:
    of = case(cultures=[culture(90201, "Blood Culture, Routine", comments="NO GROWTH.")])
    assert text(toolbox(of, version=1), ask("blood culture")) == NO_LABS
    assert text(toolbox(of), ask("blood culture")) == (
        "(Microbiology) Blood Culture, Routine: NO GROWTH."
    )
    for version in (1, 2):
        assert text(toolbox(case(), version=version), ask("blood culture")) == NO_LABS


def test_version_2_finds_results_under_an_item_for_which_another_stands() -> None:
    of = case(labs=[lab(50883, "2 mg/dL"), lab(50824, "140 mEq/L")])
    assert text(toolbox(of, version=1), ask("Direct Bilirubin")) == NOT_THERE + "Direct Bilirubin"
    assert text(toolbox(of), ask("Direct Bilirubin")) == (
        "(Blood) Bilirubin, Direct: 2 mg/dL (ref: 0-40)"
    )
    assert text(toolbox(of, version=1), ask("sodium")) == NOT_THERE + "sodium"
    assert text(toolbox(of), ask("sodium")) == (
        "(Blood) Sodium, Whole Blood: 140 mEq/L (ref: 0-40)"
    )


def test_what_is_not_found_is_named_by_number_in_version_1_and_as_asked_for_in_2() -> None:
    of = case(labs=[lab(50861, "50 IU/L")])
    tools = (toolbox(of, version=1), toolbox(of))
    first, second = (text(one, ask("LFTs, lactate, xyz")).split("\n\n") for one in tools)
    assert first[0].startswith("(Blood) Alanine Aminotransferase (ALT): 50 IU/L (ref: 0.0-40.0)")
    assert first[1].startswith("Could not find: 50878, 50863, ")
    assert first[1].endswith(", 50813, xyz")
    assert second[1] == "Could not find: lactate, xyz"


def test_a_part_of_a_name_finds_results_in_version_2_from_three_letters_at_a_words_start() -> None:
    of = case(labs=[lab(50999, "7 U/L", test_name="Ethanol Panel")])
    assert "7 U/L" in text(toolbox(of, version=1), ask("h"))
    assert "7 U/L" in text(toolbox(of, version=1), ask("thano"))
    for part in ("h", "et", "thano"):
        assert text(toolbox(of), ask(part)) == NOT_THERE + part
    assert "7 U/L" in text(toolbox(of), ask("eth"))
    assert "7 U/L" in text(toolbox(of), ask("panel"))


def test_results_come_item_by_item_in_the_order_of_the_case_and_once() -> None:
    of = case(
        labs=[
            lab(50878, "1"),
            lab(50861, "2"),
            lab(50861, "3", sequence_num=2),
        ]
    )
    for version in (1, 2):
        lines = text(
            toolbox(of, version=version),
            ask("Liver Enzymes, Alanine Aminotransferase (ALT)"),
        ).splitlines()
        assert [line.split(": ")[1][0] for line in lines[:3]] == ["2", "3", "1"]


@pytest.mark.parametrize(("changes", "first", "second"), rows("a_result_as_a_line"))
def test_a_result_as_a_line(changes: dict[str, Any], first: str, second: str) -> None:
    of = case(labs=[lab(50956, "9", ref_range_upper=60.0) | changes])
    assert text(toolbox(of, version=1), ask("Lipase")) == first
    assert text(toolbox(of), ask("Lipase")) == second


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"organism_name": "E. COLI", "comments": "many"}, "E. COLI"),
        ({"comments": "NO GROWTH."}, "NO GROWTH."),
        ({}, "No growth"),
    ],
)
def test_a_culture_as_a_line(changes: dict[str, Any], found: str) -> None:
    of = case(labs=[lab(50956)], cultures=[culture(90039, "URINE CULTURE", **changes)])
    for version in (1, 2):
        assert text(toolbox(of, version=version), ask("urine culture")) == (
            f"(Microbiology) URINE CULTURE: {found}"
        )


def test_a_request_without_a_test_is_invalid_in_version_2() -> None:
    assert not toolbox(case(labs=[lab(50956)])).call(*ask(" and ")).record["is_valid"]
    assert toolbox(case(labs=[lab(50956)]), version=1).call(*ask(" and ")).record["is_valid"]


# Words of a request for imaging


@pytest.mark.parametrize(("modality", "found", "kind"), rows("modalities_of_a_request"))
def test_modalities_of_a_request(modality: str, found: str | None, kind: str | None) -> None:
    request = understood("Abdomen", modality, facts().imaging)
    assert (request.modality, request.kind) == (found, kind)


@pytest.mark.parametrize(("region", "found"), rows("regions_of_a_request"))
def test_regions_of_a_request(region: str, found: str | None) -> None:
    assert understood(region, "CT", facts().imaging).region == found


def test_every_modality_and_region_of_a_report_can_be_asked_for_by_its_name() -> None:
    imaging = facts().imaging
    for modality in {meaning for _, meaning in imaging.modality_keywords}:
        request = understood("Abdomen", modality, imaging)
        assert modality in (request.modality, request.kind), modality
    for region in {meaning for _, meaning in imaging.region_keywords}:
        assert understood(region, "CT", imaging).region == region


# Reports


def test_version_1_finds_words_within_names_and_always_the_first_report() -> None:
    of = case(
        reports=[
            report("1-RR-10", charttime="2150-01-02T08:00:00"),
            report("1-RR-9", charttime="2150-01-01T08:00:00"),
        ]
    )
    tools = toolbox(of, version=1)
    for call in (image("abd", "c"), image("", ""), image("ABDOMEN", "ct")):
        assert "1-RR-10" in text(tools, call)
    assert text(tools, image("Abdomen", "CT scan")) == (
        "No imaging result found for Abdomen CT scan."
    )
    assert text(toolbox(case(), version=1), image("Abdomen", "CT")) == NO_IMAGING


def test_version_2_gives_reports_in_order_of_time_one_after_the_other() -> None:
    of = case(
        reports=[
            report("1-RR-10", charttime="2150-01-02T08:00:00"),
            report("1-RR-8", charttime="2150-01-01T09:00:00"),
            report("1-RR-9", charttime="2150-01-01T08:00:00"),
            report("1-RR-7", charttime="2150-01-01T08:00:00", region="Chest"),
        ]
    )
    tools = toolbox(of)
    answers = [tools.call(*image("Abdomen", name)) for name in ("CT", "ct scan", "CAT scan", "CT")]
    assert [answer.record["report"] for answer in answers] == [2, 1, 0, None]
    assert answers[0].text == (
        "- Exam Name: CT ABDOMEN\n- Region: Abdomen\n- Modality: CT\n- Reports: FINDINGS: 1-RR-9\n"
    )
    assert answers[3].text == "No further imaging result for Abdomen CT."
    assert all(answer.record["is_valid"] for answer in answers)
    # Another conversation begins anew.
    assert toolbox(of).call(*image("Abdomen", "CT")).record["report"] == 2


def test_two_reports_of_one_moment_are_in_the_order_of_their_notes() -> None:
    of = case(reports=[report("1-RR-8"), report("1-RR-12")])
    tools = toolbox(of)
    assert [tools.call(*image("abdomen", "CT")).record["report"] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    ("asked", "found"), rows("a_broad_modality_accepts_its_special_kinds_and_no_kind_another")
)
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
    of = case(
        reports=[
            report(f"1-RR-{number}", modality, exam_name=name)
            for number, (modality, name) in enumerate(named)
        ]
    )
    tools = toolbox(of)
    given_out = set()
    for _ in range(len(named) + 1):
        given_out.add(tools.call(*image("Abdomen", asked)).record["report"])
    assert given_out == {*found, None}


def test_imaging_in_unknown_words_is_invalid_in_version_2() -> None:
    tools = toolbox(case(reports=[report("1-RR-1")]))
    for region, modality, what in (
        ("Abdomen", "magic", "modality"),
        ("nowhere", "CT", "region"),
        ("", "", "region"),
    ):
        answer = tools.call(*image(region, modality))
        assert not answer.record["is_valid"]
        assert f"The {what} of the imaging is not known" in answer.text
        assert answer.record["report"] is None


def test_what_a_request_meant_is_recorded() -> None:
    record = toolbox().call(*image("RUQ", "endoscopic ultrasound")).record
    assert record == {
        "tool": "request_imaging",
        "arguments": {"region": "RUQ", "modality": "endoscopic ultrasound"},
        "is_valid": True,
        "region": "Abdomen",
        "modality": "Ultrasound",
        "kind": "EUS",
        "scored_as": "eus",
        "report": None,
    }


# Criteria


def criteria(condition: str) -> str:
    return toolbox().call("retrieve_diagnosis_criteria", {"condition": condition}).text


def test_criteria_name_their_guideline() -> None:
    assert criteria("pancreatitis").startswith(
        "Pancreatitis (Revised Atlanta classification of acute pancreatitis, 2012): Two of three"
    )
    assert len(facts().criteria) >= 11
    for condition, found in facts().criteria.items():
        assert re.search(r"\b20\d\d\b", found.guideline), condition
        assert criteria(condition).endswith(found.text)


@pytest.mark.parametrize("name", ["Acute Appendicitis", "appendicits", " APPENDICITIS. "])
def test_criteria_by_other_names_and_misspelt(name: str) -> None:
    record = toolbox().call("retrieve_diagnosis_criteria", {"condition": name}).record
    assert record["condition"] == "appendicitis"


@pytest.mark.parametrize("name", ["gout", "", "apen"])
def test_an_unknown_condition_gets_the_list(name: str) -> None:
    answer = toolbox().call("retrieve_diagnosis_criteria", {"condition": name})
    assert answer.record["is_valid"]
    assert answer.record["condition"] is None
    assert (
        answer.text == f"No criteria are stored for it. Conditions: {', '.join(facts().criteria)}."
    )


def test_every_name_of_a_condition_leads_to_criteria() -> None:
    assert set(facts().condition_names.values()) == set(facts().criteria)


# Facts and the table of tests


FACTS = {
    entry["name"]: entry
    for entry in yaml.safe_load((DATA / "facts.yml").read_text(encoding="utf-8"))["facts"]
}
CHECKS = [
    (name, column, test)
    for name, entry in FACTS.items()
    for column, tests in (
        ("", entry.get("data_tests", [])),
        *((column["name"], column.get("data_tests", [])) for column in entry["columns"]),
    )
    for test in tests
]


def test_every_file_of_facts_is_described() -> None:
    assert {path.stem for path in DATA.glob("*.csv")} == {*FACTS}
    for name, entry in FACTS.items():
        assert entry["description"].startswith("One row per"), name
        header = (DATA / f"{name}.csv").read_text(encoding="utf-8").split("\n", 1)[0]
        assert header.split(",") == [column["name"] for column in entry["columns"]], name
        assert all(column["description"] for column in entry["columns"]), name


@pytest.mark.parametrize(
    ("name", "column", "test"),
    CHECKS,
    ids=[
        f"{name}-{column}-{test if isinstance(test, str) else next(iter(test))}"
        for name, column, test in CHECKS
    ],
)
def test_what_is_said_of_the_facts_holds(name: str, column: str, test: Any) -> None:
    kind, settings = (test, {}) if isinstance(test, str) else next(iter(test.items()))
    arguments = settings.get("arguments", {})
    table = f"read_csv('{DATA / name}.csv', header = true)"
    if kind in ("unique", "unique_combination_of_columns"):
        key = ", ".join(arguments.get("columns", [column]))
        wrong = f"select {key} from {table} group by all having count(*) > 1"
    elif kind == "relationships":
        other = arguments["to"].split("'")[1]
        wrong = (
            f"select {column} from {table} where {column} not in (select {arguments['field']}"
            f" from read_csv('{DATA / other}.csv', header = true))"
        )
    else:
        values = ", ".join(f"'{value}'" for value in arguments.get("values", ()))
        holds = {
            "not_null": f"{column} is not null",
            "accepted_values": f"cast({column} as varchar) in ({values})",
            "accepted_range": f"{column} between {arguments.get('minimum')}"
            f" and {arguments.get('maximum')}",
            "expression_is_true": arguments.get("expression"),
        }[kind]
        wrong = f"select * from {table} where not ({holds})"
    assert duckdb.sql(wrong).fetchall() == []


def test_the_table_of_tests_is_read_from_an_export(tmp_path: Path) -> None:
    path = tmp_path / "lab_test_mapping.json"
    with pytest.raises(UserError, match="`python -m medeval export --task cdm` writes it"):
        read_mapping(path)
    for broken in ("[", "[1]", '[{"itemid": 1}]', '{"itemid": 1}'):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(UserError, match="is not the table of tests"):
            read_mapping(path)
    path.write_text(
        '[{"itemid": 2, "label": "Glucose", "corresponding_ids": [2, 3]}]', encoding="utf-8"
    )
    found = read_mapping(path)
    assert (found.labels, found.items("Glucose"), found.items("x")) == (["Glucose"], (2, 3), ())
