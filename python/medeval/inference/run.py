"""A run: a folder with what was asked and how, what came back, and what it cost."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, GetPydanticSchema, ValidationError
from typing_extensions import TypedDict

from medeval.errors import UserError, faults_of, os_error_as
from medeval.files import replace_file
from medeval.inference.cost import Budget, Prices, Spent, spent_by
from medeval.inference.errors import Kind, RetryPolicy
from medeval.inference.journal import Journal, Line, money, read_journal
from medeval.inference.types import Episode, Ledger, Model, Outcome, Request, Sample
from medeval.text import split_thinking, whole_json

RUN = "run.json"
RESPONSES = "responses.jsonl"
STEPS = "steps.jsonl"
AUDIT = "audit.jsonl"


@dataclass
class Progress:
    """Sums over the items that came to an end, in this start of the run or an earlier one.

    Attributes:
        ledger: outcomes.
        before: of the items, those that an earlier start had brought to an end.
        retries: calls after the first one of an item.
        errors: of errored items, by reason.
        words: of each reason what the endpoint wrote, where the items are open.
        input_tokens: counted by the endpoint.
        output_tokens: counted by the endpoint.
        uncounted: items with a reply whose tokens the endpoint did not count.
        spent: on the items.
    """

    ledger: Ledger = field(default_factory=Ledger)
    before: int = 0
    retries: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0
    spent: Spent = field(default_factory=Spent)

    def add(self, line: Line, is_new: bool) -> None:
        """Add one line of the journal."""
        outcome = Outcome(line["outcome"])
        self.ledger[outcome] += 1
        self.before += not is_new
        self.retries += line["measured"]["attempts"] - 1
        if outcome is Outcome.ERRORED:
            error, words = line["error"], line["error"].get("detail")
            reason, status = str(error.get("code", "")), error.get("status") or 0
            # The endpoint's own word, if it has one. What a client calls a broken connection says
            # no more than that it broke.
            if not re.search("[^0-9]", reason) or error["kind"] == Kind.CONNECTION:
                reason = f"HTTP {status}" if status >= 400 else str(error["kind"])
            self.errors[reason] += 1
            if words:  # the same of several, in whatever order they came
                self.words[reason] = min(words, self.words.get(reason, words))
        usage = line.get("usage") or {}
        counts = (usage.get("input_tokens"), usage.get("output_tokens"))
        self.input_tokens += counts[0] or 0
        self.output_tokens += counts[1] or 0
        self.uncounted += "text" in line and None in counts
        self.spent += spent_by([line])

    @property
    def errored(self) -> str:
        """How many items errored and why, such as `3 (context_length_exceeded)`; empty if none."""
        reasons = sorted(self.errors.items(), key=lambda one: (-one[1], one[0]))
        each = [f"{count:,} {reason}" if len(reasons) > 1 else reason for reason, count in reasons]
        return f"{self.errors.total():,} ({', '.join(each)})" if reasons else ""

    def as_json(self) -> dict[str, Any]:
        """Return the sums, for a report."""
        return {
            **self.ledger.as_json(),
            "retries": self.retries,
            "errors": dict(sorted(self.errors.items())),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "uncounted": self.uncounted,
            "cost": money(self.spent.known),
            "cost_of_priced": str(self.spent.cost),
            "unpriced": self.spent.unknown,
        }


CanRead = Callable[[Sample, str], bool]
FollowUp = Callable[[Sample, Line], Sample | None]


@dataclass(frozen=True)
class RunConfig:
    """How a run is executed; may differ from start to start.

    Attributes:
        concurrency: items under way at a time.
        retries: when and how often a failed call is made again.
        prices: what tokens cost.
        budget: the limit on cost, which other runs may share, such as those of judges.
        retry: items that ended so in an earlier start are asked again.
        can_read: tells whether the task finds an answer to an item in a reply without its
            thinking; None to leave that to the score. A conversation reads its own replies.
        follow_up: called with each item and the line of its end, from this start or an earlier
            one; may return a further sample of it, which is asked next.
        on_start: called once, when the run has its folder to itself and can be made as it is
            wished, before anything is asked.
        on_progress: called after each item.
    """

    concurrency: int = 8
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    prices: Prices = field(default_factory=Prices)
    budget: Budget = field(default_factory=Budget)
    retry: frozenset[Outcome] = frozenset()
    can_read: CanRead | None = None
    follow_up: FollowUp | None = None
    on_start: Callable[[], None] | None = None
    on_progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        progress: the sums.
        stopped: why it ended before its items did; empty if all came to an end. The same run
            started again goes on where it stopped.
        spent: on all calls of this start and those before it, also those whose item has no line;
            None if none of them had a price.
    """

    progress: Progress
    stopped: str = ""
    spent: Spent | None = None


def settings_of(model: Model, prompt_version: str) -> dict[str, Any]:
    """Return what the settings of a run must say of its model."""
    return {
        "endpoint": model.address,
        "model": model.model,
        "parameters": dict(model.parameters),
        "prompt_version": prompt_version,
    }


class _Settings(TypedDict):
    """What the settings say of a model; those of a task or a judging stand beside it."""

    __pydantic_config__ = ConfigDict(extra="allow", strict=True)  # type: ignore[misc]

    endpoint: str
    model: str
    parameters: dict[str, Any]
    prompt_version: str


class RunFile(BaseModel, extra="allow"):
    """What every file of a run says; those of a kind have fields of their own, and no others.

    Attributes:
        settings: all that decided the answers.
        learned: what the endpoint refused, each with what is sent instead.
        errored: of each reason for which items have no reply, how many these are, and in what
            words the endpoint said so where the items are open.
    """

    settings: Annotated[
        dict[str, Any], GetPydanticSchema(lambda _source, handler: handler(_Settings))
    ]
    learned: dict[
        str, Literal["", "json_object", "user", "max_tokens", "max_completion_tokens"]
    ] = {}
    errored: dict[str, dict[str, int | str]] = {}


