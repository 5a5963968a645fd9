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
from medeval.models.documents import described
from medeval.tasks.choices import MOST_OPTIONS, Choices, Options, answer_texts, canonical
from medeval.tasks.yier.files import Document, Raw

PREDICTION = "predict_answers"
# What the check finds amiss with a record, written beside it for the models.
REFUSED = "refused_by_check"
DUPLICATE_GOLD = "duplicate gold"
VALIDATE = "`python -m medeval yier validate` lists them"


def _number_as_text(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


def _not_blank(value: str, info: Info) -> str:
    if not canonical(value):
        raise ValueError(f"the {info.field_name} is blank")
    return value


def _official_texts(value: object, info: Info) -> tuple[str, ...]:
    """Return the options of a question, blank ones left out."""
    if not isinstance(value, list | tuple):
        raise ValueError("no list of options")
    texts = answer_texts(value)
    if not texts:
        raise ValueError("no options")
    warnings = [] if info.context is None else info.context
    if len(texts) < len(value):
        warnings.append("blank option trimmed")
    elif any(text != text.strip() for text in texts):
        warnings.append("blanks around an option trimmed")
    if len(texts) > MOST_OPTIONS:
        raise ValueError(f"{len(texts)} options; there can be {MOST_OPTIONS}")
    if len(set(map(canonical, texts))) < len(texts):
        raise ValueError("two options are identical")
    return texts


Strings = Annotated[tuple[str, ...], BeforeValidator(answer_texts)]
NumberAsText = BeforeValidator(_number_as_text)
NotBlank = AfterValidator(_not_blank)


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

    context: Annotated[
        str | None, AfterValidator(lambda text: text if text and canonical(text) else None)
    ] = None
    question: Annotated[str, NotBlank]
    selection: Annotated[tuple[str, ...], BeforeValidator(_official_texts)]
    answer_choices: Strings = ()
    source: Annotated[
        str, NumberAsText, BeforeValidator(lambda text: "" if text is None else text)
    ] = ""

    @cached_property
    def options(self) -> Options:
        """The options, ready to be matched."""
        return Options(self.selection)

    @cached_property
    def gold(self) -> Choices:
        """What the gold answers mean."""
        return self.options.answers(self.answer_choices)


@dataclass(frozen=True)
class Outcome:
    """What was found out about one record of a file.

    Attributes:
        place: its place in the file, from 1.
        sample_id: None if it has none.
        findings: what is wrong, in words.
        record: None after an error: then it is left out.
    """

    place: int
    sample_id: str | None
    findings: Sequence[str]
    record: Record | None

    @property
    def state(self) -> Literal["ok", "warning", "error"]:
        """Whether the record can be used."""
        return "error" if self.record is None else "warning" if self.findings else "ok"

    def __str__(self) -> str:
        """Name the record and say what is wrong."""
        name = "no sample_id" if self.sample_id is None else f"sample_id {self.sample_id!r}"
        return f"record {self.place:,} ({name}): {self.state}: {'; '.join(self.findings)}"


def check_records(raws: Iterable[Raw]) -> list[Outcome]:
    """Check a file's records; return what was found out about each."""
    first: dict[str | None, int] = {}
    outcomes: list[Outcome] = []
    for place, raw in enumerate(raws, start=1):
        sample_id = sample_id_of(raw)
        errors: list[str] = []
        warnings: list[str] = []
        record: Record | None = None
        try:
            record = Record.model_validate(raw, context=warnings)
        except ValidationError as error:
            errors += described(error)
        if sample_id is not None and (former := first.setdefault(sample_id, place)) < place:
            errors.append(f"duplicate id, also that of record {former:,}")
        if record is not None:
            errors += ["gold answer not in selection"] if record.gold.unknown else []
            warnings += [DUPLICATE_GOLD] if record.gold.n_duplicates else []
            warnings += [f"gold: {warning}" for warning in record.gold.warnings]
        outcomes.append(Outcome(place, sample_id, errors or warnings, None if errors else record))
    return outcomes


def sample_id_of(raw: Raw) -> str | None:
    """Return the id of a record as it stands in a file; None if it has none."""
    value = _number_as_text(raw.get("sample_id"))
    return (value.strip() or None) if isinstance(value, str) else None


def usable_records(file: Document) -> list[Record]:
    """Return a file's records that can be used; how many are left out is the difference.

    Raises:
        UserError: none can be used; naming what is wrong with the first.
    """
    outcomes = check_records(file.records)
    records = [one.record for one in outcomes if one.record is not None]
    if outcomes and not records:
        raise UserError(
            f"{file.name}: {outcomes[0]} ({len(outcomes):,} of {len(outcomes):,} records cannot be"
            f" used). {VALIDATE}."
        )
    return records


def left_out_words(count: int, name: str = "the file") -> str:
    """Say how many of a file's records are no questions, and how they are found."""
    return f"{count:,} records of {name} cannot be used and are left out; {VALIDATE}"


class Counts(NamedTuple):
    """Right, predicted and gold answers; of a question or of many."""

    tp: int
    n_pred: int
    n_gold: int

    @property
    def ratio(self) -> tuple[int, int]:
        """Twice the right answers, and the predicted and gold ones: F1 as a ratio of sums."""
        return 2 * self.tp, self.n_pred + self.n_gold

    @property
    def f1(self) -> Fraction:
        """The harmonic mean of precision and recall; 0 where neither has a denominator."""
        return Fraction(*self.ratio) if self.ratio[1] else Fraction(0)


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
        reply: the text that was read; empty where there is none.
    """

    record: Record
    answers: Choices = field(default_factory=Choices)
    missing: bool = False
    extraction: str | None = None
    reply: str = ""

    @cached_property
    def counts(self) -> Counts:
        """What the question adds to the score; an answer that is no option is predicted too."""
        gold, given = self.record.gold.options, self.answers.options
        n_pred = len(given) + len(self.answers.unknown)
        return Counts(len(set(gold) & set(given)), n_pred, len(gold))


def clean_questions(file: Document) -> tuple[list[Raw], list[Outcome]]:
    """Put the official texts in place of what options and answers are called.

    An answer may be written as a letter, with a label or in other forms of the same signs.

    Returns:
        The records that can be used with official texts, the others as they are but for the id and
        what is amiss: the warehouse counts them. Then the finding on each record.
    """
    outcomes = check_records(file.records)
    cleaned: list[Raw] = []
    for raw, outcome in zip(file.records, outcomes, strict=True):
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
    return cleaned, outcomes


def fill(
    document: Document, answers: Mapping[str, Choices], *, overwrite: bool = False
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
        own = left.pop(sample_id_of(raw) or "", Choices())
        # A record that is no question has no answers, and perhaps no options either.
        selection = answer_texts(raw["selection"]) if own.options else ()
        records.append({**raw, PREDICTION: own.texts(selection)})
    if left:
        raise UserError(
            f"{len(left):,} answered sample_id are not in the file of questions, the first is"
            f" {next(iter(left))!r}. Is it the file that the run was made with?"
        )
    return replace(document, records=records, repaired=False)
