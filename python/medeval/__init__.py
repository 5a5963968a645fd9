"""medeval: clinical benchmarks built in the warehouse, exported, run and scored.

`evaluate`, `score`, `runs` and `scores` are what a notebook needs; see docs/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medeval.api import evaluate, runs, score, scores

__all__ = ["__version__", "evaluate", "runs", "score", "scores"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Only when they are wanted: commands start without pandas.
    if name in __all__:
        from medeval import api

        return getattr(api, name)
    raise AttributeError(f"module 'medeval' has no attribute {name!r}")
