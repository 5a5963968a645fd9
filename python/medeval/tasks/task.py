"""What commands need of a benchmark: its options, its samples, its scores."""

from __future__ import annotations

import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from medeval.errors import UserError
from medeval.tasks.options import Options, TaskOptions, read_options
from medeval.tasks.run_record import RunRecord, newest_run

if TYPE_CHECKING:
    from medeval.inference.guard import DataUseGuard
    from medeval.inference.run import Answer
    from medeval.inference.types import Episode, Model, Reply, Sample
    from medeval.judging.prompt import Subject
    from medeval.judging.rubric import Rubric
    from medeval.models.about import About
    from medeval.models.benchmark_report import EvaluationResult
    from medeval.models.scores import Interval
    from medeval.scoring.compare import Difference

# Grouping to group to metric to value.
GroupScores = Mapping[str, Mapping[str, Mapping[str, "float | Interval | None"]]]

# Answers by simple rules, from what is asked alone.
DEMO = "demo"
# These know the gold answers, or nothing at all: what every scorer is checked with.
ORACLE = "oracle"
EMPTY = "empty"
SHUFFLED = "shuffled"


@dataclass(frozen=True)
class Method:
    """How a score and its intervals are made.

    Attributes:
        n_iters: resamples; 0 gives values only.
        seed: of the resamples.
        groupings: by what the values are shown again.
        cluster: what is drawn as one unit, if not the item.
        min_cell: groups with fewer items are not shown.
        options: what a task lets choose beside these, its `ScoreOptions`.
        show_text: with texts that are not open.
    """

    n_iters: int = 1000
    seed: int = 0
    groupings: Sequence[str] = ()
    cluster: str | None = None
    min_cell: int = 1
    options: TaskOptions = field(default_factory=TaskOptions)
    show_text: bool = False

    def chosen(self, kind: type[Options]) -> Options:
        """Return what was chosen of a task's own kind of options, or its defaults."""
        return self.options if isinstance(self.options, kind) else kind()


class Table(NamedTuple):
    """A table beside the values of a score: its title, its columns, and rows of cells as shown."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class TaskScore:
    """The score of one run or file.

    Attributes:
        result: values, intervals and item scores, with what a reader must know in its metadata.
        headline: the metric that counts.
        warnings: in sentences.
        groups: values of groups; `n` stands among the metrics, and None for what is hidden.
        notes: in sentences, for whoever reads the tables.
        tables: further ones.
        details: tables that a report has room for, but no terminal.
        said_again: metrics that say here what others say, and are left out on a terminal.
        file: what is written at `--out`, where a contract lays down its form; None for the report.
        place: where that goes without `--out`; None for nowhere.
        bare_nan: that file has NaN where a number is undefined; else null.
    """

    result: EvaluationResult
    headline: str
    warnings: Sequence[str] = ()
    groups: GroupScores = field(default_factory=dict)
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    details: Sequence[Table] = ()
    said_again: Sequence[str] = ()
    file: Mapping[str, Any] | None = None
    place: Path | None = None
    bare_nan: bool = False


@dataclass(frozen=True)
class Comparison:
    """All pairs by all metrics, and what is said of them.

    Attributes:
        differences: of one family.
        sentences: how the numbers came about.
        content: what is written beside the comparisons, which take the place of its key.
        warnings: in sentences.
        areas: corrected p values of DeLong's tests, by both names and the metric.
        names: what to call some metrics instead of their keys.
    """

    differences: Sequence[Difference]
    sentences: Sequence[str]
    content: Mapping[str, Any]
    warnings: Sequence[str] = ()
    areas: Mapping[tuple[str, str, str], float | None] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One thing that `doctor` looked at: whether it is as it must be, and what was found."""

    name: str
    passed: bool
    told: str


