"""The database that a target of profiles.yml names: found as dbt finds it, and opened for reading.

DuckDB's file, PostgreSQL and Spark answer the same SQL here. Rows come as plain tuples, a batch
at a time, so that a table larger than memory can be read; the caller asks for the order with
`order by`. What an engine says of an error passes only as far as it shows no data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.sources import project_root, read_yaml

# Engines and readers of the profile are imported where they are needed: `--help` needs none.
if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

Row = tuple[Any, ...]
# Returns the next rows of an answer, so many at most.
NextRows = Callable[[int], list[Row]]

_ENGINES = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "spark": "Spark"}
BATCH_ROWS = 20_000
CONNECT_TIMEOUT_SECONDS = 15


# The target


@dataclass(frozen=True)
class Target:
    """One output of profiles.yml: its name, its adapter type and its rendered settings.

    `as_built`: what was built there is taken, though another source is named now.
    """

    name: str
    type: str
    settings: dict[str, Any]
    as_built: bool = False


def load_target(
    name: str | None = None, root: Path | None = None, *, as_built: bool = False
) -> Target:
    """Render profiles.yml with the environment and return one target of it.

    Args:
        name: the target; None takes the profile's default (``MEDEVAL_TARGET``).
        root: the project's folder; None searches upwards from the current one.
        as_built: see `Target`.

    Raises:
        UserError: an unknown target, or a setting that cannot be rendered.
    """
    from jinja2 import Environment, StrictUndefined, TemplateError

    root = root or project_root()
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
    environment.filters["as_number"] = str.strip

    def env_var(name: str, default: str | None = None) -> str:
        value = os.environ.get(name, default)
        if value is None:
            raise UserError(f"The environment variable {name} is not set; profiles.yml needs it.")
        return value

    def render(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: render(inner) for key, inner in value.items()}
        if isinstance(value, str) and "{{" in value:
            text = environment.from_string(value).render(env_var=env_var)
            if "as_number" not in value:
                return text
            if not re.fullmatch(r"\d+", text):
                # The text is not shown: it may be a password in the wrong place.
                raise ValueError(f"{value.strip(' {}')} is no number")
            return int(text)
        return value

    try:
        profile = read_yaml(root / "profiles.yml")["medeval"]
        chosen = name or str(render(profile["target"]))
        outputs = profile["outputs"]
        if chosen not in outputs:
            raise UserError(f"Unknown target {chosen!r}. profiles.yml has: {', '.join(outputs)}.")
        settings = render(outputs[chosen])
    except (TemplateError, ValueError) as error:
        raise UserError(f"profiles.yml cannot be rendered: {error}") from error
    return Target(chosen, settings["type"], settings, as_built)


# What may be said of an error

_ERRORS = toml_beside(__file__, "engine_errors.toml")
_ADVICE = "No row is skipped. Check the file against SHA256SUMS and download it again, or mend it."
_NOT_SHOWN = "What the engine says of it may quote the data, so it is not shown."


def shown(error: Exception) -> str:
    """Return what may be said of an error that duckdb, psycopg, psycopg2 or pyspark raised.

    An engine's sentence about data holds data: the broken line, the value of a cast, the key that
    stands twice. So nothing of such a sentence passes but a file that exists, a line number, a name
    that the engine gives apart, and a kind of fault from the lists here. A sentence about the
    statement, which the engine makes before it reads a row, or about a resource passes as it is.
    So it is the sentence of `stop_with`, or the engine's own about the statement, or the file and
    line, or the table, column and constraint, that are known to be at fault and the kind of fault.
    """
    message, diagnosis = str(error), getattr(error, "diag", None)
    of_spark = getattr(error, "getSqlState", lambda: None)()
    state = getattr(diagnosis, "sqlstate", None) or of_spark
    primary = getattr(diagnosis, "message_primary", None) or message
    if of_spark:
        # Behind its first lines stands the plan.
        primary = re.split(r";?\n| SQLSTATE: ", message.strip())[0]
    if own := re.match(_ERRORS["own"], primary):
        return own["sentence"].strip()
    if getattr(diagnosis, "statement_position", None):
        return message
    # Spark's parser has the state of what a function cannot parse.
    by_name = not state or of_spark
    if by_name and re.fullmatch(_ERRORS["exceptions"], type(error).__name__):
        return primary
    if state and re.fullmatch(_ERRORS["states"], state):
        return primary
    fault = kind_of_fault(error)
    files = (path for path in re.findall(_ERRORS["file"], message) if Path(path).is_file())
    if file := next(files, None):
        place = ""
        if found := re.search(_ERRORS["row"], message):
            # The engine counts the header, and takes no line end in quotes for one.
            place = f", row {int(found[1]) - 1} (the header not counted)"
        elif found := re.search(_ERRORS["line"], message):
            place = f", line {found[1]}"
        return f"{file}{place}: {fault}. {_ADVICE}"
    for what in ("table", "column", "constraint"):
        name = getattr(diagnosis, f"{what}_name", None)
        fault += f", {what} {name}" if name else ""
    return f"{fault}. {_NOT_SHOWN}"


def kind_of_fault(error: Exception) -> str:
    """Return the kind of an error about data: in words of our own, or the exception's name."""
    for pattern, words in _ERRORS["faults"]:
        # The last: an engine quotes the line first and then says what is wrong with it.
        for found in list(re.finditer(pattern, str(error)))[-1:]:
            return str(words.format(*found.groups()))
    name = type(error).__name__.removesuffix("Exception").removesuffix("Error")
    return f"{re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name).lower()} error".strip()


