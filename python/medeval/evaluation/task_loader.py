"""Tasks from a folder, a file or the web, by id, path or URL."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from medeval.evaluation.fetching import FetchRules, fetch, is_url
from medeval.evaluation.task_prompts import PLACE
from medeval.files import toml_beside
from medeval.json_reader import fold_key
from medeval.models.documents import described
from medeval.models.medical_task import MedicalTask, TaskType, row_files, with_rows_of_files
from medeval.models.schemas import ensure_task_schemas, task_type_of, validate_rows
from medeval.models.task_types import TASK_CLASSES, EvaluatedTask
from medeval.models.text_files import Format, format_of, parse_mapping, write_text
from medeval.text import sha256_of

# In the order in which a folder is searched for an id.
SUFFIXES = (".yaml", ".json", ".yml")
# A list of tasks that some folders hold, not a task.
NOT_A_TASK = "tasks.json"

# No separator of folders, and neither of the two names that lead out of one.
_PLAIN_NAME = re.compile(r"(?!\.{1,2}$)[^/\\]+")
_CONTENT_TYPE = re.compile(r"(?:application|text)/(?:json|(?:x-)?yaml)|.*\+json")
_SIMILAR = 0.8
_KEYS = toml_beside(__file__, "data/task_keys.toml")


class TaskFileWarning(UserWarning):
    """A task file that is read on an assumption, or not at all."""


def bundled_tasks_dir() -> Path:
    """Return the folder of the task files that come with the package."""
    return Path(__file__).resolve().parent.parent / "task_files"


@dataclass(frozen=True)
class TaskSummary:
    """What a list of tasks says about one of them.

    Attributes:
        task_id: the id to get it by.
        name: its title.
        description: what is asked.
        metrics: the names of its metrics.
        num_examples: the number of rows of its data set, or of inputs where it has none.
        file: where it came from, a path or URL; None for one that the program made.
        difficulty: as its file has it.
    """

    task_id: str
    name: str | None
    description: str
    metrics: list[str]
    num_examples: int
    file: str | None
    difficulty: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, task: MedicalTask, file: str | None) -> Self:
        """Return what a list says about a task from a file, if it is from one."""
        rows = len(task.dataset) or sum(any(row.values()) for row in task.inputs)
        told = (task.task_id, task.name, task.description, list(task.metrics), rows, file)
        return cls(*told, task.extra.get("difficulty"))


class TaskLoader:
    """Loads tasks and keeps them as long as their files do not change.

    Attributes:
        tasks_dir: the folder in which ids are looked up.
    """

    def __init__(
        self,
        tasks_dir: str | Path | None = None,
        *,
        rules: FetchRules | None = None,
        cache_dir: str | Path | None = None,
    ) -> None:
        """Make a loader.

        Args:
            tasks_dir: the folder in which ids are looked up; the package's own if not given.
            rules: what may be fetched from the web; https from public hosts if not given.
            cache_dir: where tasks from the web are kept for later loaders; None keeps none.
        """
        self.tasks_dir = bundled_tasks_dir() if tasks_dir is None else Path(tasks_dir)
        self._rules = rules or FetchRules()
        self._cache = None if cache_dir is None else Path(cache_dir)
        # By file or web address: a task, and the state of each file when it was read.
        self._loaded: dict[Path | str, tuple[EvaluatedTask, dict[Path, tuple[int, int]]]] = {}

    def load_task(self, ref: str | Path, *, reload: bool = False) -> EvaluatedTask:
        """Return the task of an id, a path or a URL.

        An id is looked up in the folder: a plain name among the names of files first, then any id
        among the `task_id`s in the files, so that none leads out of the folder. The same object
        comes back until its file, or the file of its rows, changes.

        Args:
            ref: the id, path or URL.
            reload: read or fetch again even if nothing has changed.

        Raises:
            FileNotFoundError: there is no such task.
            ValueError: its file cannot be read as a task; naming it and what is wrong.
        """
        source = self._source(str(ref))
        task, states = self._loaded.get(source, (None, {}))
        if task is not None and not reload and states == _states(states):
            return task
        if isinstance(source, Path):
            states = _states([source])
            data = _parsed(str(source), source.read_bytes(), format_of(source))
            states |= _states(row_files(data, source.parent).values())
            task = build_task(data, source.stem, str(source), source.parent)
        else:
            task = self._from_web(source, reload)
        self._loaded[source] = task, states
        return task

    def load_tasks(
        self, ids: Iterable[str | Path], task_type: TaskType | str | None = None
    ) -> dict[str, EvaluatedTask]:
        """Load several tasks.

        Args:
            ids: ids, paths or URLs.
            task_type: the type that all of them must have; None allows any.

        Returns:
            The tasks by what they were asked for.

        Raises:
            FileNotFoundError: there is no such task.
            ValueError: a file cannot be read as a task, or the task has another type.
        """
        tasks = {str(ref): self.load_task(ref) for ref in ids}
        for ref, task in tasks.items():
            if task_type is not None and task.task_type != task_type_of(task_type):
                raise ValueError(f"{ref}: a task of type {task.task_type}, not {task_type}")
        return tasks

    def discover_tasks(self) -> dict[str, Path]:
        """Return the task files of the folder, not of folders in it, by name without suffix."""
        found: dict[str, Path] = {}
        for suffix in SUFFIXES:
            for path in sorted(self.tasks_dir.glob(f"*{suffix}")):
                if path.name != NOT_A_TASK and path.is_file():
                    found.setdefault(path.stem, path)
        return dict(sorted(found.items()))

    def list_available_tasks(self) -> list[dict[str, Any]]:
        """Describe the tasks of the folder; a file that is broken is left out with a warning."""
        return [asdict(TaskSummary.of(task, str(path))) for path, task in self.discovered()]

    def discovered(self) -> list[tuple[Path, EvaluatedTask]]:
        """Return the tasks of the folder with their files; a broken one is left out, warned of."""
        tasks = []
        for path in self.discover_tasks().values():
            try:
                tasks.append((path, self.load_task(path)))
            except (ValueError, OSError) as error:
                warnings.warn(f"left out: {error}", TaskFileWarning, stacklevel=2)
        return tasks

    def _source(self, ref: str) -> Path | str:
        """Return the file or web address that an id, path or URL leads to."""
        if is_url(ref):
            return ref
        is_plain = _PLAIN_NAME.fullmatch(ref) is not None
        named = [self.tasks_dir / f"{ref}{suffix}" for suffix in SUFFIXES] if is_plain else []
        if not (paths := [path for path in (*named, Path(ref)) if path.is_file()][:1]):
            # The file of the folder whose own task_id it is.
            with warnings.catch_warnings():
                # Asked for one task, what is wrong with others is no concern.
                warnings.simplefilter("ignore", TaskFileWarning)
                paths = [path for path, task in self.discovered() if task.task_id == ref]
        if len(paths) > 1:
            files = ", ".join(path.name for path in paths)
            raise ValueError(f"more than one file has the task_id {ref!r}: {files}")
        if not paths:
            raise FileNotFoundError(
                f"there is no task {ref!r}: no such path, nor one of that id in {self.tasks_dir}"
            )
        return paths[0].resolve()

    def _from_web(self, url: str, reload: bool) -> EvaluatedTask:
        """Return the task at an address, or what is kept of it, if that is as it was kept.

        The name of a kept file has the hashes of its address and of its content.
        """
        path = PurePosixPath(unquote(urlsplit(url).path))
        stem = f"content-{sha256_of(url)}"
        kept = [*self._cache.glob(f"{stem}-*")] if self._cache else []
        for place in [] if reload else kept:
            content, form = place.read_bytes(), format_of(place)
            if place.stem.endswith(sha256_of(content)):
                break
        else:
            content, content_type = fetch(url, self._rules)
            form = _format_of_url(url, path.suffix, content_type)
        name = path.stem or (urlsplit(url).hostname or "")
        task = build_task(_parsed(url, content, form), name, url)
        if self._cache:
            new = self._cache / f"{stem}-{sha256_of(content)}.{form}"
            write_text(new, content)
            for place in kept:
                if place != new:
                    place.unlink()
        return task


def build_task(
    data: Mapping[str, Any], fallback_id: str, place: str, folder: Path | None = None
) -> EvaluatedTask:
    """Make a task from the fields of a file.

    Defaults fill empty schemas. When the data set has rows, they are the inputs and expected
    outputs, whatever stood there: a file may hold blanks in that place.

    Args:
        data: the fields.
        fallback_id: the id of a task whose file gives none.
        place: where the fields stand, for messages.
        folder: in which files of rows are looked up; None if there can be none.

    Raises:
        ValueError: a field breaks a rule, or a row cannot be run; naming the place and the field.
    """
    try:
        if folder is None and row_files(data, Path()):
            raise ValueError("dataset: rows of a task from the web stand in its own file")
        fields = {"metrics": [], **with_rows_of_files(data, folder or Path())}
        if fields.get("task_id") is None:
            fields["task_id"] = fallback_id
        if "task_type" not in fields:
            warnings.warn(f"{place}: no task_type, read as qa", TaskFileWarning, stacklevel=3)
            fields["task_type"] = TaskType.QA
        has_rows = bool(fields.get("dataset"))
        if has_rows or not fields.get("inputs"):
            fields.pop("inputs", None)
        # The rules of all tasks, but for rows: these may have other names of the input.
        known = {**fields, "dataset": [{}]} if has_rows else fields
        kind = MedicalTask.model_validate(known).task_type
        own = fields.get("input_schema")
        # The class knows other names of the input: `case` for `symptoms`, `text` for `document`.
        schemas = [own] if own else [ensure_task_schemas(kind, None, None)[0], {}]
        faults: list[ValueError] = []
        for schema in schemas:
            try:
                task = TASK_CLASSES[kind].model_validate({**fields, "input_schema": schema})
                task.validate()
                for label in ("dataset", "few_shot"):
                    validate_rows(
                        getattr(task, label), *task.schemas(), label=label, need_gold=True
                    )
                _check_prompts(task)
                if not any(task.expected_outputs):
                    task.expected_outputs = []
                return task
            except ValueError as error:
                faults.append(error)
        raise faults[0]
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"{place}: {'; '.join(described(error))}") from None


def _check_key(key: str) -> None:
    """Refuse a key that is a known one with a slip, or another program's word for one."""
    folded = fold_key(key)
    known = [*MedicalTask.model_fields, *_KEYS["others"]]
    if key in known:
        return
    if meant := _KEYS["elsewhere"].get(folded):
        raise ValueError(f"{key}: no key of a task file; {meant}")
    for near in get_close_matches(folded, known, 1, _SIMILAR):
        # `dataset_id` is no slip of `dataset`.
        if not set(near.split("_")) < set(folded.split("_")):
            raise ValueError(
                f"{key}: no key of a task file; did you mean {near!r}? Own keys go under `extra`"
            )


