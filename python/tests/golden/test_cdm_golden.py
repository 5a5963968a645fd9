"""The CDM floor against what the reference's own program made of two sets of tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from builds import Build, build_floor
from case_files import MODES, ORDERS, Case, in_order, read_cases
from oracles.cdm.facts import scrub_terms
from tables import table

pytestmark = pytest.mark.slow

SETS = ("cdm_synth", "cdm_real")
ENGINES = ("duckdb", "postgres")
CASES, LOST = table("cdm_golden").values()
Builder = Callable[..., Build]


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, shared: Path
) -> Builder:
    """Give a function that builds a set once for each engine and choice of variables."""

    @cache
    def build(engine: str, name: str, rules: str, extract_source: str = "auto") -> Build:
        golden = shared / "golden" / name
        variables = {
            "cdm_rules": rules,
            "cdm_extract_source": extract_source,
            "cdm_cohort_file": str(golden / "hadm_id_list.txt"),
        }
        folder = tmp_path_factory.mktemp(f"{name}-{engine}-{rules}-{extract_source}")
        address = request.getfixturevalue("databases")() if engine == "postgres" else None
        return build_floor("cdm", folder, golden, address, variables, models_only=True)

    return build


def golden_cases(shared: Path, name: str, mode: str) -> list[Case]:
    return read_cases(shared / "golden" / name / f"reference_{mode}.json.gz")


def tied_cases(shared: Path, name: str) -> set[int]:
    """The cases with a true tie, whose tied rows may swap."""
    with (shared / "golden" / name / "cases.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {int(row["hadm_id"]) for row in rows if row["why"].startswith("ACCEPT-ANY")}


def without_rank(row: Case) -> str:
    return json.dumps({key: value for key, value in row.items() if key != "sequence_num"})


def assert_equal_but_for_ties(found: Case, wanted: Case, all_tied: Case) -> None:
    """Compare a case whose tied rows may swap: the rows are the same but for their rank.

    In the mode with one result of a test either of the tied rows is right, so each must be one of
    those that the other mode shows.
    """
    assert found | dict.fromkeys(ORDERS) == wanted | dict.fromkeys(ORDERS)
    for array in ORDERS:
        rows, others = found[array], wanted[array]
        assert len(rows) == len(others)
        allowed = {without_rank(row) for row in [*others, *all_tied[array]]}
        assert {without_rank(row) for row in rows} <= allowed
        names = [name for name in ORDERS[array] if name != "sequence_num"]
        found_times, wanted_times = (
            sorted(str([row[name] for name in names]) for row in part) for part in (rows, others)
        )
        assert found_times == wanted_times


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SETS)
def test_cases_equal_the_golden(
    shared: Path, built: Builder, name: str, engine: str, mode: str
) -> None:
    found = read_cases(built(engine, name, "reference").export(MODES[mode]))
    wanted = golden_cases(shared, name, mode)
    extended = {case["hadm_id"]: case for case in golden_cases(shared, name, "extended")}
    tied = tied_cases(shared, name)
    listed = list(map(int, (shared / "golden" / name / "hadm_id_list.txt").read_text().split()))
    assert len(found) == len(wanted) == CASES[name]
    assert [case["hadm_id"] for case in found] == [case["hadm_id"] for case in wanted]
    assert [case["hadm_id"] for case in found] == sorted(
        (case["hadm_id"] for case in found), key=listed.index
    )
    for case, golden in zip(found, wanted, strict=True):
        assert list(case) == list(golden)
        if case["hadm_id"] in tied:
            assert_equal_but_for_ties(case, golden, extended[case["hadm_id"]])
        else:
            assert case == in_order(golden), case["hadm_id"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SETS)
def test_what_the_reference_loses_is_counted(built: Builder, name: str, engine: str) -> None:
    folder = built(engine, name, "reference").export("--first-only")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    described = manifest["tasks"]["cdm"]
    assert described["issues"] == LOST[name]
    assert len(described["skipped"]) == 5
    assert described["listed"] == CASES[name] + 5


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tests_by_name_are_the_reference_s(shared: Path, built: Builder, engine: str) -> None:
    wanted = json.loads(
        (shared / "golden" / "cdm_synth" / "lab_test_mapping.json").read_text(encoding="utf-8")
    )
    folder = built(engine, "cdm_synth", "reference").export("--first-only")
    found = json.loads((folder / "lab_test_mapping.json").read_text(encoding="utf-8"))
    assert all(test.pop("count") >= 0 for test in found)
    # The order of the reference's file is that of its generator.
    assert found == sorted(wanted, key=lambda test: (test["itemid"], test["label"]))


def test_derived_extracts_give_the_same_texts(shared: Path, built: Builder) -> None:
    """That PostgreSQL derives the same, `sql/test_cdm_engines.py` has on the demo's notes."""
    build = built("duckdb", "cdm_real", "reference", "derived")
    found = {case["hadm_id"]: case for case in read_cases(build.export("--first-only"))}
    wanted = {case["hadm_id"]: case for case in golden_cases(shared, "cdm_real", "default")}
    assert found.keys() == wanted.keys()
    for hadm_id, case in wanted.items():
        for field in ("patient_history", "physical_exam_text"):
            assert found[hadm_id][field] == case[field], (hadm_id, field)


def shown_texts(part: object) -> Iterator[str]:
    """All texts of a case that a model may be shown."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for item in part:
            yield from shown_texts(item)
    elif isinstance(part, dict):
        for key, item in part.items():
            if key not in ("ground_truth", "pathology", "provenance", "data_class"):
                yield from shown_texts(item)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SETS)
def test_specification_shows_no_term_of_the_diagnosis(built: Builder, name: str, mode: str) -> None:
    cases = read_cases(built("duckdb", name, "specification").export(MODES[mode]))
    assert len(cases) == CASES[name] + 5
    for case in cases:
        for text in shown_texts(case):
            for term in scrub_terms().get(case["pathology"], []):
                assert term.lower() not in text.lower(), (case["hadm_id"], term)
