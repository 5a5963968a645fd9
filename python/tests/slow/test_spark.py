"""Spark, as a session of this machine, gives the tables and the files of DuckDB."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from builds import FLOORS, MODELS_ONLY
from commands import run_dbt, run_medeval

pytestmark = pytest.mark.slow

# Of each kind of source the variables that name its folder of Parquet.
KINDS = {
    "mimic3": ["MEDEVAL_MIMIC3_DIR"],
    "mimic4": ["MEDEVAL_MIMIC4_DIR", "MEDEVAL_MIMIC4_NOTE_DIR"],
    "mtsamples": ["MEDEVAL_MTSAMPLES"],
    "yier": ["MEDEVAL_YIER"],
}


# Of few rows most time goes into plans: nothing is compiled for them twice.
DEFAULTS = """\
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.adaptive.enabled false
"""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"


@dataclass(frozen=True)
class Twins:
    """One source, built and exported on both engines.

    Attributes:
        spark: the folder of Spark's tables, `SCHEMA.db/TABLE`.
        duckdb: the warehouse file.
        exports: the folders of both.
    """

    spark: Path
    duckdb: Path
    exports: tuple[Path, Path]


def run(*args: str | Path, env: dict[str, str]) -> None:
    done = run_medeval(*args, env=env)
    assert done.returncode == 0, done.stdout + done.stderr


def make_twins(
    folder: Path, warehouse: Path, source: Path | None, floors: tuple[str, ...]
) -> Twins:
    """Build a source on Spark, of Parquet that `load` writes, and export it on both engines.

    Args:
        folder: for all that is made.
        warehouse: of DuckDB, where it is built already.
        source: a folder of MIMIC-III; None is the demo of all kinds.
        floors: the benchmarks.
    """
    of_duckdb = {"MEDEVAL_DUCKDB": str(warehouse)}
    of_spark = {
        "MEDEVAL_SPARK_DIR": str(folder / "spark"),
        "MEDEVAL_TARGET": "spark",
        "SPARK_CONF_DIR": str(folder / "conf"),
        "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
    }
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS, encoding="utf-8")
    for kind, variables in KINDS.items() if source is None else [("mimic3", KINDS["mimic3"])]:
        place = folder / "parquet" / kind
        run("load", kind, *([source] if source else []), "--to", "parquet", place, env={})
        of_spark |= dict.fromkeys(variables, str(place))
    if source:
        of_duckdb["MEDEVAL_MIMIC3_DIR"] = str(source)
    built = run_dbt("build", "--select", *floors, *MODELS_ONLY, env=of_spark, folder=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    exports = (folder / "on-spark", folder / "on-duckdb")
    task = ["--task", "mimic3"] if source else []
    for out, env in zip(exports, (of_spark, of_duckdb), strict=True):
        run("export", *task, "--timeseries", "--out", out, env=env)
    return Twins(folder / "spark" / "warehouse", warehouse, exports)


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
def demo(tmp_path_factory: pytest.TempPathFactory, demo_folder: Path) -> Twins:
    folder = tmp_path_factory.mktemp("spark-demo")
    return make_twins(folder, demo_folder / "medeval.duckdb", None, FLOORS)


@pytest.fixture(scope="module")
def open_demo(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Twins:
    folder, source = tmp_path_factory.mktemp("spark-open"), shared / "data" / "mimic3_demo"
    floors, of_duckdb = ("mimic3", "mimic3_features"), tmp_path_factory.mktemp("duckdb-open")
    built = run_dbt(
        "build",
        *("--select", *floors),
        *MODELS_ONLY,
        env={"MEDEVAL_MIMIC3_DIR": str(source)},
        folder=of_duckdb,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return make_twins(folder, of_duckdb / "medeval.duckdb", source, floors)


@pytest.mark.parametrize("name", ["demo", "open_demo"])
def test_every_table_has_the_same_rows(request: pytest.FixtureRequest, name: str) -> None:
    twins: Twins = request.getfixturevalue(name)
    compared, differing = 0, {}
    with duckdb.connect(str(twins.duckdb), read_only=True) as database:
        for place in sorted(twins.spark.glob("*.db/*")):
            schema, table = place.parent.name.removesuffix(".db"), place.name
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
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            # A manifest names the engine and the place.
            if path.is_file() and path.name != "manifest.json"
        }
        for folder in twins.exports
    )
    assert on_spark.keys() == on_duckdb.keys()
    assert [path for path in on_spark if on_spark[path] != on_duckdb[path]] == []
    assert len(on_spark) > 100
