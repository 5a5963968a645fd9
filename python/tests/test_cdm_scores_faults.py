"""Each fault of the reference's scores and tools, there in version 1 and repaired in version 2."""

from __future__ import annotations

from typing import Any

import pytest
from cdm_cases import ask, case, culture, facts, image, rows, scored, toolbox

from medeval.cdm.scores import icd_version
from medeval.cdm.tools import VERSIONS

FAULTS = rows("faults")


def found(fault: dict[str, Any], version: int) -> Any:
    """Return what stands where a fault shows."""
    of = case(
        fault.get("pathology", "appendicitis"),
        diagnoses=fault.get("diagnoses", ()),
        treatments=[(title, None) for title in fault.get("given", ())],
    )
    calls = [ask(one) if isinstance(one, str) else image(*one) for one in fault.get("calls", ())]
    answer = {"diagnosis": fault.get("diagnosis", ""), "treatment": fault.get("treatment", ())}
    value: Any = scored(of, calls, **answer, version=version).as_json()
    for name in fault["place"]:
        value = value.get(name)
    return value


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["rule"]))
def test_the_fault_is_repaired(fault: dict[str, Any]) -> None:
    assert found(fault, 2) == fault["repaired"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["rule"]))
def test_the_reference_has_the_fault(fault: dict[str, Any]) -> None:
    assert found(fault, 1) != fault["repaired"]


def test_the_faults_of_the_tools_are_repaired() -> None:
    of = case(cultures=[culture(90201, "Blood Culture, Routine")])
    first, second = (toolbox(of, version=version) for version in VERSIONS)
    assert "No growth" in second.call(*ask("blood culture")).text
    assert "No growth" not in first.call(*ask("blood culture")).text
    for name, items in (("Bilirubin, Total", [50885]), ("STAT lipase", [50956])):
        record = second.call(*ask(name)).record["itemids"]
        assert (record["1"] != items, record["2"]) == (True, items)


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
