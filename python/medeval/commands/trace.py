"""The command `trace`: from a score back to the rows of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.builds import Build, newest_build, open_built
from medeval.commands.report import read_reports
from medeval.errors import UserError
from medeval.export import export_of
from medeval.files import sha256
from medeval.tasks import registry
from medeval.terminal import show_results, shown, table_of, warn
from medeval.warehouse import Warehouse, flat, schema_name

if TYPE_CHECKING:
    from medeval.models.about import About, SourceRows

# So many names stand in a cell; JSON has all.
_NAMED = 4
_BUILD = ("invocation_id", "started_at", "source_kind", "source_location")


def trace(**given: Any) -> None:
    """Show an item's score and the rows of the source behind it.

    The rows are named by their keys; no text is shown. The run has to be scored first.

    python -m medeval trace runs/20260102T030405Z-cdm-demo 20000001
    """
    run, item = given["run"], given["item"]
    (report,) = read_reports([run])
    results = report.detailed_results
    if len(results) != 1 or "sha256" not in (results[0].metadata.get("data") or {}):
        raise UserError(f"{run} is no run of one task whose data are known by their SHA-256.")
    (result,) = results
    scores = registry.task_class(result.task_id).item_scores(run, result, item)
    if not scores:
        near = ", ".join(get_close_matches(item, result.item_ids(), 3, 0))
        raise UserError(f"{run} has no item {item!r}." + (f" The nearest: {near}." if near else ""))
    about, data = registry.about(result.task_id), result.metadata["data"]
    content: dict[str, Any] = {"run": str(run), "task": result.task_id, "item": item}
    content |= {"scores": scores, "data": data, "build": None, "sources": []}
    sentences = [f"data: SHA-256 {data['sha256']}, {data.get('data_class', 'credentialed')}"]
    # One below the other, of several samples beside each other.
    cells = [{name: _cell(value) for name, value in one.items()} for one in scores]
    is_one = len(cells) == 1
    head = ("", "value") if is_one else list(cells[0])
    values = cells[0].items() if is_one else [[*one.values()] for one in cells]
    tables = [table_of(f"{result.task_id}: {item}", head, values, names=1)]
    if about.benchmark:
        build, content["sources"] = _from_warehouse(about, item, data["sha256"], given)
        content["build"] = {name: getattr(build, name) for name in _BUILD}
        of = f"{build.source_location} ({build.source_kind})"
        sentences.append(f"warehouse: {of}, build {build.invocation_id} of {build.started_at}")
        rows = [
            (one["source"], f"{len(one['rows']):,}", ", ".join(one["names"]), _listed(one["rows"]))
            for one in content["sources"]
        ]
        columns = ("source", "rows", "named by", "such as")
        tables.append(table_of("rows of the source", columns, rows))
    show_results(tables, sentences, content=content, as_json=given["json"])


def _cell(value: Any) -> str:
    return shown(value) if isinstance(value, float | None) else str(value)


def _listed(rows: Sequence[Mapping[str, Any]]) -> str:
    known = [[_cell(value) for value in one.values() if value is not None] for one in rows[:_NAMED]]
    first = map(" ".join, known)
    return ", ".join([*first, *(["..."] if len(rows) > _NAMED else [])])


def _from_warehouse(
    about: About, item: str, digest: str, given: Mapping[str, Any]
) -> tuple[Build, list[dict[str, Any]]]:
    """Return the build of the tables that an item is in, and its rows by table.

    Raises:
        UserError: they are not there, or the item is in none of them.
    """
    folder = given["exports"] / about.benchmark
    export = export_of(folder, digest)
    usual = [one.mode for one in about.sources if one.mode][:1]
    modes = {task.get("mode") for task in export.get("tasks", {}).values()} or {*usual}
    with open_built(about.benchmark, given["target"], as_built=given["as_built"]) as warehouse:
        build = newest_build(warehouse, about.benchmark)
        sources = [
            one.model_dump(include={"source", "table", "names"})
            | {"rows": _rows(warehouse, about, item, one)}
            for one in about.sources
            if not one.mode or one.mode in modes
        ]
    if not sources[0]["rows"]:
        origin = build.source_location
        raise UserError(f"The warehouse has no {about.item} {item}: it was built of {origin}.")
    source = Path(build.source_location)
    if not export and not (source.is_file() and sha256(source) == digest):
        warn(
            f"no export in {folder} has the data of this run, so the tables may be of others; name"
            " the folder of exports with --exports."
        )
    elif export and (made := export["build"])["invocation_id"] != build.invocation_id:
        warn(f"the tables were built again since the export, by {made['invocation_id']}")
    return build, sources


def _rows(warehouse: Warehouse, about: About, item: str, of: SourceRows) -> list[dict[str, Any]]:
    columns = ", ".join(of.names)
    rest = f"where cast({about.item} as varchar) = $1 order by {columns}"
    schema = schema_name(about.benchmark)
    found = flat(warehouse.select([f"distinct {columns}"], schema, of.table, rest, (item,)))
    return [
        {
            name: value if isinstance(value, int | float | None) else str(value)
            for name, value in zip(of.names, row, strict=True)
        }
        for row in found
    ]
