"""A judging: every judge asked about every answer, side by side, each with a journal of its own.

A re-ask is a further sample of the same item, so that the journal counts and keeps it like any
other call: it is paid once, and not again after a restart.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.cost import kept_spending, longest_reply_under
from medeval.inference.engine import process
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import AUDIT, Progress, Run, RunConfig, RunFile, read_file, settings_of
from medeval.inference.types import Request, Sample
from medeval.judging.jury import Judge, Jury, warnings_of_kinship
from medeval.judging.prompt import MOST_ASKS, STANDARD, JudgePrompt, Subject, Variant, marker_in
from medeval.judging.results import JudgeReport, JudgingResults, judgment_of, subject_results
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import read_verdict

JUDGMENTS = "judgments"
# In the record while a judge is asked, so that it is there if nobody can write it afterwards.
_ENDED_FROM_OUTSIDE = "It was ended from outside. Start the same run again to go on."

OnJudging = Callable[[str, Progress], None]


class JudgeRecord(RunFile, extra="forbid"):
    """All that the record of a judge may say.

    Attributes:
        judge: its name.
        stopped: why it was not asked about all answers; None if it was.
    """

    judge: str = ""
    stopped: str | None = None


@dataclass(frozen=True)
class Judging:
    """Answers, who judges them by what, and the folder that keeps what was said.

    The folder gets `judge.json` and `judgments.jsonl`, or for a jury `judge-<name>.json` and
    `judgments-<name>.jsonl` each.

    Attributes:
        subjects: the answers. A blank one is not sent to anybody: it earns 0.
        jury: who judges, and how.
        rubric: what is graded.
        folder: of the judgments; made if it is not there.
        variant: how the prompt is put.
        answering_model: whose answers are judged, for a warning of kinship.
    """

    subjects: Sequence[Subject]
    jury: Jury
    rubric: Rubric
    folder: Path
    variant: Variant = STANDARD
    answering_model: str = ""

    def run(self, *given: Any, **more: Any) -> JudgingResults:
        """Have the answers judged, and wait for the end; see `execute`."""
        return asyncio.run(self.execute(*given, **more))

    async def execute(
        self,
        config: RunConfig | None = None,
        gate: DataUseGuard | None = None,
        on_progress: OnJudging | None = None,
    ) -> JudgingResults:
        """Have the answers judged.

        Started again, it goes on where it was: no call that brought a reply is made twice. A judge
        that cannot be reached costs the others nothing; the results say so, and so do those that
        are read later, until the judge has come to its end.

        Args:
            config: concurrency (of each judge), retries, prices, limit on cost and what else a run
                has; its budget may be shared with the model's own run.
            gate: what may go where; None: only what is open, anywhere.
            on_progress: called with a judge's name and its sums after each of its calls.

        Raises:
            UserError: there is no key or text may not be sent to one of the judges (then nobody is
                asked anything), the folder holds another judging, or the disk is full.
        """
        config = config or RunConfig()
        gate = gate or DataUseGuard({}, self.folder / AUDIT)
        models = [judge.provider(self.rubric, gate) for judge, *_ in self._seats]
        is_open = all(subject.data_class == "open" for subject in self.asked.values())
        for model in models:
            gate.check(model.address, is_open)
            # Raises where the limit on cost cannot be held, before anything is written.
            longest_reply_under(config.budget.limit, config.prices, model)
        runs = [
            Run(
                self.folder,
                {**settings_of(model, self.prompt.version), "judging": self.prompt.record()},
                model,
                about={"judge": judge.label},
                file=record.name,
                answers=journal.name,
                kind=JudgeRecord,
            )
            for (judge, record, journal), model in zip(self._seats, models, strict=True)
        ]

        def can_read(item: Sample, text: str) -> bool:
            return read_verdict(text, self.rubric, marker_in(item.messages)).status != "failed"

        config = replace(config, can_read=can_read, follow_up=self._ask_further)
        samples = [repeat * MOST_ASKS for repeat in range(self.jury.repeats)]
        processes = []
        for (judge, *_), run in zip(self._seats, runs, strict=True):
            run.update("stopped", _ENDED_FROM_OUTSIDE)
            first_asks = (self._item(each, n) for each in self.asked.values() for n in samples)
            tell = on_progress and partial(on_progress, judge.label)
            its_config = replace(config, on_progress=tell or config.on_progress)
            processes.append(process(run, first_asks, its_config))
        # All of them come to an end, also when one raises: what is paid for is kept.
        ended = await asyncio.gather(*processes, return_exceptions=True)
        for run, each in zip(runs, ended, strict=True):
            if not isinstance(each, BaseException):
                run.update("stopped", each.stopped or None)
        if raised := next((each for each in ended if isinstance(each, BaseException)), None):
            raise raised
        return self.results()

    def results(self) -> JudgingResults:
        """Return what the judges said, from their files; nobody is asked and no key is needed.

        Raises:
            UserError: a judge's files are not there, or are those of other answers or of another
                prompt.
        """
        reports = [self._report(*seat) for seat in self._seats]
        warnings = warnings_of_kinship(self.jury.seated, self.answering_model)
        warnings += [warning for report in reports for warning in report.warnings()]
        rows = subject_results(self.subjects, reports, self.rubric)
        return JudgingResults(rows, reports, self.prompt, warnings)

    def verdicts(self) -> tuple[int, int]:
        """Return how many verdicts there are, and how many there will be at the end.

        Raises:
            UserError: a judge's files are those of other answers or of another prompt.
        """
        begun = [self._report(*seat) for seat in self._seats if seat[1].exists()]
        kept = sum(one["status"] != "failed" for each in begun for one in each.judgments)
        return kept, len(self._seats) * len(self.asked) * self.jury.repeats

    @cached_property
    def asked(self) -> Mapping[str, Subject]:
        """The answers that judges are shown, by name: all that are not blank.

        Raises:
            UserError: one comes twice.
        """
        for name, times in Counter(one.name for one in self.subjects).items():
            if times > 1:
                raise UserError(f"Answer {name!r} (id#sample) comes twice.")
        return {one.name: one for one in self.subjects if not one.blank_reason}

    @cached_property
    def prompt(self) -> JudgePrompt:
        """What judges are shown: the prompt that the judging was begun with, else the newest."""
        begun = next((path for _, path, _ in self._seats if path.exists()), None)
        judging = begun and read_file(begun, JudgeRecord).settings.get("judging")
        named = {"name": str(judging.get("prompt"))} if isinstance(judging, dict) else {}
        return JudgePrompt(self.rubric, self.variant, self.jury.seed, **named)

    @cached_property
    def _seats(self) -> list[tuple[Judge, Path, Path]]:
        """Each judge with its record and its journal."""
        seats = []
        for judge in (judges := self.jury.seated):
            name = f"-{judge.label}" if len(judges) > 1 else ""
            files = (self.folder / f"judge{name}.json", self.folder / f"{JUDGMENTS}{name}.jsonl")
            seats.append((judge, *files))
        return seats

    def _item(self, subject: Subject, sample: int) -> Sample:
        messages = self.prompt.messages(subject, sample)
        return Sample(subject.name, messages, subject.data_class, sample)

    def _ask_further(self, item: Sample, line: Line) -> Sample | None:
        """Return the re-ask of an incomplete verdict, if there may be one more.

        A call that failed is not asked again here: it was tried as often as the retries allow.
        """
        subject, asks = self.asked[item.id], [(marker_in(item.messages), line)]
        is_ok = judgment_of(subject, "", 0, asks, self.rubric)["status"] == "ok"
        if is_ok or "text" not in line or item.sample % MOST_ASKS >= self.jury.re_asks:
            return None
        return self._item(subject, item.sample + 1)

    def _report(self, judge: Judge, place: Path, journal: Path) -> JudgeReport:
        """Return what became of a judge, from its files.

        Repeats beyond those that are wanted are left out: an audit may have asked for them, or an
        earlier start that had more.

        Raises:
            UserError: there is no record, it is of another prompt, or the journal has a line that
                is none or that judges other texts.
        """
        try:
            record = read_file(place, JudgeRecord)
        except FileNotFoundError:
            raise UserError(f"{place}: there are no judgments. Run the judges first.") from None
        settings = record.settings
        if settings["prompt_version"] != self.prompt.version:
            raise UserError(
                f"{place} is of another prompt or rubric"
                f" ({settings['prompt_version']}, not {self.prompt.version})."
            )
        of_requests = ("endpoint", "model", "parameters", "prompt_version")
        progress, further = Progress(), Progress()
        asks: dict[tuple[str, int], list[tuple[str, Line]]] = defaultdict(list)
        lines = read_journal(journal) if journal.exists() else ()
        for line in sorted(lines, key=itemgetter("sample")):
            subject, repeat = self.asked.get(line["item"]), line["sample"] // MOST_ASKS
            if subject is not None and repeat >= self.jury.repeats:
                further.add(line, is_new=False)
            elif subject is not None:
                item = self._item(subject, line["sample"])
                if Request(item, *(settings[name] for name in of_requests)).key != line["key"]:
                    raise UserError(
                        f"{journal}: {subject.id!r} (sample {subject.sample}) was judged with"
                        " another question, answer or reference. Judge again into another folder."
                    )
                progress.add(line, is_new=False)
                asks[subject.name, repeat].append((marker_in(item.messages), line))
        judgments = [
            judgment_of(one, judge.label, repeat, asks[name, repeat], self.rubric)
            for name, one in self.asked.items()
            for repeat in range(self.jury.repeats)
        ]
        # It may have stopped in more than is read here, such as the repeats of an audit.
        is_whole = all(judgment["status"] == "ok" for judgment in judgments)
        stopped = "" if is_whole else record.stopped or ""
        who = (judge.label, str(settings["model"]), str(settings["endpoint"]), judgments)
        spent, learned = kept_spending(journal), record.learned
        return JudgeReport(*who, progress, further, spent, learned, stopped)


def verdicts_in(folder: Path, *below: str) -> int:
    """Return how many replies of judges a folder keeps, and its folders of these names."""
    journals = [*folder.glob(f"{JUDGMENTS}*.jsonl")]
    for name in below:
        journals += (folder / name).rglob(f"{JUDGMENTS}*.jsonl")
    return sum("text" in line for journal in journals for line in read_journal(journal))
