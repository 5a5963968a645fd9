"""Reports, leaderboards and submission files, made of benchmark reports and of nothing else."""

from medeval.reporting.board_building import leaderboard
from medeval.reporting.boards import Leaderboard
from medeval.reporting.writing import write_report

__all__ = ["Leaderboard", "leaderboard", "write_report"]
