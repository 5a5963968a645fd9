"""Tasks of task files: asked item by item, read by their output schema, scored by their metrics."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from medeval.errors import UserError
from medeval.evaluation import task_prompts
from medeval.evaluation.fetching import FetchRules, is_url
from medeval.evaluation.task_loader import TaskLoader
from medeval.evaluation.task_prompts import demo_answer, output_from_reply
from medeval.inference.guard import is_loopback
from medeval.inference.run import RESPONSES, Answer, read_answers
from medeval.inference.types import Outcome, Sample
from medeval.judging.rubric import Rubric, named_rubric
from medeval.metrics.metric import Metric, mean_of, rationale_of, text_of
from medeval.models.medical_task import task_hash
from medeval.models.schemas import Pairs, Row
from medeval.models.task_types import EvaluatedTask, MultipleChoiceTask
from medeval.tasks import registry
from medeval.tasks.judged import item_verdicts, judged_table, judging_facts, results_of_run
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import JudgedTask, Method, TaskScore

if TYPE_CHECKING:
    from medeval.judging.prompt import Subject
    from medeval.models.about import About
    from medeval.scoring.table import Column

SETTINGS = "task_file"
# What gold answers are worth here is not laid down by the gold itself.
_NOT_OF_THE_GOLD = {"evidence_rate", "reasoning_cue_rate", "readability"}


class MedicalOptions(TaskOptions):
    """How the items of a task file are put."""

    samples: int = Field(1, ge=1, description="How often each item is asked.")
    json_schema: bool = Field(
        True, description="Hold replies to the output schema where the endpoint can."
    )


@dataclass(frozen=True)
class MedicalTaskRun(JudgedTask):
    """The items of a task file; see `Task`.

    Attributes:
        task: as it was loaded.
        file: where it is.
        options: how it is put.
    """

    Options: ClassVar[type[TaskOptions]] = MedicalOptions
    task: EvaluatedTask
    file: str
    options: MedicalOptions
    prompt_version: str = task_prompts.TASK_PROMPT_VERSION

    @classmethod
    def about(cls, name: str) -> About:
        """See `Task`; the glossary is that of all metrics that a task file can name."""
        from medeval.metrics.registry import default_registry
        from medeval.models.about import About, MetricAbout

        glossary = {
            one.name: MetricAbout(
                meaning=f"{one.description[0].upper()}{one.description[1:]}.",
                range="" if one.direction == "neither" and not one.binary else "0 to 1",
                right=one.description if one.binary else "",
            )
            for one in default_registry()
        }
        return About(metrics=glossary)

    @classmethod
    def start(cls, named: str, options: MedicalOptions) -> Self:
        """See `Task`: of a bundled id, a file or a web address."""
        # Whoever names an address of this machine means it; none leads there from elsewhere.
        is_local = is_url(named) and is_loopback(named)
        try:
            task = _loader(is_local).load_task(named, reload=is_url(named))
            task.keep_pairs()
        except FileNotFoundError:
            if Path(named).suffix:
                raise UserError(f"There is no task file {named}.") from None
            near = get_close_matches(named, [*registry.names(), *bundled()], 1, 0.7)
            raise UserError(
                f"There is no task {named!r}.{f' Did you mean {near[0]}?' if near else ''} Tasks:"
                f" {', '.join(registry.names())}, a task file, or one that comes along:"
                f" {', '.join(bundled())}."
            ) from None
        except ValueError as error:
            raise UserError(f"{error}.") from None
        # Runs are found by the names of tasks.
        if task.task_id in (*registry.names(), *registry.ALIASES):
            raise UserError(
                f"{named}: task_id {task.task_id!r} is the name of another task. Choose another."
            )
        is_file = named not in bundled() and Path(named).is_file()
        made = cls(task, str(Path(named).resolve()) if is_file else named, options)
        # What would fail later is told before a model is asked: a metric, a row, a rubric.
        _, _, (_, gold) = made.metrics, made.rubric, made._pairs
        if not any(gold):
            raise UserError(
                f"{task.task_id} has no expected output, so no answer to it could be scored."
            )
        return made

    @classmethod
    def resume(cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None) -> Self:
        """See `Task`; the task file may be elsewhere now."""
        asked = record.settings[SETTINGS]
        options = MedicalOptions(samples=asked["samples"], json_schema=asked["json_schema"])
        return cls.start(named or str(asked["file"]), options)

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        """The task's id."""
        return self.task.task_id

    @property
    def headline(self) -> str:
        """The first of the task's metrics."""
        return next(iter(self.metrics))

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """What the answers are scored by.

        Raises:
            UserError: a metric is not known.
        """
        from medeval.metrics.registry import default_registry

        registry = default_registry()
        return {name: registry.find(name) for name in self.task.metrics or self.task.simple_metrics}

    @property
    def rubric(self) -> Rubric | None:
        """The rubric that the task file names under `judge`; None if it names none.

        Raises:
            UserError: there is no such rubric.
        """
        named = self.task.extra.get("judge")
        if named is None:
            return None
        try:
            return named_rubric(str(named), Path(self.file).parent)
        except UserError as error:
            raise UserError(f"{self.file}: judge: {error}") from None

    @property
    def _pairs(self) -> Pairs:
        """The inputs and the gold answers."""
        return self.task.pairs()

    def subject(self, answer: Answer) -> Subject:
        """See `JudgedTask`."""
        from medeval.judging.prompt import Subject

        shown, gold = (side[int(answer.item)] for side in self._pairs)
        # The answer itself where the reply holds it in a form, else the reply.
        read = output_from_reply(self.task, answer.answer, shown) or {}
        parts = (read.get(self.task.target), rationale_of(read))
        told = "\n".join(text_of(part) for part in parts if part) or answer.answer
        texts = text_of(shown), told, text_of(gold.get(self.task.target))
        return Subject(answer.item, *texts, self.task.data_class, answer.sample)

    def settings(self) -> dict[str, Any]:
        """See `Task`."""
        told = {"file": self.file, "sha256": task_hash(self.task)}
        return {SETTINGS: told | self.options.model_dump()}

    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """See `Task`."""
        asked = task_prompts.parameters_for(self.task) if self.options.json_schema else {}
        messages_of = task_prompts.messages_for(self.task)
        for index, row in enumerate(self._pairs[0][:limit]):
            messages = messages_of(row)
            for sample in range(self.options.samples):
                yield Sample(str(index), messages, self.task.data_class, sample, asked)

    def can_read(self, item: Sample, reply: str) -> bool:
        """See `Task`."""
        return output_from_reply(self.task, reply, self._pairs[0][int(item.id)]) is not None

    def local_reply(self, item: Sample, gold_of: str | None) -> str:
        """See `AskedTask`."""
        inputs, gold = self._pairs
        if gold_of is not None:
            return json.dumps(gold[int(gold_of)], ensure_ascii=False)
        if isinstance(self.task, MultipleChoiceTask):
            return "A"
        return json.dumps(demo_answer(self.task, inputs[int(item.id)]))

    def chance(self) -> float:
        """See `Task`."""
        from medeval.tasks.self_check import rotations  # which asks for it

        tables = (self.task.table(one, [self.headline]) for one in rotations(self._pairs[1]))
        return mean_of(table.columns[self.headline].value() for table in tables) or 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `Task`."""
        return {
            name: (1.0, 0.0)
            for name, metric in self.metrics.items()
            if metric.direction == "higher" and metric.name not in _NOT_OF_THE_GOLD
        }

    def score(self, folder: Path, method: Method) -> TaskScore:
        """Score the answers of a run.

        An item without an output has an empty one: it stays among the items. With several samples
        an item's score is the mean over its samples, and items are drawn, never samples. A judge's
        rewards stand beside the metrics; the headline stays the task's own.

        Raises:
            UserError: the folder holds no run of this task with these data, or groups are asked
                for.
        """
        # Here, not above: asking needs no numpy.
        from medeval.scoring.table import ScoreTable
        from medeval.tasks.for_reports import shows_text, task_score

        record = read_record(folder)
        if record.settings.get(SETTINGS, {}).get("sha256") != task_hash(self.task):
            raise UserError(
                f"{self.file} is not the task that {folder} was made with (its content differs)."
                " Score with the file as it was then."
            )
        if method.groupings or method.cluster:
            raise UserError("Items of a task file have no groups: leave --by and --cluster away.")
        limit, fields = record.limit, ("dataset", "inputs", "expected_outputs")
        due = {name: getattr(self.task, name)[:limit] for name in fields}
        task = self.task.model_copy(update=due)
        inputs, gold = (rows[:limit] for rows in self._pairs)
        task.keep_pairs((inputs, gold))
        outputs = self._outputs(folder, limit)
        by_sample = [task.table(one).columns for one in outputs]
        columns = {name: _over_samples([one[name] for one in by_sample]) for name in by_sample[0]}
        data = {"sha256": task_hash(task), "data_class": task.data_class, "items": len(inputs)}
        facts = facts_of_run(record, self.items(limit)) | {
            "data": data,
            "task_hash": data["sha256"],
            "samples": len(outputs),
            "by_sample": {name: [one[name].value() for one in by_sample] for name in columns},
        }
        about: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, column in by_sample[0].items():
            if column.coverage is not None:
                about[name]["coverage"] = column.coverage
            if (direction := self.metrics[name].direction) != "higher":
                about[name]["direction"] = direction
        if about:
            facts["about_metrics"] = dict(about)
        warnings: Sequence[str] = ()
        verdicts: Sequence[str] = ()
        if record.judgings:
            judging = results_of_run(self, record)
            columns |= judged_table(*judging).columns
            verdicts = item_verdicts(judging[0])
            facts["judging"], warnings = judging_facts(*judging), judging[0].warnings
        may_show = shows_text(facts, method)
        return task_score(
            task.task_id,
            record.model,
            self.headline,
            ScoreTable(columns),
            method,
            [{"id": str(index), **(row if may_show else {})} for index, row in enumerate(inputs)],
            outputs[0] if may_show else [{} for _ in inputs],
            facts,
            gold=gold,
            verdicts=verdicts,
            warnings=warnings,
        )

    def _outputs(self, folder: Path, limit: int | None) -> list[list[Row]]:
        """Return the outputs of each sample, aligned with the items; empty where there is none."""
        inputs, outputs = self._pairs[0], [list[Row]() for _ in range(self.options.samples)]
        for answer in read_answers(folder / RESPONSES, self.items(limit)):
            read = None
            if answer.outcome in (Outcome.ANSWERED, Outcome.UNPARSED):
                read = output_from_reply(self.task, answer.answer, inputs[int(answer.item)])
            outputs[answer.sample].append(read or {})
        return outputs


@cache
def _loader(allow_private_hosts: bool) -> TaskLoader:
    """Return the loader of all commands: what names a file twice means what was read of it once."""
    return TaskLoader(rules=FetchRules(allow_private_hosts=allow_private_hosts))


def bundled() -> dict[str, Path]:
    """Return the task files that come along, by id."""
    return TaskLoader().discover_tasks()


def _over_samples(samples: Sequence[Column]) -> Column:
    """Return a metric over all samples of the items: the mean of what each sample gives.

    A score of items is the mean of an item's own scores. Of a metric of the whole task it is the
    mean of the samples' values, and items keep their samples.
    """
    from medeval.scoring.table import Pooled, Ratio

    if len(samples) == 1:
        return samples[0]
    reason = next((sample.reason for sample in samples if sample.reason), None)
    pooled = [sample for sample in samples if isinstance(sample, Pooled)]
    if not pooled:
        by_item = zip(*(sample.item_scores for sample in samples), strict=True)
        return Ratio(
            [mean_of(scores) for scores in by_item],
            is_share=all(sample.is_share for sample in samples),
            reason=reason,
        )

    def pool(counts: Mapping[Any, int]) -> float | None:
        values = []
        for place, sample in enumerate(pooled):
            own: Counter[Any] = Counter()
            for records, times in counts.items():
                own.update(dict.fromkeys(records[place], times))
            values.append(sample.pool(own) if own else None)
        return mean_of(values)

    # An item that has no record in a sample is none there.
    kept = ([() if one is None else (one,) for one in sample.records] for sample in pooled)
    records = [of_item if any(of_item) else None for of_item in zip(*kept, strict=True)]
    return Pooled(records, pool, pooled[0].reason)
