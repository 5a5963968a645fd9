"""The thirteen files and their columns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from synth.writing import CsvFile

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
