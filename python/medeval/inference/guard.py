"""The gate that every request passes before its first byte.

An item that is open may go anywhere. A credentialed one goes to an endpoint that is declared as
local, or whose operator's promises somebody has attested; this machine's own address is no
exception, since a proxy to elsewhere may listen there. A user's function, whose code may send it
elsewhere, is declared by its file; what is built in needs no entry. Whatever is admitted leaves a
line in the audit: hashes and reasons, never text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from medeval.errors import UserError
from medeval.inference.endpoints import Declared
from medeval.inference.requests import CREDENTIALED, OPEN, Request

POLICY = "docs/data_use.md"
IN_PROCESS = "in-process"

Purpose = Literal["answer", "judgment", "count"]
Ground = Literal["open", "local", "attestation", "in-process"]


class RefusedError(UserError):
    """Credentialed text was about to go where it may not."""


@dataclass(frozen=True)
class Gate:
    """What may go where, and the record of what went.

    Attributes:
        endpoints: the declarations, by address; those of functions by the path of their file.
        audit: the file of the audit; one line per request.
        today: the day on which attestations must hold; None for the day of each request.
    """

    endpoints: Mapping[str, Declared]
    audit: Path
    today: date | None = None

    def check(self, address: str, is_open: bool) -> Ground:
        """Return why text of a class may go to an address.

        Raises:
            RefusedError: it may not; the message says what to do.
        """
        if is_open:
            return "open"
        if address == IN_PROCESS:
            return "in-process"
        endpoint = self.endpoints.get(address)
        if endpoint is None:
            raise RefusedError(
                f"Credentialed text may not go to {address}: endpoints.toml does not declare it."
                " Declare it there with runs_locally = true if the model itself runs on your own"
                " machines, with an attestation, or, if it is a Python file, as a [[function]];"
                f" {POLICY} says what each means, and how public text says so. Nothing was sent."
            )
        if endpoint.runs_locally:
            return "local"
        gaps = endpoint.gaps(self.today or datetime.now(UTC).date())
        if gaps:
            raise RefusedError(
                f"Credentialed text may not go to {address}: its attestation in endpoints.toml"
                f" does not hold ({', '.join(gaps)}). {POLICY} says what it must state."
                " Nothing was sent."
            )
        return "attestation"

    def admit(self, request: Request, body: bytes, purpose: Purpose) -> None:
        """Let a request through and record it, or stop it before its first byte.

        Raises:
            RefusedError: its text may not go there.
            UserError: the audit cannot be written; then nothing goes either.
        """
        ground = self.check(request.endpoint, request.item.is_open)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "endpoint": request.endpoint,
            "model": request.model,
            "purpose": purpose,
            "data_class": OPEN if request.item.is_open else CREDENTIALED,
            "ground": ground,
            "request": request.key,
            "bytes": len(body),
        }
        text = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n").encode()
        try:
            descriptor = os.open(self.audit, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                written = os.write(descriptor, text)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise UserError(
                f"{self.audit}: the audit cannot be written ({error.strerror}). Nothing was sent."
            ) from None
        if written < len(text):
            raise UserError(f"{self.audit}: the disk is full. Nothing was sent.")


def key_from_environment(variable: str | None, environment: Mapping[str, str]) -> str:
    """Return the key for an endpoint; the word `none` if it needs none.

    Args:
        variable: the name of the environment variable that holds it.
        environment: such as `os.environ`.

    Raises:
        UserError: the variable is not set, what it holds cannot be sent, or what was given is no
            name of a variable. What was given is not repeated: it may be the key itself.
    """
    if variable is None:
        return "none"
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,99}", variable):
        raise UserError(
            "The key of an endpoint is given by the name of an environment variable, such as"
            " OPENAI_API_KEY, never by itself."
        )
    key = environment.get(variable, "").strip()
    if not key:
        raise UserError(f"The environment variable {variable} is not set. Put the key there.")
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"The key in the environment variable {variable} has characters that no request can"
            " carry, such as a line break. Put the key there again, and nothing else."
        )
    return key