File = TypeVar("File", bound=RunFile)


class Run:
    """A run: its folder, its settings, and the model that answers.

    Args:
        folder: made for its owner only if it is not there.
        settings: all that decides the answers (JSON values, never a key; see `settings_of`). A run
            that was started with others is not resumed.
        model: who answers; None for a run that is only read.
        about: what else a reader wants to know; not compared, and kept from the first start.
        file: of the settings; judges have another beside the model's.
        answers: the file of the journal, of which the same holds.
        kind: of the file, which one that is there has to be.

    Attributes:
        folder: of the run.
        journal: the path of the journal.
        model: who answers.
        settings: all that decides the answers.

    Raises:
        UserError: the folder holds a run with other settings; the message names each difference.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        model: Model | None = None,
        *,
        about: Mapping[str, Any] | None = None,
        file: str = RUN,
        answers: str = RESPONSES,
        kind: type[RunFile] = RunFile,
    ) -> None:
        self.folder = folder
        self.journal = folder / answers
        self.model = cast("Model", model)  # there is one wherever something is asked
        self._file = folder / file
        self._content: dict[str, Any] = {}
        with os_error_as(f"{folder} cannot be made ({{why}})."):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings)))
        if not self._file.exists():
            if self.journal.exists():
                raise UserError(
                    f"{folder} holds {answers} but no {file} that says how it was asked for."
                    " Choose another folder."
                )
            self.update("settings", self.settings, learned={}, **(about or {}))
            return
        self._content = read_file(self._file, kind).model_dump(exclude_unset=True)
        if self._content["settings"] != self.settings:
            told = differences(self._content["settings"], self.settings, "was {}, now {}")
            raise UserError(
                f"{folder} holds a run with other settings ({told}). Set them back to resume"
                " it, or choose another folder for a new run."
            )

    @property
    def learned(self) -> dict[str, str]:
        """Parameters that the endpoint refused, each with the one sent instead."""
        return dict(self._content.get("learned", {}))

    def update(self, name: str, value: Any, /, **more: Any) -> None:
        """Keep in one write what may change from start to start, such as the limit on items."""
        updated = {**self._content, name: value, **more}
        if updated == self._content:
            return
        self._content = updated
        content = json.dumps(self._content, indent=2, ensure_ascii=False) + "\n"
        with os_error_as(f"{self._file}: {{why}}. Make room and start the same run again."):
            replace_file(self._file, content.encode())

    def record_errors(self, progress: Progress) -> None:
        """Keep for which reasons items have no reply; one that had some and has none says so."""
        words = {reason: {"words": told} for reason, told in progress.words.items()}
        errors = sorted(progress.errors.items())
        errored = {reason: {"items": n, **words.get(reason, {})} for reason, n in errors}
        if errored or "errored" in self._content:
            self.update("errored", errored)

    def request(self, item: Sample) -> Request:
        """Return an item with all that decides what comes back."""
        return Request(item, **{name: self.settings[name] for name in _Settings.__annotations__})

    def execute(self, samples: Iterable[Sample | Episode], config: RunConfig) -> RunResult:
        """Ask all that has no answer yet, and wait for the end; see `engine.process`."""
        from medeval.inference.engine import process

        return asyncio.run(process(self, samples, config))

    def lines(self) -> Iterator[Line]:
        """Yield the whole lines of the journal; none if nothing was asked yet."""
        if self.journal.exists():
            yield from read_journal(self.journal)


@dataclass(frozen=True)
class Answer:
    """What came of one item.

    Attributes:
        item: its id.
        sample: its sample.
        outcome: the end it came to; None if it has not come to one.
        answer: the reply without its thinking; empty unless there is a complete one or one that
            was cut off.
        line: of the journal, with the reply as it came; empty if it has not come to an end.
    """

    item: str
    sample: int
    outcome: Outcome | None
    answer: str
    line: Line


def read_answers(path: Path, items: Iterable[Sample]) -> Iterator[Answer]:
    """Yield one answer for each item, in their order.

    Raises:
        UserError: there is no journal, or a run is writing to it.
    """
    if not path.is_file():
        raise UserError(f"{path}: there are no answers. Run the model first.")
    with Journal(path) as journal:
        for item in items:
            # Lines of before may hold halves of surrogate pairs.
            line = whole_json(journal.read(item.id, item.sample) or {})
            outcome = Outcome(line["outcome"]) if line else None
            answer = split_thinking(line.get("text", "")).answer
            yield Answer(item.id, item.sample, outcome, answer, line)


def read_file(path: Path, kind: type[File]) -> File:
    """Return what the file of a run says.

    Raises:
        OSError: it cannot be read.
        UserError: it is no record of this kind; the message names the first field that is not as it
            must be, and never what it holds.
    """
    try:
        return kind.model_validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        raise UserError(
            f"{path} is not the record of a run ({faults_of(error)}). Put it back as it was, or"
            " choose another folder."
        ) from None


def differences(one: Mapping[str, Any], other: Mapping[str, Any], words: str) -> str:
    """Return each setting that differs, with both values in some words; empty if none does."""
    ours, theirs = _flat(one), _flat(other)
    names = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    values = {n: [_cut(each.get(n, "nothing")) for each in (ours, theirs)] for n in names}
    return "; ".join(f"{name} {words.format(*both)}" for name, both in values.items())


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return settings as JSON by their places, such as `parameters.seed`."""
    flat: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = json.dumps(value, ensure_ascii=False)
    return flat
