"""CHIP 2023 YIER-LLM: Chinese medical questions with one or more right options, micro F1."""
