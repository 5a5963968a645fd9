"""A case of the CDM benchmark, as `export --task cdm` writes it under either rule set.

Both layouts are read: the reference's names (`patient_history`, `physical_exam_text`) and the
specification's (`history_of_present_illness`, `physical_exams`, which the attributes have too).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    ValidationError,
    model_validator,
)

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.models.documents import IF_GIVEN, described

Pathology = Literal["appendicitis", "cholecystitis", "diverticulitis", "pancreatitis"]
Rules = Literal["specification", "reference"]
Mode = Literal["first_only", "extended"]

PATHOLOGIES: tuple[Pathology, ...] = get_args(Pathology)
_REFERENCE = toml_beside(__file__, "data/reference_case.toml")
REFERENCE_NAMES: dict[str, str] = _REFERENCE["names"]

SequenceNumber = Annotated[int, Field(ge=1, le=3)]
Named = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    # Strict: a number in quotes or an unknown name is a mistake of whoever wrote the file.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Demographics(_Part):
    """Age and gender of the patient; 91 stands for every age above 89."""

    age: Annotated[int, Field(ge=0)] | None
    gender: str
    age_at_admission: int | None = None


class LabResult(_Part):
    """One result of a laboratory test; `value` is what a reader sees, with its unit."""

    labevent_id: Annotated[int | None, IF_GIVEN] = None
    itemid: int
    test_name: str | None
    fluid: str | None
    category: str | None
    value: str
    unit: str | None = None
    flag: str | None = None
    ref_range_lower: float | None
    ref_range_upper: float | None
    charttime: NaiveDatetime | None
    sequence_num: SequenceNumber


class MicrobiologyEvent(_Part):
    """One culture: its organisms and comments, each joined by a comma and a space."""

    test_itemid: int | None
    test_name: str | None
    spec_type_desc: str | None
    organism_name: str | None
    comments: str | None
    charttime: NaiveDatetime | None
    sequence_num: SequenceNumber


class RadiologyReport(_Part):
    """One imaging report without its impression."""

    note_id: Named
    exam_name: str
    region: Named
    modality: Named
    text: str
    charttime: NaiveDatetime
    sequence_num: SequenceNumber


class Treatment(_Part):
    """A treatment that was given: a coded procedure, or one that the discharge note names."""

    title: str
    icd_code: Named | None
    is_coded: bool

    @model_validator(mode="after")
    def _has_a_code_if_coded(self) -> Self:
        if self.is_coded != (self.icd_code is not None):
            raise ValueError("is_coded is true where there is an icd_code, and only there")
        return self


class GroundTruth(_Part):
    """What the answers are scored against; never shown to a model under test."""

    primary_diagnosis: tuple[str, ...]
    treatments: tuple[Treatment, ...]


class Provenance(_Part):
    """How the case was made.

    Attributes:
        rules: the rule set of the build.
        mode: the export's choice of events.
        extract_source: whether the note's sections were given or derived; None without sections.
    """

    rules: Rules
    mode: Mode
    extract_source: Literal["provided", "derived"] | None


def _under_either(name: str) -> Any:
    """Return the field of that name, which is read under the reference's name too."""
    return Field(validation_alias=AliasChoices(name, REFERENCE_NAMES[name]))


class ClinicalCase(_Part):
    """One admission: what a model may be shown, and the ground truth."""

    hadm_id: int
    pathology: Pathology | None
    demographics: Demographics | None
    # With both names in one case, the second counts as unknown, which is an error.
    history_of_present_illness: Annotated[str, _under_either("history_of_present_illness")]
    lab_results: tuple[LabResult, ...]
    microbiology_events: tuple[MicrobiologyEvent, ...]
    radiology_reports: tuple[RadiologyReport, ...]
    physical_exams: Annotated[str, _under_either("physical_exams")]
    ground_truth: GroundTruth
    # Unknown is credentialed: the class of the reference's layout stands in a file beside it.
    data_class: Literal["open", "credentialed"] = "credentialed"
    provenance: Provenance | None = None

    def as_json(self, rules: Rules = "specification") -> dict[str, Any]:
        """Return the case as JSON values, in the names, keys and order of a rule set."""
        if rules == "specification":
            return self.model_dump(mode="json")
        written = self.model_dump(mode="json", exclude=_REFERENCE["left_out"])
        return {REFERENCE_NAMES.get(key, key): value for key, value in written.items()}


def read_case(text: str | bytes, place: str) -> ClinicalCase:
    """Read one case from JSON.

    Args:
        text: the JSON of one case.
        place: where it stands, for the message: a file and a line.

    Raises:
        UserError: naming the place, the field and what is wrong with it; never the patient's text.
    """
    try:
        return ClinicalCase.model_validate_json(text)
    except ValidationError as error:
        first, *others = described(error, "the case")
        more = f" ({len(others)} more)" if others else ""
        raise UserError(f"{place}: {first}{more}.") from None
