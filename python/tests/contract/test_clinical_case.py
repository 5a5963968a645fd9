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


def test_a_case_is_written_as_it_was_read() -> None:
    reference = read_case(json.dumps(REFERENCE), "here")
    specification = read_case(json.dumps(SPECIFICATION), "here")
    for case in (reference, specification):
        assert (case.history_of_present_illness, case.physical_exams) == ("Pain.", "Tender.")
        assert json.dumps(case.as_json("reference")) == json.dumps(REFERENCE)
        assert read_case(json.dumps(case.as_json()), "here") == case
    assert (reference.lab_results[0].unit, specification.lab_results[0].unit) == (None, "K/uL")
    assert json.dumps(specification.as_json()) == json.dumps(SPECIFICATION)
    unknown = {**REFERENCE, "pathology": None, "demographics": None}
    read = read_case(json.dumps(unknown), "here")
    assert (read.pathology, read.demographics, read.data_class) == (None, None, "credentialed")


@pytest.mark.parametrize(("place", "value", "message"), TABLES["what_is_wrong_is_named"])
def test_a_fault_is_named_without_patients_text(place: str, value: object, message: str) -> None:
    case = copy.deepcopy(REFERENCE)
    part: Any = case
    *parents, last = place.split(".")
    for key in parents:
        part = part[int(key) if key.isdigit() else key]
    if value == "left out":
        del part[last]
    else:
        part[last] = value
    text = json.dumps(case)
    with pytest.raises(UserError) as caught:
        read_case(text[: len(text) // 2] if value == "torn" else text, "cases.jsonl, line 3")
    assert str(caught.value).startswith("cases.jsonl, line 3: ")
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["cdm_synth", "cdm_real"])
@pytest.mark.parametrize("mode", ["default", "extended"])
def test_a_golden_case_is_written_as_it_was_read(shared: Path, name: str, mode: str) -> None:
    path = shared / "golden" / name / f"reference_{mode}.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        golden = json.load(file)["cases"]
    assert golden
    for case in golden:
        read = ClinicalCase.model_validate_json(json.dumps(case))
        assert json.dumps(read.as_json("reference")) == json.dumps(case)
        assert ClinicalCase.model_validate_json(json.dumps(read.as_json())) == read
