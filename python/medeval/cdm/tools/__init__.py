"""The tools that a model may use on a case, one module each."""