class Task:
    """A benchmark: what can be chosen about it, and how files of answers to it are scored.

    Its class is found by `tasks.registry`; of it commands take flags, and what is scored. Its
    methods are given the name under which the task is recorded.

    Attributes:
        scored_by: its headline metric, in a few words.
        answered_by: the command that makes what is scored.
        Options: how samples are put to a model; each field is a flag of `run`.
        ScoreOptions: what of a score can be chosen; each field is a flag of `score`, and of
            `compare` if it is in `COMPARED`.
        MOVED: options that may be given again where a run is resumed, scored or compared, since
            data may be elsewhere by then.
        N_ITERS: resamples of a score where no number is given.
        MIN_CELL: the smallest group that is shown where no number is given; 1 where no sample is a
            patient of whom nobody may know.
        BASELINES: what `predict` can train for it.
        READING: options that may help where replies are not read.
        name: as the command line, run records and reports call it.
    """

    scored_by: ClassVar[str] = ""
    answered_by: ClassVar[str] = "run"
    Options: ClassVar[type[TaskOptions]] = TaskOptions
    ScoreOptions: ClassVar[type[TaskOptions]] = TaskOptions
    COMPARED: ClassVar[Set[str]] = frozenset()
    MOVED: ClassVar[Set[str]] = frozenset()
    N_ITERS: ClassVar[int] = 1000
    MIN_CELL: ClassVar[int] = 11
    BASELINES: ClassVar[Sequence[str]] = ()
    READING: ClassVar[Sequence[str]] = ("json_schema",)
    name: str

    @classmethod
    def about(cls, name: str) -> About:
        """Return what pages say of the benchmark: what `about.toml` beside its module has.

        Raises:
            ValueError: the file is there and is none.
        """
        from medeval.models.about import About

        file = Path(str(sys.modules[cls.__module__].__file__)).with_name("about.toml")
        return About.read(file, name) if file.is_file() else About()

    @classmethod
    def start(cls, named: str, options: Any) -> AskedTask:
        """Return the task with its data, to be put to a model.

        Args:
            named: what named it on the command line.
            options: as `Options` has them.

        Raises:
            UserError: data that cannot be read, options that do not go together, or a task that
                is answered otherwise.
        """
        raise UserError(
            f"{named} is answered by predictions, not by a model that is asked. Train a baseline:"
            f" `python -m medeval predict --task {named} --model logistic`."
        )

    @classmethod
    def resume(
        cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None
    ) -> AskedTask:
        """Return the task of a run, as it was asked there.

        Args:
            record: of the run.
            moved: options of `MOVED` that are given now.
            named: what names the task now; None for what named it then.

        Raises:
            UserError: its data are not there any more, or are others; or as `start`.
            KeyError, TypeError: the record does not say how it was asked.
        """
        return cls.start(record.task, None)

    @classmethod
    def newest(cls, name: str, method: Method) -> Path:
        """Return the newest run of the task, to be scored by a method.

        Raises:
            UserError: there is none.
        """
        if found := newest_run(name):
            return found
        raise UserError(
            f"There is no run of {name} in runs/. Make one:"
            f" `python -m medeval run --task {name} --model demo`."
        )

    @classmethod
    def score_file(cls, path: Path, name: str, method: Method) -> TaskScore:
        """Score what is no run of a model: a submission, a prediction file.

        Raises:
            UserError: the task has no such files, or this one does not fit.
        """
        raise UserError(f"{path} is a file; scores of {name} are made of runs, which are folders.")

    @classmethod
    def compare_files(
        cls, paths: Sequence[Path], name: str, metrics: Sequence[str], method: Method
    ) -> Comparison | None:
        """Compare prediction files by some metrics, or by all.

        Returns:
            None if the task is compared run by run, see `AskedTask.compare`.
        """
        return None

    @classmethod
    def score_arrays(cls, name: str, *arrays: Any, **given: Any) -> dict[str, Interval]:
        """Score predictions that are arrays; see `medeval.score`.

        Raises:
            UserError: the task is not answered by predictions, or arrays that do not fit.
        """
        raise UserError(f"{name} is answered by a model that is asked: see medeval.evaluate.")

    @classmethod
    def predict(cls, name: str, model: str, **given: Any) -> str:
        """Train one of `BASELINES` into a run's folder, and say what it was trained on.

        Args:
            name: of the task.
            model: the baseline.
            given: the further flags of `predict`.
        """
        raise UserError(f"{name} has no baseline {model}.")

    @classmethod
    def item_scores(
        cls, folder: Path, result: EvaluationResult, item: str
    ) -> list[dict[str, float | str | None]]:
        """Return what an item scored, one mapping a sample; nothing where there is no such item.

        Args:
            folder: of the run, or the file of a report.
            result: of the run.
            item: its id, as `EvaluationResult.item_ids` has it.
        """
        return [
            {name: values[place] for name, values in (result.item_scores or {}).items()}
            for place, name in enumerate(result.item_ids())
            if name == item
        ]

    @classmethod
    def self_check(cls, name: str, as_built: bool) -> Iterator[Check]:
        """Yield what answers score whose score is known beforehand.

        Args:
            name: of the task, or of the file that it is.
            as_built: take what was built of another source than the one that is named now.

        Raises:
            UserError: the task's data cannot be read.
        """
        return iter(())


