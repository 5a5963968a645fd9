"""Questions: what a record holds, what is wrong with it, and the forms in which it goes on.

The warehouse reads clean JSON Lines; what is handed in is the file itself with `predict_answers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic import ValidationInfo as Info

from medeval.errors import UserError
from medeval.tasks.yier.matching import MOST_OPTIONS, Answers, Options, answer_texts, canonical
from medeval.tasks.yier.reading import Document, Raw

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


def _not_blank(value: str, info: Info) -> str:
    if not canonical(value):
        raise ValueError(f"the {info.field_name} is blank")
    return value


def _strings(value: object, info: Info) -> tuple[str, ...]:
    try:
        return tuple(answer_texts(value, strict=bool(info.context and info.context.strict)))
    except UserError as error:
        raise ValueError(str(error)) from None


def _official_texts(value: object, info: Info) -> tuple[str, ...]:
    """Return the options of a question, blank ones left out."""
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
    if len(set(map(canonical, texts))) < len(texts):
        raise ValueError("two options are identical")
    return texts


Strings = Annotated[tuple[str, ...], BeforeValidator(_strings)]
NumberAsText = BeforeValidator(_number_as_text)
NotBlank = AfterValidator(_not_blank)
NothingAsEmpty = BeforeValidator(lambda value: "" if value is None else value)
BlankAsNothing = AfterValidator(lambda value: value if value and canonical(value) else None)


class Submitted(BaseModel):
    """What is read of a record that was handed in: the question itself comes from the gold.

    Attributes:
        sample_id: unique in a file.
        predict_answers: a system's answers; None if the record has no such key.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    sample_id: Annotated[str, NumberAsText, NotBlank, AfterValidator(str.strip)]
    predict_answers: Strings | None = None


class Record(Submitted):
    """One question; what else a record holds is kept in the file's records, not here.

    Attributes:
        context: medical text; None if there is none.
        question: the question.
        selection: the options' official texts, in the file's order, blank ones left out.
        answer_choices: the gold answers as written; empty in a test file.
        source: where the question comes from, free text.
    """

    context: Annotated[str | None, BlankAsNothing] = None
    question: Annotated[str, NotBlank]
    selection: Annotated[tuple[str, ...], BeforeValidator(_official_texts)]
    answer_choices: Strings = ()
    source: Annotated[str, NumberAsText, NothingAsEmpty] = ""

    @cached_property
    def options(self) -> Options:
        """The options, ready to be matched."""
        return Options(self.selection)

    @cached_property
    def gold(self) -> Answers:
        """What the gold answers mean."""
        return self.options.answers(self.answer_choices)


