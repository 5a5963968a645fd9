"""Spark, as a session of this machine, gives the tables and the files of DuckDB."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from builds import FLOORS, MODELS_ONLY
from command_server import CommandServer
from commands import PROJECT_ROOT, contents, run_dbt
from spark_process import spark_process

pytestmark = pytest.mark.slow

# Of each kind of source the variables that name its folder of Parquet.
KINDS = {
    "mimic3": ["MEDEVAL_MIMIC3_DIR"],
    "mimic4": ["MEDEVAL_MIMIC4_DIR", "MEDEVAL_MIMIC4_NOTE_DIR"],
    "mtsamples": ["MEDEVAL_MTSAMPLES"],
    "yier": ["MEDEVAL_YIER"],
}

# Of the schemas of MIMIC-III's open demo.
OPEN = "open_"

# Of few rows most time goes into plans: what is compiled are expressions alone.
DEFAULTS = """\
spark.sql.codegen.wholeStage false
spark.sql.adaptive.enabled false
"""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"


@dataclass(frozen=True)
class Twins:
    """One source, built and exported on both engines.

    Attributes:
        spark: the folder of Spark's tables, `SCHEMA.db/TABLE`.
        prefix: of the schemas of this source.
        duckdb: the warehouse file.
        exports: the folders of both.
    """

    spark: Path
    prefix: str
    duckdb: Path
    exports: tuple[Path, Path]


@dataclass(frozen=True)
class Spark:
    """One session, in which all sources are built and exported.

    Attributes:
        process: where it lives.
        folder: for all that is made.
    """

    process: CommandServer
    folder: Path

    def run(self, *words: str | Path, env: dict[str, str]) -> None:
        """Run a command of `dbt` or `medeval`."""
        done = self.process.run([*map(str, words)], {**os.environ, **env}, PROJECT_ROOT)
        assert done.returncode == 0, done.stdout + done.stderr

    def twins(
        self, prefix: str, warehouse: Path, source: Path | None, floors: tuple[str, ...]
    ) -> Twins:
        """Build a source on Spark, of Parquet that `load` writes, and export it on both engines.

        Args:
            prefix: of its schemas.
            warehouse: of DuckDB, where it is built already.
            source: a folder of MIMIC-III; None is the demo of all kinds.
            floors: the benchmarks.
        """
        folder = self.folder / f"{prefix}source"
        of_duckdb = {"MEDEVAL_DUCKDB": str(warehouse)}
        of_spark = {
            "MEDEVAL_SPARK_DIR": str(self.folder / "spark"),
            "MEDEVAL_SCHEMA_PREFIX": prefix,
            "MEDEVAL_TARGET": "spark",
            "SPARK_CONF_DIR": str(self.folder),
            "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
        }
        for kind, variables in KINDS.items() if source is None else [("mimic3", KINDS["mimic3"])]:
            place = folder / "parquet" / kind
            files = [source] if source else []
            self.run("medeval", "load", kind, *files, "--to", "parquet", place, env={})
            of_spark |= dict.fromkeys(variables, str(place))
        if source:
            of_duckdb["MEDEVAL_MIMIC3_DIR"] = str(source)
        dbt = ("--target-path", self.folder / "target", "--log-path", folder / "logs")
        # Real data are tested too.
        kinds = () if source else MODELS_ONLY
        self.run("dbt", "build", "--select", *floors, *kinds, *dbt, env=of_spark)
        exports = (folder / "on-spark", folder / "on-duckdb")
        task = ["--task", "mimic3"] if source else []
        for out, env in zip(exports, (of_spark, of_duckdb), strict=True):
            self.run("medeval", "export", *task, "--timeseries", "--out", out, env=env)
        return Twins(self.folder / "spark" / "warehouse", prefix, warehouse, exports)


@pytest.fixture(scope="module", autouse=True)
def _needs_spark() -> None:
    missing = [name for name in ("dbt.adapters.spark", "pyspark") if not _is_installed(name)]
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        missing.append("java")
    if missing:
        reason = f"Spark needs {', '.join(missing)}: `make spark` installs all but Java"
        if os.environ.get("MEDEVAL_REQUIRE_SPARK") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    folder = tmp_path_factory.mktemp("spark")
    (folder / "spark-defaults.conf").write_text(DEFAULTS, encoding="utf-8")
    process = spark_process()
    yield Spark(process, folder)
    process.close()


@pytest.fixture(scope="module")
def demo(spark: Spark, demo_folder: Path) -> Twins:
    return spark.twins("", demo_folder / "medeval.duckdb", None, FLOORS)


@pytest.fixture(scope="module")
def open_demo(spark: Spark, tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Twins:
    source, folder = shared / "data" / "mimic3_demo", tmp_path_factory.mktemp("duckdb-open")
    floors = ("mimic3", "mimic3_features")
    named = {"MEDEVAL_MIMIC3_DIR": str(source)}
    run_dbt("build", "--select", *floors, *MODELS_ONLY, env=named, folder=folder, code=0)
    return spark.twins(OPEN, folder / "medeval.duckdb", source, floors)


@pytest.mark.parametrize("name", ["demo", "open_demo"])
def test_every_table_has_the_same_rows(request: pytest.FixtureRequest, name: str) -> None:
    twins: Twins = request.getfixturevalue(name)
    compared, differing = 0, {}
    with duckdb.connect(str(twins.duckdb), read_only=True) as database:
        for place in sorted(twins.spark.glob("*.db/*")):
            table, schema = place.name, place.parent.name.removesuffix(".db")
            if schema.startswith(OPEN) != (twins.prefix == OPEN):
                continue  # of the other source
            schema = schema.removeprefix(OPEN)
            if schema == "medeval":  # the log of builds
                continue
            columns = [
                (row[0], row[1])
                for row in database.execute(f"describe {schema}.{table}").fetchall()
            ]
            cells = ", ".join(f'cast("{column}" as {kind})' for column, kind in columns)
            ours = f"select {cells} from {schema}.{table}"
            files = f"read_parquet('{place}/*.parquet')"
            is_empty = not any(place.glob("*.parquet"))  # a seed without a row has no file
            theirs = f"{ours} where false" if is_empty else f"select {cells} from {files}"
            counts = [
                database.execute(f"select count(*) from ({one} except all {other})").fetchall()[0][
                    0
                ]
                for one, other in ((ours, theirs), (theirs, ours))
            ]
            compared += 1
            if any(counts):
                differing[f"{schema}.{table}"] = counts
    assert not differing
    assert compared >= (100 if name == "demo" else 40)


@pytest.mark.parametrize("name", ["demo", "open_demo"])
def test_every_exported_file_has_the_same_bytes(request: pytest.FixtureRequest, name: str) -> None:
    twins: Twins = request.getfixturevalue(name)
    on_spark, on_duckdb = (
        # A manifest names the engine and the place.
        {name: data for name, data in contents(out).items() if "manifest.json" not in name}
        for out in twins.exports
    )
    assert on_spark.keys() == on_duckdb.keys()
    assert [path for path in on_spark if on_spark[path] != on_duckdb[path]] == []
    assert len(on_spark) > 100
