"""What only PostgreSQL has: typed source schemas, a prefix for the built ones, cells in tables."""

from __future__ import annotations

from pathlib import Path

import mimic3_folder
import pytest
from builds import PUBLISHED, SYNTHETIC, Build
from commands import run_dbt, run_medeval
from postgres_server import connect

# mimic-code's types: identifiers and times are typed, codes may be padded (CHAR), VALUE is text.
TYPED_COLUMNS = {
    "subject_id": "integer",
    "hadm_id": "integer",
    "icustay_id": "integer",
    "itemid": "integer",
    "first_wardid": "smallint",
    "last_wardid": "smallint",
    "seq_num": "integer",
    "los": "double precision",
    "icd9_code": "char(10)",
    "intime": "timestamp(0)",
    "outtime": "timestamp(0)",
    "admittime": "timestamp(0)",
    "dischtime": "timestamp(0)",
    "deathtime": "timestamp(0)",
    "charttime": "timestamp(0)",
    "dob": "timestamp(0)",
    "dod": "timestamp(0)",
}


def make_typed_schema(address: dict[str, str], name: str) -> None:
    """Turn the loaded text tables into tables typed as mimic-code types them."""
    with connect(address) as connection:
        connection.execute(f"create schema {name}")
        for table in mimic3_folder.TABLES:
            columns = connection.execute(
                "select column_name from information_schema.columns where table_schema = "
                "'mimiciii' and table_name = %s order by ordinal_position",
                [table],
            ).fetchall()
            casts = ", ".join(
                f"cast(nullif({column}, '') as {TYPED_COLUMNS[column]}) as {column}"
                if column in TYPED_COLUMNS
                else column
                for (column,) in columns
            )
            connection.execute(
                f"create table {name}.{table} as select {casts} from mimiciii.{table}"
            )
            connection.execute(f"analyze {name}.{table}")


def test_a_typed_schema_and_a_prefix_give_the_same_tables(
    tmp_path: Path, synthetic_duckdb: Build, postgres_database: dict[str, str]
) -> None:
    loaded = run_medeval("load", "mimic3", SYNTHETIC, env=postgres_database)
    assert loaded.returncode == 0, loaded.stderr
    make_typed_schema(postgres_database, "mimic_typed")
    with connect(postgres_database) as connection:
        connection.execute("drop schema mimiciii cascade")
        connection.execute("create schema mimic3")
        connection.execute("create table mimic3.mimic3_stays as select 'not ours' as owner")

    build = Build("postgres", tmp_path, {**postgres_database, "MEDEVAL_SCHEMA_PREFIX": "medeval_"})
    build.dbt("build", "--select", "mimic3", "--vars", "{mimic3_schema: mimic_typed}")

    assert build.rows("select owner from mimic3.mimic3_stays") == [("not ours",)]
    for table in PUBLISHED:
        expected = synthetic_duckdb.published(table)
        assert build.published(table, schema="medeval_mimic3") == expected, table
    # The schema was named for that build alone.
    assert (build.export("--as-built") / "manifest.json").is_file()


ROWS = "select '1', 'F', '2101-01-01', '' union all select '2', 'M', '2101-01-01', ''"
CELL = "mimiciii.patients, row 3 (the header not counted), column "


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (None, ("mimiciii.patients is not in the database", "python -m medeval load mimic3")),
        ("(subject_id text, gender text, dob text)", ('mimiciii.patients has no column "dod"',)),
        ("'12.5', 'F', '2101-01-01', ''", (f"{CELL}subject_id", "'12.5'")),
        ("'3', 'F', '2182-12-14 0', ''", (f"{CELL}dob", "'2182-12-14 0'")),
        ("'3', 'F', '2101-01-01', '2150-02-30 10:00:00'", (f"{CELL}dod", "'2150-02-30 10:00:00'")),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, postgres_database: dict[str, str], table: str | None, says: tuple[str, ...]
) -> None:
    with connect(postgres_database) as connection:
        connection.execute("create schema mimiciii")
        if table:
            columns = "(subject_id, gender, dob, dod) as "
            content = table if table[0] == "(" else f"{columns} {ROWS} union all select {table}"
            connection.execute(f"create table mimiciii.patients {content}".encode())
    nodes = ("stg_mimic3__patients", "open_patients", "mimic3_data_class")
    types = ("--resource-type", "seed", "--resource-type", "model")
    done = run_dbt(
        "build", "--select", *nodes, *types, "--target", "postgres",
        env=postgres_database, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    assert all(part in done.stdout for part in says), done.stdout
