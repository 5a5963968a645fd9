"""Cases as exports and the published program write them."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

Case = dict[str, Any]
# The export's option for each mode, by what golden files and the oracle call it.
MODES = {"default": "--first-only", "extended": "--extended"}
ORDERS: dict[str, tuple[str, ...]] = {
    "lab_results": ("charttime", "itemid", "sequence_num"),
    "microbiology_events": ("charttime", "test_itemid", "sequence_num"),
    "radiology_reports": ("note_id", "sequence_num"),
}


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file, or of the benchmark of an export's folder."""
    content = (path / "benchmark.json" if path.is_dir() else path).read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    cases: list[Case] = json.loads(text)["cases"]
    return cases


def write_manifest(folder: Path, data_class: str = "open") -> None:
    """Write the manifest of the files of a folder as an export does."""
    files = [
        {"path": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in folder.iterdir()
        if path.is_file()
    ]
    manifest = {"data_class": data_class, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def in_order(case: Case) -> Case:
    """Return a case with its arrays in the order of the export: the reference leaves it open."""

    def key(row: Case, names: tuple[str, ...]) -> list[tuple[bool, Any]]:
        return [(row[name] is None, row[name] or 0) for name in names]

    return case | {
        array: sorted(case[array], key=lambda row, names=names: key(row, names))
        for array, names in ORDERS.items()
    }
