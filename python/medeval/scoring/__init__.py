"""Scores of predictions, each with an interval from resampling; pure functions on arrays.

Importing this package loads numpy alone: scipy, scikit-learn and numba come in where they are used.
"""
