"""Judging answers by models: rubrics, prompts, verdicts, juries and how far to trust them."""
