"""Which task a name is, and how a run of it is begun or gone on with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medeval.errors import UserError
from medeval.predictions.tasks import is_icu_task
from medeval.tasks import cdm, medical, mtsamples, yier
from medeval.tasks.options import read_options
from medeval.tasks.run_record import RunRecord
from medeval.tasks.task import AskedTask

# Tasks with a module of their own, each with what it is scored by.
BUILT_IN = {
    cdm.NAME: "diagnosis and conduct at the bedside",
    mtsamples.NAME: "a judge's reward",
    yier.NAME: "micro F1",
}
_ALIASES = {mtsamples.SHORT: mtsamples.NAME}


def canonical_name(name: str) -> str:
    """Return a task's name as it is recorded; file names and ids of task files stay as they are."""
    folded = name.replace("-", "_").lower()
    folded = _ALIASES.get(folded, folded)
    return folded if folded in BUILT_IN or folded in medical.bundled() else name


def all_names() -> list[str]:
    """Return the names of all tasks that come along."""
    return [*BUILT_IN, *medical.bundled()]


def is_built_in(name: str) -> bool:
    """Tell whether a name is that of a task that is no task file."""
    return canonical_name(name) in BUILT_IN


def recorded_name(name: str) -> str:
    """Return the name under which runs of a task are recorded: its id, if a file was named."""
    name = canonical_name(name)
    return name if is_built_in(name) else medical.begin(name, medical.MedicalOptions()).name


def begin(name: str, given: Mapping[str, Any]) -> AskedTask:
    """Return a task with its data and options.

    Args:
        name: of the task; hyphens count as underscores.
        given: options by name, as far as they were given.

    Raises:
        UserError: no such task, an option that it does not have, or data that cannot be read.
    """
    if is_icu_task(name):
        raise UserError(
            f"{name} is answered by predictions, not by a model that is asked. Train a baseline:"
            f" `python -m medeval predict --task {name} --model logistic`."
        )
    name = canonical_name(name)
    if name == yier.NAME:
        return yier.begin(read_options(yier.YierOptions, given, yier.NAME))
    if name == cdm.NAME:
        return cdm.begin(read_options(cdm.CdmOptions, given, name))
    if name == mtsamples.NAME:
        return mtsamples.begin(read_options(mtsamples.MtsamplesOptions, given, name))
    return medical.begin(name, read_options(medical.MedicalOptions, given, name))


def resumed(record: RunRecord, named: str | None = None) -> AskedTask:
    """Return the task of a run, as it was asked there.

    Args:
        record: of the run.
        named: the task file, if it is elsewhere now.

    Raises:
        UserError: its data are not there any more, or its record says nothing of them.
    """
    try:
        if record.task == cdm.NAME:
            return begin(cdm.NAME, cdm.options_of(record.settings))
        if record.task == mtsamples.NAME:
            return mtsamples.resumed(record)
        if record.task == yier.NAME:
            return begin(yier.NAME, yier.options_of(record.settings))
        name = named or str(record.settings[medical.SETTINGS]["file"])
        return begin(name, medical.options_of(record.settings))
    except (KeyError, TypeError):
        raise UserError(f"{record.folder} does not say how {record.task} was asked.") from None
