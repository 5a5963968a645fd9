"""A run taken up again, to go on, to score or to compare: with CDM's cases wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from medeval.cdm.cases import Subset, read_subset
from medeval.errors import UserError
from medeval.tasks.catalogue import resumed
from medeval.tasks.cdm import NAME, CdmTask
from medeval.tasks.cdm_options import SETTINGS
from medeval.tasks.run_record import RunRecord
from medeval.tasks.task import AskedTask


def taken_up(
    record: RunRecord,
    cases: Path | None = None,
    *,
    named: str | None = None,
    subsets: Sequence[str] = (),
) -> AskedTask:
    """Return the task of a run, as it was asked there.

    Args:
        record: of the run.
        cases: the folder of CDM's export, if it is elsewhere now; what counts is its content.
        named: the task file, if that is elsewhere now.
        subsets: cases of CDM that are scored by themselves beside the whole, each as NAME=FILE.

    Raises:
        UserError: its data are not there any more or are others, its record says nothing of them,
            or a subset that cannot be read or has the name of another.
    """
    for flag, given in (("--cases", cases is not None), ("--subset", bool(subsets))):
        if given and record.task != NAME:
            raise UserError(f"{record.folder} is a run of {record.task}, which has no {flag}.")
    task = resumed(record if cases is None else _moved(record, cases), named)
    if not isinstance(task, CdmTask):
        return task
    task.require_cases_of(record)
    recorded = str(record.settings[SETTINGS]["export"])
    return replace(task, recorded_export=recorded, scored_subsets=_read(subsets, task))


def _moved(record: RunRecord, cases: Path) -> RunRecord:
    asked = record.settings.get(SETTINGS)
    if not isinstance(asked, dict):
        return record  # which says nothing of its cases, and is refused as that
    settings = {**record.settings, SETTINGS: {**asked, "export": str(cases)}}
    return record.model_copy(update={"settings": settings})


def _read(named: Sequence[str], task: CdmTask) -> tuple[Subset, ...]:
    found: dict[str, Subset] = {}
    for one in named:
        subset = read_subset(one, task.files)
        if subset.name in found:
            raise UserError(f"--subset {one}: another subset is called {subset.name} too.")
        found[subset.name] = subset
    return tuple(found.values())
