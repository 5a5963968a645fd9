"""A run taken up again, to go on, to score or to compare: with CDM's cases wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from medeval.errors import UserError
from medeval.tasks.catalogue import resumed
from medeval.tasks.cdm.cases import Subset, read_subset
from medeval.tasks.cdm.task import NAME, SETTINGS, CdmTask
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
    asked = record.settings.get(SETTINGS)
    moved = record
    # A record that says nothing of its cases is refused as that.
    if cases is not None and isinstance(asked, dict):
        settings = {**record.settings, SETTINGS: {**asked, "export": str(cases)}}
        moved = record.model_copy(update={"settings": settings})
    task = resumed(moved, named)
    if not isinstance(task, CdmTask):
        return task
    task.require_cases_of(record)
    scored: dict[str, Subset] = {}
    for one in subsets:
        subset = read_subset(one, task.files)
        if subset.name in scored:
            raise UserError(f"--subset {one}: another subset is called {subset.name} too.")
        scored[subset.name] = subset
    kept = record.settings[SETTINGS]
    return replace(
        task,
        recorded_export=str(kept["export"]),
        asks_server=kept.get("context") is not None,
        scored_subsets=tuple(scored.values()),
    )
