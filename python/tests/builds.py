"""Whole builds of a benchmark in a folder of their own, on either engine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from commands import PROJECT_ROOT, run_dbt, run_medeval
from parsed_dbt import run_parsed

from medeval.warehouse import load_target, open_warehouse

FLOORS = ("cdm", "mimic3", "mimic3_features", "mtsamples", "yier")
SYNTHETIC = PROJECT_ROOT / "demo" / "mimic3"
SYNTHETIC_IV = PROJECT_ROOT / "demo" / "mimic4"
# For dbt: no test is run.
MODELS_ONLY = ("--resource-type", "seed", "--resource-type", "model")
# For dbt: unit tests have rows of their own, and pass with the synthetic data on either engine.
WITHOUT_UNIT_TESTS = ("--exclude-resource-type", "unit_test")


def published_tables(floor: str) -> tuple[str, ...]:
    """Return what a floor publishes, the tables at the top of its folder: alike on every engine."""
    return tuple(sorted(path.stem for path in (PROJECT_ROOT / "models" / floor).glob("*.sql")))


PUBLISHED = published_tables("mimic3")
CDM_PUBLISHED = published_tables("cdm")


@dataclass(frozen=True)
class Build:
    """A built warehouse: the dbt target, the environment that names it, dbt's folder, the floor."""

    target: str
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    floor: str = "mimic3"

    def dbt(self, *args: str) -> str:
        """Run dbt, with the unit tests, and return its output; a failure is the test's."""
        done = run_parsed(*args, target=self.target, env=self.env, folder=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def export(self, *args: str) -> Path:
        """Export the floor and return its folder."""
        out = self.folder / "exports" / ("-".join(args).strip("-") or "default")
        command = ("export", "--task", self.floor, "--target", self.target, "--out", out, *args)
        run_medeval(*command, env=self._env, code=0)
        return out / self.floor

    def hashes(self, *args: str) -> dict[str, str]:
        """Export the floor and return the hash of each file."""
        text = (self.export(*args) / "manifest.json").read_text(encoding="utf-8")
        return {file["path"]: file["sha256"] for file in json.loads(text)["files"]}

    @property
    def _env(self) -> dict[str, str]:
        return {"MEDEVAL_DUCKDB": str(self.folder / "medeval.duckdb"), **self.env}

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process read the build."""
        monkeypatch.chdir(PROJECT_ROOT)
        places = {"MEDEVAL_TARGET": self.target, "MEDEVAL_TEMP_DIR": str(self.folder / "spill")}
        for name, value in {**self._env, **places}.items():
            monkeypatch.setenv(name, value)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the warehouse."""
        with mock.patch.dict(os.environ, self._env):
            target = load_target(self.target, PROJECT_ROOT)
        with open_warehouse(target, PROJECT_ROOT) as warehouse:
            return [row for batch in warehouse.query(query) for row in batch]

    def published(self, table: str, schema: str = "") -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the column names and the rows of a published table, in an order of their own."""
        schema = schema or self.floor
        columns = self.rows(
            "select column_name from information_schema.columns where table_schema = "
            f"'{schema}' and table_name = '{table}' order by ordinal_position"
        )
        names = [str(name) for (name,) in columns]
        rows = self.rows(f"select {', '.join(names)} from {schema}.{table}")
        assert rows, f"{table} is empty, which proves nothing"
        return names, sorted(rows, key=repr)


def build_demo(folder: Path) -> None:
    """Build all that the demo is for, without the tests of dbt, as `make setup` does."""
    run_dbt("build", "--select", *FLOORS, *MODELS_ONLY, folder=folder, code=0)


def build_floor(
    floor: str,
    folder: Path,
    source: Path,
    address: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    *,
    models_only: bool = False,
    unit_tests: bool = True,
    **settings: str,
) -> Build:
    """Build the floor mimic3 or cdm from a folder of files, on DuckDB or in a database.

    Args:
        floor: its name. For cdm the source has hosp/, note/ and, if there are any, note_extract/.
        folder: for dbt's files and the DuckDB warehouse.
        source: the raw files.
        address: the database of PostgreSQL that they are loaded into; None builds on DuckDB.
        variables: of dbt.
        models_only: no test of dbt is run.
        unit_tests: whether those are run beside the tests of the data.
        settings: MEDEVAL_* variables.
    """
    variables = variables or {}
    places = {"MEDEVAL_MIMIC3_DIR": str(source)}
    if floor == "cdm":
        places = {"MEDEVAL_MIMIC4_DIR": str(source), "MEDEVAL_MIMIC4_NOTE_DIR": str(source)}
        if (source / "note_extract").is_dir():
            places["MEDEVAL_CDM_EXTRACT_DIR"] = str(source / "note_extract")
    build = Build("duckdb", folder, {**places, **settings}, floor)
    if address is not None:
        build = Build("postgres", folder, {**address, **settings}, floor)
        words = ["load", "mimic4" if floor == "cdm" else "mimic3"]
        if "cdm_cohort_file" in variables:
            words += ["--cohort-file", variables["cdm_cohort_file"]]
        run_medeval(*words, env={**build.env, **places}, code=0)
    kinds = MODELS_ONLY if models_only else () if unit_tests else WITHOUT_UNIT_TESTS
    build.dbt("build", "--select", floor, "--vars", json.dumps(dict(variables)), *kinds)
    return build
