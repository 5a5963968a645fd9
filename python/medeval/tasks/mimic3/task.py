"""The four ICU tasks of mimic3-benchmarks, which prediction files answer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from medeval.errors import UserError
from medeval.tasks.task import Method, TaskScore

if TYPE_CHECKING:
    from medeval.tasks.mimic3.predictions import Rows
    from medeval.tasks.mimic3.results import Compared
    from medeval.warehouse import Warehouse

FLOOR = "mimic3"
RUNS = Path("runs")
PREDICTIONS = "predictions.csv"
RUN = "run.json"
LABELS = 25
ENDINGS = re.compile(r"(\.parquet)?(\.csv)?(\.gz)?$")


@dataclass(frozen=True)
class ScoreOptions:
    """How predictions are scored, beside resamples, seed, clusters and groups.

    Attributes:
        listfile: the truth; None takes the warehouse's test rows.
        target: the dbt target; None is the default one.
        as_built: take tables of another source than the one that is named now.
        allow_duplicates: count a key as often as it is there.
        strict: take warnings for errors.
        strict_nan: let one undefined resample make a statistic undefined.
        extra: also compute the metrics that mimic3-benchmarks does not have.
        ci: how an interval is made of the resamples, `percentile` or `bca`.
        peer_layout: write the published keys only.
        threshold: above it a probability says yes; None compares no answers.
    """

    listfile: Path | None = None
    target: str | None = None
    as_built: bool = False
    allow_duplicates: bool = False
    strict: bool = False
    strict_nan: bool = False
    extra: bool = False
    ci: str = "percentile"
    peer_layout: bool = False
    threshold: float | None = None


@dataclass(frozen=True)
class IcuScore(TaskScore):
    """A score, and what is written of it in the published layout."""

    published: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Inputs:
    """The rows of every prediction file beside one truth.

    Attributes:
        joined: of each prediction file by its name.
        listfile: the truth.
        data_class: of the warehouse's truth; None for a file.
        attributes: the group of each stay.
    """

    joined: dict[str, Rows]
    listfile: Rows
    data_class: str | None
    attributes: dict[str, list[str]]

    @property
    def rows(self) -> Rows:
        """Return the rows of one prediction; stays and truth are the same in all."""
        return next(iter(self.joined.values()))


class IcuTask:
    """An ICU task of mimic3-benchmarks (YerevaNN).

    Attributes:
        name: the task, as everywhere in the project.
        short: its short name, also in that of the default result file.
        kind: what it predicts: `binary`, `hours` or `labels`.
        n_iters: resamples by default.
        has_sample_times: whether a stay has a row for each hour, so that the hour is in the key.
        has_period_length: whether files have the column period_length, in the key or beside it.
        prediction_columns: the columns that hold the predictions.
        truth_columns: the columns of a prediction file that repeat the truth.
        options: how it is scored.
    """

    name: ClassVar[str]
    short: ClassVar[str]
    kind: ClassVar[str] = "binary"
    n_iters: ClassVar[int] = 10_000
    has_sample_times: ClassVar[bool] = False
    has_period_length: ClassVar[bool] = True
    prediction_columns: ClassVar[tuple[str, ...]] = ("prediction",)
    truth_columns: ClassVar[tuple[str, ...]] = ("y_true",)

    def __init__(self, options: ScoreOptions | None = None) -> None:
        self.options = options or ScoreOptions()

    def prediction_file(self, path: Path) -> Path:
        """Return the file to score, which a user named by itself or by the folder of its run.

        Raises:
            UserError: there is no such file, or the run is of another task.
        """
        if not path.is_dir():
            return path
        recorded = _recorded(path).get("task", self.name)
        if recorded != self.name:
            raise UserError(f"{path} is a run of {recorded}, not of {self.name}.")
        found = path / PREDICTIONS
        if not found.is_file():
            raise UserError(f"{path} holds no {PREDICTIONS}.")
        return found

    def newest_or_trained(self, seed: int) -> Path:
        """Return the folder of the newest run with predictions, else of a baseline's new run.

        Raises:
            UserError: the baseline's features are not there, or of an older build.
        """
        # Names of runs start with their time.
        files = sorted(RUNS.glob(f"*/{PREDICTIONS}"), reverse=True)
        path = next((f.parent for f in files if _recorded(f.parent).get("task") == self.name), None)
        if path is None:
            # Here, not above: every other way starts without scikit-learn.
            from medeval.tasks.mimic3.baseline import predict_to_run

            print(
                f"medeval: there is no run of {self.name} in {RUNS}/: training the logistic"
                f" baseline first, as `python -m medeval predict --task {self.name} --model"
                " logistic` does.",
                file=sys.stderr,
            )
            path = predict_to_run(
                self.name, "logistic", target=self.options.target, out=RUNS, seed=seed,
                as_built=self.options.as_built,
            )  # fmt: skip
        print(f"medeval: scoring {path}", file=sys.stderr)
        return path

    def read(self, files: Mapping[str, Path], groupings: Sequence[str] = ()) -> Inputs:
        """Read all files and, if any grouping asks for it, what the warehouse knows of the stays.

        Raises:
            UserError: a file or the warehouse cannot be read, or the rows do not fit together.
        """
        from medeval.tasks.mimic3.predictions import join, read_file

        options, data_class, attributes = self.options, None, {}
        predictions = {name: read_file(self, path) for name, path in files.items()}
        with ExitStack() as stack:
            warehouse = None
            if options.listfile is None or groupings:
                # Here, not above: files alone need no warehouse, and it takes a while to load.
                from medeval.builds import open_built

                built = open_built(FLOOR, options.target, as_built=options.as_built)
                warehouse = stack.enter_context(built)
            if options.listfile is not None:
                listfile = read_file(self, options.listfile, is_listfile=True)
            elif warehouse is not None:
                listfile, data_class = self.listed_rows(warehouse)
            joined = {
                name: join(self, listfile, rows, allow_duplicates=options.allow_duplicates)
                for name, rows in predictions.items()
            }
            if warehouse is not None and groupings:
                from medeval.tasks.mimic3.groups import read_attributes

                some = next(iter(joined.values()))
                attributes = read_attributes(warehouse, some, groupings)
        return Inputs(joined, listfile, data_class, attributes)

    def listed_rows(self, warehouse: Warehouse) -> tuple[Rows, str]:
        """Return the test rows, byte for byte as `export` writes them, and their data class.

        The rows take the way through the listfile's text on purpose: truth and hours are then
        rounded as in the file that a model was given, and the hash is that of the exported file.

        Raises:
            UserError: the tables are not there, or their last build failed.
        """
        from medeval.builds import newest_build, read_source
        from medeval.tasks.mimic3.export import Order, header_of, listfile_batches
        from medeval.tasks.mimic3.predictions import read_rows

        listed = f"mimic3_{self.name}"
        tables = [listed, "mimic3_data_class", "mimic3_source_tables"]
        tables += ["phenotypes"] if self.kind == "labels" else []
        newest_build(warehouse, FLOOR, tables)
        lines = [header_of(warehouse, self.name).encode()]
        for batch, _ in listfile_batches(warehouse, self.name, "test", Order.CANONICAL):
            lines += batch
        name = f"{listed} (test rows, target {warehouse.target.name})"
        rows = read_rows(self, name, b"".join(lines), is_listfile=True)
        return rows, read_source(warehouse, FLOOR)["data_class"]

    def score(self, path: Path, method: Method) -> IcuScore:
        """Score a prediction file, or that of a run's folder.

        Raises:
            UserError: the input does not fit, or a smallest cell that hides nothing well; with
                `strict`, also if there is anything to warn of.
        """
        import numpy as np

        from medeval.scoring.groups import require_min_cell
        from medeval.tasks.mimic3.groups import GROUPINGS, divided, numbered_clusters
        from medeval.tasks.mimic3.metrics import evaluate
        from medeval.tasks.mimic3.results import score_of

        for grouping in method.groupings:
            if grouping not in GROUPINGS:
                raise UserError(f"--by {grouping}: there are {', '.join(GROUPINGS)}.")
        if self.options.peer_layout and (self.options.extra or method.groupings):
            raise UserError(
                "--peer-layout has no place for --extra and --by: leave one of them away."
            )
        if method.groupings:
            require_min_cell(method.min_cell)
        file = self.prediction_file(path)
        inputs = self.read({file.name: file}, method.groupings)
        joined = inputs.rows
        if self.options.strict and joined.warnings:
            raise UserError("\n".join([*joined.warnings, "--strict takes this for an error."]))
        numbers = numbered_clusters(joined, method.cluster)
        rows = np.arange(len(joined.stays))
        metrics = evaluate(self, joined, rows, numbers, method, self.name)
        subgroups = {}
        for grouping, attributes in inputs.attributes.items():
            subgroups[grouping] = divided(self, joined, attributes, method.min_cell)
            for group in subgroups[grouping]:
                if group.suppressed is None:
                    label = f"{grouping} {group.name}"
                    found = evaluate(self, joined, group.rows, numbers, method, label)
                    group.metrics.update(
                        (name, one)
                        for name, one in found.items()
                        if name not in group.hidden_metrics
                    )
        model, run_id = ENDINGS.sub("", file.name) or file.name, None
        if path.is_dir():
            run_id = path.resolve().name
            model = str(_recorded(path).get("model", run_id))
        return score_of(self, model, run_id, inputs, metrics, subgroups, method)

    def compare_files(
        self, paths: Sequence[Path], metrics: Sequence[str], method: Method
    ) -> Compared:
        """Compare prediction files, or those of runs, on the same resamples.

        Args:
            paths: two or more.
            metrics: by which; nothing takes all.
            method: resamples, their seed, and clusters.

        Raises:
            UserError: a file or the warehouse cannot be read, rows do not fit the truth, or the
                task has no such metric.
        """
        from medeval.tasks.mimic3.results import compared

        if self.options.threshold is not None and self.kind != "binary":
            raise UserError(f"--threshold: {self.name} has no answers that are yes or no.")
        return compared(self, self.read(self.named_files(paths)), metrics, method)

    def named_files(self, paths: Sequence[Path]) -> dict[str, Path]:
        """Return prediction files by the shortest names that tell them apart.

        A run is called as its folder, a file as itself without its ending, with as many folders
        before it as it takes.

        Raises:
            UserError: fewer than two, one of them twice, or one that is no prediction file.
        """
        if len(paths) < 2:
            raise UserError("compare takes two or more prediction files or runs of one task.")
        files = [self.prediction_file(path) for path in paths]
        whole = [file.resolve() for file in files]
        for place, path in enumerate(paths):
            if whole[place] in whole[:place]:
                raise UserError(f"{path} is named twice.")
        places = [path.resolve() for path in paths]
        stems = [
            place.name if place.is_dir() else ENDINGS.sub("", place.name) or place.name
            for place in places
        ]
        for length in range(1, max(len(place.parts) for place in places) + 1):
            parts = [place.parts[-length:-1] for place in places]
            names = ["/".join([*above, stem]) for above, stem in zip(parts, stems, strict=True)]
            if len(set(names)) == len(names):
                return dict(zip(names, files, strict=True))
        # Only endings are different.
        return dict(zip(map(str, paths), files, strict=True))


class InHospitalMortality(IcuTask):
    """Death in hospital, from the first 48 hours."""

    name, short = "in_hospital_mortality", "ihm"
    has_period_length = False


class Decompensation(IcuTask):
    """Death within 24 hours, hour by hour."""

    name, short = "decompensation", "decomp"
    n_iters, has_sample_times = 1_000, True


class RemainingStay(IcuTask):
    """The hours that are left of a stay, hour by hour."""

    name, short, kind = "length_of_stay", "los", "hours"
    n_iters, has_sample_times = 1_000, True


class Phenotypes(IcuTask):
    """Which of 25 conditions a stay was treated for."""

    name, short, kind = "phenotyping", "pheno", "labels"
    prediction_columns = tuple(f"pred_{number}" for number in range(1, LABELS + 1))
    truth_columns = tuple(f"label_{number}" for number in range(1, LABELS + 1))


TASKS: tuple[type[IcuTask], ...] = (InHospitalMortality, Decompensation, RemainingStay, Phenotypes)
_BY_NAME = {name: task for task in TASKS for name in (task.name, task.short)}


def is_icu_task(name: str) -> bool:
    """Tell whether a name, long or short, is that of an ICU task; hyphens count as underscores."""
    return _key(name) in _BY_NAME


def task_named(name: str, options: ScoreOptions | None = None) -> IcuTask:
    """Return the task of a long or short name.

    Raises:
        UserError: no such task.
    """
    if is_icu_task(name):
        return _BY_NAME[_key(name)](options)
    known = ", ".join(f"{task.name} ({task.short})" for task in TASKS)
    raise UserError(f"Unknown task {name!r}. Tasks that can be scored: {known}.")


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _recorded(folder: Path) -> dict[str, Any]:
    """Return what a run's record says, with the task's whole name; nothing if there is none."""
    try:
        record: dict[str, Any] = json.loads((folder / RUN).read_text(encoding="utf-8"))
        task = str(record["task"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {**record, "task": task_named(task).name if is_icu_task(task) else task}