def _check_prompts(task: EvaluatedTask) -> None:
    """Check that examples have an answer and are not asked, and that a template can be filled."""
    asked, examples = task.pairs()[0], task.examples()
    for index, (shown, answer) in enumerate(zip(*examples, strict=True)):
        if not answer.get(task.target):
            raise ValueError(f"few_shot[{index}] has no {task.target!r}: it would show no answer")
        if shown in asked:
            raise ValueError(f"few_shot[{index}] is a row of the dataset: it would be given away")
    keys = {key: None for row in (*asked, *examples[0]) for key in row}
    named = [name for _, name in PLACE.findall(task.prompt) if name]
    if unknown := [name for name in named if name not in {*keys, "form"}]:
        raise ValueError(
            f"prompt: no input has {unknown[0]!r}; it may name {', '.join([*keys, 'form'])} (write"
            f" {{{{{unknown[0]}}}}} for the braces themselves)"
        )
    if task.prompt and not keys.keys() & set(named):
        raise ValueError(f"prompt: it shows no part of the input, such as {{{next(iter(keys))}}}")


def _states(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return what changes when a file is written: its time and size."""
    found = {path: path.stat() for path in paths if path.is_file()}
    return {path: (status.st_mtime_ns, status.st_size) for path, status in found.items()}


def _parsed(place: str, content: bytes, form: Format) -> dict[str, Any]:
    try:
        data = parse_mapping(content.decode("utf-8-sig"), form)
        for key in data:
            _check_key(str(key))
    except ValueError as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        raise ValueError(f"{place}: {error if is_text else f'not UTF-8: {error}'}") from None
    return data


def _format_of_url(url: str, suffix: str, content_type: str) -> Format:
    """Return the format that the address itself names, else the one that the server names."""
    if suffix.lower() in SUFFIXES:
        return format_of(suffix)
    named = content_type.partition(";")[0].strip().lower()
    if not _CONTENT_TYPE.fullmatch(named):
        raise ValueError(f"{url}: neither its suffix nor its content type {named!r} is known")
    return "json" if named.endswith("json") else "yaml"
