"""Reports, leaderboards and submission files, made of benchmark reports and of nothing else."""

from medeval.reporting.leaderboard import Leaderboard, leaderboard
from medeval.reporting.report import write_report

__all__ = ["Leaderboard", "leaderboard", "write_report"]
