"""Files of a folder written anew, as rows of tables say."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from commands import PROJECT_ROOT
from mimic3_folder import write


def change(folder: Path, files: Mapping[str, Any]) -> None:
    """Write files: a text, compressed as its name says, columns of Parquet, or None to remove."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if content is None and path.is_dir():
            shutil.rmtree(path)
        elif content is None:
            path.unlink()
        elif path.suffix == ".parquet":
            pq.write_table(pa.table(content), path)
        else:
            write(path, content)


def filled(text: str, folder: Path) -> str:
    """Return a text of a row with the places of its folder and of the project."""
    return text.replace("$FOLDER", str(folder)).replace("$PROJECT", str(PROJECT_ROOT))
