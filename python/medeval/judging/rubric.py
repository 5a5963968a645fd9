"""Rubrics: what is graded, on what scale, kept as data beside the code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from medeval.errors import UserError
from medeval.models.yaml_text import read_yaml

_FOLDER = files("medeval.judging").joinpath("rubrics")

Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
Sentence = Annotated[str, Field(min_length=1)]
Overlap = Literal["precision", "recall", "f1"]


class Dimension(BaseModel):
    """One criterion.

    Attributes:
        name: its key in a verdict.
        description: what the judge is told of it.
        overlap: what the rule-based judge takes for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    description: Sentence
    overlap: Overlap = "f1"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Word
    version: Annotated[int, Field(ge=1)]
    role: Sentence
    answer_name: Sentence
    low: Annotated[int, Field(ge=0)]
    low_means: Sentence
    high: int
    high_means: Sentence
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _can_be_graded(self) -> _File:
        if self.high <= self.low:
            raise ValueError("high must be above low")
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names):
            raise ValueError("two dimensions have one name")
        return self


@dataclass(frozen=True)
class Rubric:
    """A rubric as it was read.

    Attributes:
        file: what it says.
        sha256: of its text, so that a changed rubric is not taken for the same.
    """

    file: _File
    sha256: str

    def __hash__(self) -> int:
        """By its text, of which all else comes."""
        return hash(self.sha256)

    @property
    def name(self) -> str:
        """Id and version in one; other words need another version."""
        return f"{self.file.id}-{self.file.version}"

    @property
    def low(self) -> int:
        """The lowest score."""
        return self.file.low

    @property
    def high(self) -> int:
        """The highest score."""
        return self.file.high

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The criteria, in the order in which they are asked for."""
        return self.file.dimensions

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return tuple(dimension.name for dimension in self.file.dimensions)


def shipped_rubrics() -> list[str]:
    """Return the ids of the rubrics that come with the package."""
    names = (each.name for each in _FOLDER.iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def shipped_rubric(name: str) -> Rubric:
    """Return a rubric that comes with the package.

    Raises:
        UserError: there is none of that name.
    """
    name = name.replace("-", "_")
    if name not in shipped_rubrics():
        raise UserError(f"There is no rubric {name!r}. Take one of {', '.join(shipped_rubrics())}.")
    return _rubric(_FOLDER.joinpath(f"{name}.yaml").read_text(encoding="utf-8"), name)


def read_rubric(path: Path) -> Rubric:
    """Read a rubric from a file of one's own, in the form of those in `rubrics`.

    Raises:
        UserError: naming the file and the field that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}).") from None
    return _rubric(text, str(path))


def _rubric(text: str, place: str) -> Rubric:
    try:
        file = _File.model_validate(read_yaml(text))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"])) or "the rubric"
        raise UserError(f"{place}: {field}: {first['msg']}.") from None
    except ValueError as error:
        raise UserError(f"{place}: {error}.") from None
    return Rubric(file, hashlib.sha256(text.encode()).hexdigest())


def response_format(rubric: Rubric) -> dict[str, Any]:
    """Return the JSON schema of a verdict as the parameter of a chat completion takes it."""
    member = {
        "type": "object",
        "properties": {
            "explanation": {"type": "string"},
            "score": {"type": "integer", "enum": list(range(rubric.low, rubric.high + 1))},
        },
        "required": ["explanation", "score"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": dict.fromkeys(rubric.names, member),
        "required": list(rubric.names),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }


def sample_verdict(rubric: Rubric, names: tuple[str, ...]) -> str:
    """Return the form of a verdict as the prompt shows it: valid JSON, and without a score.

    A judge that only repeats the prompt has therefore not given a verdict.
    """
    member = {
        "explanation": "why",
        "score": f"a whole number from {rubric.low} to {rubric.high}",
    }
    return json.dumps(dict.fromkeys(names, member), indent=1)
