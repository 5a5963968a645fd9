"""Whole builds of a benchmark in a folder of their own, on either engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commands import PROJECT_ROOT, run_dbt, run_medeval

from medeval.warehouse import Target, load_target, open_warehouse

FLOORS = ("cdm", "mimic3", "mimic3_features", "mtsamples", "yier")
SYNTHETIC = PROJECT_ROOT / "demo" / "mimic3"
SYNTHETIC_IV = PROJECT_ROOT / "demo" / "mimic4"

# What the floor publishes: the tables that must have the same bytes on every engine.
PUBLISHED = (
    "mimic3_attrition",
    "mimic3_data_class",
    "mimic3_decompensation",
    "mimic3_episode_timeseries",
    "mimic3_episodes",
    "mimic3_findings",
    "mimic3_in_hospital_mortality",
    "mimic3_length_of_stay",
    "mimic3_multitask",
    "mimic3_phenotyping",
    "mimic3_source_tables",
    "mimic3_stays",
)


CDM_PUBLISHED = (
    "cdm_attrition",
    "cdm_build_settings",
    "cdm_case_issues",
    "cdm_cases",
    "cdm_data_class",
    "cdm_demographics",
    "cdm_diagnoses",
    "cdm_discharge_sections",
    "cdm_findings",
    "cdm_first_lab_results",
    "cdm_first_microbiology_events",
    "cdm_first_radiology_reports",
    "cdm_lab_results",
    "cdm_lab_test_mapping",
    "cdm_leaks",
    "cdm_microbiology_events",
    "cdm_phrase_shares",
    "cdm_radiology_reports",
    "cdm_treatments",
)


@dataclass(frozen=True)
class Build:
    """A built warehouse: the dbt target, the environment that names it, dbt's folder, the floor."""

    target: str
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    floor: str = "mimic3"

    def dbt(self, *args: str) -> str:
        """Run dbt, with the unit tests, and return its output; a failure is the test's."""
        env = {"MEDEVAL_UNIT_TESTS": "1", **self.env}
        done = run_dbt(*args, "--target", self.target, env=env, folder=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def export(self, *args: str) -> Path:
        """Export the floor and return its folder."""
        out = self.folder / "exports" / ("-".join(args).strip("-") or "default")
        env = {"MEDEVAL_DUCKDB": str(self.folder / "medeval.duckdb"), **self.env}
        done = run_medeval(
            "export", "--task", self.floor, "--target", self.target, "--out", out, *args, env=env
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return out / self.floor

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the warehouse."""
        settings = dict(load_target(self.target, PROJECT_ROOT).settings)
        names = {
            "PGHOST": "host",
            "PGUSER": "user",
            "PGPASSWORD": "password",
            "PGDATABASE": "dbname",
        }
        for variable, setting in names.items():
            if variable in self.env:
                settings[setting] = self.env[variable]
        if "PGPORT" in self.env:
            settings["port"] = int(self.env["PGPORT"])
        settings["path"] = str(self.folder / "medeval.duckdb")
        target = Target(self.target, settings["type"], settings)
        with open_warehouse(target, PROJECT_ROOT) as warehouse:
            return [row for batch in warehouse.query(query) for row in batch]

    def published(
        self, table: str, schema: str = "mimic3"
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the column names and the rows of a published table, in an order of their own."""
        names = [
            str(row[0])
            for row in self.rows(
                "select column_name from information_schema.columns where table_schema = "
                f"'{schema}' and table_name = '{table}' order by ordinal_position"
            )
        ]
        rows = self.rows(f"select {', '.join(names)} from {schema}.{table}")
        return names, sorted(rows, key=repr)


def build_demo(folder: Path) -> None:
    """Build all that the demo is for, without the tests of dbt, as `make setup` does."""
    built = run_dbt("build", "--select", *FLOORS, *_resource_types(models_only=True), folder=folder)
    assert built.returncode == 0, built.stdout + built.stderr


def build_duckdb(
    folder: Path, source: Path, *, models_only: bool = False, **settings: str
) -> Build:
    """Build the MIMIC-III floor from a folder of files; `settings` are MEDEVAL_* variables."""
    build = Build("duckdb", folder, {"MEDEVAL_MIMIC3_DIR": str(source), **settings})
    build.dbt("build", "--select", "mimic3", *_resource_types(models_only))
    return build


def build_postgres(
    folder: Path,
    source: Path,
    address: dict[str, str],
    *,
    models_only: bool = False,
    **settings: str,
) -> Build:
    """Load a folder of files into PostgreSQL and build the MIMIC-III floor there."""
    build = Build("postgres", folder, {**address, **settings})
    done = run_medeval("load", "mimic3", source, env=build.env)
    assert done.returncode == 0, done.stdout + done.stderr
    build.dbt("build", "--select", "mimic3", *_resource_types(models_only))
    return build


def build_cdm_duckdb(
    folder: Path,
    source: Path,
    variables: Mapping[str, str] | None = None,
    *,
    models_only: bool = False,
    **settings: str,
) -> Build:
    """Build the CDM floor from a folder with hosp/, note/ and, if there are any, note_extract/.

    `variables` are dbt variables, `settings` MEDEVAL_* variables.
    """
    build = Build("duckdb", folder, {**_cdm_folders(source), **settings}, "cdm")
    build.dbt(*_cdm_build(variables), *_resource_types(models_only))
    return build


def build_cdm_postgres(
    folder: Path,
    source: Path,
    address: dict[str, str],
    variables: Mapping[str, str] | None = None,
    *,
    models_only: bool = False,
    **settings: str,
) -> Build:
    """Load such a folder and the cohort file into PostgreSQL and build the CDM floor there."""
    build = Build("postgres", folder, {**address, **settings}, "cdm")
    cohort_file = (variables or {}).get("cdm_cohort_file")
    listed = ["--cohort-file", cohort_file] if cohort_file else []
    done = run_medeval("load", "mimic4", *listed, env={**build.env, **_cdm_folders(source)})
    assert done.returncode == 0, done.stdout + done.stderr
    build.dbt(*_cdm_build(variables), *_resource_types(models_only))
    return build


def _cdm_folders(source: Path) -> dict[str, str]:
    folders = {"MEDEVAL_MIMIC4_DIR": str(source), "MEDEVAL_MIMIC4_NOTE_DIR": str(source)}
    if (source / "note_extract").is_dir():
        folders["MEDEVAL_CDM_EXTRACT_DIR"] = str(source / "note_extract")
    return folders


def _cdm_build(variables: Mapping[str, str] | None) -> list[str]:
    return ["build", "--select", "cdm", "--vars", json.dumps(dict(variables or {}))]


def _resource_types(models_only: bool) -> Sequence[str]:
    if models_only:
        return ("--resource-type", "seed", "--resource-type", "model")
    return ()