class AskedTask(Task, ABC):
    """A benchmark with its data and options, ready to be asked and scored.

    Attributes:
        prompt_version: of the text around the samples' own; part of each request's key.
        DEMO_MODEL: what runs call the demo.
    """

    prompt_version: str
    DEMO_MODEL: ClassVar[str] = DEMO

    @classmethod
    def self_check(cls, name: str, as_built: bool) -> Iterator[Check]:
        """See `Task`."""
        from medeval.tasks.self_check import check_task

        return check_task(cls.start(name, read_options(cls.Options, {"as_built": as_built}, name)))

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what decides the questions, as `run.json` keeps it: options, hash of the data."""

    def keep(self, folder: Path) -> None:
        """Write into a run's folder what it is scored with, if that may not be had again.

        Where the data are a file, its hash in the record is enough.
        """

    @abstractmethod
    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """Yield what is asked, in the order of the data.

        Args:
            limit: only so many items, from the first on, each with all its samples.
        """

    @property
    def is_conversation(self) -> bool:
        """Whether what is asked next depends on a reply, so that there is no batch of prompts."""
        return False

    def can_read(self, item: Sample, reply: str) -> bool:
        """Tell whether a reply without its thinking holds an answer to the item; any text may."""
        return True

    def prepared(self, provider: Model) -> Self:
        """Return the task as it is put to a model, once that has told what it takes in."""
        return self

    def samples(self, limit: int | None = None) -> Iterator[Sample | Episode]:
        """Yield the items, or the conversations that they begin; see `items`."""
        yield from self.items(limit)

    @abstractmethod
    def local_reply(self, item: Sample, gold_of: str | None) -> str | Reply:
        """Return as a reply the gold answer of an item of this id; of None one by simple rules."""

    def local_provider(self, kind: str, gate: DataUseGuard) -> Model:
        """Return a built-in model: demo, oracle, empty or shuffled."""
        from medeval.inference.python_model import PythonModel

        gold_of: Mapping[str, str] = {}
        if kind in (ORACLE, SHUFFLED):
            order = list(dict.fromkeys(item.id for item in self.items()))
            random.Random(0).shuffle(order)  # noqa: S311
            # Each item gets the gold answer of another one, of the oracle its own.
            others = order if kind == ORACLE else order[1:] + order[:1]
            gold_of = dict(zip(order, others, strict=True))

        def reply(item: Sample) -> str | Reply:
            return "" if kind == EMPTY else self.local_reply(item, gold_of.get(item.id))

        return PythonModel(reply, self.DEMO_MODEL if kind == DEMO else kind, gate)

    @abstractmethod
    def chance(self) -> float:
        """Return the mean headline score of gold answers that are given to other items."""

    @abstractmethod
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return for each metric what an oracle must score and what an empty model must score."""

    @abstractmethod
    def score(self, folder: Path, method: Method) -> TaskScore:
        """Score the answers of a run.

        Raises:
            UserError: the folder holds no run of this task with these data.
        """

    def compare(self, first: Path, other: Any, second: Path, method: Method) -> list[Difference]:
        """Compare two runs on the items that both were asked, the headline first.

        Args:
            first: the folder of a run of this task.
            other: the task as the second run asked it; its options may differ.
            second: the folder of that run.
            method: resamples and their seed.

        Raises:
            UserError: a folder holds no run of this task with these data, or items that are called
                alike have other gold answers.
        """
        from medeval.scoring.compare import paired_differences  # numpy is slow to load

        plain = replace(method, n_iters=0, groupings=(), show_text=True)
        one, two = self.compared_result(first, plain), other.compared_result(second, plain)
        about = one.metadata.get("about_metrics", {})
        ways = {name: told.get("direction", "higher") for name, told in about.items()}
        found = paired_differences(one, two, method.n_iters, method.seed, ways)
        return sorted(found, key=lambda each: each.metric != one.metadata["headline"])

    def compared_result(self, folder: Path, method: Method) -> EvaluationResult:
        """Return the result of a run with the item scores by which `compare` takes it."""
        return self.score(folder, method).result


class JudgedTask(AskedTask):
    """A task whose answers can be judged.

    One that cannot be scored without a judge says under `default_judge` who is to judge.
    """

    @property
    @abstractmethod
    def rubric(self) -> Rubric | None:
        """What is graded; None if the task file names no judge."""

    @abstractmethod
    def subject(self, answer: Answer) -> Subject:
        """Return an answer of a run as judges get it."""
