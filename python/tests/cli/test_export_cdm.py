"""`python -m medeval export --task cdm`, from the hand-made tables of tables/export_cdm.yaml."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from export_tables import DATABASE, new_warehouse, refusal
from in_process import Main
from tables import at, read_lines, table

from medeval.models.clinical_case import ClinicalCase

pytestmark = pytest.mark.usefixtures("checkout")
GIVEN = table("export_cdm")
LAYOUT, EXPORTS = GIVEN["columns"], GIVEN["exports"]
# What whole exports hold, by their rules and options.
RECORDED = table("export_cdm_files")
Export = Callable[..., Path]


def fill(
    rules: str = "reference", changes: Mapping[str, list[Sequence[Any]]] | None = None
) -> None:
    """Make the warehouse anew, by the rules of the cases and with other rows of some tables."""
    settings = [[rules, *GIVEN["tables"]["cdm.cdm_build_settings"][0][1:]]]
    tables = {**GIVEN["tables"], "cdm.cdm_build_settings": settings, **(changes or {})}
    with new_warehouse() as connection:
        for name, rows in tables.items():
            connection.execute(f"create schema if not exists {name.split('.')[0]}")
            connection.execute(f"create table {name} ({LAYOUT[name]})")
            if rows:
                cells = ", ".join("?" * len(rows[0]))
                connection.executemany(f"insert into {name} values ({cells})", rows)


@pytest.fixture
def export(main: Main) -> Export:
    """Fill the warehouse with tables, export, and return the folder and what was said."""

    def function(*given: Any, options: Sequence[object] = ()) -> tuple[Path, str]:
        fill(*given)
        done = main("export", "--task", "cdm", "--out", "out", *map(str, options), code=0)
        return Path("out", "cdm"), done.out + done.err

    return function


def exported(folder: Path) -> dict[str, Any]:
    """Return what the files of an export hold, with what its manifest says of the task."""
    found: dict[str, Any] = {}
    for name in ("benchmark", "manifest", "lab_test_mapping"):
        found[name] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    if (beside := folder / "cases_provenance.jsonl").exists():
        found["provenance"] = read_lines(beside)
    found["data_class"] = found["manifest"]["data_class"]
    return {
        **found,
        "cases": found["benchmark"]["cases"],
        "manifest": found["manifest"]["tasks"]["cdm"],
    }


# What is written


@pytest.mark.parametrize("words", RECORDED)
def test_the_files_are_those_recorded_key_by_key(export: Export, words: str) -> None:
    rules, *options = words.split()
    found = exported(export(rules, options=options)[0])
    kept = {name: found.get(name) for name in RECORDED[words]}
    assert json.dumps(kept, indent=1) == json.dumps(RECORDED[words], indent=1)


def test_the_benchmark_is_written_as_json_dumps_writes_it(export: Export) -> None:
    for rules in ("reference", "specification"):
        folder, _ = export(rules)
        text = (folder / "benchmark.json").read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        assert "\u2028é" in text
        # U+2028 ends no line of JSONL.
        lines = (folder / "benchmark.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        assert [json.loads(line) for line in lines] == json.loads(text)["cases"]
        # Three lines around four tests.
        assert (folder / "lab_test_mapping.json").read_text(encoding="utf-8").count("\n") == 6


def test_every_exported_case_is_a_clinical_case(export: Export) -> None:
    for rules in ("reference", "specification"):
        for case in exported(export(rules)[0])["cases"]:
            written = ClinicalCase.model_validate_json(json.dumps(case)).as_json(rules)
            assert json.dumps(written) == json.dumps(case)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_shows_and_says(export: Export, name: str) -> None:
    row = EXPORTS[name]
    rules, options = row.get("rules", "reference"), row.get("options", ())
    folder, said = export(rules, row.get("changes"), options=options)
    found = exported(folder)
    assert {path: at(found, path) for path in row["shown"]} == row["shown"]
    assert [part for part in row.get("says", ()) if part not in said] == []
    assert [part for part in row.get("says_not", ()) if part in said] == []


@pytest.mark.parametrize("data_class", ["credentialed", "OPEN", "", None])
def test_what_is_not_plainly_open_is_credentialed(export: Export, data_class: str | None) -> None:
    rows = [[*row[:-1], data_class] for row in GIVEN["tables"]["cdm.cdm_cases"]]
    changes = {"cdm.cdm_cases": rows, "cdm.cdm_data_class": [(data_class, "abc", None)]}
    folder, _ = export("specification", changes)
    found = exported(folder)
    assert {found["data_class"], *at(found, "cases.*.data_class")} == {"credentialed"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


# What cannot be exported


MISSING = [(name, None, name) for name in LAYOUT if name.startswith("cdm.")]


@pytest.mark.parametrize("given", [GIVEN["unusable"], MISSING[::2], MISSING[1::2]])
def test_tables_that_cannot_be_exported_are_named_and_the_export_before_stays(
    main: Main, export: Export, given: list[Any]
) -> None:
    folder, _ = export()
    before = (folder / "benchmark.json").read_bytes()
    filled = shutil.copy(DATABASE, "filled.duckdb")
    for name, rows, said in given:
        if rows is None:
            shutil.copy(filled, DATABASE)
            with duckdb.connect(DATABASE) as connection:
                connection.execute(f"drop table medeval.{name}")
        else:
            fill(changes={name: rows})
        assert said in refusal(main, "--task", "cdm", "--out", "out"), (name, rows)
        assert (folder / "benchmark.json").read_bytes() == before, (name, rows)
