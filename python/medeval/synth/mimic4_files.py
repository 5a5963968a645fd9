"""The thirteen files: their columns, and a writer of CSV into gzip."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from medeval.synth.writing import quoted

_NOTE = "note_id subject_id hadm_id note_type note_seq charttime storetime text"
COLUMNS = {
    "hosp/patients": "subject_id gender anchor_age anchor_year anchor_year_group dod",
    "hosp/admissions": "subject_id hadm_id admittime dischtime deathtime admission_type "
    "admit_provider_id admission_location discharge_location insurance language marital_status "
    "race edregtime edouttime hospital_expire_flag",
    "hosp/transfers": "subject_id hadm_id transfer_id eventtype careunit intime outtime",
    "hosp/labevents": "labevent_id subject_id hadm_id specimen_id itemid order_provider_id "
    "charttime storetime value valuenum valueuom ref_range_lower ref_range_upper flag priority "
    "comments",
    "hosp/d_labitems": "itemid label fluid category",
    "hosp/microbiologyevents": "microevent_id subject_id hadm_id micro_specimen_id "
    "order_provider_id chartdate charttime spec_itemid spec_type_desc test_seq storedate storetime "
    "test_itemid test_name org_itemid org_name isolate_num quantity ab_itemid ab_name "
    "dilution_text dilution_comparison dilution_value interpretation comments",
    "hosp/procedures_icd": "subject_id hadm_id seq_num chartdate icd_code icd_version",
    "hosp/d_icd_procedures": "icd_code icd_version long_title",
    "hosp/diagnoses_icd": "subject_id hadm_id seq_num icd_code icd_version",
    "hosp/d_icd_diagnoses": "icd_code icd_version long_title",
    "note/discharge": _NOTE,
    "note/radiology": _NOTE,
    "note/radiology_detail": "note_id subject_id field_name field_value field_ordinal",
}

Cell = str | int | None
Row = Sequence[Cell]


class CsvFile:
    """One ``.csv.gz`` file: a header, then rows.

    The gzip header holds no time and no name, so equal rows are equal bytes.
    """

    def __init__(self, path: Path, columns: Sequence[str], level: int) -> None:
        self.rows = 0
        self._width = len(columns)
        self._raw = path.open("wb")
        self._gzip = gzip.GzipFile("", "wb", compresslevel=level, fileobj=self._raw, mtime=0)
        self._gzip.write((",".join(columns) + "\n").encode())

    def __enter__(self) -> CsvFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._raw:
            self._gzip.close()

    def write_rows(self, rows: Iterable[Row]) -> None:
        """Append rows of Python values; None is an empty cell."""
        lines = []
        for row in rows:
            if len(row) != self._width:
                raise ValueError(f"{self._width} columns expected, {len(row)} given")
            lines.append(",".join(_cell(value) for value in row))
        if lines:
            self._gzip.write(("\n".join(lines) + "\n").encode())
            self.rows += len(lines)

    def write_columns(self, columns: Sequence[pa.Array]) -> None:
        """Append rows given as one array of cells a column; null is an empty cell."""
        if len(columns) != self._width:
            raise ValueError(f"{self._width} columns expected, {len(columns)} given")
        count = len(columns[0])
        if count == 0:
            return
        options = {"null_handling": "replace", "null_replacement": ""}
        last = pc.binary_join_element_wise(columns[-1], pa.scalar("\n"), "", **options)
        lines = pc.binary_join_element_wise(*columns[:-1], last, ",", **options)
        _, offsets, text = lines.buffers()
        end = int(np.frombuffer(offsets, dtype=np.int32)[count])
        self._gzip.write(memoryview(text)[:end])
        self.rows += count


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    return quoted(value) if isinstance(value, str) else str(value)


@contextlib.contextmanager
def open_files(folder: Path, level: int) -> Iterator[dict[str, CsvFile]]:
    """Open all files below an existing folder, by the name that `COLUMNS` gives them."""
    for part in ("hosp", "note"):
        (folder / part).mkdir()
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(CsvFile(folder / f"{name}.csv.gz", columns.split(), level))
            for name, columns in COLUMNS.items()
        }
