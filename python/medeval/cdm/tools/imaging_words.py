"""Words of a request for imaging, as modality, special kind and region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from medeval.cdm.imaging_facts import ImagingFacts
from medeval.cdm.words import holds, plain
from medeval.models.clinical_case import RadiologyReport


@dataclass(frozen=True)
class ImagingRequest:
    """What a request asks for; None where its words say nothing that is known.

    Attributes:
        region: one of the regions of the reports.
        modality: one of the modalities of the reports; the broad one of a special kind.
        kind: the special kind, such as EUS of Ultrasound.
    """

    region: str | None
    modality: str | None
    kind: str | None


def understood(region: str, modality: str, facts: ImagingFacts) -> ImagingRequest:
    """Return what the words of a request mean.

    A special kind goes before a broad modality ("endoscopic ultrasound" is EUS), a longer phrase
    before a shorter one, and words of requests before those of examinations' names.
    """
    words = plain(modality)
    kinds = {phrase: name for phrase, name in facts.modality_phrases.items() if name in facts.kinds}
    broad = {phrase: name for phrase, name in facts.modality_phrases.items() if phrase not in kinds}
    kind = _longest(words, kinds)
    if kind is not None:
        found: str | None = facts.kinds[kind].modality
    else:
        found = _longest(words, broad) or _first(words, facts.modality_keywords, facts)
    words = plain(region)
    place = _longest(words, facts.region_phrases) or _first(words, facts.region_keywords, facts)
    return ImagingRequest(place, found, kind)


def scored_as(request: ImagingRequest, facts: ImagingFacts) -> str | None:
    """Return the modality for which a request counts, in lower case; None if it is unknown."""
    if request.kind is not None:
        return facts.kinds[request.kind].scored_as
    return request.modality.lower() if request.modality is not None else None


def shows(report: RadiologyReport, request: ImagingRequest, facts: ImagingFacts) -> bool:
    """Tell whether a report is of the region and modality of a request.

    A broad modality accepts its special kinds; a special kind is told by the report's modality or
    by the examination's name.
    """
    if request.region != report.region:
        return False
    kinds = [kind for kind in facts.kinds if _is_of(report, kind, facts)]
    if request.kind is not None:
        return request.kind in kinds
    accepted = {report.modality, *(facts.kinds[kind].modality for kind in kinds)}
    return request.modality in accepted


def _is_of(report: RadiologyReport, kind: str, facts: ImagingFacts) -> bool:
    name = plain(report.exam_name)
    return report.modality == kind or any(
        holds(name, keyword) for keyword in facts.kinds[kind].exam_keywords
    )


def _longest(words: str, phrases: Mapping[str, str]) -> str | None:
    found = [phrase for phrase in phrases if holds(words, phrase)]
    return phrases[max(found, key=len)] if found else None


def _first(words: str, keywords: Iterable[tuple[str, str]], facts: ImagingFacts) -> str | None:
    return next(
        (
            meaning
            for keyword, meaning in keywords
            if holds(words, keyword, is_stem=keyword in facts.keyword_stems)
        ),
        None,
    )
