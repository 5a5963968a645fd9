"""Rubrics: what is graded, on what scale, kept as data beside the code."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from medeval.errors import UserError
from medeval.models.documents import described
from medeval.models.text_files import read_yaml

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


class YamlFile(BaseModel):
    """What a YAML file of judging says: a rubric, or attacks.

    Attributes:
        sha256: of its text, whatever ends its lines: a file that changed is not taken for the same.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: Annotated[str, Field(exclude=True)] = ""

    @classmethod
    def read(cls, path: Path | Traversable) -> Self:
        """Read a file, one's own or one that comes with the package.

        Raises:
            UserError: naming the file and the first field that is wrong.
        """
        try:
            content = path.read_bytes()
            said = read_yaml(content.decode("utf-8-sig"))
            text = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            digest = {"sha256": hashlib.sha256(text).hexdigest()}
            return cls.model_validate({**said, **digest} if isinstance(said, dict) else said)
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror or error}).") from None
        except UnicodeDecodeError as error:
            told = f"{path} is not UTF-8: {error.reason} at byte {error.start}."
            raise UserError(told) from None
        except ValidationError as error:
            first = described(error, "the file")[0].replace(": Value error, ", ": ")
            raise UserError(f"{path}: {first}.") from None
        except ValueError as error:
            raise UserError(f"{path}: {error}.") from None


class Rubric(YamlFile):
    """What is graded and on what scale, as its file says.

    Attributes:
        dimensions: the criteria, in the order in which they are asked for.
    """

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
    def _can_be_graded(self) -> Rubric:
        if self.high <= self.low:
            raise ValueError("high must be above low")
        if len(set(self.names)) < len(self.names):
            raise ValueError("two dimensions have one name")
        return self

    @property
    def name(self) -> str:
        """Id and version in one; other words need another version."""
        return f"{self.id}-{self.version}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return tuple(dimension.name for dimension in self.dimensions)


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
    return Rubric.read(_FOLDER.joinpath(f"{name}.yaml"))


# A rubric from a file of one's own, in the form of those in `rubrics`.
read_rubric = Rubric.read


def named_rubric(name: str) -> Rubric:
    """Return a rubric by its name or file; a name that is shipped wins.

    Raises:
        UserError: there is none, or it is wrong.
    """
    path = Path(name)
    is_file = name.replace("-", "_") not in shipped_rubrics() and path.is_file()
    return Rubric.read(path) if is_file else shipped_rubric(name)


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
