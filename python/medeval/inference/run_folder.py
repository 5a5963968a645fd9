"""The folder of a run: what it was asked with, so that it can be repeated or gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from medeval.errors import UserError

RUN = "run.json"
RESPONSES = "responses.jsonl"
AUDIT = "audit.jsonl"

_ABSENT = "nothing"


class AskedSettings(BaseModel):
    """What the settings say of a model; those of a task or a judging stand beside it."""

    model_config = ConfigDict(extra="allow", strict=True)

    endpoint: str
    model: str
    parameters: dict[str, Any]
    prompt_version: str


class Record(BaseModel):
    """What every record says; those of a kind have fields of their own, and no others.

    Attributes:
        settings: all that decided the answers.
        learned: what the endpoint refused, each with what is sent instead.
    """

    model_config = ConfigDict(extra="allow")

    settings: AskedSettings
    learned: dict[
        str, Literal["", "json_object", "user", "max_tokens", "max_completion_tokens"]
    ] = {}


Kind = TypeVar("Kind", bound=Record)


class RunFolder:
    """A folder with `run.json`, made if it is not there and held to what it says if it is.

    Args:
        path: the folder; made for its owner only.
        settings: all that decides the answers (JSON values, never a key). A run that was begun
            with others is not gone on with.
        about: what else a reader wants to know; not compared, and kept from the first start.
        record: the file of the settings; judges have another beside the model's.
        answers: the file of the journal, of which the same holds.
        kind: of the record, which one that is there has to be.

    Attributes:
        journal: the path of the journal.

    Raises:
        UserError: the folder holds a run with other settings; the message names each difference.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        about: Mapping[str, Any] | None = None,
        record: str = RUN,
        answers: str = RESPONSES,
        kind: type[Record] = Record,
    ) -> None:
        self.path = path
        self.journal = path / answers
        self._record = path / record
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path} cannot be made ({error.strerror}).") from None
        asked: dict[str, Any] = json.loads(json.dumps(dict(settings)))
        if not self._record.exists():
            if self.journal.exists():
                raise UserError(
                    f"{path} holds {answers} but no {record} that says how it was asked for."
                    " Choose another folder."
                )
            self._content = {"settings": asked, "learned": {}, **(about or {})}
            self._write()
            return
        found = checked_record(self._record, kind).model_dump(exclude_unset=True)
        differences = _differences(found.get("settings"), asked)
        if differences:
            raise UserError(
                f"{path} holds a run with other settings ({'; '.join(differences)})."
                " Set them back to go on with it, or choose another folder for a new run."
            )
        self._content = found

    @property
    def learned(self) -> dict[str, str]:
        """Parameters that the endpoint refused, each with the one sent instead."""
        learned: dict[str, str] = self._content.get("learned", {})
        return dict(learned)

    def record_learned(self, learned: Mapping[str, str]) -> None:
        """Keep what was learned about refused parameters."""
        if dict(learned) != self.learned:
            self._content["learned"] = dict(learned)
            self._write()

    def record(self, name: str, value: Any) -> None:
        """Keep what may change from start to start, such as how many items are asked."""
        if name not in self._content or self._content[name] != value:
            self._content[name] = value
            self._write()

    def _write(self) -> None:
        beside = self._record.with_name(self._record.name + ".new")
        try:
            beside.unlink(missing_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps(self._content, indent=2, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._record)
        except OSError as error:
            raise UserError(
                f"{self._record}: {error.strerror}. Make room and start the same run again."
            ) from None


def checked_record(path: Path, kind: type[Kind]) -> Kind:
    """Return what a record says.

    Raises:
        OSError: it cannot be read.
        UserError: it is no record of this kind; the message names the first field that is not as it
            must be, and never what it holds.
    """
    try:
        return kind.model_validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{path} is not the record of a run ({field or 'JSON'}: {first['msg']}). Put it back as"
            " it was, or choose another folder."
        ) from None


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            difference
            for key in sorted({*before, *now})
            for difference in _differences(
                before.get(key, _ABSENT), now.get(key, _ABSENT), f"{name}.{key}" if name else key
            )
        ]
    if before == now:
        return []
    return [f"{name} was {_short(before)}, now {_short(now)}"]


def _short(value: Any) -> str:
    text = value if value is _ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
