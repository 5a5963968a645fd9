"""The MIMIC-III floor: five tasks' listfiles and, on request, the episodes' time series."""

from __future__ import annotations

from collections.abc import Callable

from medeval.exporting.builds import newest_build
from medeval.exporting.files import MANIFEST, ExportFolder
from medeval.exporting.floor import Floor, Request
from medeval.exporting.listfiles import LISTFILES, write_listfiles
from medeval.exporting.manifest import make_manifest
from medeval.exporting.ordering import Layout, Order
from medeval.exporting.progress import progress
from medeval.exporting.timeseries import DIAGNOSES, EPISODES, write_episodes, write_timeseries
from medeval.exporting.timeseries import TABLE as TIMESERIES_TABLE
from medeval.exporting.timeseries import TASK as TIMESERIES
from medeval.warehouse import Warehouse, schema_name

NAME = "mimic3"
ALIASES = {
    "ihm": "in_hospital_mortality",
    "decomp": "decompensation",
    "los": "length_of_stay",
    "pheno": "phenotyping",
}


def is_built(warehouse: Warehouse) -> bool:
    """Tell whether any listfile's table is there; an export then asks for all it needs."""
    return any(
        warehouse.relation_exists(schema_name(NAME), listfile.table)
        for listfile in LISTFILES.values()
    )


def export(warehouse: Warehouse, request: Request) -> list[str]:
    """Write exports/mimic3: all files asked for and the manifest, or nothing.

    The benchmark's layout has a folder of its own, exports/mimic3-benchmarks, and always has the
    time series.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    build = newest_build(warehouse, NAME, _tables(request))
    report = []
    orders: dict[str, Order | None] = {}
    is_reference = request.layout is Layout.REFERENCE
    with ExportFolder(request.out / (request.layout if is_reference else NAME)) as folder:
        for task in request.tasks:
            listfile = LISTFILES[task]
            with progress(task, _counter(warehouse, listfile.table)) as advance:
                counts = write_listfiles(
                    warehouse, folder, listfile, request.order, request.layout, advance
                )
            orders[task] = request.order
            report.append(
                f"{folder.folder / request.layout.folder(task)}: {counts['train']:,} train,"
                f" {counts['test']:,} test"
            )
        if request.timeseries or is_reference:
            own_series = request.tasks if is_reference else ()
            with progress(TIMESERIES, _counter(warehouse, TIMESERIES_TABLE)) as advance:
                episodes = write_timeseries(warehouse, folder, advance, own_series)
            if is_reference:
                write_episodes(warehouse, folder)
            orders[TIMESERIES] = None
            report.append(f"{folder.folder / 'root'}: {episodes:,} episodes")
        manifest = make_manifest(warehouse, NAME, build, folder, orders, "patients_md5")
        folder.publish(manifest)
        report.append(f"{folder.folder / MANIFEST}: data class {manifest['data_class']}")
    return report


def _tables(request: Request) -> list[str]:
    tables = [LISTFILES[task].table for task in request.tasks]
    tables += ["mimic3_data_class", "mimic3_source_tables"]
    if "phenotyping" in request.tasks:
        tables.append("phenotypes")
    if request.timeseries or request.layout is Layout.REFERENCE:
        tables.append(TIMESERIES_TABLE)
    if request.layout is Layout.REFERENCE:
        tables += [EPISODES, DIAGNOSES]
    return tables


def _counter(warehouse: Warehouse, table: str) -> Callable[[], int]:
    return lambda: warehouse.count(schema_name(NAME), table)


FLOOR = Floor(NAME, tuple(LISTFILES), ALIASES, is_built, export)
