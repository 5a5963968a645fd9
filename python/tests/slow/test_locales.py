"""Texts are folded, searched and sorted alike whatever locale a PostgreSQL database has."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import cdm_folder
import mimic3_folder
import psycopg
import pytest
from builds import MODELS_ONLY, Build
from commands import run_medeval
from postgres_server import connect, new_database, server
from tables import table

pytestmark = pytest.mark.slow

GIVEN = table("locales")


def with_more(given: Mapping[str, str]) -> dict[str, str]:
    """Return the tables of a small folder with the rows of this file."""
    return {name: text + GIVEN["more"].get(name, "") for name, text in given.items()}


LOCALES = ("C", "Turkish")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("raw")
    mimic3_folder.write_folder(folder / "mimic3", with_more(mimic3_folder.TABLES))
    modules = {
        module: {name: GIVEN["instead"].get(name, text) for name, text in with_more(given).items()}
        for module, given in cdm_folder.TABLES.items()
    }
    cdm_folder.write_folder(folder / "mimic4", modules)
    return {
        "MEDEVAL_MIMIC3_DIR": str(folder / "mimic3"),
        "MEDEVAL_MIMIC4_DIR": str(folder / "mimic4"),
        "MEDEVAL_MIMIC4_NOTE_DIR": str(folder / "mimic4"),
        "MEDEVAL_CDM_EXTRACT_DIR": str(folder / "mimic4" / "note_extract"),
    }


def build(target: str, folder: Path, env: dict[str, str]) -> Build:
    made = Build(target, folder, env)
    parents = [f"+{table}" for _, table in GIVEN["compared"]]
    made.dbt("build", "--select", *parents, *MODELS_ONLY)
    return made


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory, folders: dict[str, str]) -> Build:
    return build("duckdb", tmp_path_factory.mktemp("duckdb"), folders)


def turkish_database(stack: ExitStack, address: dict[str, str]) -> dict[str, str]:
    """Give a database in Turkish: of ICU, or where the server has none, of the C library."""
    icu = "locale 'C.UTF-8' locale_provider icu icu_locale 'tr-TR'"
    try:
        return stack.enter_context(new_database(address, icu))
    except psycopg.errors.FeatureNotSupported:
        localedef = shutil.which("localedef")
    if not localedef or os.environ.get("MEDEVAL_TEST_PGHOST"):
        pytest.skip("the server has no ICU, and its C library no Turkish")
    # The server has a user of its own, who has to read it.
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="medeval-locale-")))
    folder.chmod(0o755)
    made = subprocess.run(
        [localedef, "-i", "tr_TR", "-f", "UTF-8", folder / "tr_TR.UTF-8"],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"localedef makes no Turkish locale: {made.stderr.decode()}")
    with mock.patch.dict(os.environ, LOCPATH=str(folder), LC_ALL="C"):
        own_address = stack.enter_context(server())
    return stack.enter_context(new_database(own_address, "locale 'tr_TR.UTF-8'"))


@pytest.fixture(scope="module", params=LOCALES)
def on_postgres(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: dict[str, str],
    folders: dict[str, str],
) -> Iterator[Build]:
    folder = tmp_path_factory.mktemp(f"postgres-{request.param}")
    with ExitStack() as stack:
        if request.param == "C":
            address = stack.enter_context(new_database(postgres_server, "locale 'C'"))
        else:
            address = turkish_database(stack, postgres_server)
        with connect(address) as connection:
            query = "select lower('I') = 'i', lower('É') = 'é'"
            folds = connection.execute(query).fetchone()
            assert folds == ((True, False) if request.param == "C" else (False, True))
        for kind in ("mimic3", "mimic4"):
            run_medeval("load", kind, env={**address, **folders}, code=0)
        yield build("postgres", folder, address)


@pytest.mark.parametrize(("schema", "table"), GIVEN["compared"])
def test_published_tables_are_the_same_in_every_locale(
    on_duckdb: Build, on_postgres: Build, schema: str, table: str
) -> None:
    assert on_duckdb.published(table, schema) == on_postgres.published(table, schema)


@pytest.mark.parametrize("query", GIVEN["finds"])
def test_letters_are_folded_and_units_told(on_duckdb: Build, query: str) -> None:
    assert [list(row) for row in on_duckdb.rows(query)] == GIVEN["finds"][query]
