"""Reports, leaderboards and submission files, made of benchmark reports and of nothing else."""

from medeval.reporting.leaderboard import Boards, Leaderboard, leaderboard, leaderboards
from medeval.reporting.report import write_report

__all__ = ["Boards", "Leaderboard", "leaderboard", "leaderboards", "write_report"]
