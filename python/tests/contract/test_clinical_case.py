"""The case class: both layouts, strict, and errors that name the field but no patient's text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from case_files import read_cases
from in_process import Main
from tables import changed, table

from medeval.models.clinical_case import ClinicalCase

TABLES = table("clinical_case")
REFERENCE: dict[str, Any] = TABLES["REFERENCE"]
SPECIFICATION: dict[str, Any] = TABLES["SPECIFICATION"]


def read(case: object) -> ClinicalCase:
    return ClinicalCase.model_validate_json(json.dumps(case))


def test_a_case_is_written_as_it_was_read() -> None:
    reference = read(REFERENCE)
    specification = read(SPECIFICATION)
    for case in (reference, specification):
        assert (case.history_of_present_illness, case.physical_exams) == ("Pain.", "Tender.")
        assert json.dumps(case.as_json("reference")) == json.dumps(REFERENCE)
        assert read(case.as_json()) == case
    assert (reference.lab_results[0].unit, specification.lab_results[0].unit) == (None, "K/uL")
    assert json.dumps(specification.as_json()) == json.dumps(SPECIFICATION)
    unknown = {**REFERENCE, "pathology": None, "demographics": None}
    case = read(unknown)
    assert (case.pathology, case.demographics, case.data_class) == (None, None, "credentialed")


@pytest.mark.parametrize(("place", "value", "message"), TABLES["what_is_wrong_is_named"])
def test_a_fault_is_named_without_patients_text(
    place: str, value: object, message: str, tmp_path: Path, main: Main
) -> None:
    text = json.dumps(changed(REFERENCE, place, value))
    text = text[: len(text) // 2] if value == "torn" else text
    (tmp_path / "benchmark.jsonl").write_text(f"\n\n{text}\n", encoding="utf-8")
    done = main(
        "run", "--task", "cdm", "--cases", tmp_path, "--model", "demo", "--out", tmp_path, code=2
    )
    assert f"{tmp_path / 'benchmark.jsonl'}, line 3: " in done.err
    assert message in done.err
    assert "secret" not in done.out + done.err


@pytest.mark.parametrize("name", ["cdm_synth", "cdm_real"])
@pytest.mark.parametrize("mode", ["default", "extended"])
def test_a_golden_case_is_written_as_it_was_read(shared: Path, name: str, mode: str) -> None:
    golden = read_cases(shared / "golden" / name / f"reference_{mode}.json.gz")
    assert golden
    for case in golden:
        found = read(case)
        assert json.dumps(found.as_json("reference")) == json.dumps(case)
        assert read(found.as_json()) == found
