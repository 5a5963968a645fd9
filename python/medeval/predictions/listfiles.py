"""The listfile of a task when the user names none: the warehouse's test rows."""

from __future__ import annotations

from dataclasses import dataclass

from medeval.builds import newest_build, read_source
from medeval.mimic3.export import LISTFILES, RowOrder, order_by, phenotype_names
from medeval.predictions.files import Source, source_of
from medeval.predictions.tasks import Kind, Task
from medeval.warehouse import Warehouse, schema_name

FLOOR = "mimic3"


@dataclass(frozen=True)
class WarehouseListfile:
    """Test rows as a file, and whether the data behind them are open."""

    source: Source
    data_class: str


def warehouse_listfile(task: Task, warehouse: Warehouse) -> WarehouseListfile:
    """Return the test rows of a task, byte for byte as `export` writes them.

    The rows take the way through the listfile's text on purpose: truth and hours are then rounded
    as in the file that a model was given, and the hash is that of the exported file.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    listfile = LISTFILES[task.name]
    tables = [listfile.table, "mimic3_data_class", "mimic3_source_tables"]
    labelled = task.kind is Kind.LABELS
    newest_build(warehouse, FLOOR, [*tables, "phenotypes"] if labelled else tables)
    header = listfile.header
    if labelled:
        header = ",".join([header, *phenotype_names(warehouse)])
    ordered = order_by(RowOrder.SORTED, has_sample_times=listfile.has_sample_times)
    batches = warehouse.select(
        listfile.columns,
        schema_name(FLOOR),
        listfile.table,
        f"where partition = $1 {ordered}",
        ("test",),
    )
    text = "".join([f"{header}\n", *("".join(listfile.lines(batch)) for batch in batches)])
    name = f"{listfile.table} (test rows, target {warehouse.target.name})"
    return WarehouseListfile(
        source_of(name, text.encode()), read_source(warehouse, FLOOR)["data_class"]
    )
