"""Which task a name is, and how a run of it is started or resumed.

The module of a task is imported when its name is given: no command waits for those of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from medeval.errors import UserError
from medeval.tasks.mimic3.task import is_icu_task
from medeval.tasks.options import read_options
from medeval.tasks.run_record import RunRecord
from medeval.tasks.task import AskedTask, Method, TaskScore

# Tasks with a module of their own, each with what it is scored by.
BUILT_IN = {
    "cdm": "diagnosis and conduct at the bedside",
    "mtsamples_procedures": "a judge's reward",
    "yier": "micro F1",
}
# The module of each, with its class of options; all others are task files.
_MODULES = {
    "cdm": ("medeval.tasks.cdm.task", "CdmOptions"),
    "mtsamples_procedures": ("medeval.tasks.mtsamples.task", "MtsamplesOptions"),
    "yier": ("medeval.tasks.yier.task", "YierOptions"),
}
_TASK_FILES = ("medeval.tasks.medical", "MedicalOptions")
# What scores a file of answers that was handed in, where a task has such.
_SUBMISSIONS = {"yier": "medeval.tasks.yier.scores"}
_ALIASES = {"mtsamples": "mtsamples_procedures"}


def _module(name: str) -> Any:
    return import_module(_MODULES.get(name, _TASK_FILES)[0])


def canonical_name(name: str) -> str:
    """Return a task's name as it is recorded; file names and ids of task files stay as they are."""
    folded = name.replace("-", "_").lower()
    folded = _ALIASES.get(folded, folded)
    return folded if folded in BUILT_IN or folded in _module(folded).bundled() else name


def recorded_name(name: str) -> str:
    """Return the name under which runs of a task are recorded: its id, if a file was named."""
    name = canonical_name(name)
    return name if name in BUILT_IN else begin(name, {}).name


def begin(name: str, given: Mapping[str, Any]) -> AskedTask:
    """Return a task with its data and options.

    Args:
        name: of the task; hyphens count as underscores.
        given: options by name, as far as they were given.

    Raises:
        UserError: no such task, an option that it does not have, or data that cannot be read.
    """
    asked = canonical_name(name)
    if asked not in BUILT_IN and is_icu_task(name):
        raise UserError(
            f"{name} is answered by predictions, not by a model that is asked. Train a baseline:"
            f" `python -m medeval predict --task {name} --model logistic`."
        )
    module, options = _module(asked), _MODULES.get(asked, _TASK_FILES)[1]
    read = read_options(getattr(module, options), given, asked)
    own = () if asked in BUILT_IN else (asked,)
    return cast("AskedTask", module.begin(*own, read))


def score_submission(
    name: str, path: Path, gold: Path | None, method: Method, allow_extra: bool
) -> TaskScore:
    """Score a file of answers that was handed in.

    Args:
        name: of the task, as it is recorded.
        path: the file.
        gold: the file with gold answers; None takes the task's own.
        method: of intervals and groups.
        allow_extra: leave out answers that the gold does not have.

    Raises:
        UserError: the task has no such files, or they do not fit.
    """
    if name not in _SUBMISSIONS:
        raise UserError(f"{path} is a file; scores of {name} are made of runs, which are folders.")
    module = import_module(_SUBMISSIONS[name])
    return cast("TaskScore", module.score_file(path, gold, method, allow_extra=allow_extra))


def resumed(record: RunRecord, named: str | None = None) -> AskedTask:
    """Return the task of a run, as it was asked there.

    Args:
        record: of the run.
        named: the task file, if it is elsewhere now.

    Raises:
        UserError: its data are not there any more, or its record says nothing of them.
    """
    module = _module(record.task)
    try:
        if hasattr(module, "resumed"):
            return cast("AskedTask", module.resumed(record))
        options = module.options_of(record.settings)
        if record.task in BUILT_IN:
            return begin(record.task, options)
        return begin(named or str(record.settings[module.SETTINGS]["file"]), options)
    except (KeyError, TypeError):
        raise UserError(f"{record.folder} does not say how {record.task} was asked.") from None
