"""A task put to a model: the folder of the run, the asking itself, batch files out and in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import medeval
from medeval.errors import UserError
from medeval.inference.batch import BatchSettings, Imported, export_batch, import_batch
from medeval.inference.cost import CostLedger, Prices
from medeval.inference.endpoints import read_endpoints
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Journal, read_journal
from medeval.inference.run import AUDIT, RUN, Progress, RunConfig, RunFolder, RunResult, settings_of
from medeval.inference.types import Model
from medeval.tasks.models import ModelChoice, code_sha256, provider_of, settings_of_endpoint
from medeval.tasks.run_record import RUNS, RunRecord
from medeval.tasks.task import AskedTask, ItemTask

ENDPOINTS = Path("endpoints.toml")
LIMIT = "limit"
# Names of folders have an end, and so has the patience of those who read them.
_LONGEST_PART = 80
# As the user named it; a built-in one calls itself otherwise.
ASKED_MODEL = "asked_model"
# The name of an environment variable, never what it holds.
KEY_VARIABLE = "key_variable"


@dataclass(frozen=True)
class Asking:
    """A task, a model and the folder that keeps what comes of them.

    Attributes:
        task: what is asked.
        choice: who is asked.
        folder: of the run.
        provider: who answers.
        limit: how many items are asked at most; None for all.
        made: the files of a new run; empty if the folder was there.
    """

    task: AskedTask
    choice: ModelChoice
    folder: RunFolder
    provider: Model = field(repr=False)
    limit: int | None = None
    made: Sequence[Path] = ()

    def answer(self, options: RunConfig) -> RunResult:
        """Ask what has no answer yet; see `inference.runner.run`."""
        begun = options.on_begun

        def on_begun() -> None:
            self.record_choices()
            if begun is not None:
                begun()

        options = replace(options, on_begun=on_begun)
        return self.task.ask(self.provider, self.folder, options, self.limit)

    def record_choices(self, **more: Any) -> None:
        """Keep what may change from start to start; for whoever has the journal to himself.

        Another start that is refused because this one is under way must not change what is read
        of it.

        Args:
            more: to be kept beside it.
        """
        for name, value in {**_choices(self.choice, self.limit), **more}.items():
            self.folder.record(name, value)

    def record_alone(self, **more: Any) -> None:
        """Do what `record_choices` does where nothing is asked, unless a run is under way.

        Raises:
            UserError: another run holds the journal.
        """
        if not self.folder.journal.exists():
            self.record_choices(**more)
            return
        with Journal(self.folder.journal):
            self.record_choices(**more)

    def take_back(self) -> None:
        """Remove the folder of a new run that was refused before anything came of it."""
        path, journal = self.folder.path, self.folder.journal
        is_begun = (path / AUDIT).exists() or (journal.exists() and journal.stat().st_size)
        if self.made and not is_begun:
            for file in (*self.made, journal):
                file.unlink(missing_ok=True)
            _take_back(path)


def open_run(
    task: AskedTask,
    choice: ModelChoice,
    *,
    folder: Path | None = None,
    runs: Path = RUNS,
    endpoints: Path = ENDPOINTS,
    limit: int | None = None,
) -> Asking:
    """Make the folder of a run, or open one to go on with it.

    Args:
        task: what is asked.
        choice: who is asked.
        folder: of the run; None makes a new one, named by time, task and model.
        runs: where new folders are made.
        endpoints: the declarations of where credentialed text may go.
        limit: how many items are asked at most; another number than before is fine.

    Raises:
        UserError: the model cannot be asked, or the folder holds a run with other settings.
    """
    path = folder or _new_folder(runs, task.name, choice.model)
    gate = DataUseGuard(read_endpoints(endpoints), path / AUDIT)
    provider = provider_of(choice, task, gate)
    is_new = not path.exists()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path} cannot be made ({error.strerror}). Choose another --out."
        ) from None
    try:
        task = task.prepared(provider)
    except UserError:
        if is_new:
            _take_back(path)
        raise
    settings = {
        **settings_of(provider, task.prompt_version),
        **code_sha256(choice),
        **task.settings(),
    }
    about = {
        "task": task.name,
        "started_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "versions": {"medeval": medeval.__version__},
    }
    # A run that is gone on with keeps what it has of these until it goes on indeed.
    made = RunFolder(path, settings, {**about, **_choices(choice, limit)})
    kept = task.keep(path)
    return Asking(task, choice, made, provider, limit, (path / RUN, *kept) if is_new else ())


def _choices(choice: ModelChoice, limit: int | None) -> dict[str, Any]:
    return {LIMIT: limit, KEY_VARIABLE: choice.key, ASKED_MODEL: choice.model}


def choice_of(record: RunRecord, key_variable: str | None, timeout: float = 600.0) -> ModelChoice:
    """Return the model that a run asked, to go on with it.

    Args:
        record: of the run.
        key_variable: where the key is now; None for where it was.
        timeout: seconds for one call.
    """
    endpoint = str(record.settings["endpoint"])
    return ModelChoice(
        record.asked_model,
        None if endpoint == "in-process" else endpoint,
        key_variable or record.key_variable,
        dict(record.settings.get("parameters", {})),
        timeout,
    )


def export_prompts(asking: Asking, path: Path, endpoints: Path = ENDPOINTS) -> int:
    """Write the prompts of a run as a batch file; return how many.

    Raises:
        UserError: the model answers in this process, the text may not go to its endpoint, or the
            file is there already.
    """
    _require_single_items(asking.task)
    gate = DataUseGuard(read_endpoints(endpoints), asking.folder.path / AUDIT)
    return export_batch(asking.task.items(asking.limit), _batch(asking), gate, path)


def import_answers(asking: Asking, paths: Sequence[Path], prices: Prices) -> Imported:
    """Put the answers of batch files into the journal of a run.

    Raises:
        UserError: a file cannot be read, or holds answers to other questions.
    """
    spending = CostLedger(asking.folder.journal)  # before lines are taken out
    with Journal(asking.folder.journal) as journal, spending:
        return import_batch(
            asking.task.items(asking.limit),
            _batch(asking),
            paths,
            journal,
            prices,
            asking.task.can_read,
            spending,
        )


def sums_of(asking: Asking) -> Progress:
    """Return what became of the items of a run until now."""
    due = {(item.id, item.sample) for item in asking.task.items(asking.limit)}
    progress = Progress()
    for line in read_journal(asking.folder.journal) if asking.folder.journal.exists() else ():
        if (line["item"], line["sample"]) in due:
            progress.add(line, is_new=False)
    return progress


def _require_single_items(task: AskedTask) -> None:
    if not isinstance(task, ItemTask):
        raise UserError(
            f"{task.name} is a conversation: what is asked next depends on the reply. There is no"
            " batch of it."
        )


def _batch(asking: Asking) -> BatchSettings:
    settings = settings_of_endpoint(asking.choice)
    return BatchSettings(
        settings.base_url, settings.model, settings.parameters, asking.task.prompt_version
    )


def _take_back(folder: Path) -> None:
    """Remove the folder of a run that never began, unless it has an audit of what was sent."""
    for path in (folder, folder.parent):
        with suppress(OSError):
            path.rmdir()


def _new_folder(runs: Path, task: str, model: str) -> Path:
    """Return a name for a new run: its time first, so that names sort by it."""
    moment = datetime.now(UTC)
    model = Path(model).name if ".py:" in model else model
    name = f"{moment:%Y%m%dT%H%M%SZ}-{_plain(task) or 'task'}-{_plain(model) or 'model'}"
    folder, number = runs / name, 1
    while folder.exists():
        number += 1
        folder = runs / f"{name}-{number}"
    return folder


def _plain(text: str) -> str:
    """Return a part of a folder's name, which leads into no other folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:_LONGEST_PART].strip("-.")


def parse_parameters(text: str | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model: those of a JSON object, and over them those with flags.

    Raises:
        UserError: the text is no JSON object, or a number is none that a request can carry.
    """
    read: Any = {}
    if text is not None:
        try:
            read = json.loads(text)
        except ValueError as error:
            raise UserError(f"--parameters is not JSON ({error}).") from None
        except RecursionError:
            raise UserError("--parameters is nested too deeply.") from None
        if not isinstance(read, dict):
            raise UserError("--parameters is one JSON object, such as '{\"top_p\": 0.9}'.")
    parameters = {**read, **{name: value for name, value in named.items() if value is not None}}
    for name, value in parameters.items():
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            raise UserError(f"{name}: no request can carry a number that is not finite.") from None
    return parameters
