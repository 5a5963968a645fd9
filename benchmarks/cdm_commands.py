"""The commands of the CDM benchmark, each as a user runs it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.commands import MEDEVAL, ROOT, Workplace
from benchmarks.processes import Usage, measure

MODELS = ["--select", "cdm", "--resource-type", "seed", "--resource-type", "model"]
BASELINE = [sys.executable, "-m", "benchmarks.admission_by_admission"]
EXTRACTS = [sys.executable, "-m", "benchmarks.cdm_extracts"]


class CdmWorkplace(Workplace):
    """A folder for a warehouse of cases.

    Args:
        folder: is made; the caller removes it.
        settings: environment variables beside those of the folder.
        target: a target of profiles.yml.
        variables: of dbt.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        target: str = "duckdb",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.variables = dict(variables or {})
        super().__init__(folder, settings, target)

    @property
    def warehouse(self) -> Path:
        """The DuckDB file."""
        return self.folder / "medeval.duckdb"

    def build(self, source: Path | None, extracts: Path | None = None) -> Usage:
        """Build the CDM models in a new warehouse; `demo/mimic4` where no source is named."""
        for file in self.folder.glob("medeval.duckdb*"):
            file.unlink()
        named: dict[str, Path] = {}
        if source is not None:
            named = {"MEDEVAL_MIMIC4_DIR": source, "MEDEVAL_MIMIC4_NOTE_DIR": source}
        if extracts is not None:
            named["MEDEVAL_CDM_EXTRACT_DIR"] = extracts
        return self._dbt(["build", *MODELS], {**self.settings, **named})

    def export(self) -> Usage:
        """Write the cases to a new folder."""
        shutil.rmtree(self.folder / "exports", ignore_errors=True)
        flags = ["--task", "cdm", "--as-built", "--out", f"{self.folder}/exports"]
        command = [*MEDEVAL, "export", *flags]
        return measure(command, ROOT, self.settings, self.spill)

    def build_and_export(self, source: Path | None, extracts: Path | None = None) -> Usage:
        """Go from raw files to JSON."""
        return self.build(source, extracts).then(self.export())

    def load(self, source: Path, cohort: Path | None = None) -> Usage:
        """Copy the files, and a list of admissions, into the PostgreSQL that the settings name."""
        listed: list[str | Path] = ["--cohort-file", cohort] if cohort else []
        return measure([*MEDEVAL, "load", "mimic4", source, *listed], ROOT, self.settings)

    def cases(self) -> list[dict[str, Any]]:
        """Return the exported cases."""
        path = self.folder / "exports" / "cdm" / "benchmark.json"
        cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"]
        return cases

    def _dbt(self, words: list[str], settings: Mapping[str, str | Path]) -> Usage:
        return super()._dbt([*words, "--vars", json.dumps(self.variables)], settings)


def synthesize(out: Path, admissions: int, labs: int, seed: int = 1) -> Path:
    """Make a folder of synthetic data, unless it is there."""
    if not out.is_dir():
        size = ["--scale", str(admissions), "--events-per-stay", str(labs)]
        seeded = [*size, "--seed", str(seed)]
        measure([*MEDEVAL, "synth", "mimic4", *seeded, "--out", out], ROOT)
    return out


def source_rows(source: Path) -> dict[str, int]:
    """Return the rows of each table of a synthetic source, by names like `hosp/admissions`."""
    text = (source / "synthetic.json").read_text(encoding="utf-8")
    return {table: int(rows) for table, rows in json.loads(text)["rows"].items()}


def write_extracts(warehouse: Path, folder: Path) -> Path:
    """Write what the models of a warehouse drew from the notes, and the cohort."""
    measure([*EXTRACTS, warehouse, folder], ROOT)
    return folder


def admission_by_admission(
    source: Path,
    cohort: Path,
    out: Path,
    first: int,
    address: Mapping[str, str] | None,
    *,
    with_indexes: bool,
) -> dict[str, float]:
    """Run the baseline on the first admissions of the cohort; return its times and counts."""
    out.mkdir(exist_ok=True)
    times = out / "times.json"
    words: list[str | Path] = [source, cohort, out / "cases.json", "--mode", "extended"]
    words += ["--first", str(first), "--times", times]
    words += ["--indexes"] if with_indexes else []
    words += ["--postgres"] if address else []
    measure([*BASELINE, *words], ROOT, address)
    found: dict[str, float] = json.loads(times.read_text(encoding="utf-8"))
    return found


def new_database(address: Mapping[str, str], name: str) -> dict[str, str]:
    """Make a database on a server of our own; return its address."""
    with psycopg.connect(
        host=address["PGHOST"],
        port=address["PGPORT"],
        user=address["PGUSER"],
        dbname=address["PGDATABASE"],
        autocommit=True,
    ) as connection:
        query = sql.SQL("create database {} template template0 encoding 'UTF8' locale 'C.UTF-8'")
        connection.execute(query.format(sql.Identifier(name)))
    return {**address, "PGDATABASE": name}
