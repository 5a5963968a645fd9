"""MTSamples Procedures as a task: treatment plans for procedure notes, graded by judges."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.inference.run import RESPONSES, Answer, read_answers
from medeval.inference.types import Item
from medeval.judging.jury import DEFAULT_JUDGE
from medeval.models.text_files import write_text
from medeval.tasks.differences import paired_differences
from medeval.tasks.judged import results_of_run
from medeval.tasks.mtsamples.export import (
    FILE,
    Example,
    as_lines,
    read_kept,
    read_warehouse,
    sha256_of,
)
from medeval.tasks.mtsamples.notes import NOTES_FOLDER
from medeval.tasks.mtsamples.prompts import PROMPT_VERSION, Asked, Style, demo_plan
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import ItemTask, JudgedTask, Method, TaskScore

if TYPE_CHECKING:
    from medeval.judging.jury import Jury
    from medeval.judging.prompt import Subject
    from medeval.judging.results import JudgingResults
    from medeval.judging.rubric import Rubric
    from medeval.scoring.compare import Difference

NAME = "mtsamples_procedures"
SETTINGS = "mtsamples"


class MtsamplesOptions(TaskOptions):
    """How notes are put to a model."""

    cache_dir: str | None = Field(
        None, description="The folder of downloaded notes that the warehouse was built of."
    )
    use_think: bool = Field(False, description="Ask the model to think between tags first.")
    prompt_style: Style = Field(
        "medarc", description="medarc: instruction as system message; helm: all in one message."
    )
    samples: int = Field(1, description="How often each note is asked about.")
    shuffle_seed: int | None = Field(
        None, description="Shuffle the notes by this seed. Default: by their names."
    )


@dataclass(frozen=True)
class MtsamplesTask(ItemTask, JudgedTask):
    """The task with its examples; see `JudgedTask`.

    Attributes:
        examples: in the order in which they are asked about.
        options: how they are put.
        rule_version: of their extraction.
        data_class: of the notes; None in a run that does not say so.
    """

    scored_by: ClassVar[str] = "a judge's reward"
    Options: ClassVar[type[TaskOptions]] = MtsamplesOptions
    examples: Sequence[Example]
    options: MtsamplesOptions
    rule_version: str
    data_class: str | None
    name: str = NAME
    prompt_version: str = PROMPT_VERSION
    default_judge: str = DEFAULT_JUDGE

    @classmethod
    def start(cls, named: str, options: MtsamplesOptions) -> Self:
        """See `Task`: the examples that the warehouse holds."""
        # The folder names the notes as a variable does.
        found = read_warehouse(as_built=options.as_built or options.cache_dir is not None)
        if options.cache_dir is not None:
            wanted = Path(options.cache_dir).expanduser().resolve()
            if found.source not in (str(wanted), str(wanted / NOTES_FOLDER)):
                raise UserError(
                    f"The warehouse holds the examples of {found.source}, not of {wanted}. Build"
                    f" them first: `MEDEVAL_MTSAMPLES={wanted} dbt build --select mtsamples`."
                )
        examples = list(found.rows)
        if options.shuffle_seed is not None:
            random.Random(options.shuffle_seed).shuffle(examples)  # noqa: S311
        return cls(examples, options, found.rule_version, found.data_class)

    @classmethod
    def resume(cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None) -> Self:
        """See `Task`: with the examples that the run kept."""
        asked = record.settings[SETTINGS]
        kept = {name: asked[name] for name in ("use_think", "prompt_style", "samples")}
        options = MtsamplesOptions(**kept)
        examples, data_class = read_kept(record.folder), asked.get("data_class")
        task = cls(examples, options, str(asked["rule_version"]), data_class)
        if sha256_of(task.examples) != asked["sha256"]:
            raise UserError(f"The examples in {record.folder} are not those that were asked about.")
        return task

    @property
    def asked(self) -> Asked:
        """How a note is put."""
        return Asked(self.options.prompt_style, self.options.use_think)

    @property
    def rubric(self) -> Rubric:
        """See `JudgedTask`."""
        from medeval.judging.rubric import shipped_rubric

        return shipped_rubric(NAME)

    def settings(self) -> dict[str, Any]:
        """See `Task`."""
        return {
            SETTINGS: {
                "examples": len(self.examples),
                "sha256": sha256_of(self.examples),
                "rule_version": self.rule_version,
                "prompt_sha256": self.asked.sha256,
                **self.options.model_dump(exclude={"cache_dir", "shuffle_seed"}),
                **({} if self.data_class is None else {"data_class": self.data_class}),
            }
        }

    def keep(self, folder: Path) -> list[Path]:
        """See `Task`."""
        place = folder / FILE
        if not place.exists():
            write_text(place, as_lines(self.examples))
        return [place]

    def items(self, limit: int | None = None) -> Iterator[Item]:
        """See `Task`."""
        for example in self.examples[:limit]:
            messages = self.asked.messages(example.question)
            for sample in range(self.options.samples):
                yield Item(example.example_id, messages, self.data_class, sample)

    def local_reply(self, item: Item, gold_of: str | None) -> str:
        """See `ItemTask`."""
        thought = "<think>By rule.</think>" if self.options.use_think else ""
        if gold_of is None:
            return thought + demo_plan(self._by_id[item.id].question)
        return thought + self._by_id[gold_of].answer

    def chance(self) -> float:
        """See `Task`; by the rule-based judge."""
        from medeval.judging.judgments import rewards_of
        from medeval.judging.local import LocalJudge

        judge = LocalJudge(self.rubric)
        rewards = [
            rewards_of(judge.scores(one.answer, other.answer), self.rubric).reward
            for one in self.examples
            for other in self.examples
            if one is not other
        ]
        return sum(rewards) / len(rewards) if rewards else 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `Task`."""
        return {"reward_judged": (1.0, 0.0), "reward": (1.0, 0.0)}

    def subjects(self, record: RunRecord) -> list[Subject]:
        """See `JudgedTask`."""
        from medeval.judging.prompt import Subject

        return [
            Subject(
                answer.item,
                self._by_id[answer.item].question,
                text,
                self._by_id[answer.item].answer,
                self.data_class,
                answer.sample,
            )
            for answer, text in self._answers(record)
        ]

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `Task`."""
        from medeval.tasks.mtsamples.scores import write_rows

        record = read_record(folder)
        results, plan = results_of_run(self, record)
        write_rows(self, self._answers(record), results, plan, folder)
        return self._scored(record, results, plan, method)

    def compare(
        self, first: Path, other: MtsamplesTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `Task`."""
        plain = Method(0, method.seed)
        found = []
        for task, folder in ((self, first), (other, second)):
            record = read_record(folder)
            results, plan = results_of_run(task, record)
            found.append((plan, task._scored(record, results, plan, plain).result))
        (plan, scored), (its_plan, its_scored) = found
        if self._by_id != other._by_id:
            raise UserError(f"{first} and {second} were asked about other examples.")
        if plan.same_judging() != its_plan.same_judging():
            raise UserError(
                f"{first} and {second} were judged by other judges, or otherwise. Have both judged"
                " alike: `python -m medeval judge`."
            )
        return paired_differences(scored, its_scored, "example_id", method)

    def _scored(
        self, record: RunRecord, results: JudgingResults, plan: Jury, method: Method
    ) -> TaskScore:
        # Here, not above: asking needs no numpy.
        from medeval.tasks.mtsamples.scores import score_of

        facts = facts_of_run(record, self.items(record.limit))
        settings = record.settings[SETTINGS]
        facts["data"] = {
            "sha256": settings["sha256"],
            "data_class": strictest([self.data_class]),
            "examples": settings["examples"],
            "truncation": self.examples[0].truncation,
        }
        return score_of(self.examples, results, plan, record, facts, method)

    def _answers(self, record: RunRecord) -> list[tuple[Answer, str]]:
        """Return each answer with the text that judges get."""
        return [
            (answer, self.asked.split(answer.text, answer.reasoning)[0])
            for answer in read_answers(record.folder / RESPONSES, self.items(record.limit))
        ]

    @cached_property
    def _by_id(self) -> Mapping[str, Example]:
        return {one.example_id: one for one in self.examples}
