"""The list of a download, as it stands beside its notes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def listed(name: str, content: bytes) -> dict[str, Any]:
    """Return what git and its host know of a file."""
    blob = b"blob %d\0" % len(content) + content
    return {"name": name, "size": len(content), "sha": hashlib.sha1(blob).hexdigest()}


def write_listing(cache: Path, texts: Mapping[str, str], origin: tuple[str, str, str]) -> None:
    """Write the list of a repository, a folder in it and a commit."""
    files = [listed(name, text.encode()) for name, text in texts.items()]
    about = dict(zip(("repository", "folder", "commit"), origin, strict=True))
    (cache / "listing.json").write_text(json.dumps({**about, "files": files}), encoding="utf-8")
