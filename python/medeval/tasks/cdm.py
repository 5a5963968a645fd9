"""CDM as a task: a model at the bedside, which asks for what it needs, or sees all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from medeval.cdm.case_files import CaseFiles, read_case_files
from medeval.cdm.context import Room, room_in
from medeval.cdm.facts import Facts, load_facts
from medeval.cdm.full_information import MARGIN as FULL_MARGIN
from medeval.cdm.full_information import FullInformationOptions, full_information
from medeval.cdm.loop_episode import LoopOptions, tool_loops
from medeval.cdm.loop_memory import MARGIN as LOOP_MARGIN
from medeval.cdm.oracle import best_scores
from medeval.cdm.prompts import PROMPT_VERSION
from medeval.cdm.scoring import COUNTS, DIAGNOSIS, SCORES
from medeval.cdm.toolbox import TOOLS
from medeval.cdm.transcripts import Transcript, read_transcripts
from medeval.errors import UserError
from medeval.inference.conversations import converse
from medeval.inference.requests import Item
from medeval.inference.tokens import ContextWindow, context_window
from medeval.models.text_files import write_text
from medeval.tasks.cdm_case_scores import case_lines
from medeval.tasks.cdm_models import local_provider
from medeval.tasks.cdm_score import TOOLS_ONLY, score_of
from medeval.tasks.differences import mean_difference
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import AskedTask, Difference, Method, TaskScore

if TYPE_CHECKING:
    from medeval.inference.episodes import Episode
    from medeval.inference.guard import Gate
    from medeval.inference.providers import Provider
    from medeval.inference.run_folder import RunFolder
    from medeval.inference.runner import Ended, RunOptions

NAME = "cdm"
SETTINGS = "cdm"
# Options that only one way of asking has; `permute` may be said to be none.
TOOLS_OPTIONS = ("tool_protocol", "max_rounds", "max_calls", "tools")
CASE_SCORES = "case_scores.jsonl"


class CdmOptions(TaskOptions):
    """How cases are put to a model.

    Attributes:
        cases: the folder of the export.
        mode: tools, the model asks for what it needs; full_information, it sees all at once.
        tool_protocol: native, the endpoint's own form of calls; text, for models without one.
        max_rounds: steps with tools, after which the model has to decide.
        max_calls: calls in one step.
        tools: which there are.
        permute: full_information: further samples, with the information in other orders.
        permute_seed: of the orders.
        context_limit: tokens that the model takes in; None asks the server.
    """

    cases: str | None = None
    mode: Literal["tools", "full_information"] = "tools"
    tool_protocol: Literal["native", "text"] = "native"
    max_rounds: int = Field(20, ge=1)
    max_calls: int = Field(10, ge=1)
    tools: tuple[str, ...] = Field(TOOLS, min_length=1)
    permute: int = Field(0, ge=0)
    permute_seed: int = 0
    context_limit: int | None = Field(None, ge=1)


@dataclass(frozen=True)
class CdmTask:
    """The task with its cases; see `AskedTask`."""

    files: CaseFiles
    facts: Facts
    options: CdmOptions
    window: ContextWindow | None = None
    room: Room | None = None
    name: str = NAME
    prompt_version: str = PROMPT_VERSION
    asked_as: str = NAME

    def prepared(self, provider: Provider) -> CdmTask:
        """See `AskedTask`: the model says how much it takes in.

        Raises:
            UserError: a function, which can call no tools, and tools in an endpoint's form.
        """
        from medeval.inference.providers import PythonCallable

        how = self._how
        if (
            isinstance(how, LoopOptions)
            and how.tool_protocol == "native"
            and isinstance(provider, PythonCallable)
        ):
            raise UserError(
                f"{provider.model} is a function, which returns text and can call no tools. Use"
                " --tool-protocol text, or --mode full_information."
            )
        window = asyncio.run(
            context_window(provider, self.files.is_open, self.options.context_limit)
        )
        margin = LOOP_MARGIN if self.options.mode == "tools" else FULL_MARGIN
        return replace(self, window=window, room=room_in(window, provider, margin))

    def settings(self) -> dict[str, Any]:
        """See `AskedTask`."""
        return {
            SETTINGS: {
                **self._how.as_json(),
                "context": None if self.window is None else self.window.as_json(),
                "export": str(self.files.folder),
                **self.files.about(),
            }
        }

    def keep(self, folder: Path) -> list[Path]:
        """See `AskedTask`; cases stay where they were exported to."""
        return []

    def items(self, limit: int | None = None) -> Iterator[Item]:
        """See `AskedTask`: what each conversation begins with."""
        for episode in self._episodes(limit):
            opening = episode.opening
            yield Item(
                episode.id,
                opening.messages,
                episode.data_class,
                episode.sample,
                opening.parameters,
            )

    def can_read(self, item: Item, reply: str) -> bool:
        """See `AskedTask`; a conversation reads its own replies."""
        return True

    def ask(
        self, provider: Provider, folder: RunFolder, options: RunOptions, limit: int | None
    ) -> Ended:
        """See `AskedTask`."""
        return converse(self._episodes(limit), provider, folder, options)

    def local_provider(self, kind: str, gate: Gate) -> Provider:
        """See `AskedTask`."""
        return local_provider(kind, self.files.cases, self.facts, gate)

    def chance(self) -> float:
        """See `AskedTask`: how often another case has the same pathology."""
        counts = self.files.about()["pathologies"].values()
        n = sum(counts)
        return sum(count * (count - 1) for count in counts) / (n * (n - 1)) if n > 1 else 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `AskedTask`."""
        best = [best_scores(str(case.pathology), self.facts) for case in self.files.cases]
        return {name: (sum(one[name] for one in best) / len(best), 0.0) for name in self._possible}

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `AskedTask`; what became of each case is written into the run's folder."""
        found, transcripts = self._scored(folder, method)
        lines = case_lines(transcripts, self.facts, method.score_version)
        write_text(folder / CASE_SCORES, lines)
        return found

    def _scored(self, folder: Path, method: Method) -> tuple[TaskScore, list[Transcript]]:
        record = read_record(folder)
        self._require_same_cases(record)
        cases = self.files.cases[: record.limit]
        samples = 1 + int(record.settings[SETTINGS].get("permute", 0))
        transcripts = read_transcripts(folder, cases, samples)
        facts = {
            **facts_of_run(record, self.items(record.limit)),
            "data": self._data(cases_asked=len(cases)),
        }
        found = score_of(
            transcripts, self.facts, record.model, facts, method, possible=self._possible
        )
        return found, transcripts

    def compare(
        self, first: Path, other: AskedTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `AskedTask`; a case that failed has a score of 0."""
        if not isinstance(other, CdmTask):
            raise UserError(f"{second} is a run of {other.name}, not of {NAME}.")
        plain = replace(method, n_iters=0, groupings=())
        scored = [
            task._scored(folder, plain)[0].result.item_scores or {}
            for task, folder in ((self, first), (other, second))
        ]
        shared = [name for name in scored[0] if name in scored[1] and name not in COUNTS]
        shared.sort(key=lambda name: name != DIAGNOSIS)
        return [mean_difference(name, scored[0][name], scored[1][name], method) for name in shared]

    @property
    def _possible(self) -> list[str]:
        """The scores that there are for a case that is answered."""
        has_tools = self.options.mode == "tools"
        return [name for name in SCORES if has_tools or name not in TOOLS_ONLY]

    @cached_property
    def _how(self) -> LoopOptions | FullInformationOptions:
        options = self.options
        if options.mode == "full_information":
            unused = [name for name in TOOLS_OPTIONS if name in options.model_fields_set]
            if unused:
                raise UserError(
                    f"{', '.join(unused)}: for the mode tools; full_information has none of it."
                )
            return FullInformationOptions(options.permute, options.permute_seed)
        if options.permute or "permute_seed" in options.model_fields_set:
            raise UserError(
                "--permute is for full_information: with tools the model chooses the order itself."
            )
        return LoopOptions(
            options.tool_protocol, options.max_rounds, options.max_calls, tuple(options.tools)
        )

    def _episodes(self, limit: int | None) -> Iterator[Episode]:
        cases = self.files.cases[:limit]
        how = self._how
        if isinstance(how, FullInformationOptions):
            yield from full_information(cases, how, self.room)
        else:
            yield from tool_loops(cases, self.facts, self.files.mapping, how, self.room)

    def _require_same_cases(self, record: RunRecord) -> None:
        asked = record.settings[SETTINGS]
        for name, now in (
            ("sha256", self.files.sha256),
            ("mapping_sha256", self.files.mapping_sha256),
        ):
            if asked[name] != now:
                raise UserError(
                    f"{self.files.folder} holds other cases than those that {record.folder} was"
                    " made with (its SHA-256 differs). Export those again, or name their folder"
                    " with --cases."
                )

    def _data(self, cases_asked: int) -> dict[str, Any]:
        return {
            "sha256": self.files.sha256,
            "data_class": "open" if self.files.is_open else "credentialed",
            "cases": cases_asked,
            "without_pathology": self.files.without_pathology,
        }


def begin(options: CdmOptions) -> CdmTask:
    """Read the cases of an export.

    Raises:
        UserError: the export is not there, or options that do not go together.
    """
    files = read_case_files(None if options.cases is None else Path(options.cases))
    task = CdmTask(files, load_facts(), options)
    next(task.items(1))  # options that do not go together are told before a folder is made
    return task


def options_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which a run was begun."""
    asked = settings[SETTINGS]
    context = asked.get("context") or {}
    limit = context.get("limit") if context.get("limit_from") == "user" else None
    options = {"cases": asked["export"], "mode": asked["mode"], "context_limit": limit}
    if asked["mode"] == "full_information":
        return {**options, "permute": asked["permute"], "permute_seed": asked["seed"]}
    return {
        **options,
        "tool_protocol": asked["tool_protocol"],
        "max_rounds": asked["max_rounds"],
        "max_calls": asked["max_calls"],
        "tools": asked["tools"],
    }


def scored_again(folder: Path, cases: Path | None, method: Method) -> TaskScore:
    """Score a run with the cases of a folder; None takes the one of its record."""
    record = read_record(folder)
    options = options_of(record.settings)
    if cases is not None:
        options["cases"] = str(cases)
    return begin(CdmOptions.model_validate(options)).score(folder, method)
