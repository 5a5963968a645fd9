"""Data models: what goes between files, models under test and scores, validated at the edge."""
