"""Scores of predictions, each with an interval from resampling; pure functions on arrays.

Importing this package loads numpy alone: scipy and scikit-learn come in where they are used.
"""
