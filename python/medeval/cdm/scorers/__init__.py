"""The scores of one case, one module each."""