# The databases

# What of a dbt profile libpq knows.
_SETTINGS = (
    *("host", "port", "user", "password", "dbname"),
    *("sslmode", "sslcert", "sslkey", "sslrootcert"),
)


def connect(target: Target, *, read_only: bool = False) -> Connection:
    """Open a connection.

    Args:
        target: a PostgreSQL target.
        read_only: whether the server refuses to write; all queries then see one state.

    Raises:
        UserError: the server cannot be reached or refuses.
    """
    import psycopg

    settings = target.settings
    options: dict[str, Any] = {name: settings[name] for name in _SETTINGS if settings.get(name)}
    if read_only:
        options["options"] = "-c default_transaction_read_only=on"
    try:
        connection = psycopg.connect(
            **options,
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            client_encoding="UTF8",
            application_name="medeval",
        )
    except psycopg.Error as error:
        named = ("host", "port", "dbname", "user")
        place = ", ".join(f"{key} {options[key]}" for key in named if key in options)
        # `from None`: the driver's own exception may hold what was taken out of the message. The
        # place may hold it too, where an address was given as the host.
        raise UserError(
            _without_password(target, f"Cannot connect to PostgreSQL ({place}): {error}")
            + " Check PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE."
        ) from None
    if read_only:
        connection.read_only = True
        connection.server_cursor_factory = psycopg.RawServerCursor
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return connection


def shown_line(target: Target, error: Exception) -> str:
    """Return `shown` in one line, without the password, also in an address."""
    return _without_password(target, shown(error).strip().split("\n")[0])


def _without_password(target: Target, text: str) -> str:
    line = re.sub(r"://[^@\s]*@", "://***@", " ".join(text.split()))
    password = str(target.settings.get("password") or "")
    return line.replace(password, "***") if password else line


def schema_name(name: str) -> str:
    """Return the schema that dbt builds `name` in (``MEDEVAL_SCHEMA_PREFIX`` goes in front)."""
    return os.environ.get("MEDEVAL_SCHEMA_PREFIX", "") + name


class Warehouse(AbstractContextManager["Warehouse"]):
    """An open, read-only connection to one target of profiles.yml; all queries see one state.

    While DuckDB's file is open no dbt run can change it; on PostgreSQL it is one transaction.
    """

    def __init__(
        self, target: Target, connection: Any, error: type[Exception] | tuple[type[Exception], ...]
    ) -> None:
        self.target = target
        self._connection = connection
        self._error = error
        self._cursors = 0
        # Of the names of tables: medeval.duckdb also holds a schema `medeval`.
        ((self._database,),) = flat(self.query("select current_database()"))

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[list[Row]]:
        """Run one statement and yield its rows in batches; no result is held as a whole.

        Args:
            sql: the statement; parameters are written ``$1``, ``$2``, on both engines.
            parameters: their values.

        Raises:
            UserError: the engine refused the statement.
        """
        try:
            with self._answered(sql, parameters) as next_rows:
                while batch := next_rows(BATCH_ROWS):
                    yield batch
        except self._error as error:
            told = shown_line(self.target, error)
            raise UserError(f"{_ENGINES[self.target.type]} stopped with: {told}") from None

    @contextmanager
    def _answered(self, sql: str, parameters: Sequence[object]) -> Iterator[NextRows]:
        """Run one statement, and yield what returns the rows of its answer."""
        self._cursors += 1
        # PostgreSQL is asked for a batch a trip. Its doubles are the stored bits: no text stands
        # between the table and the file.
        named = {"name": f"medeval_{self._cursors}", "binary": True}
        options = named if self.target.type == "postgres" else {}
        with self._connection.cursor(**options) as cursor:
            cursor.execute(sql, [*parameters])
            yield cursor.fetchmany

    def server_version(self) -> str:
        """Return the version of the engine that answers, without a distributor's remark."""
        is_postgres = self.target.type == "postgres"
        asked = "current_setting('server_version')" if is_postgres else "version()"
        ((version,),) = flat(self.query(f"select {asked}"))
        return str(version).split(" ")[0].removeprefix("v")

    def relation(self, schema: str, table: str) -> str:
        """Return the quoted, fully qualified name of a table."""
        parts = (str(self._database), schema, table)
        return ".".join('"' + part.replace('"', '""') + '"' for part in parts)

    def select(
        self,
        columns: Sequence[str],
        schema: str,
        table: str,
        rest: str = "",
        parameters: Sequence[object] = (),
    ) -> Iterator[list[Row]]:
        """Yield columns of one table in batches; `rest` is what follows the table's name."""
        relation = self.relation(schema, table)
        # Names come from the code and values go in as parameters; nothing of a user's is in here.
        sql = f"select {', '.join(columns)} from {relation} {rest}"  # noqa: S608
        return self.query(sql, parameters)

    def count(self, schema: str, table: str) -> int:
        """Return the number of rows of a table."""
        (row,) = flat(self.select(["count(*)"], schema, table))
        return int(row[0])

    def columns(self, schema: str, table: str) -> list[str]:
        """Return the column names of a table in their order; none if there is no such table."""
        found = self.query(
            "select cast(column_name as varchar) from information_schema.columns"
            " where table_catalog = current_database() and table_schema = $1 and table_name = $2"
            " order by ordinal_position",
            (schema, table),
        )
        return [str(name) for (name,) in flat(found)]

    def __exit__(self, *failure: object) -> None:
        self._connection.close()


