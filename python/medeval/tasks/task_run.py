"""A run of a task: who is asked, its folder, its samples asked, batch files out and in."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import medeval
from medeval.errors import UserError, os_error_as
from medeval.files import sha256
from medeval.inference.cost import longest_reply_under
from medeval.inference.guard import DataUseGuard, normalized, read_endpoints
from medeval.inference.journal import Journal
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.python_model import PythonModel, module_of
from medeval.inference.run import AUDIT, RUN, Progress, Run, RunConfig, RunResult, settings_of
from medeval.inference.types import Message, Model, Outcome, Sample
from medeval.tasks.run_record import RUNS, part_of, progress_of, read_record
from medeval.tasks.task import DEMO, AskedTask
from medeval.text import visible

OPENAI = "https://api.openai.com/v1"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
ENDPOINTS = Path("endpoints.toml")
# Names of folders have an end, and so has the patience of those who read them.
_LONGEST_PART = 80
# Above it a run says that its replies were not read, and shows so much of the first.
_MOST_UNREAD = 0.2
_MOST_SHOWN = 300


@dataclass(frozen=True)
class ModelChoice:
    """Which model is asked, and how.

    Attributes:
        model: `demo`, `FILE.py:FUNCTION`, or the name by which an endpoint knows it.
        base_url: of the endpoint; None takes OPENAI_BASE_URL, else OpenAI's.
        key_variable: the environment variable that holds the key; None takes OPENAI_API_KEY where
            no address is given, else none: a key goes to no address that it was not meant for.
        parameters: temperature, max_tokens and what else the endpoint takes.
        timeout: seconds for one call.
        call: a function of this process that answers instead, from the messages to the reply.
    """

    model: str
    base_url: str | None = None
    key_variable: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600.0
    call: Callable[[Sequence[Message]], str] | None = None

    @property
    def function(self) -> tuple[Path, str] | None:
        """The file and the name of a Python function, if one is meant."""
        file, _, name = self.model.rpartition(":")
        return (Path(file), name) if file.endswith(".py") and self.base_url is None else None

    @property
    def is_local(self) -> bool:
        """Whether the answers come from this process."""
        is_demo = self.model == DEMO and self.base_url is None
        return is_demo or self.function is not None or self.call is not None

    @property
    def key(self) -> str | None:
        """The name of the variable that holds the key; None if none is sent."""
        if self.is_local:
            return None
        usual = KEY_VARIABLE if self.base_url is None else None
        return usual if self.key_variable is None else self.key_variable

    @property
    def to_name(self) -> dict[str, str]:
        """The flags, with their values, that a command must have before a record's model is used.

        A record may name any function, any variable and any address. Of itself the usual variable
        goes to the usual address; no other is sent and no function is run.
        """
        if self.function is not None:
            return {"--model": self.model}
        usual = os.environ.get(BASE_URL_VARIABLE) or OPENAI
        is_usual = normalized(self.base_url or usual) == normalized(usual)
        if self.key is None or (is_usual and self.key == KEY_VARIABLE):
            return {}
        return {"--key-variable": self.key}

    def opened(self, task: AskedTask, guard: DataUseGuard) -> Model:
        """Return who answers a task.

        Raises:
            UserError: no such function, an address that cannot be meant, or a key that is not
                there.
        """
        call, file = self.call, Path("<python>")
        if not self.is_local:
            address = self.base_url or os.environ.get(BASE_URL_VARIABLE) or OPENAI
            how: dict[str, Any] = {"parameters": self.parameters, "timeout": self.timeout}
            return OpenAIModel(address, self.model, guard, key_variable=self.key, **how)
        if call is not None:
            source = inspect.getsourcefile(call) if hasattr(call, "__code__") else None
            file = Path(source or file)
        elif self.function is None:
            return task.local_provider(DEMO, guard)
        else:
            file, name = self.function
            if not file.is_file():
                raise UserError(f"{file}: no such file. A function is named FILE.py:FUNCTION.")
            try:
                call = getattr(module_of(file), name, None)
            except (ImportError, OSError, ValueError) as error:
                raise UserError(f"{error}.") from None
            if not callable(call):
                raise UserError(f"{file} has no function {name!r}.")
        answer = call
        return PythonModel(
            lambda item: answer(item.messages), self.model, guard, timeout=self.timeout, file=file
        )


class TaskRun(Run):
    """A run of a task: a new one with a folder of its own, or one that is resumed.

    Args:
        task: what is asked.
        choice: who is asked.
        folder: of the run; None makes a new one, named by time, task and model.
        runs: where new folders are made.
        endpoints: the declarations of where credentialed text may go.
        limit: how many items are asked at most; another number than before is fine.
        shard: of these only a part, `2/8` for the second of eight; empty for all.
        asked_task: FILE.py:CLASS, if the task is a class in a file.
        may_resume: without a folder, open the newest run of this task and model with the same
            settings, if there is one.
        can_ask: whether the model may be asked what it takes in; a batch needs no connection.

    Attributes:
        task: what is asked.
        choice: who is asked.
        guard: asked before any text leaves.
        limit: how many items are asked at most; None for all.
        kept: what may change from start to start. A run that is resumed keeps what it has of it
            until it goes on indeed.
        made: whether the run is new; not if the folder was there.

    Raises:
        UserError: the model cannot be asked, or the folder holds a run with other settings.
    """

    def __init__(
        self,
        task: AskedTask,
        choice: ModelChoice,
        *,
        folder: Path | None = None,
        runs: Path = RUNS,
        endpoints: Path = ENDPOINTS,
        limit: int | None = None,
        shard: str = "",
        asked_task: str = "",
        may_resume: bool = False,
        can_ask: bool = True,
    ) -> None:
        if folder is None:
            like = _run_like(task, choice, runs, shard, asked_task) if may_resume else None
            folder = like or new_folder(runs, task.name, choice.model)
        self.guard = DataUseGuard(read_endpoints(endpoints), folder / AUDIT)
        model = choice.opened(task, self.guard)
        self.made = not folder.exists()
        with os_error_as(f"{folder} cannot be made ({{why}}). Choose another --out."):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self.task = task.prepared(model) if can_ask else task
        except UserError:
            if self.made:
                _remove(folder)
            raise
        self.choice, self.limit, self.shard = choice, limit, shard
        # The name of a variable, never what it holds; the model as it was named.
        self.kept: dict[str, Any] = {
            "limit": limit,
            "key_variable": choice.key,
            "asked_model": choice.model,
        }
        settings = settings_of(model, self.task.prompt_version)
        if choice.function is not None:
            # By it a run that goes on knows the function again.
            settings["code_sha256"] = sha256(choice.function[0])
        about = {
            "task": task.name,
            "started_at": _now(),
            "versions": {"medeval": medeval.__version__},
            **({"asked_task": asked_task} if asked_task else {}),
            **({"shard": shard} if shard else {}),
            **self.kept,
        }
        super().__init__(folder, settings | self.task.settings(), model, about=about)
        self.task.keep(folder)

    def evaluate(self, config: RunConfig) -> RunResult:
        """Ask what has no answer yet; see `Run.execute`."""
        from medeval.inference.engine import process  # with what it needs it is slow to load

        def begin() -> None:
            # Only now: a start that is refused because another is under way must not change what
            # is read of that one.
            started = {"started_at": _now()} if self.made else {}
            self.update("task", self.task.name, **self.kept, **started)
            if config.on_start:
                config.on_start()

        own = replace(config, can_read=self.task.can_read, on_start=begin)
        return asyncio.run(process(self, self._part(self.task.samples(self.limit)), own))

    def items(self) -> Iterator[Sample]:
        """Return the items that are to be asked."""
        return self._part(self.task.items(self.limit))

    def _part(self, all_items: Iterable[Any]) -> Iterator[Any]:
        number, count = part_of(self.shard)
        return islice(all_items, number - 1, None, count)

    def record_alone(self) -> None:
        """Keep what may change from start to start where nothing is asked.

        Raises:
            UserError: another run holds the journal.
        """
        with Journal(self.journal) if self.journal.exists() else nullcontext():
            self.update("task", self.task.name, **self.kept)

    def discard(self) -> None:
        """Remove the folder of a new run that was refused before anything came of it."""
        if self.made and not (self.journal.exists() and self.journal.stat().st_size):
            _remove(self.folder)

    def check(self, config: RunConfig) -> None:
        """Find what would keep the model from being asked, without asking it.

        Raises:
            UserError: the limit on cost cannot be held, or text may not be sent to the model.
        """
        longest_reply_under(config.budget.limit, config.prices, self.model)
        if self.made:
            place = getattr(self.model, "file", None) or self.model.address
            self.guard.check(place, all(item.is_open for item in self.items()))

    def require_batch(self) -> None:
        """Refuse what no batch file can ask.

        Raises:
            UserError: it is a conversation, or the model answers in this process.
        """
        if self.task.is_conversation:
            raise UserError(
                f"{self.task.name} is a conversation: what is asked next depends on the reply."
                " There is no batch of it."
            )
        if self.choice.is_local:
            raise UserError(
                f"{self.choice.model} answers in this process; there is no endpoint to ask."
            )

    def warnings_of_context(self) -> Iterator[str]:
        """Say that the length of a model's context is only supposed, if the task minds it.

        Built-in models take whatever they are given.
        """
        is_built_in = self.choice.is_local and self.choice.function is None
        for settings in () if is_built_in else self.task.settings().values():
            context = settings.get("context") if isinstance(settings, Mapping) else None
            if isinstance(context, Mapping) and context.get("limit_from") == "default":
                yield (
                    f"nobody says how much {self.choice.model} takes in; longer than"
                    f" {context['limit']:,} tokens is shortened. Say it with --context-limit."
                )

    def warning_of_unread(self, sums: Progress) -> str:
        """Return a warning if more than one reply in five could not be read, with the first.

        Text that is not open is not shown.
        """
        unread, total = sums.ledger[Outcome.UNPARSED], sums.ledger.asked
        if unread <= _MOST_UNREAD * total:
            return ""
        known = self.task.Options.model_fields
        options = [f"--{one.replace('_', '-')}" for one in self.task.READING if one in known]
        said = f"{unread:,} of {total:,} replies could not be read"
        said += f"; see what {', '.join(options)} would change" if options else ""
        line = next(one for one in self.lines() if one["outcome"] == Outcome.UNPARSED)
        open_items = {one.id for one in self.items() if one.data_class == "open"}
        if line["item"] not in open_items:
            return f"{said}."
        return f"{said}. The first, of item {line['item']}: {visible(line['text'][:_MOST_SHOWN])}"

    def progress(self) -> Progress:
        """Return what became of the items that are due until now."""
        due = {(item.id, item.sample) for item in self.items()}
        return progress_of(self.lines(), due)[0]


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _remove(folder: Path) -> None:
    """Remove the folder of a run that never began, unless it has an audit of what was sent."""
    if not (folder / AUDIT).exists():
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # there are other runs
            folder.parent.rmdir()


def _run_like(
    task: AskedTask, choice: ModelChoice, runs: Path, shard: str, asked_task: str
) -> Path | None:
    """Return the newest run of a task and a model that was begun as this one would be."""
    now = {"parameters": dict(choice.parameters), **task.settings()}
    for file in sorted(runs.glob(f"*/{RUN}"), reverse=True):
        try:
            record = read_record(file.parent, task.name)
        except UserError:
            continue  # of another task, or something else that somebody keeps there
        asked = record.asked_model, record.shard, record.asked_task
        if asked == (choice.model, shard, asked_task) and _agrees(record.settings, now):
            return file.parent
    return None


def _agrees(kept: Any, now: Any) -> bool:
    """Tell whether settings say the same, as far as it is known before a model is asked."""
    if isinstance(now, Mapping) and isinstance(kept, Mapping):
        return all(one is None or _agrees(kept.get(name), one) for name, one in now.items())
    return bool(kept == now)


def new_folder(runs: Path, task: str, model: str, started: datetime | None = None) -> Path:
    """Return a name for a new run: its time first, now or as given, so that names sort by it.

    Neither a task's nor a model's name leads into another folder.
    """
    parts = {"task": task, "model": Path(model).name if ".py:" in model else model}
    name = f"{started or datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for instead, part in parts.items():
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip("-.")[:_LONGEST_PART].strip("-.")
        name += f"-{plain or instead}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(folder for folder in map(runs.joinpath, names) if not folder.exists())
