"""A record of the task, and what is wrong with a file's records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from medeval.errors import UserError
from medeval.yier.folding import canonical
from medeval.yier.layouts import Raw
from medeval.yier.matching import Answers, Options, answer_texts

MOST_OPTIONS = 26
State = Literal["ok", "warning", "error"]
Split = Literal["train", "test", "mixed", "empty"]

DUPLICATE_GOLD = "duplicate gold"
GOLD_NOT_AN_OPTION = "gold answer not in selection"


@dataclass
class Checking:
    """How values are read, and what was noticed; the context of `Record.model_validate`."""

    strict: bool = False
    warnings: list[str] = field(default_factory=list)


def _checking(info: ValidationInfo) -> Checking:
    return info.context if isinstance(info.context, Checking) else Checking()


def _number_as_text(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


def _nothing_as_empty(value: object) -> object:
    return "" if value is None else _number_as_text(value)


def _strings(value: object, info: ValidationInfo) -> tuple[str, ...]:
    try:
        return tuple(answer_texts(value, strict=_checking(info).strict))
    except UserError as error:
        raise ValueError(str(error)) from None


class Submitted(BaseModel):
    """What is read of a record that was handed in: the question itself comes from the gold.

    Attributes:
        sample_id: unique in a file.
        predict_answers: a system's answers; None if the record has no such key.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    sample_id: Annotated[str, BeforeValidator(_number_as_text)]
    predict_answers: Annotated[tuple[str, ...], BeforeValidator(_strings)] | None = None

    @field_validator("sample_id")
    @classmethod
    def _some_id(cls, value: str) -> str:
        if not canonical(value):
            raise ValueError("the sample_id is blank")
        return value.strip()


class Record(Submitted):
    """One question; what else a record holds is kept in the file's records, not here.

    Attributes:
        context: medical text; None if there is none.
        question: the question.
        selection: the options' official texts, in the file's order, blank ones left out.
        answer_choices: the gold answers as written; empty in a test file.
        source: where the question comes from, free text.
    """

    context: str | None = None
    question: str
    selection: tuple[str, ...]
    answer_choices: Annotated[tuple[str, ...], BeforeValidator(_strings)] = ()
    source: Annotated[str, BeforeValidator(_nothing_as_empty)] = ""

    @field_validator("context")
    @classmethod
    def _no_blank_context(cls, value: str | None) -> str | None:
        return value if value and canonical(value) else None

    @field_validator("question")
    @classmethod
    def _some_question(cls, value: str) -> str:
        if not canonical(value):
            raise ValueError("the question is blank")
        return value

    @field_validator("selection", mode="before")
    @classmethod
    def _options(cls, value: object, info: ValidationInfo) -> tuple[str, ...]:
        checking = _checking(info)
        if not isinstance(value, list | tuple):
            raise ValueError("no list of options")
        texts = _strings(value, info)
        if not texts:
            raise ValueError("no options")
        if len(texts) < len(value):
            checking.warnings.append("blank option trimmed")
        elif any(text != text.strip() for text in texts):
            checking.warnings.append("blanks around an option trimmed")
        if len(texts) > MOST_OPTIONS:
            raise ValueError(f"{len(texts)} options; there can be {MOST_OPTIONS}")
        seen = [canonical(text) for text in texts]
        if len(set(seen)) < len(seen):
            raise ValueError("two options are identical")
        return texts

    @cached_property
    def options(self) -> Options:
        """The options, ready to be matched."""
        return Options(self.selection)

    @cached_property
    def gold(self) -> Answers:
        """What the gold answers mean."""
        return self.options.answers(self.answer_choices)

    @property
    def labelled(self) -> bool:
        """Whether there are gold answers."""
        return bool(self.answer_choices)


@dataclass(frozen=True)
class Outcome:
    """What was found out about one record.

    Attributes:
        place: its place in the file, from 1.
        sample_id: None if it has none.
        state: ok, warning, or error: then it is left out.
        findings: what is wrong, in words.
        record: None after an error.
    """

    place: int
    sample_id: str | None
    state: State
    findings: tuple[str, ...]
    record: Record | None

    def __str__(self) -> str:
        """Name the record and say what is wrong."""
        name = "no sample_id" if self.sample_id is None else f"sample_id {self.sample_id!r}"
        return f"record {self.place:,} ({name}): {self.state}: {'; '.join(self.findings)}"


