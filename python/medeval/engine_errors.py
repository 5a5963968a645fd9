"""What may be said of an error of DuckDB or PostgreSQL: where and what kind, never what it quotes.

An engine's sentence about data holds data: the broken line, the value of a cast, the key that
stands twice. So nothing of such a sentence passes but a file that exists, a line number, a name
that the engine gives apart, and a kind of fault from the lists here. A sentence about the
statement, which the engine makes before it reads a row, or about a resource passes as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

# The mark before the sentences of the project's own models (macro `stop_with`). It counts only
# right behind the engine's first words, where no data can stand before it.
_OWN = re.compile(r"\A[^:]*:\W*medeval: (?P<sentence>[\w .,:;()-]+)")

# Errors about a statement, a resource or the connection: exceptions where there is no SQLSTATE,
# and classes of SQLSTATE. What a function cannot parse, and quotes, is a syntax error too.
_EXCEPTIONS = re.compile(
    "(Binder|Catalog|Connection|Interrupt|OutOfMemory|Parser|Syntax)Exception"
    "|(Interface|Operational)Error"
)
_STATES = re.compile("(08|0A|25|28|2B|3D|3F|40|42(?!601)|53|54|55|57|58)...")

_FILE = re.compile(r"(?m)(?:file = |stream: |file [\"'])(.+?)(?:[\"'](?=, at byte| as valid|$)|$)")
_LINE = re.compile(r"\A[^\n]*?(?:CSV Error on Line: |, at byte \d+ in line )(\d+)")
_FAULTS = (
    (r"Expected Number of Columns: (\d+) Found: (\d+)", "the header has {} cells and this line {}"),
    (r"Invalid unicode|as valid UTF-8|invalid UTF-8|invalid byte sequence", "not text in UTF-8"),
    (r"unterminated (?:quote|CSV quoted)", "a quote is not closed, or text stands behind one"),
    (r"Maximum line size of (\d+) bytes exceeded", "longer than {} bytes"),
    (r"CSV Error on Line", "not CSV"),
    (r"(GZIP stream|magic bytes)", "looks truncated or damaged ({})"),
    (r"Malformed JSON", "not JSON"),
    (r"extra data after last expected column", "more cells than the header"),
    (r"missing data for column", "fewer cells than the header"),
    (r"No space left on device", "no space left on the disk"),
)
_ADVICE = "No row is skipped. Check the file against SHA256SUMS and download it again, or mend it."
_NOT_SHOWN = "What the engine says of it may quote the data, so it is not shown."


def shown(error: Exception) -> str:
    """Return what may be said of an error that duckdb, psycopg or psycopg2 raised.

    That is the sentence of `stop_with`, or the engine's own about the statement, or the file and
    line, or the table, column and constraint, that are known to be at fault and the kind of fault.
    """
    message, diagnosis = str(error), getattr(error, "diag", None)
    state = getattr(diagnosis, "sqlstate", None)
    primary = getattr(diagnosis, "message_primary", None) or message
    if own := _OWN.match(primary):
        return own["sentence"].strip()
    if getattr(diagnosis, "statement_position", None):
        return message
    if _STATES.fullmatch(state) if state else _EXCEPTIONS.fullmatch(type(error).__name__):
        return primary
    fault = kind_of_fault(error)
    if file := next((path for path in _FILE.findall(message) if Path(path).is_file()), None):
        line = _LINE.search(message)
        return (
            f"{file}, line {line[1]}: {fault}. {_ADVICE}" if line else f"{file}: {fault}. {_ADVICE}"
        )
    for what in ("table", "column", "constraint"):
        name = getattr(diagnosis, f"{what}_name", None)
        fault += f", {what} {name}" if name else ""
    return f"{fault}. {_NOT_SHOWN}"


def is_missing_table(error: Exception) -> bool:
    """Tell whether an engine says that there is no such table, or no such schema."""
    if state := getattr(getattr(error, "diag", None), "sqlstate", None):
        return state in ("42P01", "3F000")
    return type(error).__name__ == "CatalogException" and "does not exist" in str(error)


def kind_of_fault(error: Exception) -> str:
    """Return the kind of an error about data: in words of our own, or the exception's name."""
    for pattern, words in _FAULTS:
        # The last: an engine quotes the line first and then says what is wrong with it.
        for found in list(re.finditer(pattern, str(error)))[-1:]:
            return words.format(*found.groups())
    name = type(error).__name__.removesuffix("Exception").removesuffix("Error")
    return f"{re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name).lower()} error".strip()
