"""Data models: what goes between files, models under test and scores, validated at the edge."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medeval.models.benchmark_report import BenchmarkReport, EvaluationResult
    from medeval.models.medical_task import MedicalTask, TaskType
    from medeval.models.scores import Interval

__all__ = ["BenchmarkReport", "EvaluationResult", "Interval", "MedicalTask", "TaskType"]
_MODULES = ("scores", "medical_task", "benchmark_report")


def __getattr__(name: str) -> Any:
    # Only when they are wanted: what needs an interval starts without the models of tasks.
    if name in __all__:
        modules = (import_module(f"{__name__}.{module}") for module in _MODULES)
        return next(getattr(module, name) for module in modules if name in vars(module))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
