"""Files from the web, kept on disk under the hash of their content."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from medeval.evaluation.fetching import Fetched
from medeval.models.text_files import write_bytes


class UrlCache:
    """A folder with one file for each content, and one for each address that names its content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, url: str) -> Fetched | None:
        """Return what an address held; None if that is unknown or no longer what it was."""
        try:
            entry = json.loads(self._entry(url).read_bytes())
            content = self._content(entry["sha256"]).read_bytes()
            content_type = str(entry["content_type"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            return None
        return Fetched(content, content_type)

    def write(self, url: str, fetched: Fetched) -> None:
        """Keep what an address held, the content first, so that no entry names a missing file."""
        digest = hashlib.sha256(fetched.content).hexdigest()
        write_bytes(self._content(digest), fetched.content)
        entry = {"url": url, "sha256": digest, "content_type": fetched.content_type}
        write_bytes(self._entry(url), json.dumps(entry, indent=2).encode())

    def _entry(self, url: str) -> Path:
        return self._folder / f"url-{hashlib.sha256(url.encode()).hexdigest()}.json"

    def _content(self, digest: str) -> Path:
        return self._folder / f"content-{digest}"
