"""MTSamples Procedures as a task: treatment plans for procedure notes, graded by judges."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, permutations
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from medeval.errors import UserError
from medeval.files import json_lines, toml_beside
from medeval.inference.run import RESPONSES, Answer, read_answers
from medeval.inference.types import Message, Sample
from medeval.judging.jury import DEFAULT_JUDGE, Jury, rule_scores
from medeval.judging.rubric import Rubric, shipped_rubric
from medeval.models.text_files import write_text
from medeval.tasks import judged
from medeval.tasks.mtsamples.download import fill_cache
from medeval.tasks.mtsamples.export import FILE, Example, as_lines, read_kept, read_warehouse
from medeval.tasks.mtsamples.notes import NOTES_FOLDER
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import JudgedTask, Method, TaskScore
from medeval.text import sha256_of, split_thinking, strictest

if TYPE_CHECKING:
    from medeval.judging.prompt import Subject
    from medeval.judging.results import JudgingResults, SubjectResult
    from medeval.scoring.compare import Difference

NAME = "mtsamples_procedures"
SETTINGS = "mtsamples"
PROMPT_VERSION = "mtsamples-1"
RESULTS = "results.jsonl"
# The benchmark's own instruction, word for word, and what the demo's plan is made of.
_TEXTS = toml_beside(__file__, "texts.toml")


class MtsamplesOptions(TaskOptions):
    """How notes are put to a model."""

    WORDS: ClassVar[Mapping[str, str]] = _TEXTS["options"]

    cache_dir: str | None = None
    use_think: bool = False
    prompt_style: Literal["medarc", "helm"] = "medarc"
    samples: int = Field(1, ge=1)
    shuffle_seed: int | None = None

    def messages(self, question: str) -> list[Message]:
        """Return the conversation about one note."""
        instruction: str = _TEXTS["instruction"]
        if self.use_think:
            instruction += f" {_TEXTS['think']}"
        if self.prompt_style == "helm":
            text = f"{instruction}\n\nPatient Notes: {question}\nAnswer:"
            return [{"role": "user", "content": text}]
        return [{"role": "system", "content": instruction}, {"role": "user", "content": question}]

    @property
    def prompt_sha256(self) -> str:
        """The hash of the prompt without a note in it."""
        return sha256_of(str(self.messages("")))

    def split(self, reply: str, reasoning: str = "") -> tuple[str, str]:
        """Return what judges get of a reply, thinking in tags still in it, and what was thought.

        Asked to think, a model that never closes its thinking has given no answer: all of it is
        thinking. Where the server has split the thinking off, there are no tags to be closed.

        Args:
            reply: as it came.
            reasoning: what the server has split off.
        """
        is_split = bool(reasoning.strip()) and "think>" not in reply.lower()
        if self.use_think and reply.strip() and not is_split:
            closed = re.match(r"(?P<thought>.*)</think>", reply, re.DOTALL | re.IGNORECASE)
            own = reply if closed is None else closed["thought"]
            own = re.sub(r"</?think>", "\n", own, flags=re.IGNORECASE).strip()
            reply = f"<think>{reply}" if closed is None else reply[closed.end() :].strip()
        else:
            own = split_thinking(reply).thinking
        return reply, "\n".join(part for part in (reasoning, own) if part)


@dataclass(frozen=True)
class MtsamplesTask(JudgedTask):
    """The task with its examples; see `JudgedTask`.

    Attributes:
        examples: in the order in which they are asked about.
        options: how they are put.
        rule_version: of their extraction.
        data_class: of the notes; None in a run that does not say so.
    """

    scored_by: ClassVar[str] = "a judge's reward"
    MIN_CELL: ClassVar[int] = 1
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
        """See `Task`: the examples that the warehouse holds; an empty cache folder is filled."""
        cache = options.cache_dir and str(Path(options.cache_dir).expanduser().resolve())
        if cache:
            fill_cache(Path(cache))
        build = f"`MEDEVAL_MTSAMPLES={cache} dbt build --select mtsamples`"
        try:
            # The folder names the notes as a variable does.
            examples, rule_version, place, data_class = read_warehouse(
                as_built=options.as_built or bool(cache)
            )
        except UserError as error:
            raise UserError(f"{error} For {cache}: {build}." if cache else str(error)) from None
        if cache and place not in (cache, f"{cache}/{NOTES_FOLDER}"):
            raise UserError(
                f"The warehouse holds the examples of {place}, not of {cache}. Build them first:"
                f" {build}."
            )
        if options.shuffle_seed is not None:
            random.Random(options.shuffle_seed).shuffle(examples)  # noqa: S311
        return cls(examples, options, rule_version, data_class)

    @classmethod
    def resume(cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None) -> Self:
        """See `Task`: with the examples that the run kept."""
        asked = record.settings[SETTINGS]
        kept = {name: asked[name] for name in ("use_think", "prompt_style", "samples")}
        examples, data_class = read_kept(record.folder), asked.get("data_class")
        if sha256_of(as_lines(examples)) != asked["sha256"]:
            raise UserError(f"The examples in {record.folder} are not those that were asked about.")
        return cls(examples, MtsamplesOptions(**kept), str(asked["rule_version"]), data_class)

    @property
    def rubric(self) -> Rubric:
        """See `JudgedTask`."""
        return shipped_rubric(NAME)

    def settings(self) -> dict[str, Any]:
        """See `Task`."""
        return {
            SETTINGS: {
                "examples": len(self.examples),
                "sha256": sha256_of(as_lines(self.examples)),
                "rule_version": self.rule_version,
                "prompt_sha256": self.options.prompt_sha256,
                **self.options.model_dump(exclude={"cache_dir", "shuffle_seed"}),
                **({} if self.data_class is None else {"data_class": self.data_class}),
            }
        }

    def keep(self, folder: Path) -> None:
        """See `Task`."""
        place = folder / FILE
        if not place.exists():
            write_text(place, as_lines(self.examples))

    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """See `Task`."""
        for example in self.examples[:limit]:
            messages = self.options.messages(example.question)
            for sample in range(self.options.samples):
                yield Sample(example.example_id, messages, self.data_class, sample)

    def local_reply(self, item: Sample, gold_of: str | None) -> str:
        """See `AskedTask`."""
        thought = "<think>By rule.</think>" if self.options.use_think else ""
        if gold_of is not None:
            return thought + self._by_id[gold_of].answer
        # Sentences of the note, and what is usual. What they earn says nothing but that the way
        # from note to reward works.
        sentences = map(str.strip, re.findall(r"[^.\n]+\.", self._by_id[item.id].question))
        told = [re.sub(r"^[A-Z][A-Za-z /&-]*:\s*", "", one) for one in sentences]
        useful = [one for one in told if re.search(_TEXTS["useful"], one, re.IGNORECASE)]
        return thought + " ".join([*useful[-4:], *_TEXTS["usual"]])

    def chance(self) -> float:
        """See `Task`; by the rule-based judge."""
        from medeval.judging.results import rewards_of
        from medeval.metrics.metric import mean_of

        rubric, answers = self.rubric, [one.answer for one in self.examples]
        scores = (rule_scores(rubric, *pair) for pair in permutations(answers, 2))
        return mean_of(rewards_of(own, rubric)["reward"] for own in scores) or 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `Task`."""
        return {"reward_judged": (1.0, 0.0), "reward": (1.0, 0.0)}

    def subject(self, answer: Answer) -> Subject:
        """See `JudgedTask`."""
        from medeval.judging.prompt import Subject

        said = (answer.line.get(name, "") for name in ("text", "reasoning"))
        text, asked = self.options.split(*said)[0], self._by_id[answer.item]
        about = (asked.question, text, asked.answer, self.data_class, answer.sample)
        return Subject(answer.item, *about)

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `Task`; writes one row an answer into the run's folder."""
        record = read_record(folder)
        results, plan = judged.results_of_run(self, record)
        answers = read_answers(folder / RESPONSES, self.items(record.limit))
        rows = [
            self._row(answer, result, plan) | {"judge_prompt": results.prompt.version}
            for answer, result in zip(answers, results.subjects, strict=True)
        ]
        write_text(folder / RESULTS, json_lines(rows))
        return self._scored(record, results, plan, method)

    def _row(self, answer: Answer, result: SubjectResult, plan: Jury) -> dict[str, Any]:
        """Return what `results.jsonl` says of an answer."""
        from medeval.judging.results import without_texts

        example, line = self._by_id[answer.item], answer.line
        text = line.get("text", "")
        return {
            "example_id": example.example_id,
            "sample": answer.sample,
            "source_index": example.source_index,
            "prompt": self.options.messages(example.question),
            "completion": [{"role": "assistant", "content": text}],
            "question": example.question,
            "answer": example.answer,
            "extracted_section": example.extracted_section,
            "answer_text": result.subject.judged,
            "think_text": self.options.split(text, line.get("reasoning", ""))[1],
            "outcome": answer.outcome and str(answer.outcome),
            "finish_reason": line.get("finish_reason") or None,
            "usage": line.get("usage") or {},
            **{name: line.get("measured", {}).get(name) for name in ("seconds", "attempts")},
            "model": line.get("model") or None,
            "prompt_version": self.prompt_version,
            "prompt_sha256": self.options.prompt_sha256,
            "rule_version": self.rule_version,
            "reward": result.reward,
            "reward_judged": result.pooled(plan.pooling),
            "helm_jury_score": result.helm_jury_score,
            "judge_status": result.judge_status,
            "reason": result.reason,
            "judgments": [without_texts(one) for one in result.judgments],
            "possible_injection": bool(result.injection_signs),
            "info": {
                "filename": example.filename,
                "extracted_section": example.extracted_section,
                "procedure_note": example.question,
                "reference_plan": example.answer,
                "judge_feedback": judge_feedback(result),
            },
        }

    def compare(
        self, first: Path, other: MtsamplesTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `Task`."""
        judgings, scored = [], []
        for task, folder in ((self, first), (other, second)):
            record = read_record(folder)
            results, plan = judged.results_of_run(task, record)
            judgings.append(plan.same_judging())
            scored.append(task._scored(record, results, plan, Method(0, method.seed)).result)
        if self._by_id != other._by_id:
            raise UserError(f"{first} and {second} were asked about other examples.")
        if judgings[0] != judgings[1]:
            raise UserError(
                f"{first} and {second} were judged by other judges, or otherwise. Have both judged"
                " alike: `python -m medeval judge`."
            )
        from medeval.scoring.compare import paired_differences  # numpy is slow to load

        return paired_differences(scored[0], scored[1], method.n_iters, method.seed)

    def _scored(
        self, record: RunRecord, results: JudgingResults, plan: Jury, method: Method
    ) -> TaskScore:
        # Here, not above: asking needs no numpy.
        from medeval.tasks.for_reports import group_scores, task_score

        if method.cluster is not None:
            raise UserError(f"--cluster {method.cluster}: notes are drawn by themselves.")
        items = results.by_item().items()
        statuses = {item: [one.judge_status for one in own] for item, own in items}
        asked = [self._by_id[item] for item in statuses]
        groupings = [
            {
                "extracted_section": one.extracted_section or "none",
                "medical_specialty": one.medical_specialty or "none",
                "leak": "leaked" if one.leak else "not leaked",
            }
            for one in asked
        ]
        values = judged.judged_values(results, plan, method)
        groups = group_scores(groupings, values, method, groupings[0])
        data = {name: record.settings[SETTINGS][name] for name in ("sha256", "examples")}
        data["data_class"] = strictest([self.data_class])
        data["truncation"] = self.examples[0].truncation
        facts = facts_of_run(record, self.items(record.limit)) | {
            "data": data,
            "judging": judged.judging_facts(results, plan),
            "warnings": list(results.warnings),
            "groups": groups,
        }
        plans = {one.subject.id: one.subject.judged for one in reversed(results.subjects)}
        return task_score(
            record.task,
            record.model,
            judged.HEADLINE,
            judged.judged_table(results, plan),
            method,
            [
                {"example_id": one.example_id, "filename": one.filename, "note": one.question}
                for one in asked
            ],
            [{"judge_status": own, "plan": plans[item]} for item, own in statuses.items()],
            facts,
            texts={"note", "plan"},
            gold=[one.answer for one in asked],
            verdicts=judged.item_verdicts(results),
            item_groups=groupings,
            warnings=results.warnings,
            groups=groups,
        )

    @cached_property
    def _by_id(self) -> Mapping[str, Example]:
        return {one.example_id: one for one in self.examples}


def judge_feedback(result: SubjectResult) -> list[dict[str, Any]]:
    """Return one entry for each round of judging, as MedARC's environment does.

    An entry has `judges`, a row for each of them, and `score`, their mean reward; for a single
    judge also `scores` and `raw_judge`. It holds what the judges wrote.
    """
    from medeval.judging.results import combined

    feedback = []
    in_rounds = sorted(result.judgments, key=itemgetter("repeat"))
    for _, own in groupby(in_rounds, itemgetter("repeat")):
        judgments, rows = [*own], []
        for each in judgments:
            said = each["explanations"]
            scores = {
                name: {"score": score, "explanation": said.get(name, "")}
                for name, score in each["scores"].items()
            }
            row = {"judge": each["judge"], "model": each["model"], "raw": each["reply"]}
            rows.append({**row, "error": each["reason"], "scores": scores, "score": each["reward"]})
        entry: dict[str, Any] = {"judges": rows, "score": combined(judgments)["reward"]}
        if len(rows) == 1:
            entry |= {"scores": rows[0]["scores"], "raw_judge": rows[0]["raw"]}
        feedback.append(entry)
    return feedback
