"""Seeded synthetic raw data in MIMIC's own file layouts; no real patient goes in."""
