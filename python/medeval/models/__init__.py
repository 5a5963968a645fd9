"""Data models: what goes between files, models under test and scores, validated at the edge."""

from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.scores import Interval

__all__ = ["BenchmarkReport", "EvaluationResult", "Interval", "MedicalTask", "TaskType"]
