"""What only PostgreSQL has: typed source schemas, a prefix for the built ones, cells in tables."""

from __future__ import annotations

from pathlib import Path

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
TABLES = (
    "admissions",
    "patients",
    "icustays",
    "diagnoses_icd",
    "d_icd_diagnoses",
    "chartevents",
    "labevents",
    "outputevents",
)


def make_typed_schema(address: dict[str, str], name: str) -> None:
    """Turn the loaded text tables into tables typed as mimic-code types them."""
    with connect(address) as connection:
        connection.execute(f"create schema {name}")
        for table in TABLES:
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


def test_a_missing_table_is_named_with_what_to_do(
    tmp_path: Path, postgres_database: dict[str, str]
) -> None:
    done = run_dbt(
        "run", "--select", "stg_mimic3__admissions", "--target", "postgres",
        env=postgres_database, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    assert "mimiciii.admissions is not in the database" in done.stdout
    assert "python -m medeval load mimic3" in done.stdout


def test_a_missing_column_is_named(tmp_path: Path, postgres_database: dict[str, str]) -> None:
    with connect(postgres_database) as connection:
        connection.execute("create schema mimiciii")
        connection.execute(
            "create table mimiciii.patients (subject_id text, gender text, dob text)"
        )
    done = run_dbt(
        "run", "--select", "stg_mimic3__patients", "--target", "postgres",
        env=postgres_database, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    assert 'mimiciii.patients has no column "dod"' in done.stdout


@pytest.mark.parametrize(
    ("column", "cell"),
    [("subject_id", "12.5"), ("dob", "2182-12-14 0"), ("dod", "2150-02-30 10:00:00")],
)
def test_a_cell_that_cannot_be_read_is_found(
    tmp_path: Path, postgres_database: dict[str, str], column: str, cell: str
) -> None:
    with connect(postgres_database) as connection:
        connection.execute("create schema mimiciii")
        connection.execute(
            "create table mimiciii.patients (subject_id text, gender text, dob text, dod text)"
        )
        for number in range(1, 6):
            row = {"subject_id": str(number), "gender": "F", "dob": "2101-01-01", "dod": ""}
            if number == 4:
                row[column] = cell
            connection.execute(
                "insert into mimiciii.patients values (%s, %s, %s, %s)", list(row.values())
            )
    nodes = ("stg_mimic3__patients", "open_patients", "mimic3_data_class")
    types = ("--resource-type", "seed", "--resource-type", "model")
    done = run_dbt(
        "build", "--select", *nodes, *types, "--target", "postgres",
        env=postgres_database, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    assert f"mimiciii.patients, row 4 (the header not counted), column {column}" in done.stdout
    assert f"'{cell}'" in done.stdout
