"""Tasks for lm-evaluation-harness: `export --task NAME --format lm-eval` writes a folder of them.

`lm_eval --include_path FOLDER --tasks medeval_NAME` runs it. Its metrics are those of `medeval
score` on the same replies; medeval must be installed beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from medeval.adapters import asked, metrics_of, replayed
from medeval.errors import UserError
from medeval.files import json_lines, read_json_lines, toml_beside
from medeval.inference.guard import DataUseGuard, normalized, read_endpoints
from medeval.inference.run import AUDIT, settings_of
from medeval.inference.types import Sample
from medeval.models.text_files import write_text
from medeval.tasks import registry
from medeval.tasks.run_record import RunRecord
from medeval.tasks.task import AskedTask

_TOLD = toml_beside(__file__, "data/lm_eval.toml")
# Before the name of a function of the code beside a description, which the harness knows by a tag.
_FUNCTION = "!function:"
_DOCUMENTS, _ABOUT, _CODE = "documents.jsonl", "medeval_task.json", "medeval_scores.py"


def write_task(
    name: str,
    options: Mapping[str, Any],
    folder: Path,
    base_url: str | None = None,
    endpoints: Path = Path("endpoints.toml"),
) -> Path:
    """Write the folder of a task: its prompts, its description, and what scores it.

    Args:
        name: of the task.
        options: of it, by name.
        folder: where the folder `medeval_NAME` is made.
        base_url: of the endpoint that is to be evaluated; credentialed text needs a declared one.
        endpoints: the declarations of where credentialed text may go.

    Raises:
        UserError: no such task, one that is a conversation, or text that may not go there.
    """
    task = registry.start(name, options)
    if not all(isinstance(one, Sample) for one in task.samples(1)):
        raise UserError(f"{task.name} is a conversation: lm-evaluation-harness cannot run it.")
    place = folder / f"medeval_{task.name}"
    items = list(task.items())
    if not all(item.is_open for item in items):
        if base_url is None:
            raise UserError(
                f"{task.name} holds credentialed text. Name the endpoint that is evaluated with"
                " --base-url; endpoints.toml must declare it."
            )
        guard = DataUseGuard(read_endpoints(endpoints), place / AUDIT)
        guard.check(normalized(base_url), is_open=False)
    scored = _scores(task, [(item, "") for item in items])
    about = {
        "task": f"medeval_{task.name}",
        **_TOLD["description"],
        "metric_list": [
            {"metric": one, "aggregation": _FUNCTION + _identifier(one), "higher_is_better": True}
            for one in scored
        ],
        "metadata": {"version": task.prompt_version},
    }
    code = [_TOLD["code"], *(f"{_identifier(one)} = _scores.metric({one!r})" for one in scored)]
    settings = {**settings_of(replayed(place), task.prompt_version), **task.settings()}
    kept = {"task": task.name, "settings": settings}
    task.keep(place)
    write_text(place / _DOCUMENTS, json_lines(map(_document, items)))
    write_text(place / _ABOUT, json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    write_text(place / _CODE, "\n".join(code) + "\n")
    described = yaml.safe_dump(about, sort_keys=False, allow_unicode=True)
    described = described.replace(f"'{_FUNCTION}", "!function 'medeval_scores.")
    write_text(place / f"medeval_{task.name}.yaml", described)
    return place


class FolderScores:
    """What the harness calls: the documents of a task's folder, and the metrics of its replies."""

    def __init__(self, code: str) -> None:
        self._folder = Path(code).resolve().parent
        self._names: list[str] = []
        self._found: dict[str, float] = {}
        self._replies: list[tuple[str, int, str]] | None = None

    def dataset(self, **given: Any) -> Any:
        """Return the documents."""
        import datasets  # type: ignore[import-untyped]

        rows = [row for _, row in read_json_lines(self._folder / _DOCUMENTS)]
        return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})

    def process_results(
        self, document: Mapping[str, Any], replies: Sequence[str]
    ) -> dict[str, Any]:
        """Return for each metric the reply, which is scored with all others."""
        return dict.fromkeys(self._names, (document["item"], document["sample"], replies[0]))

    def metric(self, name: str) -> Callable[[Sequence[tuple[str, int, str]]], float]:
        """Return what makes a metric of all replies; one that is undefined is NaN."""
        self._names.append(name)
        return partial(self._value, name)

    def _value(self, name: str, replies: Sequence[tuple[str, int, str]]) -> float:
        given = [(str(item), int(sample), text) for item, sample, text in replies]
        # The resamples of the harness are scored by themselves; all metrics of one set at once.
        if given != self._replies:
            record = RunRecord.model_validate_json((self._folder / _ABOUT).read_bytes())
            record.folder = self._folder
            task = registry.resume(record)
            known = {(item.id, item.sample): item for item in task.items()}
            pairs = [(known[item, sample], text) for item, sample, text in given]
            self._replies, self._found = given, _scores(task, pairs)
        return self._found.get(name, float("nan"))


def _document(item: Sample) -> dict[str, Any]:
    parts = [str(message["content"]) for message in item.messages]
    return {"item": item.id, "sample": item.sample, "prompt": "\n\n".join(parts)}


def _identifier(metric: str) -> str:
    return "metric_" + "".join(one if one.isalnum() else "_" for one in metric)


def _scores(task: AskedTask, replies: Sequence[tuple[Sample, str]]) -> dict[str, float]:
    """Return the metrics of replies, as a run that got them has them."""
    texts = {(item.id, item.sample): text for item, text in replies}
    with TemporaryDirectory() as place:
        lines = asked(task, replayed(Path(place), texts), [item for item, _ in replies])
    return metrics_of(task, lines)