class Counts(NamedTuple):
    """Right, predicted and gold answers; of a question or of many."""

    tp: int
    n_pred: int
    n_gold: int

    @property
    def is_exact(self) -> bool:
        """Whether exactly the gold answers are predicted."""
        return self.tp == self.n_pred == self.n_gold

    @property
    def f1(self) -> Fraction:
        """The harmonic mean of precision and recall; 0 where neither has a denominator."""
        both = self.n_pred + self.n_gold
        return Fraction(2 * self.tp, both) if both else Fraction(0)


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sums over questions."""
    return Counts(*map(sum, zip(Counts(0, 0, 0), *counts, strict=True)))


@dataclass(frozen=True)
class Answered:
    """A question and what a system answered.

    Attributes:
        record: the question with its gold answers.
        answers: what the system answered, matched to the options.
        missing: whether there is no submitted record.
        extraction: the step that read the reply, or why there is none to be read; None where
            there was no reply, as in a submission.
    """

    record: Record
    answers: Answers = field(default_factory=Answers)
    missing: bool = False
    extraction: str | None = None

    @cached_property
    def counts(self) -> Counts:
        """What the question adds to the score; an answer that is no option is predicted too."""
        gold, given = self.record.gold.options, self.answers.options
        n_pred = len(given) + len(self.answers.unknown)
        return Counts(len(set(gold) & set(given)), n_pred, len(gold))


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
    """All records of a file, checked.

    Attributes:
        outcomes: one a record, in the file's order.
        records: those that can be used.
        n_labelled: how many of them have gold answers.
        n_left_out: how many cannot be used.
        split: what kind of file this is.
    """

    outcomes: tuple[Outcome, ...]
    records: list[Record]
    n_labelled: int
    n_left_out: int
    split: Split


def check_records(raws: Iterable[Raw], *, strict: bool = False) -> Checked:
    """Check a file's records.

    Args:
        raws: the records as they stand in the file.
        strict: stop at the first error; numbers in place of strings are errors.

    Raises:
        UserError: with `strict`, naming the record.
    """
    first: dict[str, int] = {}
    outcomes: list[Outcome] = []
    for place, raw in enumerate(raws, start=1):
        outcome = _outcome(place, raw, strict, first)
        if outcome.sample_id is not None:
            first.setdefault(outcome.sample_id, place)
        if strict and outcome.state == "error":
            raise UserError(f"{outcome}.")
        outcomes.append(outcome)
    records = [outcome.record for outcome in outcomes if outcome.record is not None]
    labelled = sum(bool(record.answer_choices) for record in records)
    split: Split = "mixed" if labelled < len(records) else "train"
    if not labelled:
        split = "test" if records else "empty"
    return Checked(tuple(outcomes), records, labelled, len(outcomes) - len(records), split)


def _outcome(place: int, raw: Raw, strict: bool, first: Mapping[str, int]) -> Outcome:
    sample_id = sample_id_of(raw)
    checking = Checking(strict)
    errors: list[str] = []
    record: Record | None = None
    try:
        record = Record.model_validate(raw, context=checking)
    except ValidationError as error:
        errors += _words(error)
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


def _words(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, detail['loc']))}: {detail['msg'].removeprefix('Value error, ')}"
        for detail in error.errors(include_url=False)
    ]


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
            raise UserError(f"{name}: record {place:,}: {'; '.join(_words(error))}.") from None
    if found and all(record.predict_answers is None for record in found):
        raise UserError(f"{name} has no predict_answers in any record; it is no submission.")
    return found


def clean_questions(file: Document) -> tuple[list[Raw], Checked]:
    """Put the official texts in place of what options and answers are called.

    An answer may be written as a letter, with a label or in other forms of the same signs.

    Returns:
        The records that can be used with official texts, the others as they are but for the id and
        what is amiss: the warehouse counts them. Then the finding on each record.
    """
    checked = check_records(file.records)
    cleaned: list[Raw] = []
    for raw, outcome in zip(file.records, checked.outcomes, strict=True):
        if outcome.record is None:
            # What is no text is no id; else the models would make one of it.
            mended: Raw = {REFUSED: "; ".join(outcome.findings)}
        else:
            # The mark may be there of a file that was loaded before and is mended by now.
            raw = {key: value for key, value in raw.items() if key != REFUSED}
            selection = outcome.record.selection
            answers = outcome.record.gold.texts(selection)
            mended = {"selection": list(selection), "answer_choices": answers}
        cleaned.append({**raw, "sample_id": outcome.sample_id, **mended})
    return cleaned, checked


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
    records = []
    for raw in document.records:
        if raw.get(PREDICTION) and not overwrite:
            raise UserError(
                f"record {raw.get('sample_id')!r} has {PREDICTION} already; --overwrite replaces"
                " them."
            )
        own = left.pop(sample_id_of(raw) or "", Answers())
        # A record that is no question has no answers, and perhaps no options either.
        selection = answer_texts(raw["selection"]) if own.options else []
        records.append({**raw, PREDICTION: own.texts(selection)})
    if left:
        raise UserError(
            f"{len(left):,} answered sample_id are not in the file of questions, the first is"
            f" {next(iter(left))!r}. Is it the file that the run was made with?"
        )
    return replace(document, records=records, repaired=False)