@dataclass(frozen=True)
class Checked:
    """All records of a file, checked."""

    outcomes: tuple[Outcome, ...]

    @property
    def records(self) -> list[Record]:
        """Those that can be used, in the file's order."""
        return [entry.record for entry in self.outcomes if entry.record is not None]

    @property
    def n_labelled(self) -> int:
        """How many of them have gold answers."""
        return sum(record.labelled for record in self.records)

    @property
    def n_unlabelled(self) -> int:
        """How many of them have none."""
        return len(self.records) - self.n_labelled

    @property
    def n_left_out(self) -> int:
        """How many cannot be used."""
        return len(self.outcomes) - len(self.records)

    @property
    def findings(self) -> list[Outcome]:
        """Those with a warning or an error."""
        return [entry for entry in self.outcomes if entry.state != "ok"]

    @property
    def split(self) -> Split:
        """What kind of file this is."""
        if not self.records:
            return "empty"
        if not self.n_labelled:
            return "test"
        return "mixed" if self.n_unlabelled else "train"


def check_records(raws: Iterable[Raw], *, strict: bool = False) -> Checked:
    """Check a file's records.

    Args:
        raws: the records as they stand in the file.
        strict: stop at the first error; numbers in place of strings are errors.

    Raises:
        UserError: with `strict`, naming the record.
    """
    return Checked(tuple(_outcomes(raws, strict)))


def sample_id_of(raw: Raw) -> str | None:
    """Return the id of a record as it stands in a file; None if it has none."""
    value = _number_as_text(raw.get("sample_id"))
    return value.strip() or None if isinstance(value, str) else None


def usable_records(raws: Sequence[Raw], name: str) -> list[Record]:
    """Return a file's records that can be used; how many are left out is the difference.

    Raises:
        UserError: none can be used; naming what is wrong with the first.
    """
    checked = check_records(raws)
    if raws and not checked.records:
        first = next(outcome for outcome in checked.outcomes if outcome.state == "error")
        raise UserError(
            f"{name}: {first} ({checked.n_left_out:,} of {len(raws):,} records cannot be used)."
            " `python -m medeval yier validate` lists them."
        )
    return checked.records


def left_out_words(count: int, name: str = "the file") -> str:
    """Say how many of a file's records are no questions, and how they are found."""
    return (
        f"{count:,} records of {name} cannot be used and are left out;"
        " `python -m medeval yier validate` lists them"
    )


def submitted_records(raws: Sequence[Raw], name: str) -> list[Submitted]:
    """Return what was handed in.

    Raises:
        UserError: a record without an id, answers that are no strings, or no predictions at all.
    """
    found = []
    for place, raw in enumerate(raws, start=1):
        try:
            found.append(Submitted.model_validate(raw))
        except ValidationError as error:
            words = "; ".join(_words(detail) for detail in error.errors(include_url=False))
            raise UserError(f"{name}: record {place:,}: {words}.") from None
    if found and all(record.predict_answers is None for record in found):
        raise UserError(f"{name} has no predict_answers in any record; it is no submission.")
    return found


def _outcomes(raws: Iterable[Raw], strict: bool) -> Iterator[Outcome]:
    first: dict[str, int] = {}
    for place, raw in enumerate(raws, start=1):
        outcome = _outcome(place, raw, strict, first)
        if outcome.sample_id is not None:
            first.setdefault(outcome.sample_id, place)
        if strict and outcome.state == "error":
            raise UserError(f"{outcome}.")
        yield outcome


def _outcome(place: int, raw: Raw, strict: bool, first: Mapping[str, int]) -> Outcome:
    sample_id = sample_id_of(raw)
    checking = Checking(strict)
    errors: list[str] = []
    record: Record | None = None
    try:
        record = Record.model_validate(raw, context=checking)
    except ValidationError as error:
        errors += [_words(detail) for detail in error.errors(include_url=False)]
    if sample_id is not None and sample_id in first:
        errors.append(f"duplicate id, also that of record {first[sample_id]:,}")
    if record is not None:
        if record.gold.unknown:
            errors.append(GOLD_NOT_AN_OPTION)
        if record.gold.n_duplicates:
            checking.warnings.append(DUPLICATE_GOLD)
        checking.warnings += [f"gold: {warning}" for warning in record.gold.warnings]
    if errors:
        return Outcome(place, sample_id, "error", tuple(errors), None)
    state: State = "warning" if checking.warnings else "ok"
    return Outcome(place, sample_id, state, tuple(checking.warnings), record)


def _words(detail: Any) -> str:
    where = ".".join(str(part) for part in detail["loc"])
    return f"{where}: {str(detail['msg']).removeprefix('Value error, ')}"
