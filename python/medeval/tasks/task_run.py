"""A run of a task: its folder made or opened, its samples asked, batch files out and in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import medeval
from medeval.errors import UserError
from medeval.inference.cost import Prices
from medeval.inference.guard import IN_PROCESS, DataUseGuard, read_endpoints
from medeval.inference.journal import Journal
from medeval.inference.run import AUDIT, RUN, Progress, Run, RunConfig, RunResult, settings_of
from medeval.inference.types import Model
from medeval.tasks.models import ModelChoice, code_sha256, model_of
from medeval.tasks.run_record import RUNS, RunRecord, read_record
from medeval.tasks.task import AskedTask

if TYPE_CHECKING:
    from medeval.inference.batch import Imported

ENDPOINTS = Path("endpoints.toml")
# Names of folders have an end, and so has the patience of those who read them.
_LONGEST_PART = 80


class TaskRun(Run):
    """A run of a task.

    Attributes:
        task: what is asked.
        choice: who is asked.
        limit: how many items are asked at most; None for all.
        made: the files of a new run; empty if the folder was there.
    """

    def __init__(
        self,
        folder: Path,
        task: AskedTask,
        choice: ModelChoice,
        model: Model,
        limit: int | None,
        asked_task: str = "",
    ) -> None:
        self.task = task
        self.choice = choice
        self.limit = limit
        self.made: Sequence[Path] = ()
        # What may change from start to start. A run that is resumed keeps what it has of it until
        # it goes on indeed. The name of a variable, never what it holds; the model as it was named.
        self._choices = {"key_variable": choice.key, "asked_model": choice.model}
        settings = settings_of(model, task.prompt_version) | code_sha256(choice) | task.settings()
        about = {
            "task": task.name,
            "started_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "versions": {"medeval": medeval.__version__},
            **({"asked_task": asked_task} if asked_task else {}),
        }
        super().__init__(folder, settings, model, about=about | {"limit": limit} | self._choices)

    def evaluate(self, config: RunConfig) -> RunResult:
        """Ask what has no answer yet; see `Run.execute`."""
        on_start = config.on_start or self.record_choices
        own = replace(config, can_read=self.task.can_read, on_start=on_start)
        return self.execute(self.task.samples(self.limit), own)

    def record_choices(self, **more: Any) -> None:
        """Keep what may change from start to start; for whoever has the journal to himself.

        Another start that is refused because this one is under way must not change what is read
        of it.

        Args:
            more: to be kept beside it.
        """
        self.update("limit", self.limit, **self._choices, **more)

    def record_alone(self, **more: Any) -> None:
        """Do what `record_choices` does where nothing is asked, unless a run is under way.

        Raises:
            UserError: another run holds the journal.
        """
        with Journal(self.journal) if self.journal.exists() else nullcontext():
            self.record_choices(**more)

    def discard(self) -> None:
        """Remove the folder of a new run that was refused before anything came of it."""
        has_answers = self.journal.exists() and self.journal.stat().st_size
        if self.made and not (has_answers or (self.folder / AUDIT).exists()):
            for file in (*self.made, self.journal):
                file.unlink(missing_ok=True)
            _remove_empty(self.folder)

    def progress(self) -> Progress:
        """Return what became of the items that are due until now."""
        due = {(item.id, item.sample) for item in self.task.items(self.limit)}
        progress = Progress()
        for line in self.lines():
            if (line["item"], line["sample"]) in due:
                progress.add(line, is_new=False)
        return progress


def open_run(
    task: AskedTask,
    choice: ModelChoice,
    *,
    folder: Path | None = None,
    runs: Path = RUNS,
    endpoints: Path = ENDPOINTS,
    limit: int | None = None,
    asked_task: str = "",
    may_resume: bool = False,
    can_ask: bool = True,
) -> TaskRun:
    """Make the folder of a run, or open one to resume it.

    Args:
        task: what is asked.
        choice: who is asked.
        folder: of the run; None makes a new one, named by time, task and model.
        runs: where new folders are made.
        endpoints: the declarations of where credentialed text may go.
        limit: how many items are asked at most; another number than before is fine.
        asked_task: FILE.py:CLASS, if the task is a class in a file.
        may_resume: without a folder, open the newest run of this task and model with the same
            settings, if there is one.
        can_ask: whether the model may be asked what it takes in; a batch needs no connection.

    Raises:
        UserError: the model cannot be asked, or the folder holds a run with other settings.
    """
    path = folder or _new_folder(runs, task.name, choice.model)
    if folder is None and may_resume:
        path = _run_like(task, choice, runs) or path
    guard = DataUseGuard(read_endpoints(endpoints), path / AUDIT)
    model = model_of(choice, task, guard)
    is_new = not path.exists()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path} cannot be made ({error.strerror}). Choose another --out."
        ) from None
    try:
        task = task.prepared(model) if can_ask else task
    except UserError:
        if is_new:
            _remove_empty(path)
        raise
    run = TaskRun(path, task, choice, model, limit, asked_task)
    kept = task.keep(path)
    run.made = (path / RUN, *kept) if is_new else ()
    return run


def choice_of(record: RunRecord, key_variable: str | None, timeout: float = 600.0) -> ModelChoice:
    """Return the model that a run asked, to resume it.

    Args:
        record: of the run.
        key_variable: where the key is now; None for where it was.
        timeout: seconds for one call.
    """
    endpoint = str(record.settings["endpoint"])
    return ModelChoice(
        record.asked_model,
        None if endpoint == IN_PROCESS else endpoint,
        key_variable or record.key_variable,
        record.settings["parameters"],
        timeout,
    )


def export_prompts(run: TaskRun, path: Path, endpoints: Path = ENDPOINTS) -> int:
    """Write the prompts of a run as a batch file; return how many.

    Raises:
        UserError: the model answers in this process, the text may not go to its endpoint, or the
            file is there already.
    """
    from medeval.inference.batch import export_batch

    _require_batch(run)
    guard = DataUseGuard(read_endpoints(endpoints), run.folder / AUDIT)
    return export_batch(run, run.task.items(run.limit), guard, path)


def import_answers(run: TaskRun, paths: Sequence[Path], prices: Prices) -> Imported:
    """Put the answers of batch files into the journal of a run.

    Raises:
        UserError: a file cannot be read, or holds answers to other questions.
    """
    from medeval.inference.batch import import_batch

    _require_batch(run)
    return import_batch(run, run.task.items(run.limit), paths, prices, run.task.can_read)


def _require_batch(run: TaskRun) -> None:
    if run.task.is_conversation:
        raise UserError(
            f"{run.task.name} is a conversation: what is asked next depends on the reply. There is"
            " no batch of it."
        )
    if run.settings["endpoint"] == IN_PROCESS:
        raise UserError(f"{run.choice.model} answers in this process; there is no endpoint to ask.")


def _remove_empty(folder: Path) -> None:
    """Remove the folder of a run that never began, unless it has an audit of what was sent."""
    for path in (folder, folder.parent):
        with suppress(OSError):
            path.rmdir()


def _run_like(task: AskedTask, choice: ModelChoice, runs: Path) -> Path | None:
    """Return the newest run of a task and a model that was begun as this one would be."""
    now = {"parameters": dict(choice.parameters), **task.settings()}
    for file in sorted(runs.glob(f"*/{RUN}"), reverse=True):
        try:
            record = read_record(file.parent, task.name)
        except UserError:
            continue  # of another task, or something else that somebody keeps there
        if record.asked_model == choice.model and _agrees(record.settings, now):
            return file.parent
    return None


def _agrees(kept: Any, now: Any) -> bool:
    """Tell whether settings say the same, as far as it is known before a model is asked."""
    if isinstance(now, Mapping) and isinstance(kept, Mapping):
        return all(one is None or _agrees(kept.get(name), one) for name, one in now.items())
    return bool(kept == now)


def _new_folder(runs: Path, task: str, model: str) -> Path:
    """Return a name for a new run: its time first, so that names sort by it.

    Neither a task's nor a model's name leads into another folder.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    model = Path(model).name if ".py:" in model else model
    for part, instead in ((task, "task"), (model, "model")):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip("-.")[:_LONGEST_PART].strip("-.")
        name += f"-{plain or instead}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for folder in map(runs.joinpath, names) if not folder.exists())
