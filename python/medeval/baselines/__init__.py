"""Baselines of the MIMIC-III tasks, trained on the features that `dbt` computes."""
