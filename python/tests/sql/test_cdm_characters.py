"""The lists of characters in the text macros are those of Unicode."""

from __future__ import annotations

import csv
import re
import string
import sys
import unicodedata
from collections.abc import Callable

import duckdb
import pytest
from commands import PROJECT_ROOT

MACROS = (PROJECT_ROOT / "macros" / "text" / "characters.sql").read_text(encoding="utf-8")

# The version of the lists. Later ones know more characters, and take none away.
UNICODE = "14.0.0"


def body(macro: str) -> str:
    found = re.search(rf"{{% macro {macro}\(.*?%}}(.*?){{%-? endmacro", MACROS, re.DOTALL)
    assert found, macro
    return found[1]


def listed(macro: str) -> set[str]:
    """Return the characters of a class, which the macro writes as escapes and ranges."""
    quoted = "".join(re.findall(r'"([^"]*)"', body(macro)))
    text = quoted.encode("ascii").decode("unicode_escape")
    return {
        chr(point)
        for first, last in re.findall(r"(.)(?:-(.))?", text, re.DOTALL)
        for point in range(ord(first), ord(last or first) + 1)
    }


def is_word_character(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LN"


BELONGS: dict[str, Callable[[str], bool]] = {
    "word_characters_beyond_ascii": is_word_character,
    "upper_case_beyond_ascii": lambda one: is_word_character(one) and one.isupper(),
    # Title case ("\u01c5") is a case of its own; a text that holds it is not in upper case.
    "lower_case_beyond_ascii": lambda one: (
        is_word_character(one) and (one.islower() or unicodedata.category(one) == "Lt")
    ),
    "digits_beyond_ascii": lambda one: unicodedata.category(one) == "Nd",
}


@pytest.mark.parametrize("macro", BELONGS)
def test_a_class_holds_the_characters_of_unicode(macro: str) -> None:
    expected = set(filter(BELONGS[macro], map(chr, range(128, sys.maxunicode + 1))))
    if unicodedata.unidata_version == UNICODE:
        assert listed(macro) == expected
    else:
        assert listed(macro) <= expected


def test_white_space_is_what_python_strips() -> None:
    points = {int(point) for point in re.findall(r"\d+", body("white_space_code_points"))}
    assert points == {point for point in range(sys.maxunicode + 1) if chr(point).isspace()}


def test_word_characters_are_those_of_a_pattern() -> None:
    of_ascii = re.compile(f"[{body('word_characters').split('{{')[0].removesuffix('-').strip()}]")
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    expected = set(re.findall(r"\w", everything))
    assert set(filter(of_ascii.match, map(chr, range(128)))) == set(filter(str.isascii, expected))
    assert set(filter(is_word_character, everything)) == expected


def test_case_variants_of_ascii_letters_are_written_out() -> None:
    written = {
        letter: set(variants.encode("ascii").decode("unicode_escape")) - {letter}
        for letter, variants in re.findall(r"replace\('(\w)', '\[(.*?)\]'\)", body("any_case"))
    }
    beyond_ascii = "".join(map(chr, range(128, sys.maxunicode + 1)))
    expected: dict[str, set[str]] = {}
    for variant in re.findall("[a-z]", beyond_ascii, re.IGNORECASE):
        for letter in filter(re.compile(variant, re.IGNORECASE).match, string.ascii_lowercase):
            expected.setdefault(letter, set()).add(variant)
    assert written == expected


def test_letters_of_postgres_have_the_lower_case_of_duckdb() -> None:
    macro = (PROJECT_ROOT / "macros/engines/lower_case.sql").read_text(encoding="utf-8")
    blocks = [tuple(map(int, block)) for block in re.findall(r"\((\d+), (\d+)\)", macro)]
    of_blocks = [chr(point) for first, last in blocks for point in range(first, last + 1)]
    written = {letter: letter.lower()[0] for letter in of_blocks if letter.lower() != letter}
    characters = [chr(point) for point in range(128, sys.maxunicode + 1)]
    known = [character for character in characters if character.isprintable()]
    query = "select letter, lower(letter) from (select unnest(?) as letter)"
    folded = dict(duckdb.execute(query, [known]).fetchall())
    assert written.items() <= folded.items()
    if unicodedata.unidata_version == UNICODE:
        assert written == {letter: lower for letter, lower in folded.items() if letter != lower}


def look_alikes() -> dict[str, str]:
    """Return the letter of each character that reads as one of A to Z."""
    with (PROJECT_ROOT / "seeds/cdm/radiology_look_alikes.csv").open(encoding="utf-8") as file:
        signs = {row["sign"]: row["look_alikes"] for row in csv.DictReader(file)}
    letters: dict[str, str] = {}
    for letter in filter(str.isalpha, signs):
        assert not letters.keys() & set(signs[letter])
        letters.update(dict.fromkeys(signs[letter], letter))
    return letters


def test_letters_that_unicode_gives_another_form_read_as_the_plain_ones() -> None:
    """Wide, bold, circled and accented ones; those of other scripts are this project's choice."""
    expected = {}
    for character in map(chr, range(128, sys.maxunicode + 1)):
        parts = unicodedata.normalize("NFKD", character)
        plain = "".join(part for part in parts if unicodedata.category(part) != "Mn")
        if len(plain) == 1 and plain.isascii() and plain.isalpha():
            expected[character] = plain
    letters = look_alikes()
    if unicodedata.unidata_version == UNICODE:
        assert {c: letter for c, letter in letters.items() if c in expected} == expected
    assert set(letters.values()) == set(string.ascii_letters)
    others = set(letters) - set(expected)
    names = {unicodedata.name(character).split()[0] for character in others}
    assert names <= {
        *("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "LISU", "COPTIC"),
        *("NEGATIVE", "REGIONAL", "MATHEMATICAL", "MODIFIER", "DOUBLE-STRUCK"),
    }
