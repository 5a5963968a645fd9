"""The tables that a build of the cases needs, as dbt checks it: each dbt command imports this."""

from __future__ import annotations

from collections.abc import Callable, Collection

from medeval.errors import UserError

_EXTRACTS = ("discharge_free_text", "discharge_diagnosis", "procedures")


def check_absent_tables(absent: Collection[str], value_of: Callable[[str], object]) -> None:
    """Stop where a table is absent that this build needs.

    Args:
        absent: the tables that are not there, or are empty.
        value_of: returns the value of a variable.

    Raises:
        UserError: naming the table and what to do.
    """
    extract_source, is_listed = value_of("cdm_extract_source"), bool(value_of("cdm_cohort_file"))
    extracts = [table for table in _EXTRACTS if table in absent]
    command = "`python -m medeval load mimic4 --cohort-file FILE`"
    if is_listed and "cohort_list" in absent:
        raise UserError(f"cdm_cohort_file is set, but no list is loaded. Load it: {command}.")
    if not is_listed and {"diagnoses_icd", "d_icd_diagnoses"} & {*absent}:
        raise UserError(
            "Without a list of admissions (cdm_cohort_file), diagnoses_icd and d_icd_diagnoses are"
            " needed, and they are not there."
        )
    if extracts and extract_source == "provided":
        raise UserError(
            f"cdm_extract_source is provided, but there is no {', no '.join(extracts)}. Name their"
            " folder in MEDEVAL_CDM_EXTRACT_DIR."
        )
    if "discharge" in absent and (extracts or not is_listed or extract_source == "derived"):
        raise UserError(
            "The discharge notes (table discharge) are not there. Only cdm_cohort_file together"
            " with MEDEVAL_CDM_EXTRACT_DIR can do without them."
        )


def check_unnamed_list(count: int, schema: str) -> None:
    """Stop where a list of admissions is loaded and not named: neither used nor passed over.

    Args:
        count: of its admissions.
        schema: where it is.

    Raises:
        UserError: there is one.
    """
    if count:
        raise UserError(
            f"A list of {count} admissions is loaded ({schema}.cohort_list) and not named. Name it:"
            " --vars '{cdm_cohort_file: FILE}'. For the published selection rule empty that table."
        )
