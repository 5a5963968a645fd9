"""CDM as a task: a model at the bedside, which asks for what it needs, or sees all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, InstanceOf

from medeval.errors import UserError
from medeval.export import require_named_export
from medeval.files import toml_beside
from medeval.inference.tokens import UNLIMITED, ContextWindow, context_window
from medeval.inference.types import Model, Reply, Sample
from medeval.models.clinical_case import ClinicalCase
from medeval.models.text_files import write_text
from medeval.tasks.cdm import episode, full_information
from medeval.tasks.cdm.cases import EXPORT, CaseFiles, Subset, read_case_files, read_subset
from medeval.tasks.cdm.demo import MODEL, best_scores, oracle_reply, reply_to
from medeval.tasks.cdm.episode import ToolEpisode
from medeval.tasks.cdm.facts import PROMPT_VERSION, Facts, LabNames, load_facts
from medeval.tasks.cdm.full_information import FullInformation, in_all_orders, part_or_whole
from medeval.tasks.cdm.scores import COUNTS, SCORES, TOOLS_ONLY
from medeval.tasks.cdm.tools import TOOLS, require_tools
from medeval.tasks.options import TaskOptions, read_options
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import AskedTask, Method, TaskScore

if TYPE_CHECKING:
    from medeval.models.benchmark_report import EvaluationResult
    from medeval.scoring.compare import Difference
    from medeval.tasks.cdm.run_scores import Transcript

NAME = "cdm"
SETTINGS = "cdm"
CASE_SCORES = "case_scores.jsonl"
# Options that only one way of asking has; `permute` may be said to be none.
TOOLS_OPTIONS = ("tool_protocol", "max_rounds", "max_calls", "tools")
_TOLD = toml_beside(__file__, "data/options.toml")


class CdmOptions(TaskOptions):
    """How cases are put to a model.

    A run that goes on has its subset from its record, which is then no text.
    """

    WORDS: ClassVar[Mapping[str, str]] = _TOLD["options"]

    cases: str | None = None
    subset: str | InstanceOf[Subset] | None = None
    mode: Literal["tools", "full_information"] = "tools"
    tool_protocol: Literal["native", "text"] = "native"
    max_rounds: int = Field(20, ge=1)
    max_calls: int = Field(10, ge=1)
    tools: tuple[str, ...] = Field(TOOLS, min_length=1)
    permute: int = Field(0, ge=0)
    permute_seed: int = 0
    context_limit: int | None = Field(None, ge=1)


class CdmScoreOptions(TaskOptions):
    """What can be chosen about a score."""

    WORDS: ClassVar[Mapping[str, str]] = _TOLD["score_options"]

    cases: str | None = None
    subset: tuple[str, ...] = ()
    score_version: int = Field(2, ge=1, le=2)


@dataclass(frozen=True)
class CdmTask(AskedTask):
    """The task with its cases; see `Task`.

    Attributes:
        files: all cases of the export.
        facts: by which they are scored.
        options: how they are put to a model.
        subset: those that are asked; None asks all.
        recorded: how the record of a run that is taken up again says that it was asked. Where it
            began as a batch, the server is not asked what the model takes in.
        window: what the model takes in; None before it has told.
    """

    scored_by: ClassVar[str] = "diagnosis and conduct at the bedside"
    Options: ClassVar[type[TaskOptions]] = CdmOptions
    ScoreOptions: ClassVar[type[TaskOptions]] = CdmScoreOptions
    COMPARED: ClassVar[Set[str]] = frozenset({"cases"})
    MOVED: ClassVar[Set[str]] = frozenset({"cases"})
    DEMO_MODEL: ClassVar[str] = MODEL
    files: CaseFiles
    facts: Facts
    options: CdmOptions
    subset: Subset | None = None
    recorded: Mapping[str, Any] | None = None
    window: ContextWindow | None = None
    name: str = NAME
    prompt_version: str = PROMPT_VERSION

    @classmethod
    def start(cls, named: str, options: CdmOptions) -> Self:
        """See `Task`."""
        files = read_case_files(Path(options.cases or EXPORT))
        if options.cases is None and not options.as_built:
            require_named_export(EXPORT)
        given = options.subset
        subset = read_subset(given, files) if isinstance(given, str) else given
        if options.mode == "full_information":
            if unused := [name for name in TOOLS_OPTIONS if name in options.model_fields_set]:
                told = "for the mode tools; full_information has none of it"
                raise UserError(f"{', '.join(unused)}: {told}.")
        elif options.permute or "permute_seed" in options.model_fields_set:
            raise UserError(
                "--permute is for full_information: with tools the model chooses the order itself."
            )
        require_tools(options.tools)
        return cls(files, load_facts(), options, subset)

    @classmethod
    def resume(cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None) -> Self:
        """See `Task`; what counts of an export that is elsewhere now is its content."""
        asked = record.settings[SETTINGS]
        context = asked.get("context") or {}
        limit = context.get("limit") if context.get("limit_from") == "user" else None
        cases = str(moved.get("cases", asked["export"]))
        given = {"cases": cases, "mode": asked["mode"], "context_limit": limit}
        if "subset" in asked:
            kept = asked["subset"]
            given["subset"] = Subset(kept["name"], tuple(kept["hadm_ids"]), kept["file_sha256"])
        if asked["mode"] == "full_information":
            given |= {"permute": asked["permute"], "permute_seed": asked["seed"]}
        else:
            given |= {name: asked[name] for name in TOOLS_OPTIONS}
        task = cls.start(NAME, read_options(CdmOptions, given, NAME))
        task.require_cases_of(record)
        return replace(task, recorded=asked)

    @property
    def is_conversation(self) -> bool:
        """Whether the model asks for what it needs, so that there is no batch of prompts."""
        return self.options.mode == "tools"

    def prepared(self, provider: Model) -> CdmTask:
        """See `Task`: the model says how much it takes in.

        Raises:
            UserError: a function, which can call no tools, and tools in an endpoint's form.
        """
        from medeval.inference.python_model import PythonModel

        if self.recorded is not None and not self.recorded.get("context"):
            return self
        options, has_tools = self.options, self.is_conversation
        is_function = isinstance(provider, PythonModel) and provider.file is not None
        if has_tools and options.tool_protocol == "native" and is_function:
            raise UserError(
                f"{provider.model} is a function, which returns text and can call no tools. Use"
                " --tool-protocol text, or --mode full_information."
            )
        margin = episode.MARGIN if has_tools else full_information.MARGIN
        of = (provider, self._asked.is_open, options.context_limit, margin)
        return replace(self, window=asyncio.run(context_window(*of)))

    def settings(self) -> dict[str, Any]:
        """See `Task`."""
        options = self.options
        how: dict[str, Any] = {"permute": options.permute, "seed": options.permute_seed}
        if self.is_conversation:
            how = {**options.model_dump(mode="json", include={*TOOLS_OPTIONS}), "tools_version": 2}
        settings = {
            "mode": options.mode,
            **how,
            "context": self.window and self.window.as_json(),
            # The same cases in another folder are no other setting.
            "export": str((self.recorded or {}).get("export", self.files.folder)),
            **self._asked.about(),
        }
        if self.subset is not None:
            # Enough to go on without the file of the subset.
            ids = list(self.subset.hadm_ids)
            settings["subset"] = {**self.subset.about(), "hadm_ids": ids}
        return {SETTINGS: settings}

    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """See `Task`: what each conversation begins with."""
        for one in self.samples(limit):
            yield one.opening

    def samples(self, limit: int | None = None) -> Iterator[ToolEpisode | FullInformation]:
        """See `Task`: the conversations."""
        options, window = self.options, self.window or UNLIMITED
        known: dict[str, Any] = {"facts": self.facts, "names": self._names, "options": options}
        for case in self._asked.cases[:limit]:
            if self.is_conversation:
                yield ToolEpisode(case, window, **known)
            else:
                yield from in_all_orders(case, window, options.permute, options.permute_seed)

    def can_read(self, item: Sample, reply: str) -> bool:
        """See `Task`: an answer to a batch may have a part missing, as any other."""
        return self.is_conversation or part_or_whole(reply) is not None

    def local_reply(self, item: Sample, gold_of: str | None) -> Reply:
        """See `AskedTask`."""
        if gold_of is None:
            return reply_to(item.messages, item.parameters)
        return oracle_reply(item, self._by_id[gold_of], self.facts)

    def chance(self) -> float:
        """See `Task`: how often another case has the same pathology."""
        counts = self._asked.about()["pathologies"].values()
        n = sum(counts)
        return sum(count * (count - 1) for count in counts) / (n * (n - 1)) if n > 1 else 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `Task`."""
        best = [best_scores(str(case.pathology), self.facts) for case in self._asked.cases]
        return {name: (sum(one[name] for one in best) / len(best), 0.0) for name in self._possible}

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `Task`; what became of each case is written into the run's folder."""
        from medeval.tasks.cdm.run_scores import case_lines

        found, transcripts = self._scored(folder, method)
        version = found.result.metadata["score_version"]
        write_text(folder / CASE_SCORES, case_lines(transcripts, version))
        return found

    def _scored(self, folder: Path, method: Method) -> tuple[TaskScore, list[Transcript]]:
        from medeval.tasks.cdm.run_scores import read_transcripts, score_of, scored

        record = read_record(folder)
        self.require_cases_of(record)
        options = method.chosen(CdmScoreOptions)
        cases = self._asked.cases[: record.limit]
        samples = 1 + int(record.settings[SETTINGS].get("permute", 0))
        read = read_transcripts(folder, cases, samples, has_tools=self.is_conversation)
        transcripts = scored(read, self.facts, options.score_version)
        data: dict[str, Any] = {
            "sha256": self.files.sha256,
            "data_class": "open" if self._asked.is_open else "credentialed",
            "cases": len(cases),
            "without_pathology": self._asked.without_pathology,
        }
        if self.subset is not None:
            data["subset"] = self.subset.about()
        about = {**facts_of_run(record, self.items(record.limit)), "data": data}
        subsets = [read_subset(named, self.files) for named in options.subset]
        names = [subset.name for subset in subsets]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UserError(f"--subset {twice[0]}: two subsets have this name.")
        of = (self.facts, about, method, self._possible, subsets, options.score_version)
        return score_of(transcripts, *of), transcripts

    def require_cases_of(self, record: RunRecord) -> None:
        """Refuse other cases than those that a run was made with, wherever they are.

        Raises:
            UserError: the content differs.
        """
        asked = record.settings[SETTINGS]
        if (asked.get("sha256"), asked.get("mapping_sha256")) != self.files.hashes:
            raise UserError(
                f"{self.files.folder} holds other cases than {record.folder} was made with (by"
                " SHA-256). Export those again, or name their folder with --cases."
            )

    def compare(
        self, first: Path, other: CdmTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `AskedTask`.

        Raises:
            UserError: a run of another export, or runs that have no case in common.
        """
        if self.files.hashes != other.files.hashes:
            raise UserError(
                f"{first} and {second} were made with other cases or tables of tests (by SHA-256):"
                f" {self.files.folder} and {other.files.folder}. Compare runs of one export."
            )
        return super().compare(first, other, second, method)

    def compared_result(self, folder: Path, method: Method) -> EvaluationResult:
        """See `AskedTask`; a case that failed has a score of 0, and counts are not compared."""
        result = self._scored(folder, method)[0].result
        for name in COUNTS:
            (result.item_scores or {}).pop(name, None)
        return result

    @property
    def _possible(self) -> list[str]:
        """The scores that there are for a case that is answered."""
        return [name for name in SCORES if self.is_conversation or name not in TOOLS_ONLY]

    @cached_property
    def _asked(self) -> CaseFiles:
        """The cases that are asked: all of the export, or those of the subset."""
        return self.files if self.subset is None else self.files.only(self.subset.hadm_ids)

    @cached_property
    def _by_id(self) -> Mapping[str, ClinicalCase]:
        return {str(one.hadm_id): one for one in self._asked.cases}

    @cached_property
    def _names(self) -> LabNames:
        return LabNames(self.files.tests, self.facts.labs)
