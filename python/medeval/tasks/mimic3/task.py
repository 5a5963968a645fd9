"""The four ICU tasks of mimic3-benchmarks, which are answered by predictions and not by a model."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from math import isnan, nan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from medeval.builds import newest_build, open_built, read_source
from medeval.errors import UserError, os_error_as
from medeval.files import require_different, toml_beside
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import RUNS, content_of, newest_run
from medeval.tasks.task import Check, Comparison, Method, Task, TaskScore

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from medeval.models.benchmark_report import EvaluationResult
    from medeval.models.scores import Interval
    from medeval.tasks.mimic3.predictions import Rows
    from medeval.warehouse import Warehouse

FLOOR = "mimic3"
PREDICTIONS = "predictions.csv"
LABELS = 25
ENDINGS = re.compile(r"(\.parquet)?(\.csv)?(\.gz)?$")
# Sums of floats, not more.
ROUNDING = 1e-9
# The files of mimic3-benchmarks, and what is said of options.
LAYOUT = toml_beside(__file__, "layout.toml")


class IcuScoreOptions(TaskOptions):
    """What can be chosen about the score of predictions."""

    WORDS: ClassVar[Mapping[str, str]] = LAYOUT["score_options"]

    listfile: str | None = Field(None, json_schema_extra={"words": ["--test_listfile"]})
    target: str | None = None
    allow_duplicates: bool = False
    strict: bool = False
    peer_layout: bool = False
    strict_nan: bool = False
    extra: bool = False
    ci: Literal["percentile", "bca"] = "percentile"
    threshold: float | None = Field(None, ge=0, le=1)


class IcuTask(Task):
    """A task of the MIMIC-III listfiles; see `Task`.

    Attributes:
        short: its short name, as in that of the default result file.
        kind: what it predicts: `binary`, `hours` or `labels`.
        has_sample_times: whether a stay has a row for each hour, so that the hour is in the key.
        has_period_length: whether files have the column period_length, in the key or beside it.
        prediction_columns: the columns that hold the predictions.
        truth_columns: the columns of a prediction file that repeat the truth.
    """

    answered_by = "predict, or a prediction file"
    BASELINES = ("logistic",)
    ScoreOptions: ClassVar[type[TaskOptions]] = IcuScoreOptions
    COMPARED: ClassVar[Set[str]] = frozenset({"listfile", "target", "threshold"})
    short: ClassVar[str]
    kind: ClassVar[str] = "binary"
    has_sample_times: ClassVar[bool] = False
    has_period_length: ClassVar[bool] = True
    prediction_columns: ClassVar[tuple[str, ...]] = ("prediction",)
    truth_columns: ClassVar[tuple[str, ...]] = ("y_true",)

    @classmethod
    def predict(cls, name: str, model: str, **given: Any) -> str:
        """See `Task`."""
        from medeval.tasks.mimic3.baseline import predict_to_run

        folder = predict_to_run(cls, model, **given)
        record = content_of(folder)
        rows, parameters = record["rows"], record["parameters"]
        strength = "alpha" if "alpha" in parameters else "C"
        return (
            f"{folder / PREDICTIONS}: {rows['test']:,} predictions; trained on {rows['train']:,}"
            f" rows, tuned on {rows['validation']:,} ({parameters['penalty']},"
            f" {strength} = {parameters[strength]:g})"
        )

    @classmethod
    def item_scores(
        cls, folder: Path, result: EvaluationResult, item: str
    ) -> list[dict[str, float | str | None]]:
        """See `Task`: the predictions for a stay, as its file has them."""
        path = folder / PREDICTIONS
        with os_error_as(f"{path} cannot be read ({{why}}). Name the folder of a run."):
            file = path.open(encoding="utf-8", newline="")
        with file:
            rows = csv.DictReader(file)
            return [dict(row) for row in rows if row.pop("stay") == item]

    @classmethod
    def newest(cls, name: str, method: Method) -> Path:
        """See `Task`; without a run, a baseline is trained.

        Raises:
            UserError: the baseline's features are not there, or of an older build.
        """
        if found := newest_run(cls.name, cls.short, file=PREDICTIONS):
            return found
        # Here, not above: every other way starts without scikit-learn.
        from medeval.tasks.mimic3.baseline import predict_to_run
        from medeval.terminal import warn

        warn(
            f"there is no run of {cls.name} in {RUNS}/: training the logistic baseline first, as"
            f" `python -m medeval predict --task {cls.name} --model logistic` does."
        )
        options = method.chosen(IcuScoreOptions)
        return predict_to_run(
            cls, "logistic", target=options.target, out=RUNS, seed=method.seed,
            as_built=options.as_built,
        )  # fmt: skip

    @classmethod
    def score_file(cls, path: Path, name: str, method: Method) -> TaskScore:
        """See `Task`: a prediction file, or the folder of a run with one.

        Raises:
            UserError: the input does not fit, or a smallest cell that hides nothing well; with
                `strict`, also if there is anything to warn of.
        """
        # Here, not above: every other command starts without these.
        from medeval.scoring.groups import require_min_cell
        from medeval.tasks.mimic3.groups import GROUPINGS
        from medeval.tasks.mimic3.results import scored

        options = method.chosen(IcuScoreOptions)
        for grouping in method.groupings:
            if grouping not in GROUPINGS:
                raise UserError(f"--by {grouping}: there are {', '.join(GROUPINGS)}.")
        if options.peer_layout and (options.extra or method.groupings):
            raise UserError("--peer-layout has no place for --extra and --by.")
        if method.groupings:
            require_min_cell(method.min_cell)
        file, record = cls.prediction_file(path), content_of(path)
        truth, (joined,) = cls.read([file], method)
        if options.strict and joined.warnings:
            raise UserError("\n".join([*joined.warnings, "--strict takes this for an error."]))
        run_id = path.resolve().name if path.is_dir() else None
        model = record.get("model") or run_id or ENDINGS.sub("", file.name) or file.name
        return scored(cls, str(model), run_id, truth, joined, method)

    @classmethod
    def compare_files(
        cls, paths: Sequence[Path], name: str, metrics: Sequence[str], method: Method
    ) -> Comparison:
        """See `Task`: prediction files or the folders of runs with one.

        Raises:
            UserError: a file or the warehouse cannot be read, rows do not fit the truth, one file
                is named twice, or the task has no such metric.
        """
        from medeval.tasks.mimic3.results import chosen_metrics, compared

        chosen = chosen_metrics(cls, metrics)
        if method.chosen(IcuScoreOptions).threshold is not None and cls.kind != "binary":
            raise UserError(f"--threshold: {cls.name} has no answers that are yes or no.")
        if len(paths) < 2:
            raise UserError("compare takes two or more prediction files or runs of one task.")
        files = [cls.prediction_file(path) for path in paths]
        require_different(files, paths)
        names = [ENDINGS.sub("", path.resolve().name) or path.name for path in paths]
        if len(set(names)) < len(names):
            names = [str(path) for path in paths]
        truth, rows = cls.read(files, method)
        return compared(cls, truth, dict(zip(names, rows, strict=True)), chosen, method)

    @classmethod
    def self_check(cls, name: str, as_built: bool) -> Iterator[Check]:
        """See `Task`: the truth must score best, the same for all rows like chance."""
        import numpy as np

        from medeval.tasks.mimic3.metrics import LOWER_IS_BETTER, PUBLISHED

        with open_built(FLOOR, None, as_built=as_built) as warehouse:
            truth = cls.listed_rows(warehouse).truth
        if cls.kind != "labels":
            truth = truth[:, 0]
        chance, rarer = 0.0 if cls.kind == "hours" else 0.5, len(truth)
        if cls.kind == "binary":
            rarer = max(1, min(int(truth.sum()), int((1 - truth).sum())))

        def scored(predicted: ArrayLike) -> dict[str, float]:
            found = cls.score_arrays(name, truth, predicted, None, n_iters=0, seed=0)
            return {key: one.value for key, one in found.items() if one.value is not None}

        best = {
            one: (value, float(one not in LOWER_IS_BETTER)) for one, value in scored(truth).items()
        }
        wrong = [
            f"{one} {got:g}" for one, (got, most) in best.items() if abs(got - most) > ROUNDING
        ]
        metrics = PUBLISHED[cls.kind].names
        told = ", ".join(wrong) or f"{len(best)} of {len(metrics)} metrics are defined"
        yield Check("the truth must score the best value of each metric", not wrong, told)
        headline = metrics[0]
        others = np.random.default_rng(0).permutation(truth)
        for who, predicted, within in (
            ("one prediction for all", np.ones_like(truth), ROUNDING),
            ("the truth of other rows", others, 0.05 + 0.5 / sqrt(rarer)),
        ):
            value = scored(predicted).get(headline, nan)
            told = f"{value:.4f}; chance is {chance:g}, within {within:.2g} of it"
            passed = isnan(value) or abs(value - chance) <= within
            told = "undefined" if isnan(value) else told
            yield Check(f"{headline}: {who} must score like chance", passed, told)

    @classmethod
    def score_arrays(
        cls,
        name: str,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        stays: ArrayLike | None,
        *,
        n_iters: int | None,
        seed: int,
    ) -> dict[str, Interval]:
        """See `Task`."""
        import numpy as np

        from medeval.scoring.resample import score, summarise
        from medeval.tasks.mimic3.metrics import PUBLISHED
        from medeval.tasks.mimic3.results import interval_of

        # As `read_rows` has it: the published program reads hours as single floats.
        truth = np.asarray(y_true, dtype=np.float32 if cls.kind == "hours" else None)
        clusters = None if stays is None else np.unique(np.asarray(stays), return_inverse=True)[1]
        try:
            statistic = PUBLISHED[cls.kind](truth, y_pred)
            draws = cls.N_ITERS if n_iters is None else n_iters
            found = summarise(score(statistic, draws, seed, clusters))
        except ValueError as error:
            raise UserError(f"{name}: {error}.") from None
        return {key: interval_of(one, statistic.rows, "percentile") for key, one in found.items()}

    @classmethod
    def prediction_file(cls, path: Path) -> Path:
        """Return the file to score, which a user named by itself or by the folder of its run.

        Raises:
            UserError: there is no such file, or the run is of another task.
        """
        if not path.is_dir():
            return path
        recorded = content_of(path).get("task", cls.name)
        if recorded not in (cls.name, cls.short):
            raise UserError(f"{path} is a run of {recorded}, not of {cls.name}.")
        found = path / PREDICTIONS
        if not found.is_file():
            raise UserError(f"{path} holds no {PREDICTIONS}.")
        return found

    @classmethod
    def read(cls, files: Sequence[Path], method: Method) -> tuple[Rows, list[Rows]]:
        """Read files of predictions, the truth, and what the warehouse knows of the stays.

        Returns:
            The truth, and its rows with the predictions of each file.

        Raises:
            UserError: a file or the warehouse cannot be read, or the rows do not fit together.
        """
        # Here, not above: `predict` needs none, and files alone need no warehouse.
        from medeval.tasks.mimic3.groups import numbered_clusters, read_groups
        from medeval.tasks.mimic3.predictions import join, read_file

        options = method.chosen(IcuScoreOptions)
        predictions = [read_file(cls, path) for path in files]
        with ExitStack() as stack:
            if options.listfile is None or method.groupings:
                built = open_built(FLOOR, options.target, as_built=options.as_built)
                warehouse = stack.enter_context(built)
            if options.listfile is not None:
                truth = read_file(cls, Path(options.listfile), is_listfile=True)
            else:
                truth = cls.listed_rows(warehouse)
            joined = [
                join(cls, truth, rows, allow_duplicates=options.allow_duplicates)
                for rows in predictions
            ]
            groups = {}
            if method.groupings:
                groups = read_groups(warehouse, joined[0], method.groupings)
        clusters = numbered_clusters(joined[0], method.cluster)
        return truth, [replace(rows, clusters=clusters, groups=groups) for rows in joined]

    @classmethod
    def listed_rows(cls, warehouse: Warehouse) -> Rows:
        """Return the test rows, byte for byte as `export` writes them.

        The rows take the way through the listfile's text on purpose: truth and hours are then
        rounded as in the file that a model was given, and the hash is that of the exported file.

        Raises:
            UserError: the tables are not there, or their last build failed.
        """
        from medeval.tasks.mimic3.export import header_of, listfile_batches
        from medeval.tasks.mimic3.predictions import read_rows

        listed = f"mimic3_{cls.name}"
        tables = [listed, "mimic3_data_class", "mimic3_source_tables"]
        tables += ["phenotypes"] if cls.kind == "labels" else []
        newest_build(warehouse, FLOOR, tables)
        lines = [header_of(warehouse, cls.name).encode()]
        for batch, _ in listfile_batches(warehouse, cls.name, "test", "canonical"):
            lines += batch
        name = f"{listed} (test rows, target {warehouse.target.name})"
        rows = read_rows(cls, name, b"".join(lines), is_listfile=True)
        return replace(rows, data_class=read_source(warehouse, FLOOR)["data_class"])


class InHospitalMortality(IcuTask):
    """Death in hospital, from the first 48 hours of a stay."""

    name, short, scored_by = "in_hospital_mortality", "ihm", "AUC of ROC"
    N_ITERS = 10_000
    has_period_length = False


class Decompensation(IcuTask):
    """Death within 24 hours, from all hours until then."""

    name, short, scored_by = "decompensation", "decomp", "AUC of ROC"
    has_sample_times = True


class LengthOfStay(IcuTask):
    """The hours that a stay still lasts, at each of its hours."""

    name, short, scored_by = "length_of_stay", "los", "kappa"
    kind, has_sample_times = "hours", True


class Phenotyping(IcuTask):
    """Which of 25 conditions a stay had."""

    name, short, scored_by = "phenotyping", "pheno", "macro ROC AUC"
    N_ITERS, kind = 10_000, "labels"
    prediction_columns = tuple(f"pred_{number}" for number in range(1, LABELS + 1))
    truth_columns = tuple(f"label_{number}" for number in range(1, LABELS + 1))


TASKS: tuple[type[IcuTask], ...] = (InHospitalMortality, Decompensation, LengthOfStay, Phenotyping)
