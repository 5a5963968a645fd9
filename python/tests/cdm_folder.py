"""Folders of MIMIC-IV files for the tests: two small admissions, in the releases' own layout."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path

Tables = Mapping[str, Mapping[str, str]]

HOSP = {
    "admissions": """\
subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admit_provider_id,\
admission_location,discharge_location,insurance,language,marital_status,race,edregtime,edouttime,\
hospital_expire_flag
10,20000001,2150-01-01 08:00:00,2150-01-05 08:00:00,,URGENT,P1,,HOME,,,,WHITE,,,0
11,20000002,2151-01-01 08:00:00,2151-01-05 08:00:00,,URGENT,P1,,HOME,,,,WHITE,,,0
""",
    "patients": """\
subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod
10,F,44,2150,2008 - 2010,
11,M,91,2149,2008 - 2010,
""",
    "transfers": """\
subject_id,hadm_id,transfer_id,eventtype,careunit,intime,outtime
10,20000001,1,admit,Ward,2150-01-01 08:00:00,2150-01-05 08:00:00
10,20000001,2,discharge,,2150-01-05 08:00:00,
11,20000002,3,admit,Ward,2151-01-01 08:00:00,2151-01-05 08:00:00
""",
    "d_labitems": """\
itemid,label,fluid,category
51301,White Blood Cells,Blood,Hematology
50956,Lipase,Blood,Chemistry
""",
    "d_icd_procedures": """\
icd_code,icd_version,long_title
4701,9,Laparoscopic appendectomy
""",
    "procedures_icd": """\
subject_id,hadm_id,seq_num,chartdate,icd_code,icd_version
10,20000001,1,2150-01-02,4701,9
""",
    "d_icd_diagnoses": """\
icd_code,icd_version,long_title
5409,9,Acute appendicitis without mention of peritonitis
5770,9,Acute pancreatitis
""",
    "diagnoses_icd": """\
subject_id,hadm_id,seq_num,icd_code,icd_version
10,20000001,1,5409,9
11,20000002,1,5770,9
""",
    "microbiologyevents": """\
microevent_id,subject_id,hadm_id,micro_specimen_id,order_provider_id,chartdate,charttime,\
spec_itemid,spec_type_desc,test_seq,storedate,storetime,test_itemid,test_name,org_itemid,org_name,\
isolate_num,quantity,ab_itemid,ab_name,dilution_text,dilution_comparison,dilution_value,\
interpretation,comments
1,10,20000001,1,P1,2150-01-01 00:00:00,2150-01-01 09:00:00,70012,BLOOD CULTURE,1,\
2150-01-03 00:00:00,2150-01-03 09:00:00,90201,"Blood Culture, Routine",,,,,,,,,,,NO GROWTH.
""",
    "labevents": """\
labevent_id,subject_id,hadm_id,specimen_id,itemid,order_provider_id,charttime,storetime,value,\
valuenum,valueuom,ref_range_lower,ref_range_upper,flag,priority,comments
1,10,20000001,1,51301,P1,2150-01-01 09:00:00,2150-01-01 10:00:00,15.2,15.2,K/uL,4,11,abnormal,STAT,
2,11,20000002,2,50956,P1,2151-01-01 09:00:00,2151-01-01 10:00:00,900,900,IU/L,0,60,abnormal,STAT,
""",
}
NOTE = {
    "radiology_detail": """\
note_id,subject_id,field_name,field_value,field_ordinal
10-RR-1,10,exam_name,CT ABD & PELVIS WITH CONTRAST,1
""",
    "radiology": """\
note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text
10-RR-1,10,20000001,RR,1,2150-01-01 10:00:00,2150-01-01 11:00:00,"EXAMINATION: CT

FINDINGS: The appendix is dilated.

IMPRESSION: Acute appendicitis."
""",
    "discharge": """\
note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text
10-DS-1,10,20000001,DS,1,2150-01-05 00:00:00,2150-01-06 00:00:00,"Discharge Diagnosis:
Acute appendicitis
"
""",
}
EXTRACT = {
    "discharge_free_text": """\
hadm_id,allergies,chief_complaint,discharge_diagnosis,discharge_condition,discharge_medications,\
major_procedure,medications_on_admission,pertinent_results,physical_examination,\
past_medical_history,history_of_present_illness,brief_hospital_course,discharge_instructions
20000001,,,,,,,,,Tender in the right lower quadrant.,None.,Pain for one day.,,
20000002,,,,,,,,,Tender in the epigastrium.,Gallstones.,Pain for two days.,,
""",
    "discharge_diagnosis": """\
hadm_id,title,is_primary,seq_num
20000001,Acute appendicitis,True,1
20000002,Acute pancreatitis,True,1
""",
    "procedures": """\
hadm_id,title,is_previous,seq_num
20000001,Laparoscopic appendectomy,False,1
""",
}
CORE = ("admissions", "patients", "transfers")
TABLES: Tables = {"hosp": HOSP, "note": NOTE, "note_extract": EXTRACT}


def write_folder(folder: Path, tables: Tables = TABLES, suffix: str = ".csv.gz") -> Path:
    """Write the modules' files of one form, each module in a folder of its own."""
    for module, files in tables.items():
        (folder / module).mkdir(parents=True)
        for table, content in files.items():
            write(folder / module / f"{table}{suffix}", content)
    return folder


def as_release_1_0(folder: Path) -> Path:
    """Turn a folder into the layout of release 1.0: three tables in core, other columns."""
    (folder / "core").mkdir()
    for table in CORE:
        (folder / "hosp" / f"{table}.csv.gz").rename(folder / "core" / f"{table}.csv.gz")
    admissions = without_column(HOSP["admissions"], "admit_provider_id")
    write(folder / "core" / "admissions.csv.gz", admissions.replace(",race,", ",ethnicity,"))
    for table in ("labevents", "microbiologyevents"):
        content = without_column(HOSP[table], "order_provider_id")
        write(folder / "hosp" / f"{table}.csv.gz", content)
    return folder


def without_column(content: str, name: str) -> str:
    """Return a table without one of its columns."""
    rows = list(csv.reader(io.StringIO(content)))
    place = rows[0].index(name)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(row[:place] + row[place + 1 :] for row in rows)
    return out.getvalue()


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed where its name ends so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.name.lower().endswith(".gz") else data)
    return path
