"""The commands that are measured, each as a user runs it, in a folder of their own."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.processes import Usage, measure

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo" / "mimic3"
EVENT_TABLES = ("chartevents", "labevents", "outputevents")
DBT = Path(sys.executable).with_name("dbt")
MEDEVAL = [sys.executable, "-m", "medeval"]
BUILD = ["build", "--select", "mimic3", "--resource-type", "seed", "--resource-type", "model"]


class Workplace:
    """A folder for a warehouse and dbt's own files, with the project parsed as after `make setup`.

    Args:
        folder: is made; the caller removes it.
        settings: environment variables beside those of the folder.
        target: a target of profiles.yml.
    """

    def __init__(
        self, folder: Path, settings: Mapping[str, str] | None = None, target: str = "duckdb"
    ) -> None:
        folder.mkdir()
        self.folder = folder
        self.spill = folder / "spill"
        self.settings: dict[str, str | Path] = {
            "MEDEVAL_DUCKDB": folder / "medeval.duckdb",
            "MEDEVAL_TEMP_DIR": self.spill,
            "MEDEVAL_TARGET": target,
            **(settings or {}),
        }
        self._dbt(["parse"], self.settings)

    def build(self, source: Path | None) -> Usage:
        """Build the MIMIC-III models in a new warehouse; `demo/mimic3` where no source is named."""
        for file in self.folder.glob("medeval.duckdb*"):
            file.unlink()
        named = {} if source is None else {"MEDEVAL_MIMIC3_DIR": source}
        return self._dbt(BUILD, {**self.settings, **named})

    def export(self) -> Usage:
        """Write the listfiles of all five tasks to a new folder."""
        shutil.rmtree(self.folder / "exports", ignore_errors=True)
        command = [*MEDEVAL, "export", "--as-built", "--out", f"{self.folder}/exports"]
        return measure(command, ROOT, self.settings, self.spill)

    def build_and_export(self, source: Path | None) -> Usage:
        """Go from raw files to listfiles."""
        return self.build(source).then(self.export())

    def exported_events(self) -> int:
        """Return the event rows of the source, as the last export's manifest has them."""
        path = self.folder / "exports" / "mimic3" / "manifest.json"
        tables = json.loads(path.read_text(encoding="utf-8"))["source"]["tables"]
        return sum(int(tables[table]["rows"]) for table in EVENT_TABLES)

    def load(self, source: Path) -> Usage:
        """Copy the files into the PostgreSQL that the settings name."""
        return measure([*MEDEVAL, "load", "mimic3", source], ROOT, self.settings)

    def _dbt(self, words: list[str], settings: Mapping[str, str | Path]) -> Usage:
        folders = ["--target-path", f"{self.folder}/target", "--log-path", f"{self.folder}/logs"]
        return measure([DBT, *words, *folders], ROOT, settings, self.spill)


def patient_by_patient(source: Path, out: Path) -> Usage:
    """Run the baseline: files to listfiles."""
    shutil.rmtree(out, ignore_errors=True)
    program = ROOT / "benchmarks" / "patient_by_patient.py"
    return measure([sys.executable, program, source, out], ROOT)


def make_copies(source: Path, target: Path, copies: int) -> Path:
    """Make a folder that holds the patients of another one several times, unless it is there."""
    if not target.is_dir():
        measure([sys.executable, "-m", "benchmarks.copies", source, target, str(copies)], ROOT)
    return target


def synthesize(out: Path, patients: int, events_per_stay: int) -> Usage:
    """Write synthetic data."""
    size = ["--scale", str(patients), "--events-per-stay", str(events_per_stay)]
    return measure([*MEDEVAL, "synth", "mimic3", *size, "--seed", "1", "--out", out], ROOT)


def synthetic_rows(folder: Path) -> dict[str, int]:
    """Return the rows of each table of a synthetic source."""
    text = (folder / "synthetic.json").read_text(encoding="utf-8")
    return {table: int(rows) for table, rows in json.loads(text)["rows"].items()}
