"""Laboratory tests by name, by panel and by what guidelines ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medeval.cdm.seeds import Seeds, grouped


@dataclass(frozen=True)
class LabFacts:
    """Laboratory tests by name, by panel and by what the guidelines ask for.

    Attributes:
        panels: items of each panel.
        categories: items of each category of the guidelines.
        required: categories that a pathology needs, in the order of its answers.
        neutral: panels that a pathology neither needs nor minds.
        item_synonyms: the item that stands for another one.
        panel_synonyms: the panel that another name means.
        label_synonyms: the label of the dictionary that another name means.
        request_names: what clinicians call panels and tests, as items; names in lower case.
        fillers_anywhere: words that are cut out of a request wherever they stand.
        fillers_between_blanks: words that are dropped where blanks surround them.
        fillers_of_unknown_names: words that version 2 drops from a name that means nothing.
    """

    panels: Mapping[str, tuple[int, ...]]
    categories: Mapping[str, tuple[int, ...]]
    required: Mapping[str, tuple[str, ...]]
    neutral: Mapping[str, tuple[str, ...]]
    item_synonyms: Mapping[int, int]
    panel_synonyms: Mapping[str, str]
    label_synonyms: Mapping[str, str]
    request_names: Mapping[str, tuple[int, ...]]
    fillers_anywhere: tuple[str, ...]
    fillers_between_blanks: frozenset[str]
    fillers_of_unknown_names: frozenset[str]


def read_labs(seeds: Seeds) -> LabFacts:
    """Read the laboratory tests."""
    categories = "cdm_lab_categories"
    items = grouped(
        seeds.rows(categories, ("kind", "category", "itemid")),
        lambda row: (row["kind"], row["category"]),
        lambda row: seeds.whole(categories, row["itemid"]),
    )
    panels = {name: found for (kind, name), found in items.items() if kind == "panel"}
    needed = grouped(
        seeds.rows("cdm_lab_requirements", ("pathology", "test_role", "category")),
        lambda row: (row["test_role"], row["pathology"]),
        lambda row: row["category"],
    )
    synonyms = "cdm_lab_synonyms"
    known = grouped(
        seeds.rows(synonyms, ("kind", "given", "canonical")),
        lambda row: row["kind"],
        lambda row: (row["given"], row["canonical"]),
    )
    names = "cdm_lab_request_names"
    fillers = grouped(
        seeds.rows("cdm_lab_filler_words", ("word", "dropped")),
        lambda row: row["dropped"],
        lambda row: row["word"],
    )
    return LabFacts(
        panels=panels,
        categories={name: found for (kind, name), found in items.items() if kind != "panel"},
        required={name: found for (role, name), found in needed.items() if role == "required"},
        neutral={name: found for (role, name), found in needed.items() if role == "neutral"},
        item_synonyms={
            seeds.whole(synonyms, given): seeds.whole(synonyms, canonical)
            for given, canonical in known["itemid"]
        },
        panel_synonyms=dict(known["panel_name"]),
        label_synonyms=dict(known["label"]),
        request_names={
            row["request_name"]: panels[row["panel"]]
            if row["panel"]
            else (seeds.whole(names, row["itemid"]),)
            for row in seeds.rows(names, ("request_name", "panel", "itemid"))
        },
        fillers_anywhere=fillers["anywhere"],
        fillers_between_blanks=frozenset(fillers["anywhere"] + fillers["between_blanks"]),
        fillers_of_unknown_names=frozenset(
            row["word"] for row in seeds.rows("cdm_lab_request_fillers", ("word",))
        ),
    )
