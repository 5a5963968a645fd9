"""MIMIC-IV in a PostgreSQL that is not of `load`: typed, in two schemas, with its own settings."""

from __future__ import annotations

from pathlib import Path

from builds import MODELS_ONLY, Build
from cdm_folder import CORE, HOSP, TABLES, write_folder
from commands import run_dbt, run_medeval
from postgres_server import connect

# As mimic-code types them.
TYPES = {
    **dict.fromkeys(("hadm_id", "subject_id", "labevent_id", "itemid"), "integer"),
    **dict.fromkeys(("anchor_age", "anchor_year"), "smallint"),
    **dict.fromkeys(("admittime", "charttime", "storetime", "intime"), "timestamp(0)"),
    **dict.fromkeys(("valuenum", "ref_range_lower", "ref_range_upper"), "double precision"),
}
STAGED = ("admissions", "labevents", "patients", "transfers")


def loaded(folder: Path, address: dict[str, str], tables: dict[str, str]) -> Build:
    """Load MIMIC-IV files, some of them with other content, into PostgreSQL."""
    files = write_folder(folder / "files", {**TABLES, "hosp": {**HOSP, **tables}})
    done = run_medeval("load", "mimic4", files, env=address)
    assert done.returncode == 0, done.stderr
    return Build("postgres", folder, address, "cdm")


def staged(build: Build) -> dict[str, list[tuple[object, ...]]]:
    return {
        name: sorted(build.rows(f"select * from cdm.stg_cdm__{name}"), key=repr) for name in STAGED
    }


def test_typed_tables_of_two_schemas_are_read_whatever_the_database_prints(
    tmp_path: Path, postgres_database: dict[str, str]
) -> None:
    labevents = HOSP["labevents"].replace(",15.2,15.2,", ",15.2,0.30000000000000004,")
    labevents = labevents.replace(",0,60,", ",1e-300,36.599999999999994,")
    build = loaded(tmp_path, postgres_database, {"labevents": labevents})
    models = [f"stg_cdm__{name}" for name in STAGED]
    build.dbt("run", "--select", *models)
    from_text = staged(build)
    assert {0.30000000000000004, 900.0} == {row[7] for row in from_text["labevents"]}

    with connect(postgres_database) as connection:
        database = postgres_database["PGDATABASE"]
        connection.execute(f'alter database "{database}" set extra_float_digits = 0'.encode())
        connection.execute("create schema mimic_hosp")
        connection.execute("create schema mimic_core")
        for name, content in HOSP.items():
            columns = content.split("\n", 1)[0].split(",")
            casts = ", ".join(
                f"cast({column} as {TYPES.get(column, 'text')}) as {column}" for column in columns
            )
            schema = "mimic_core" if name in CORE else "mimic_hosp"
            connection.execute(
                f"create table {schema}.{name} as select {casts} from mimiciv_hosp.{name}".encode()
            )
        # Release 1.0 in a database: as docs/bring_your_own_mimic.md says.
        for name in CORE:
            connection.execute(f"create view mimic_hosp.{name} as table mimic_core.{name}".encode())
    build.dbt("run", "--select", *models, "--vars", "{mimic4_hosp_schema: mimic_hosp}")
    assert build.rows("select current_setting('extra_float_digits')") == [("0",)]
    assert staged(build) == from_text


def test_a_word_for_missing_in_a_key_stops_the_build(
    tmp_path: Path, postgres_database: dict[str, str]
) -> None:
    labevents = HOSP["labevents"].replace("2,11,20000002,", "2,11,NA,")
    build = loaded(tmp_path, postgres_database, {"labevents": labevents})
    done = run_dbt(
        *("build", "--select", "+int_cdm__lab_events", "--target", "postgres", *MODELS_ONLY),
        env=build.env,
        folder=build.folder,
    )
    assert done.returncode != 0
    place = "mimiciv_hosp.labevents, row 2 (the header not counted), column hadm_id: 'xx'"
    assert f"{place} cannot be read." in done.stdout
