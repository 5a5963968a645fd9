"""The case class: both layouts, strict, and errors that name the field but no patient's text."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tables import table

from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase, read_case

TABLES = table("clinical_case")

REFERENCE: dict[str, Any] = TABLES["REFERENCE"]
SPECIFICATION: dict[str, Any] = TABLES["SPECIFICATION"]


def changed(place: str, value: object, case: dict[str, Any] = REFERENCE) -> str:
    """Return the JSON of a case with one value set; `place` is written with dots."""
    new = copy.deepcopy(case)
    part: Any = new
    *parents, last = place.split(".")
    for key in parents:
        part = part[int(key) if key.isdigit() else key]
    part[last] = value
    return json.dumps(new)


def test_both_layouts_are_read_into_the_same_names() -> None:
    reference = read_case(json.dumps(REFERENCE), "here")
    specification = read_case(json.dumps(SPECIFICATION), "here")
    assert reference.history_of_present_illness == "Pain."
    assert specification.history_of_present_illness == "Pain."
    assert reference.physical_exams == specification.physical_exams == "Tender."
    assert reference.ground_truth == specification.ground_truth
    assert reference.lab_results[0].unit is None
    assert specification.lab_results[0].unit == "K/uL"


def test_a_case_is_written_as_it_was_read() -> None:
    reference = read_case(json.dumps(REFERENCE), "here")
    assert json.dumps(reference.as_json("reference")) == json.dumps(REFERENCE)
    specification = read_case(json.dumps(SPECIFICATION), "here")
    assert json.dumps(specification.as_json()) == json.dumps(SPECIFICATION)
    assert json.dumps(specification.as_json("reference")) == json.dumps(REFERENCE)
    assert read_case(json.dumps(reference.as_json()), "here") == reference


@pytest.mark.parametrize("place", ["pathology", "demographics", "radiology_reports.0.exam_name"])
def test_null_only_where_it_means_something(place: str) -> None:
    text = changed(place, None)
    if place.endswith("exam_name"):
        with pytest.raises(UserError, match=place):
            read_case(text, "here")
    else:
        assert getattr(read_case(text, "here"), place) is None


@pytest.mark.parametrize(
    ("place", "value", "message"),
    TABLES["what_is_wrong_is_named"],
)
def test_what_is_wrong_is_named(place: str, value: object, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read_case(changed(place, value), "cases.jsonl, line 3")
    assert str(caught.value).startswith("cases.jsonl, line 3: ")
    assert message in str(caught.value)


def test_an_error_holds_no_text_of_the_patient() -> None:
    text = changed("radiology_reports.0.text", ["A secret", "of the patient"])
    with pytest.raises(UserError, match=r"radiology_reports\.0\.text") as caught:
        read_case(text, "here")
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_missing_field_and_torn_json() -> None:
    lacking = {key: value for key, value in REFERENCE.items() if key != "patient_history"}
    with pytest.raises(UserError, match=r"history_of_present_illness: Field required"):
        read_case(json.dumps(lacking), "here")
    with pytest.raises(UserError, match="here: the case: Invalid JSON"):
        read_case(json.dumps(REFERENCE)[:50], "here")


@pytest.mark.parametrize("name", ["cdm_synth", "cdm_real"])
@pytest.mark.parametrize("mode", ["default", "extended"])
def test_every_golden_case_is_read_and_written_unchanged(
    shared: Path, name: str, mode: str
) -> None:
    path = shared / "golden" / name / f"reference_{mode}.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        golden = json.load(file)["cases"]
    assert golden
    for case in golden:
        read = ClinicalCase.model_validate_json(json.dumps(case))
        assert json.dumps(read.as_json("reference")) == json.dumps(case)
        assert ClinicalCase.model_validate_json(json.dumps(read.as_json())) == read
