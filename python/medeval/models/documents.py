"""What tasks, results and reports have in common: reading and writing themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from medeval.errors import in_words
from medeval.models import text_files
from medeval.models.text_files import Format

SCHEMA_VERSION = 1
# Tells a serialiser that the text is to be read back, so that what must not be given is left out.
FOR_READING = "for reading"


def _known_version(version: int) -> int:
    if version > SCHEMA_VERSION:
        newest = f"the newest that this version reads is {SCHEMA_VERSION}"
        raise ValueError(f"written in layout {version}, and {newest}: update medeval")
    return version


SchemaVersion = Annotated[int, AfterValidator(_known_version)]
# What is left out of what is written where it is None.
IF_GIVEN = Field(exclude_if=lambda value: value is None)
# Not blank; not trimmed either, as ids are compared as they stand.
Identifier = Annotated[str, Field(pattern=r"\S")]


def _require_finite(value: Any, place: str = "") -> None:
    """Check that a value has a form in JSON, which has no infinite number and no NaN.

    Written as null it would be lost without a word. Documents within check themselves.

    Raises:
        ValueError: there is such a number; naming its place.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value}, which JSON cannot say: give null or a text")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if not isinstance(one, str):  # as most of what there is
                _require_finite(one, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            if not isinstance(one, str):
                _require_finite(one, f"{place}[{index}]")


class Document(BaseModel, hide_input_in_errors=True):
    """A model with JSON, YAML and file forms.

    Its numbers are finite, as JSON has no others: that is checked when it is made, and again when
    it is written. Inputs stay out of error messages: they may be what a patient told.
    """

    # What a file without a suffix holds; None refuses such files.
    _format_without_suffix: ClassVar[Format | None] = None

    schema_version: SchemaVersion = SCHEMA_VERSION

    def to_dict(self, **chosen: Any) -> dict[str, Any]:
        """Return the fields as Python values: all, or those to `include` or not to `exclude`."""
        return self.model_dump(**chosen)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read from Python values.

        Raises:
            pydantic.ValidationError: naming each field that breaks a rule.
        """
        return cls.model_validate(data)

    def to_json(self, indent: int | None = None, **chosen: Any) -> str:
        """Return the fields as JSON text: all, or those to `include` or not to `exclude`.

        Raises:
            ValueError: a number is infinite or NaN.
        """
        _require_finite(self.model_dump(**chosen))
        return self.model_dump_json(indent=indent, context=FOR_READING, **chosen)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read from JSON text.

        Raises:
            pydantic.ValidationError: not JSON, or naming each field that breaks a rule.
        """
        return cls.model_validate_json(text)

    def to_yaml(self) -> str:
        """Return the fields as YAML text.

        Raises:
            ValueError: a number is infinite or NaN.
        """
        _require_finite(self.model_dump())
        return text_files.write_yaml(self.model_dump(mode="json", context=FOR_READING))

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Read from YAML text.

        Raises:
            ValueError: not YAML, or not a mapping.
            pydantic.ValidationError: naming each field that breaks a rule.
        """
        return cls.model_validate(text_files.parse_mapping(text, "yaml"))

    def convert(self, to: str) -> str:
        """Return the text of the document in a format: json, yaml or yml.

        Raises:
            ValueError: any other format.
        """
        return self.to_yaml() if text_files.format_of(to) == "yaml" else self.to_json(indent=2)

    def save(self, path: str | Path, format: str | None = None) -> None:  # noqa: A002
        """Write to a file, in a format that is given or that the suffix names.

        Missing folders are made; a file that was there is replaced as a whole.

        Args:
            path: the file.
            format: json, yaml or yml; without it the suffix of the path decides.

        Raises:
            ValueError: the format or suffix is none of these, or a number is infinite or NaN.
        """
        text = self.convert(text_files.format_of(format or Path(path), self._format_without_suffix))
        text_files.write_text(Path(path), text if text.endswith("\n") else text + "\n")

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a file; its suffix names the format.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: another suffix, not UTF-8, or not the format.
            pydantic.ValidationError: naming each field that breaks a rule.
        """
        is_yaml = text_files.format_of(Path(path), cls._format_without_suffix) == "yaml"
        return (cls.from_yaml if is_yaml else cls.from_json)(text_files.read_text(Path(path)))

    @model_validator(mode="after")
    def _numbers_are_finite(self) -> Self:
        _require_finite(dict(self))
        return self


def described(error: Exception, whole: str = "the task") -> list[str]:
    """Say which fields break which rules, one line each; never what stands in them.

    An error of another kind says it itself.
    """
    if not isinstance(error, ValidationError):
        return [str(error)]
    told = []
    for each in error.errors(include_input=False, include_url=False, include_context=False):
        message, place = in_words(each["msg"]), ".".join(map(str, each["loc"]))
        is_own = not place and each["type"] == "value_error"
        told.append(message if is_own else f"{place or whole}: {message}")
    return told
