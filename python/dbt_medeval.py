"""The project's plugin of dbt, for every engine.

It checks the variables, gives the macros the functions of `medeval` (`modules.medeval`), leaves out
the tests of what is not built, and sees to it that what dbt writes shows no data and is private.
dbt imports every module whose name begins with `dbt_` before it opens a database, whatever the
target. Only dbt's first lines in `dbt.log`, its version and settings, are written before that.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

from dbt.adapters.factory import FACTORY, get_adapter
from dbt.context import base
from dbt.flags import get_flags
from dbt.plugins.manager import dbtPlugin
from dbt.task.show import ShowTask
from dbt.task.test import TestRunner, TestTask
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import CompilationError, DbtRuntimeError

import medeval
from medeval.builds import BuildLog, Graph, read_sources, source_metas, untestable
from medeval.duckdb_files import Table, attach, database_alias, empty_query, source_views
from medeval.errors import UserError
from medeval.files import UMASK, exposed, make_private
from medeval.published import create_published
from medeval.sources import (
    PACKAGE,
    VARIABLES,
    Place,
    check_schema,
    check_variables,
    columns_of,
    database_of,
    find_project,
    floor_place,
    is_optional,
    reads_tables,
    source_place,
    variables_of,
    variables_set,
)
from medeval.spark import adapt_clients, parquet_views, spark_columns
from medeval.tasks.cdm.build_checks import check_absent_tables, check_unnamed_list
from medeval.warehouse import kind_of_fault, schema_name, shown


class Plugin(dbtPlugin):
    """Begins before dbt opens a database."""

    def initialize(self) -> None:
        """Begin where the project or one of its packages is medeval; others are left alone."""
        flags = get_flags()  # type: ignore[no-untyped-call]
        project = Path(flags.PROJECT_DIR).absolute()
        package = find_project(project)
        if package is None:
            return
        os.umask(UMASK)
        _collect_seldom()
        log_folder = getattr(flags, "LOG_PATH", None) or "logs"
        target_folder = getattr(flags, "TARGET_PATH", None) or project / "target"
        make_private(exposed(Path(log_folder), "dbt.log*"))
        make_private(exposed(Path(target_folder)))
        for plugin in FACTORY.plugins.values():
            _filter_errors(plugin.adapter.ConnectionManager)
            if plugin.adapter.type() == "spark":
                adapt_clients()
                _keep_ansi(plugin.credentials)
        check_variables(getattr(flags, "VARS", None) or {}, project, package)
        check_schema(schema_name("medeval"), "with MEDEVAL_SCHEMA_PREFIX")
        _give_functions(package)
        _leave_out(TestTask, _untestable)
        _leave_out(ShowTask, _tests_of_previews)
        _name_broken_constraints()


def _keep_ansi(credentials: Any) -> None:
    """Let a cast that cannot succeed stop Spark, as on the other engines.

    dbt-spark switches that off, whatever the profile says: the cell would be silently missing.
    """
    make = getattr(credentials.__post_init__, "of_dbt", credentials.__post_init__)

    def keep(self: Any) -> None:
        make(self)
        self.server_side_parameters["spark.sql.ansi.enabled"] = "true"

    keep.of_dbt = make  # type: ignore[attr-defined]
    credentials.__post_init__ = keep


def _collect_seldom() -> None:
    """Keep Python's collector from what dbt has imported, and let it run seldom.

    What dbt loads and parses stays until it ends, and each full collection walks through all of it:
    a tenth of the time that a build of the demo takes.
    """
    gc.freeze()
    gc.set_threshold(200_000, 100, 1000)


# What macros ask


class Functions:
    """What the macros of `macros/sources` cannot do in SQL."""

    def __init__(self, package: Path) -> None:
        self._package = package

    def named(self) -> dict[str, Any]:
        """Return the functions by the names under which macros call them."""
        of_this_project = (self.source_place, self.is_source_named, self.build_log)
        of_modules = (
            *(attach, database_alias, empty_query, source_views, read_sources),
            *(check_absent_tables, check_unnamed_list, is_empty_by_default, create_published),
            *(database_of, spark_columns, parquet_views),
        )
        functions = {function.__name__: _told(function) for function in of_this_project}
        functions |= {function.__name__: _told(function) for function in of_modules}
        return {
            **functions,
            "floor_place": _told(BuildLog.place),
            "record_start": _told(BuildLog.start),
            "record_end": _told(BuildLog.end),
        }

    def source_place(self, tables: Sequence[Table], graph: Graph) -> Place:
        """Return where a source is.

        Raises:
            UserError: a folder and a database are named; or it is nowhere and may not be.
        """
        meta = tables[0]["config"]["meta"]
        of_floor = source_metas(graph, meta["floor"])
        place = source_place(meta, of_floor, self._package)
        if place.kind == "absent" and not all(is_optional(table) for table in tables):
            raise UserError(
                f"{variables_of([meta])[0]} is not set, though"
                f" {' and '.join(variables_set(of_floor))} is. Name the folder of"
                f" {tables[0]['source_name']} too: real and synthetic rows do not mix."
            )
        return place

    def is_source_named(self, tables: Sequence[Table], graph: Graph) -> bool:
        """Tell whether a variable names a folder or file of a source's benchmark."""
        return bool(variables_set(source_metas(graph, tables[0]["config"]["meta"]["floor"])))

    def build_log(
        self,
        query: Callable[[str], Any],
        relations: Callable[[Sequence[str]], Any],
        adapter: Any,
        table: Any,
        graph: Graph,
        selected: Sequence[str],
        target: Mapping[str, Any],
        value_of: Callable[[str], Any],
        **run: str,
    ) -> BuildLog:
        """Return the log of builds; see `BuildLog`."""
        # By now the project is parsed, which stays until dbt ends: see `_collect_seldom`.
        gc.freeze()
        return BuildLog(
            query=query,
            relations=relations,
            adapter=adapter,
            table=table,
            graph=graph,
            selected=selected,
            target=target,
            run={**run, "project_version": medeval.__version__},
            value_of=value_of,
            place_of=partial(self._floor_place, graph, target),
        )

    def _floor_place(
        self,
        graph: Graph,
        target: Mapping[str, Any],
        floor: str,
        newest: Mapping[str, Any] | None,
    ) -> dict[str, str]:
        """Return the kind and the locations of what a benchmark is built of.

        Args:
            graph: of dbt.
            target: of dbt.
            floor: the benchmark.
            newest: the last build of it, if there is one.

        Raises:
            UserError: the demo would be built over real data because a variable is not set in this
                shell; or the variables contradict each other.
        """
        metas = source_metas(graph, floor)
        if reads_tables(target["type"], metas):
            schemas = [
                f"{database_of(target)}.{table['schema']}"
                for table in graph["sources"].values()
                if table["package_name"] == PACKAGE and table["config"]["meta"]["floor"] == floor
            ]
            kind, places = "schema" if schemas else "none", [*dict.fromkeys(schemas)]
        else:
            kind, places = floor_place(metas, self._package)
            if kind == "demo" and newest and newest["source_kind"] != "demo":
                raise UserError(
                    f"This warehouse holds {floor} of {newest['source_location']}, and no source is"
                    " named now, so the synthetic demo would take its place. Name the source"
                    f" ({' or '.join(variables_of(metas[:1]))}), or build the demo into a file of"
                    " its own: MEDEVAL_DUCKDB=demo.duckdb."
                )
        return {"kind": kind, "location": "; ".join(places)}


