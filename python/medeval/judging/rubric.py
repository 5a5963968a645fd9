"""Rubrics: what is graded, on what scale, kept as data beside the code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from medeval.errors import UserError
from medeval.files import read_text
from medeval.inference.types import object_of, response_format
from medeval.text import sha256_of

_FOLDER = Path(__file__).with_name("rubrics")

Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
Sentence = Annotated[str, Field(min_length=1)]


class Dimension(BaseModel, extra="forbid", frozen=True):
    """One criterion.

    Attributes:
        name: its key in a verdict.
        description: what the judge is told of it.
        overlap: what the rule-based judge takes for it.
    """

    name: Word
    description: Sentence
    overlap: Literal["precision", "recall", "f1"] = "f1"


class YamlFile(BaseModel):
    """What a YAML file of judging says: a rubric, or attacks.

    Attributes:
        sha256: of its text, whatever ends its lines: a file that changed is not taken for the same.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str = ""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file, one's own or one that comes with the package.

        Raises:
            UserError: naming the file and the first field that is wrong; of a key that is not
                known the nearest one that is.
        """
        from medeval.models.text_files import read_yaml  # a run without judges reads none

        text = read_text(path)
        try:
            said = read_yaml(text)
            digest = {"sha256": sha256_of(text)}
            return cls.model_validate({**said, **digest} if isinstance(said, dict) else said)
        except ValidationError as error:
            fault = cls._fault(error)
        except ValueError as error:
            fault = str(error)
        raise UserError(f"{path}: {fault}.")

    @classmethod
    def _fault(cls, error: ValidationError) -> str:
        """Return the first field that is wrong; a key in the wrong place or with a slip first."""
        from difflib import get_close_matches

        from medeval.models.documents import described

        places = [one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"]
        if not places:
            return described(error, "the file")[0]
        *place, key = map(str, places[0])
        schema = cls.model_json_schema()
        holders = schema["$defs"].values() if place else [schema]
        known = [name for each in holders for name in each["properties"] if name != "sha256"]
        near = get_close_matches(key, known, 1, 0.5)
        told = f"the nearest is {near[0]!r}" if near else f"there are {', '.join(known)}"
        return f"{': '.join(['.'.join(place)] * bool(place) + [repr(key)])} is no known key; {told}"


class Rubric(YamlFile):
    """What is graded and on what scale, as its file says.

    Attributes:
        id: its name; other words need another version.
        role: what the judge is told to be.
        answer_name: what the judge is told that it grades.
        low: the lowest score, and what it means.
        high: the highest score, likewise.
        dimensions: the criteria, in the order in which they are asked for.
    """

    id: Word
    version: Annotated[int, Field(ge=1)]
    role: Sentence
    answer_name: Sentence
    low: Annotated[int, Field(ge=0)]
    low_means: Sentence
    high: Annotated[int, Field(le=1000)]
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
        """Id and version in one."""
        return f"{self.id}-{self.version}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return tuple(dimension.name for dimension in self.dimensions)

    def response_format(self) -> dict[str, Any]:
        """Return the JSON schema of a verdict as the parameter of a chat completion takes it."""
        score = {"type": "integer", "enum": list(range(self.low, self.high + 1))}
        member = object_of({"explanation": {"type": "string"}, "score": score})
        return response_format("verdict", dict.fromkeys(self.names, member))


def shipped_rubrics() -> list[str]:
    """Return the ids of the rubrics that come with the package."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def shipped_rubric(name: str) -> Rubric:
    """Return a rubric that comes with the package.

    Raises:
        UserError: there is none of that name.
    """
    name, shipped = name.replace("-", "_"), shipped_rubrics()
    if name not in shipped:
        raise UserError(
            f"There is no rubric {name!r}. Take one of {', '.join(shipped)}, or a file of your own."
        )
    return Rubric.read(_FOLDER / f"{name}.yaml")


def named_rubric(name: str, folder: Path = Path()) -> Rubric:
    """Return a rubric by its name or file; a name that is shipped wins.

    Args:
        name: of the rubric or the file.
        folder: in which the file is looked up.

    Raises:
        UserError: there is none, or it is wrong.
    """
    is_shipped = name.replace("-", "_") in shipped_rubrics()
    is_file = not is_shipped and (folder / name).is_file()
    return Rubric.read(folder / name) if is_file else shipped_rubric(name)
