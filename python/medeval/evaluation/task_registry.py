"""The tasks at hand: those registered by the program, and those of a folder."""

from __future__ import annotations

from pathlib import Path

from medeval.evaluation.task_loader import TaskLoader, TaskSummary
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import task_type_of


class TaskRegistry:
    """Tasks by id; a registered one comes before one of the folder that has the same id."""

    def __init__(
        self, tasks_dir: str | Path | None = None, *, loader: TaskLoader | None = None
    ) -> None:
        """Make a registry.

        Args:
            tasks_dir: the folder in which other tasks are discovered; the package's own if not
                given.
            loader: reads the files; one with the folder if not given.
        """
        self._loader = loader or TaskLoader(tasks_dir)
        self._registered: dict[str, tuple[MedicalTask, str | None]] = {}

    def register(self, task: MedicalTask, *, replace: bool = False) -> None:
        """Take in a task under its id.

        Raises:
            ValueError: the id is blank, or registered, and `replace` is not set.
        """
        if not task.task_id.strip():
            raise ValueError("the id of a task must not be blank")
        if task.task_id in self._registered and not replace:
            raise ValueError(
                f"a task {task.task_id!r} is registered; replace=True takes this one instead"
            )
        self._registered[task.task_id] = task, None

    def register_from_file(
        self, path: str | Path, task_id: str | None = None, *, replace: bool = False
    ) -> MedicalTask:
        """Take in the task of a file, under another id if one is given; return it.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file cannot be read as a task, or the id is registered.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no task file {path}")
        return self._register_from(Path(path).resolve(), str(path), task_id, replace)

    def register_from_url(
        self, url: str, task_id: str | None = None, *, replace: bool = False
    ) -> MedicalTask:
        """Take in the task at a web address, under another id if one is given; return it.

        Raises:
            ValueError: it cannot be fetched or read as a task, or the id is registered.
        """
        return self._register_from(url, url, task_id, replace)

    def unregister(self, task_id: str) -> None:
        """Forget a registered task; an unknown id is none."""
        self._registered.pop(task_id, None)

    def get(self, task_id: str) -> MedicalTask:
        """Return a registered task, else the one that the loader finds.

        Raises:
            FileNotFoundError: there is none.
            ValueError: its file cannot be read as a task.
        """
        if task_id in self._registered:
            return self._registered[task_id][0]
        return self._loader.load_task(task_id)

    def discover(self) -> dict[str, Path]:
        """Return the task files of the folder, by name without suffix."""
        return self._loader.discover_tasks()

    def list_available(
        self,
        task_type: TaskType | str | None = None,
        min_examples: int | None = None,
        has_metrics: bool | None = None,
        difficulty: str | None = None,
    ) -> list[TaskSummary]:
        """List the tasks that meet all conditions, registered ones first.

        Args:
            task_type: their type.
            min_examples: the fewest rows, as `num_examples` counts them.
            has_metrics: whether they name metrics.
            difficulty: their difficulty, in upper or lower case.
        """
        wanted = None if task_type is None else task_type_of(task_type)
        level = None if difficulty is None else difficulty.casefold()
        tasks = [*self._registered.values()]
        for path, other in self._loader.discovered():
            if other.task_id not in self._registered:
                tasks.append((other, str(path)))
        rows = [(task.task_type, TaskSummary.of(task, file)) for task, file in tasks]
        return [
            row
            for kind, row in rows
            if wanted in (None, kind)
            and row.num_examples >= (min_examples or 0)
            and has_metrics in (None, bool(row.metrics))
            and level in (None, str(row.difficulty or "").casefold())
        ]

    def _register_from(
        self, ref: str | Path, file: str, task_id: str | None, replace: bool
    ) -> MedicalTask:
        # A copy: the loader's own may be asked for under its own id.
        task = self._loader.load_task(ref).model_copy(deep=True)
        task.task_id = task.task_id if task_id is None else task_id
        self.register(task, replace=replace)
        self._registered[task.task_id] = task, file
        return task
