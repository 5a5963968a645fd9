"""Folders of MIMIC-III files for the tests: two small stays, in the full release's layout."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path

Rows = list[list[str]]

TABLES: dict[str, str] = {
    "admissions": """\
ROW_ID,SUBJECT_ID,HADM_ID,ADMITTIME,DISCHTIME,DEATHTIME,ADMISSION_TYPE,ADMISSION_LOCATION,\
DISCHARGE_LOCATION,INSURANCE,LANGUAGE,RELIGION,MARITAL_STATUS,ETHNICITY,EDREGTIME,EDOUTTIME,\
DIAGNOSIS,HOSPITAL_EXPIRE_FLAG,HAS_CHARTEVENTS_DATA
1,10,100,2150-01-01 08:00:00,2150-01-09 08:00:00,,EMERGENCY,,HOME,,,,,WHITE,,,SEPSIS,0,1
2,11,101,2151-01-01 08:00:00,2151-01-09 08:00:00,,URGENT,,HOME,,,,,,,,"A ""FALL"", OLD",0,1
""",
    "patients": """\
ROW_ID,SUBJECT_ID,GENDER,DOB,DOD,DOD_HOSP,DOD_SSN,EXPIRE_FLAG
1,10,F,2094-03-05 00:00:00,,,,0
2,11,M,2080-07-01 00:00:00,,,,0
""",
    "icustays": """\
ROW_ID,SUBJECT_ID,HADM_ID,ICUSTAY_ID,DBSOURCE,FIRST_CAREUNIT,LAST_CAREUNIT,FIRST_WARDID,\
LAST_WARDID,INTIME,OUTTIME,LOS
1,10,100,200,carevue,MICU,MICU,52,52,2150-01-01 09:00:00,2150-01-04 09:00:00,3
2,11,101,201,metavision,CCU,CCU,7,7,2151-01-01 09:00:00,2151-01-05 21:00:00,4.5
""",
    "diagnoses_icd": """\
ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE
1,10,100,1,0389
2,11,101,1,E8788
""",
    "d_icd_diagnoses": """\
ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE
1,0389,Septicemia NOS,Unspecified septicemia
2,E8788,Abn react-surg proc,"Other surgical operations, abnormal reaction"
""",
    "chartevents": """\
ROW_ID,SUBJECT_ID,HADM_ID,ICUSTAY_ID,ITEMID,CHARTTIME,STORETIME,CGID,VALUE,VALUENUM,VALUEUOM,\
WARNING,ERROR,RESULTSTATUS,STOPPED
1,10,100,200,211,2150-01-01 10:00:00,2150-01-01 10:05:00,1,88,88,bpm,,,,NotStopd
2,11,101,201,220045,2151-01-01 10:00:00,2151-01-01 10:05:00,1,91,91,bpm,0,0,,
""",
    "labevents": """\
ROW_ID,SUBJECT_ID,HADM_ID,ITEMID,CHARTTIME,VALUE,VALUENUM,VALUEUOM,FLAG
1,10,100,50931,2150-01-01 10:00:00,140,140,mg/dL,
2,11,101,50931,2151-01-01 10:00:00,150,150,mg/dL,abnormal
""",
    "outputevents": """\
ROW_ID,SUBJECT_ID,HADM_ID,ICUSTAY_ID,CHARTTIME,ITEMID,VALUE,VALUEUOM,STORETIME,CGID,STOPPED,\
NEWBOTTLE,ISERROR
1,10,100,200,2150-01-01 10:00:00,40055,39,ml,2150-01-01 10:05:00,1,,,
""",
}


def write_folder(folder: Path, tables: Mapping[str, str] = TABLES, suffix: str = ".csv.gz") -> Path:
    """Write tables as files of one form and return the folder."""
    folder.mkdir(parents=True)
    for table, content in tables.items():
        write(folder / f"{table}{suffix}", content)
    return folder


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed where its name ends so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.name.lower().endswith(".gz") else data)
    return path


def replace(folder: Path, table: str, content: str | bytes, suffix: str = ".csv") -> Path:
    """Write one table of a folder anew, in another form if need be."""
    (folder / f"{table}.csv.gz").unlink()
    return write(folder / f"{table}{suffix}", content)


def with_cell(table: str, column: str, cell: str, row: int = 2) -> str:
    """Return the content of a table with one cell changed; row 1 is the first below the header."""
    rows = list(csv.reader(io.StringIO(TABLES[table])))
    rows[row][rows[0].index(column.upper())] = cell
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
