"""Python files of users, loaded by their path."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


class FileFailedError(ImportError):
    """A Python file cannot be run; the message names what it raised."""


def module_of(file: Path) -> ModuleType:
    """Return a Python file as a module of its own.

    While it is loaded it may import its neighbours, as a script may. What it imports of them is
    forgotten afterwards: two files in two folders may each have a neighbour of the same name.

    Args:
        file: the file.

    Raises:
        ValueError: its name does not end in .py.
        FileFailedError: it cannot be run, or it ends the process.
        OSError: it cannot be read.
    """
    # A name of its own for each content, so that no module is mistaken for another.
    content = str(file.resolve()).encode() + file.read_bytes()
    name = f"medeval_model_{hashlib.sha256(content).hexdigest()[:16]}"
    spec = spec_from_file_location(name, file)
    if file.suffix != ".py" or spec is None or spec.loader is None:
        raise ValueError(f"{file} is no Python file: its name must end in .py")
    module = module_from_spec(spec)
    # Classes of the file look their module up while they are made.
    sys.modules[name] = module
    try:
        with _neighbours_of(file):
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file that is meant as a script may end the process
        sys.modules.pop(name, None)
        told = f"{type(error).__name__}: {error}".rstrip(": ")
        raise FileFailedError(f"{file} cannot be run ({told})") from error
    return module


@contextmanager
def _neighbours_of(file: Path) -> Iterator[None]:
    folder = file.resolve().parent
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        new = set(sys.modules) - known
        neighbours = {name for name in new if _stands_in(folder, name)}
        for name in new:
            if name.partition(".")[0] in neighbours:
                del sys.modules[name]


def _stands_in(folder: Path, name: str) -> bool:
    """Tell whether a module is one of a folder itself, not of an environment somewhere below."""
    module = sys.modules[name]
    parts = getattr(module, "__path__", None)
    places = list(parts) if parts is not None else [getattr(module, "__file__", None)]
    return any(place and Path(place).resolve().parent == folder for place in places)
