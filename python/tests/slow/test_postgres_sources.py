"""What only PostgreSQL has: typed sources in schemas of other names, a prefix, cells in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mimic3_folder
import pytest
from builds import MODELS_ONLY, PUBLISHED, SYNTHETIC, WITHOUT_UNIT_TESTS, Build
from cdm_folder import CORE, HOSP, TABLES, write_folder
from commands import run_medeval
from parsed_dbt import run_parsed
from postgres_server import connect
from tables import table

GIVEN = table("postgres_sources")


def make_typed(connection: Any, source: str, name: str, schema: str) -> None:
    """Make a table typed as mimic-code types it of one that `load` made."""
    columns = connection.execute(
        "select column_name from information_schema.columns where table_schema = %s"
        " and table_name = %s order by ordinal_position",
        [source, name],
    ).fetchall()
    types = GIVEN["types"]
    casts = ", ".join(
        f"cast(nullif({column}, '') as {types[column]}) as {column}" if column in types else column
        for (column,) in columns
    )
    connection.execute(f"create table {schema}.{name} as select {casts} from {source}.{name}")
    connection.execute(f"analyze {schema}.{name}")


def test_a_typed_schema_and_a_prefix_give_the_same_tables(
    tmp_path: Path, synthetic_duckdb: Build, postgres_database: dict[str, str]
) -> None:
    run_medeval("load", "mimic3", SYNTHETIC, env=postgres_database, code=0)
    with connect(postgres_database) as connection:
        connection.execute("create schema mimic_typed")
        for name in mimic3_folder.TABLES:
            make_typed(connection, "mimiciii", name, "mimic_typed")
        connection.execute("drop schema mimiciii cascade")
        connection.execute("create schema mimic3")
        connection.execute("create table mimic3.mimic3_stays as select 'not ours' as owner")
    build = Build("postgres", tmp_path, {**postgres_database, "MEDEVAL_SCHEMA_PREFIX": "medeval_"})
    typed = ("--vars", "{mimic3_schema: mimic_typed}")
    build.dbt("build", "--select", "mimic3", *typed, *WITHOUT_UNIT_TESTS)
    assert build.rows("select owner from mimic3.mimic3_stays") == [("not ours",)]
    for name in PUBLISHED:
        expected = synthetic_duckdb.published(name)
        assert build.published(name, schema="medeval_mimic3") == expected, name
    # The schema was named for that build alone.
    assert (build.export("--as-built") / "manifest.json").is_file()


def test_typed_tables_of_two_schemas(tmp_path: Path, postgres_database: dict[str, str]) -> None:
    labevents = HOSP["labevents"].replace(",15.2,15.2,", ",15.2,0.30000000000000004,")
    labevents = labevents.replace(",0,60,", ",1e-300,36.599999999999994,")
    tables = {**TABLES, "hosp": {**HOSP, "labevents": labevents}}
    files = write_folder(tmp_path / "files", tables)
    run_medeval("load", "mimic4", files, env=postgres_database, code=0)
    build = Build("postgres", tmp_path, postgres_database, "cdm")
    models = [f"stg_cdm__{name}" for name in ("admissions", "labevents", "patients", "transfers")]

    def staged() -> list[list[tuple[Any, ...]]]:
        return [sorted(build.rows(f"select * from cdm.{model}"), key=repr) for model in models]

    build.dbt("run", "--select", *models)
    from_text = staged()
    assert {0.30000000000000004, 900.0} == {row[7] for row in from_text[1]}
    with connect(postgres_database) as connection:
        database = postgres_database["PGDATABASE"]
        connection.execute(f'alter database "{database}" set extra_float_digits = 0'.encode())
        connection.execute("create schema mimic_hosp; create schema mimic_core")
        for name in HOSP:
            schema = "mimic_core" if name in CORE else "mimic_hosp"
            make_typed(connection, "mimiciv_hosp", name, schema)
            if name == "labevents":
                # Not in MIMIC-III, where it is no number everywhere.
                connection.execute(
                    f"alter table {schema}.{name} alter valuenum type double precision"
                    " using cast(valuenum as double precision)"
                )
        # Release 1.0 in a database: as docs/bring_your_own_mimic.md says.
        for name in CORE:
            connection.execute(f"create view mimic_hosp.{name} as table mimic_core.{name}".encode())
    build.dbt("run", "--select", *models, "--vars", "{mimic4_hosp_schema: mimic_hosp}")
    assert build.rows("select current_setting('extra_float_digits')") == [("0",)]
    assert staged() == from_text


ROWS = "select '1', 'F', '2101-01-01', '' union all select '2', 'M', '2101-01-01', ''"


@pytest.mark.parametrize(("patients", "says"), GIVEN["unreadable"])
def test_what_cannot_be_read_is_named(
    tmp_path: Path, postgres_database: dict[str, str], patients: str | None, says: list[str]
) -> None:
    with connect(postgres_database) as connection:
        connection.execute("create schema mimiciii")
        if patients:
            columns = "(subject_id, gender, dob, dod) as "
            content = f"{columns} {ROWS} union all select {patients}"
            content = patients if patients[0] == "(" else content
            connection.execute(f"create table mimiciii.patients {content}".encode())
    nodes = ("stg_mimic3__patients", "open_patients", "mimic3_data_class")
    words = ("build", "--select", *nodes, *MODELS_ONLY)
    done = run_parsed(*words, target="postgres", env=postgres_database, folder=tmp_path)
    assert done.returncode != 0
    if patients and patients[0] != "(":
        assert "mimiciii.patients, row 3 (the header not counted), column" in done.stdout
    assert all(part in done.stdout for part in says), done.stdout