def flat(batches: Iterator[list[Row]]) -> list[Row]:
    """Return all rows of a small result."""
    return [row for batch in batches for row in batch]


def open_warehouse(target: Target, root: Path, *, build_command: str = "dbt build") -> Warehouse:
    """Open the database that a dbt target names.

    Args:
        target: from `load_target`.
        root: the project's folder, where dbt runs.
        build_command: what to run if there is no warehouse yet, for the message.

    Raises:
        UserError: there is no such database, it is in use, or it cannot be reached.
    """
    if target.type not in _ENGINES:
        engines = ", ".join(_ENGINES)
        raise UserError(f"Target {target.name!r} is {target.type!r}; only {engines} can be read.")
    if target.type == "spark":
        from medeval.spark import open_spark

        return open_spark(target)
    return Warehouse(target, *_opened(target, root, build_command, read_only=True))


class WritableWarehouse(Warehouse):
    """A connection with one transaction, which `write_transaction` keeps or undoes."""

    @contextmanager
    def _answered(self, sql: str, parameters: Sequence[object]) -> Iterator[NextRows]:
        """See `Warehouse`."""
        # A cursor of DuckDB would be a connection of its own, outside the transaction.
        done = self._connection.execute(sql, [*parameters])
        yield lambda count: done.fetchmany(count) if done.description else []

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one statement and return its rows, if it has any; see `query`."""
        return flat(self.query(sql, parameters))

    def lock(self, relation: str) -> None:
        """Let nobody else write to a table until the transaction ends; DuckDB has one writer."""
        if self.target.type == "postgres":
            self.execute(f"lock table {relation} in share row exclusive mode")


@contextmanager
def write_transaction(
    target: Target, root: Path, build_command: str
) -> Iterator[WritableWarehouse]:
    """Open the database of a target for one transaction, undone by whatever is raised in it.

    Args:
        target: as `open_warehouse` takes it, as are the others.
        root: the project's folder.
        build_command: for the message.

    Raises:
        UserError: as `open_warehouse`.
    """
    if target.type == "spark":
        raise UserError("Runs are published to DuckDB or PostgreSQL; Spark has no transaction.")
    connection, error = _opened(target, root, build_command, read_only=False)
    if target.type == "postgres":
        import psycopg

        connection.cursor_factory = psycopg.RawCursor
    else:
        connection.begin()
    warehouse = WritableWarehouse(target, connection, error)
    with warehouse:
        yield warehouse
        connection.commit()


def _opened(
    target: Target, root: Path, build_command: str, *, read_only: bool
) -> tuple[Any, type[Exception]]:
    """Return a connection to PostgreSQL or DuckDB, and what its errors are."""
    if target.type == "postgres":
        import psycopg

        return connect(target, read_only=read_only), psycopg.Error
    import duckdb

    # dbt takes a relative path from the current folder, and so does this.
    path = Path(target.settings["path"])
    if not path.is_absolute() and not path.is_file() and (root / path).is_file():
        raise UserError(f"There is no {path} here, but in {root}: run the command there.")
    if not path.is_file():
        raise UserError(f"There is no warehouse {path}. Run `{build_command}` first.")
    config = dict(target.settings.get("config_options", {}))
    try:
        return duckdb.connect(path, read_only=read_only, config=config), duckdb.Error
    except duckdb.Error as error:
        message = str(error).strip().split("\n")[0]
        if "lock" in message:
            what = "is in use by another process, probably dbt"
            raise UserError(
                f"The warehouse {path} {what}; wait for its end. ({message})"
            ) from error
        raise UserError(f"The warehouse {path} cannot be opened: {message}") from error
