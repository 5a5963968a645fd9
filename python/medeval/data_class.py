"""Whose text it is: what is `open` may go anywhere, and what is not known to be is credentialed."""

from __future__ import annotations

from collections.abc import Iterable

OPEN = "open"
CREDENTIALED = "credentialed"


def strictest(classes: Iterable[object]) -> str:
    """Return `open` if there is a class and each one is; what is missing is credentialed."""
    found = list(classes)
    return OPEN if found and all(one == OPEN for one in found) else CREDENTIALED
