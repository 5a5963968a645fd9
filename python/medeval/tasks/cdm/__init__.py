"""The CDM benchmark: what a model may ask of a case, and the scores of what it asked and said."""
