"""Prediction files and listfiles of the ICU tasks: read, joined, scored, laid out as JSON."""
