"""Questions: what a record holds, what is wrong with it, and the forms in which it goes on.

The warehouse reads clean JSON Lines; what is handed in is the file itself with `predict_answers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
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
from medeval.models.text_files import save_text
from medeval.yier.matching import MOST_OPTIONS, Answers, Options, answer_texts, canonical
from medeval.yier.reading import Document, QuestionFile, Raw, as_text

State = Literal["ok", "warning", "error"]
Split = Literal["train", "test", "mixed", "empty"]

DUPLICATE_GOLD = "duplicate gold"
GOLD_NOT_AN_OPTION = "gold answer not in selection"
PREDICTION = "predict_answers"
# What the check finds amiss with a record, written beside it for the models.
REFUSED = "refused_by_check"


@dataclass
class Checking:
    """How values are read, and what was noticed; the context of `Record.model_validate`."""

    strict: bool = False
    warnings: list[str] = field(default_factory=list)


def _number_as_text(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


def _nothing_as_empty(value: object) -> object:
    return "" if value is None else _number_as_text(value)


def _strings(value: object, info: ValidationInfo) -> tuple[str, ...]:
    try:
        return tuple(answer_texts(value, strict=bool(info.context and info.context.strict)))
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
        checking = info.context or Checking()
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
    return (value.strip() or None) if isinstance(value, str) else None


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


@dataclass(frozen=True)
class CleanQuestions:
    """The records of a file, and what was found out about them.

    Attributes:
        records: those that can be used with the official texts of their options and answers, the
            others as they are but for the id and what is amiss: the warehouse counts them.
        checked: the finding on each record.
    """

    records: list[Raw]
    checked: Checked

    def summary(self, file: QuestionFile) -> list[str]:
        """Say in lines how the file was read and what is amiss with its records."""
        mended = ", mended: it is no JSON as it stands" if file.repaired else ""
        read = f"{file.name}: {len(self.records):,} records, {file.encoding}, layout {file.layout}"
        lines = [f"{read}{mended}; {self.checked.n_labelled:,} with answers."]
        if lost := self.checked.n_left_out:
            lines.append(f"{lost:,} records cannot be used; see yier_attrition once built.")
        return lines + [str(outcome) for outcome in self.checked.findings[:10]]


def clean_questions(file: QuestionFile) -> CleanQuestions:
    """Put the official texts in place of what options and answers are called.

    An answer may be written as a letter, with a label or in other forms of the same signs.
    """
    checked = check_records(file.records)
    records = [
        _clean(raw, outcome) for raw, outcome in zip(file.records, checked.outcomes, strict=True)
    ]
    return CleanQuestions(records, checked)


def _clean(raw: Raw, outcome: Outcome) -> Raw:
    record = outcome.record
    if record is None:
        # What is no text is no id; else the models would make one of it.
        return {**raw, "sample_id": outcome.sample_id, REFUSED: "; ".join(outcome.findings)}
    return {
        # Of a file that was loaded before and is mended by now.
        **{key: value for key, value in raw.items() if key != REFUSED},
        "sample_id": outcome.sample_id,
        "selection": list(record.selection),
        "answer_choices": [record.selection[place] for place in record.gold.options],
    }


def write_lines(clean: CleanQuestions, path: Path) -> None:
    """Write one record a line, whole or not at all.

    Raises:
        UserError: the file cannot be written.
    """
    save_text(path, as_text(Document(clean.records, "lines")))


def record_rows(clean: CleanQuestions) -> Iterator[tuple[int, str]]:
    """Yield one row a record, for the columns of `SOURCE`."""
    # Texts hold signs that `splitlines` takes for line ends.
    return enumerate(as_text(Document(clean.records, "lines")).split("\n")[:-1], start=1)


def fill(
    document: Document, answers: Mapping[str, Answers], *, overwrite: bool = False
) -> Document:
    """Return a document whose records all have answers; one that is not named has none.

    Official texts come in the order of the selection, each once; what is no option comes after.
    Of records with one id the first is the question, so that has the answers.

    Args:
        document: the questions as they stand in the file.
        answers: by sample_id.
        overwrite: replace predictions that are there.

    Raises:
        UserError: a record has a prediction already, or answers name no record.
    """
    left = dict(answers)
    records = [
        _with_answers(raw, left.pop(sample_id_of(raw) or "", Answers()), overwrite)
        for raw in document.records
    ]
    if left:
        raise UserError(
            f"{len(left):,} answered sample_id are not in the file of questions, the first is"
            f" {next(iter(left))!r}. Is it the file that the run was made with?"
        )
    return replace(document, records=records, repaired=False)


def _with_answers(raw: Raw, answers: Answers, overwrite: bool) -> Raw:
    """Return a record with answers; all else stays as it is."""
    if raw.get(PREDICTION) and not overwrite:
        raise UserError(
            f"record {raw.get('sample_id')!r} has {PREDICTION} already; --overwrite replaces them."
        )
    # A record that is no question has no answers, and perhaps no options either.
    selection = answer_texts(raw["selection"]) if answers.options else []
    return {**raw, PREDICTION: answers.texts(selection)}
