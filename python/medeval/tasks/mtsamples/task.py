"""MTSamples Procedures as a task: treatment plans for procedure notes, graded by judges."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from medeval.errors import UserError
from medeval.inference.run import RESPONSES, Answer, read_answers
from medeval.inference.types import Message, Sample
from medeval.judging.jury import DEFAULT_JUDGE
from medeval.models.text_files import write_text
from medeval.tasks.differences import paired_differences
from medeval.tasks.judged import results_of_run
from medeval.tasks.mtsamples.download import fill_cache
from medeval.tasks.mtsamples.export import (
    FILE,
    Example,
    as_lines,
    read_kept,
    read_warehouse,
    sha256_of,
)
from medeval.tasks.mtsamples.notes import NOTES_FOLDER
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import JudgedTask, Method, SampleTask, TaskScore
from medeval.text import split_thinking, strictest

if TYPE_CHECKING:
    from medeval.judging.jury import Jury
    from medeval.judging.prompt import Subject
    from medeval.judging.results import JudgingResults
    from medeval.judging.rubric import Rubric
    from medeval.scoring.compare import Difference

NAME = "mtsamples_procedures"
SETTINGS = "mtsamples"
PROMPT_VERSION = "mtsamples-1"
RESULTS = "results.jsonl"
# The benchmark's own sentence, word for word.
INSTRUCTION = (
    "Here are information about a patient, return a reasonable treatment plan for the patient."
)
_THINK = (
    f"{INSTRUCTION} First think it through between <think> and </think>, then give the plan after"
    " the closing tag."
)


class MtsamplesOptions(TaskOptions):
    """How notes are put to a model."""

    cache_dir: str | None = Field(
        None,
        description="The folder of downloaded notes that the warehouse was built of. An empty one"
        " is filled first.",
    )
    use_think: bool = Field(False, description="Ask the model to think between tags first.")
    prompt_style: Literal["medarc", "helm"] = Field(
        "medarc", description="medarc: instruction as system message; helm: all in one message."
    )
    samples: int = Field(1, ge=1, description="How often each note is asked about.")
    shuffle_seed: int | None = Field(
        None, description="Shuffle the notes by this seed. Default: by their names."
    )

    def messages(self, question: str) -> list[Message]:
        """Return the conversation about one note."""
        instruction = _THINK if self.use_think else INSTRUCTION
        if self.prompt_style == "helm":
            text = f"{instruction}\n\nPatient Notes: {question}\nAnswer:"
            return [{"role": "user", "content": text}]
        return [
            {"role": "system", "content": instruction},
            {"role": "user", "content": question},
        ]

    @property
    def prompt_sha256(self) -> str:
        """The hash of the prompt without a note in it."""
        return hashlib.sha256(str(self.messages("")).encode()).hexdigest()

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
class MtsamplesTask(SampleTask, JudgedTask):
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
        """See `Task`: the examples that the warehouse holds; an empty cache folder is filled."""
        given = options.cache_dir
        cache = None if given is None else Path(given).expanduser().resolve()
        if cache is not None:
            fill_cache(cache)
        build = f"`MEDEVAL_MTSAMPLES={cache} dbt build --select mtsamples`"
        try:
            # The folder names the notes as a variable does.
            examples, rule_version, place, data_class = read_warehouse(
                as_built=options.as_built or cache is not None
            )
        except UserError as error:
            raise (
                error if cache is None else UserError(f"{error} For {cache}: {build}.")
            ) from None
        if cache is not None and place not in (str(cache), str(cache / NOTES_FOLDER)):
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
        if sha256_of(examples) != asked["sha256"]:
            raise UserError(f"The examples in {record.folder} are not those that were asked about.")
        return cls(examples, MtsamplesOptions(**kept), str(asked["rule_version"]), data_class)

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
                "prompt_sha256": self.options.prompt_sha256,
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

    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """See `Task`."""
        for example in self.examples[:limit]:
            messages = self.options.messages(example.question)
            for sample in range(self.options.samples):
                yield Sample(example.example_id, messages, self.data_class, sample)

    def local_reply(self, item: Sample, gold_of: str | None) -> str:
        """See `SampleTask`."""
        thought = "<think>By rule.</think>" if self.options.use_think else ""
        if gold_of is None:
            return thought + demo_plan(self._by_id[item.id].question)
        return thought + self._by_id[gold_of].answer

    def chance(self) -> float:
        """See `Task`; by the rule-based judge."""
        from medeval.judging.judgments import rewards_of
        from medeval.judging.jury import LocalJudge

        judge = LocalJudge(self.rubric)
        rewards = [
            rewards_of(judge.scores(one.answer, other.answer), self.rubric)["reward"]
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

        answers = [(one, self._by_id[one.item]) for one in self._answers(record)]
        texts = [self.options.split(one.text, one.reasoning)[0] for one, _ in answers]
        return [
            Subject(one.item, asked.question, text, asked.answer, self.data_class, one.sample)
            for (one, asked), text in zip(answers, texts, strict=True)
        ]

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `Task`; writes one row an answer into the run's folder."""
        from medeval.judging.judgments import without_texts
        from medeval.judging.results import judge_feedback

        record = read_record(folder)
        results, plan = results_of_run(self, record)
        rows: list[dict[str, Any]] = []
        for answer, result in zip(self._answers(record), results.subjects, strict=True):
            example = self._by_id[answer.item]
            rows.append(
                {
                    "example_id": example.example_id,
                    "sample": answer.sample,
                    "source_index": example.source_index,
                    "prompt": self.options.messages(example.question),
                    "completion": [{"role": "assistant", "content": answer.text}],
                    "question": example.question,
                    "answer": example.answer,
                    "extracted_section": example.extracted_section,
                    "answer_text": result.subject.judged,
                    "think_text": self.options.split(answer.text, answer.reasoning)[1],
                    "outcome": None if answer.outcome is None else str(answer.outcome),
                    "finish_reason": answer.finish_reason or None,
                    "usage": dict(answer.usage),
                    "seconds": answer.measured.get("seconds"),
                    "attempts": answer.measured.get("attempts"),
                    "model": answer.model or None,
                    "prompt_version": self.prompt_version,
                    "prompt_sha256": self.options.prompt_sha256,
                    "rule_version": self.rule_version,
                    "reward": result.reward,
                    "reward_judged": result.pooled[plan.pooling],
                    "helm_jury_score": result.helm_jury_score,
                    "judge_status": str(result.status),
                    "reason": result.reason or None,
                    "judgments": [without_texts(one) for one in result.judgments],
                    "judge_prompt": results.prompt.version,
                    "possible_injection": bool(result.injection_signs),
                    "info": {
                        "filename": example.filename,
                        "extracted_section": example.extracted_section,
                        "procedure_note": example.question,
                        "reference_plan": example.answer,
                        "judge_feedback": judge_feedback(result),
                    },
                }
            )
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_text(folder / RESULTS, text)
        return self._scored(record, results, plan, method)

    def compare(
        self, first: Path, other: MtsamplesTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `Task`."""
        found = []
        for task, folder in ((self, first), (other, second)):
            record = read_record(folder)
            results, plan = results_of_run(task, record)
            scored = task._scored(record, results, plan, Method(0, method.seed))
            found.append((plan.same_judging(), scored.result))
        (judging, scored_first), (its_judging, scored_second) = found
        if self._by_id != other._by_id:
            raise UserError(f"{first} and {second} were asked about other examples.")
        if judging != its_judging:
            raise UserError(
                f"{first} and {second} were judged by other judges, or otherwise. Have both judged"
                " alike: `python -m medeval judge`."
            )
        return paired_differences(scored_first, scored_second, "example_id", method)

    def _scored(
        self, record: RunRecord, results: JudgingResults, plan: Jury, method: Method
    ) -> TaskScore:
        # Here, not above: asking needs no numpy.
        from medeval.tasks.for_reports import task_score
        from medeval.tasks.judged import (
            HEADLINE,
            by_group,
            item_ids,
            judged_table,
            judging_facts,
        )

        if method.cluster is not None:
            raise UserError(f"--cluster {method.cluster}: notes are drawn by themselves.")
        items = item_ids(results)
        statuses: dict[str, list[str]] = {item: [] for item in items}
        for one in results.subjects:
            statuses[one.subject.id].append(str(one.status))
        asked = [self._by_id[item] for item in items]
        groupings: dict[str, dict[str, str | None]] = {
            "extracted_section": {one.example_id: one.extracted_section for one in asked},
            "medical_specialty": {one.example_id: one.medical_specialty for one in asked},
            "leak": {one.example_id: "leaked" if one.leak else "not leaked" for one in asked},
        }
        groups = by_group(groupings, results, plan, method)
        settings = record.settings[SETTINGS]
        data = {
            "sha256": settings["sha256"],
            "data_class": strictest([self.data_class]),
            "examples": settings["examples"],
            "truncation": self.examples[0].truncation,
        }
        return task_score(
            record.task,
            record.model,
            HEADLINE,
            judged_table(results, plan),
            method,
            [{"example_id": one.example_id, "filename": one.filename} for one in asked],
            [{"judge_status": statuses[item]} for item in items],
            {
                **facts_of_run(record, self.items(record.limit)),
                "data": data,
                "judging": judging_facts(results, plan),
                "warnings": list(results.warnings),
                "groups": groups,
            },
            warnings=results.warnings,
            groups=groups,
        )

    def _answers(self, record: RunRecord) -> list[Answer]:
        return list(read_answers(record.folder / RESPONSES, self.items(record.limit)))

    @cached_property
    def _by_id(self) -> Mapping[str, Example]:
        return {one.example_id: one for one in self.examples}


def demo_plan(question: str) -> str:
    """Return the plan of a model that needs no network: sentences of the note, and what is usual.

    What it earns says nothing but that the way from note to reward works.
    """
    useful = (
        r"diagnos|follow|return|medicat|antibiot|pain|continue|recommend|procedure|complication"
    )
    sentences = [
        re.sub(r"^[A-Z][A-Za-z /&-]*:\s*", "", found.strip())
        for found in re.findall(r"[^.\n]+\.", question)
    ]
    told = [one for one in sentences if re.search(useful, one, re.IGNORECASE)]
    return " ".join(
        [
            *told[-4:],
            "Observe until awake and stable.",
            "Give medication for pain as needed.",
            "Follow up in clinic in one to two weeks.",
            "Return at once for fever, bleeding or worsening pain.",
        ]
    )
