"""The table of laboratory tests by name, beside the cases: a name in a request becomes items by it.

The layout is that of the ancestor's `lab_test_mapping.json`, a test a line.
"""

from __future__ import annotations

import json
from itertools import chain

from medeval.exporting.cdm_rows import SCHEMA
from medeval.exporting.files import ExportFolder
from medeval.warehouse import Warehouse, schema_name

LAB_TESTS = "cdm_lab_test_mapping"
LAB_TEST_MAPPING = "lab_test_mapping.json"
_COLUMNS = ("itemid", "label", "fluid", "category", "result_count", "corresponding_ids")


def write_lab_tests(warehouse: Warehouse, folder: ExportFolder, task: str) -> None:
    """Write the tests as a JSON array, in the order of their ids and names."""
    order = 'order by itemid, label collate "C"'
    rows = warehouse.select(_COLUMNS, schema_name(SCHEMA), LAB_TESTS, order)
    before = "["
    with folder.create(LAB_TEST_MAPPING, task) as file:
        for itemid, label, fluid, category, count, corresponding in chain.from_iterable(rows):
            test = {
                "itemid": itemid,
                "label": label,
                "fluid": fluid,
                "category": category,
                "count": count,
                "corresponding_ids": [int(one) for one in corresponding.split(",")],
            }
            file.write(f"{before}\n{json.dumps(test, ensure_ascii=False)}".encode(), 1)
            before = ","
        file.write(b"\n]\n" if before == "," else b"[]\n", 0)
