"""Asking a model: bounded, resumable, gated by what may be sent where."""
