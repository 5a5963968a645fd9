"""How staging reads a cell: the same on either engine, from a text or from a typed column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import duckdb
import psycopg
import pytest
from builds import Build
from dbt_worker import Worked, Worker
from postgres_server import Databases, connect
from psycopg import sql
from tables import table

# MIMIC-III's missing texts are those of the reference's CSV reader.
SOURCES = ("mimic3.b", "mimic4_hosp.b")
KINDS = ("integer", "double", "timestamp", "boolean")
ENGINES = ("duckdb", "postgres")
# Behind a semicolon each: dbt may print lines of its own before.
_INLINE = "".join(
    f";{{{{ read_{kind}('{source}', 'cell') }}}}" for source in SOURCES for kind in KINDS
)


@dataclass(frozen=True)
class Readers:
    """The SQL expressions by which staging reads a column `cell`, by source and kind."""

    expressions: Mapping[tuple[str, str], str]
    postgres: psycopg.Connection[tuple[object, ...]] | None = None

    def read(self, source: str, kind: str, cell: str, type_name: str = "text") -> object:
        """Return what one cell reads as, of a table with a column of some type."""
        query = f"select {self.expressions[source, kind]} from raw"
        if self.postgres is None:
            with duckdb.connect() as connection:
                connection.execute(
                    f"create table raw as select cast(? as {type_name}) cell", [cell]
                )
                ((value,),) = connection.execute(query).fetchall()
            return value
        with self.postgres.transaction(force_rollback=True), self.postgres.cursor() as cursor:
            text = sql.Literal(cell)
            made = f"create temp table raw as select cast({{}} as {type_name}) as cell"
            cursor.execute(sql.SQL(made).format(text))  # type: ignore[arg-type]
            cursor.execute(query.encode(), binary=True)
            ((value,),) = cursor.fetchall()
        return value


def _by_kind(compiled: str) -> dict[tuple[str, str], str]:
    keys = [(source, kind) for source in SOURCES for kind in KINDS]
    return dict(zip(keys, compiled.split(";")[1:], strict=True))


@pytest.fixture(scope="module")
def readers(
    worker: Worker, tmp_path_factory: pytest.TempPathFactory, databases: Databases
) -> Iterator[dict[str, Readers]]:
    folder = tmp_path_factory.mktemp("readers")
    compile_inline = ("--quiet", "compile", "--inline", _INLINE)
    on_duckdb = Worked(worker, folder).builds(*compile_inline)
    address = databases()
    on_postgres = Build("postgres", folder, address).dbt(*compile_inline)
    with connect(address) as connection:
        # What a database or a role may have set; each changes what is printed.
        connection.execute("set extra_float_digits = 0; set datestyle = 'SQL, DMY'")
        yield {
            "duckdb": Readers(_by_kind(on_duckdb)),
            "postgres": Readers(_by_kind(on_postgres), connection),
        }


GIVEN = table("casts")
# Digits without end, of which few count.
LONG_READ = [
    ("double", f"0.{'0' * 330}1e320", "1e-11"),
    ("double", f"1{'0' * 300}", "1e+300"),
]
LONG_REFUSED = [f"1{'0' * 301}", f"0.{'0' * 301}1", "9" * 400, f"0.{'0' * 20_000}1"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "cell", "value"), [*GIVEN["read"], *LONG_READ])
def test_a_cell_is_read(
    readers: dict[str, Readers], engine: str, kind: str, cell: str, value: str
) -> None:
    for source in SOURCES:
        assert str(readers[engine].read(source, kind, cell)) == value


def assert_refused(readers: Readers, source: str, kind: str, *cell: str) -> None:
    with pytest.raises((duckdb.Error, psycopg.Error)) as caught:
        readers.read(source, kind, *cell)
    assert f"medeval: cannot read {source}.cell as " in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_is_refused(readers: dict[str, Readers], engine: str, kind: str) -> None:
    for cell in [*GIVEN["refused"][kind], *(LONG_REFUSED if kind == "double" else [])]:
        for source in SOURCES:
            assert_refused(readers[engine], source, kind, cell)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cell", ["", "NA", "nan", "NULL", "<NA>", "NaN"])
def test_only_in_mimic_iii_a_word_is_a_missing_cell(
    readers: dict[str, Readers], engine: str, kind: str, cell: str
) -> None:
    assert readers[engine].read("mimic3.b", kind, cell) is None
    if cell == "":
        assert readers[engine].read("mimic4_hosp.b", kind, cell) is None
    else:
        assert_refused(readers[engine], "mimic4_hosp.b", kind, cell)


@pytest.mark.parametrize(("kind", "type_name", "cell", "value"), GIVEN["typed"])
def test_a_column_of_postgres_that_has_a_type_is_cast(
    readers: dict[str, Readers], kind: str, type_name: str, cell: str, value: str
) -> None:
    for source in SOURCES:
        assert str(readers["postgres"].read(source, kind, cell, type_name)) == value


@pytest.mark.parametrize(("kind", "type_name", "cell"), GIVEN["typed_refused"])
def test_a_typed_cell_that_is_out_of_range_is_refused(
    readers: dict[str, Readers], kind: str, type_name: str, cell: str
) -> None:
    for source in SOURCES:
        assert_refused(readers["postgres"], source, kind, cell, type_name)


def test_a_typed_nan_is_missing_only_in_mimic_iii(readers: dict[str, Readers]) -> None:
    for kind in ("integer", "double"):
        typed = ("NaN", "double precision")
        assert readers["postgres"].read("mimic3.b", kind, *typed) is None
        assert_refused(readers["postgres"], "mimic4_hosp.b", kind, *typed)