def is_empty_by_default(table: Table, there: Mapping[str, Sequence[str]], database: str) -> bool:
    """Tell whether a table of PostgreSQL is to be made, empty: one of the extracts, which are ours.

    Args:
        table: of a source.
        there: the columns of each relation of its schema.
        database: for messages.

    Raises:
        UserError: any other table that is not there, or one without a column that is read.
    """
    name, meta = f"{table['schema']}.{table['name']}", table["config"]["meta"]
    if table["name"] in there:
        for column in columns_of(table):
            if column not in there[table["name"]]:
                raise UserError(
                    f'The table {name} has no column "{column}". If `load` has made it, make it'
                    f" anew: `python -m medeval load {meta['load_kind']} --replace`."
                )
        return False
    if meta["demo"]:
        raise UserError(
            f'The table {name} is not in the database "{database}". Load it with `python -m medeval'
            f" load {meta['load_kind']} DIR`, or name the schema that holds it: --vars"
            f" '{{{table['source_name']}_schema: ...}}'."
        )
    return True


def _give_functions(package: Path) -> None:
    """Let macros call them as `modules.medeval`, beside dbt's own modules."""
    of_dbt = getattr(base.get_context_modules, "of_dbt", base.get_context_modules)

    functions = Functions(package).named()

    def get_context_modules() -> dict[str, Any]:
        return {**of_dbt(), "medeval": functions}

    get_context_modules.of_dbt = of_dbt  # type: ignore[attr-defined]
    base.get_context_modules = get_context_modules


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let dbt show a mistake of the user as its own macros do."""

    @wraps(function)
    def called(*arguments: Any, **settings: Any) -> Any:
        try:
            return function(*arguments, **settings)
        except UserError as error:
            raise CompilationError(str(error)) from None

    return called


# Which tests run


def _leave_out(task: Any, unwanted: Callable[[Any, set[str]], set[str]]) -> None:
    """Let a command of dbt leave nodes out of those that are selected.

    Args:
        task: the class of the command.
        unwanted: returns them, given the task and the selected nodes.
    """
    make = getattr(task.get_node_selector, "of_dbt", task.get_node_selector)

    def get_node_selector(self: Any) -> Any:
        selector = make(self)
        filter_selection = selector.filter_selection

        def wanted(selected: set[str]) -> set[str]:
            nodes: set[str] = filter_selection(selected)
            return nodes - unwanted(self, nodes)

        selector.filter_selection = wanted
        return selector

    get_node_selector.of_dbt = make  # type: ignore[attr-defined]
    task.get_node_selector = get_node_selector


def _tests_of_previews(_: Any, selected: set[str]) -> set[str]:
    """Return the tests of previewed models: dbt would run them and show nothing of them."""
    tests = {node for node in selected if node.split(".")[0] in ("test", "unit_test")}
    return tests if tests != selected else set()


def _untestable(task: Any, tests: set[str]) -> set[str]:
    """Return the tests that read tables that were never built, and say which benchmarks' they are.

    dbt would count each of them as an error of its own.

    Raises:
        DbtRuntimeError: there are no others.
    """
    adapter = get_adapter(task.config)
    with adapter.connection_named("medeval"):
        relations = adapter.execute_macro("existing_relations", macro_resolver=task.manifest)
    there = {(row[0], row[1]) for row in relations}
    left_out, built = untestable(task.manifest.flat_graph, tests, there)
    if left_out and not built:
        raise DbtRuntimeError(
            f"The tests of {' and '.join(left_out)} read tables that were never built: run `dbt"
            f" build --select {' '.join(left_out)}`."
        )
    for floor in left_out:
        said = f"{floor} is not built, so its tests are left out (`dbt build --select {floor}`)."
        fire_event(Note(msg=said))
    return {test for of_floor in left_out.values() for test in of_floor}


# What failed tests say


def _name_broken_constraints() -> None:
    """Let the message of a failed `meets_constraints` say how many rows break what.

    It is one test of many columns, and its name tells none of them.
    """
    runner: Any = TestRunner
    build = getattr(runner.build_test_run_result, "of_dbt", runner.build_test_run_result)

    def build_test_run_result(self: Any, test: Any, result: Any) -> Any:
        built = build(self, test, result)
        metadata = getattr(test, "test_metadata", None)
        if built.message and metadata and metadata.name == "meets_constraints":
            failures = f"({test.compiled_code}) as failures"
            query = f"select broken, count(*) from {failures} group by broken order by broken"  # noqa: S608
            _, broken = self.adapter.execute(query, fetch=True)
            counts = [f"{names.rstrip('; ')} ({count})" for names, count in broken.rows]
            built.message += f": {', '.join(counts)}"
        return built

    build_test_run_result.of_dbt = build  # type: ignore[attr-defined]
    runner.build_test_run_result = build_test_run_result


# Errors


def _filter_errors(manager: Any) -> None:
    """Let every error of a connection pass `shown` before dbt's own handler logs and raises it.

    The words are replaced in the error itself, so that no chain of exceptions shows them either.
    """
    if hasattr(manager, "medeval_filters"):
        return
    handle, execute = manager.exception_handler, manager.execute

    @contextmanager
    def exception_handler(self: Any, sql: str, *arguments: Any) -> Iterator[None]:
        with handle(self, sql, *arguments):
            try:
                yield
            except DbtRuntimeError as error:
                # The adapter has wrapped it: a bare RuntimeError, or what came through here before.
                if type(error.__cause__) is RuntimeError:
                    error.msg = kind_of_fault(error.__cause__)
                    error.__cause__.args = (error.msg,)
                cause = error.__cause__
                if isinstance(cause, Exception) and hasattr(cause, "getSqlState"):
                    raise DbtRuntimeError(shown(cause)) from None
                raise
            except Exception as error:
                told = shown(error) + _advice(error)
                error.args = (told,)
                if str(error) != told:  # of Spark, whose words are in no argument
                    raise DbtRuntimeError(told) from None
                raise

    def execute_and_fetch(self: Any, sql: str, *arguments: Any, **settings: Any) -> Any:
        # DuckDB reads the rows of a long answer, and stumbles over them, while they are fetched.
        with self.exception_handler(sql):
            return execute(self, sql, *arguments, **settings)

    manager.exception_handler, manager.execute = exception_handler, execute_and_fetch
    manager.medeval_filters = True


def _advice(error: Exception) -> str:
    """Return what to do where a preview reads what was never built."""
    which = getattr(get_flags(), "WHICH", "")  # type: ignore[no-untyped-call]
    if which not in ("show", "compile") or not _is_missing_table(error):
        return ""
    names = sorted({variable["floor"] for variable in VARIABLES.values()} - {""})
    return (
        "\nA preview reads what is built. Build the benchmark first: `dbt build --select NAME`"
        f" ({', '.join(names)})."
    )


def _is_missing_table(error: Exception) -> bool:
    """Tell whether an engine says that there is no such table, or no such schema."""
    if state := getattr(getattr(error, "diag", None), "sqlstate", None):
        return state in ("42P01", "3F000")
    return type(error).__name__ == "CatalogException" and "does not exist" in str(error)


plugins = [Plugin]
